"""CDV: each term of its formulas, what is kept of a document, and a whole run from articles to a directory that serves."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from encoders.discourse.artifact import DiscourseArtifact  # noqa: E402
from encoders.discourse.encoder import DiscourseEncoder  # noqa: E402
from encoders.discourse.reading import MOST_SENTENCES, read_sentences  # noqa: E402
from encoders.labels.pairs import Text, write_lines  # noqa: E402
from encoders.pooling import unit  # noqa: E402
from encoders.training.discourse.corpora import (  # noqa: E402
    HeadedDocument,
    describe_aspects,
    describe_entities,
    group_documents,
    name_entities,
    plan_documents,
    split_documents,
)
from encoders.training.discourse.document import DocumentEncoder, robust_loss  # noqa: E402
from encoders.training.discourse.graphs import write_document_graph, write_name_graph  # noqa: E402
from encoders.training.discourse.links import link_sentences  # noqa: E402
from encoders.training.discourse.names import (  # noqa: E402
    NamedText,
    NameEncoder,
    NameSpace,
    WordMean,
    bloom,
    bpmll,
    embed_texts,
    name_loss,
    pad_words,
)
from encoders.training.discourse.recipe import DiscourseRecipe, parse_discourse_recipe  # noqa: E402
from encoders.training.kinds import load_any_recipe, start_run  # noqa: E402
from encoders.training.loop.optimise import learning_rate  # noqa: E402
from encoders.training.runs.discourse import train_discourse  # noqa: E402
from encoders.training.runs.discourse_parts import make_targets  # noqa: E402
from encoders.training.runs.discourse_setup import prepare_discourse  # noqa: E402
from mappings.clinical.reading import shipped_reader  # noqa: E402
from mappings.errors import Conflict, InvalidInput, ModelError, NotFound  # noqa: E402
from tests.training.discourse_corpora import ASPECTS, ENTITIES, RECIPE, WIDTH, write_articles, write_words  # noqa: E402

pytestmark = pytest.mark.torch


def some_recipe(folder: Path) -> DiscourseRecipe:
    write_articles(folder)
    write_words(folder / "words.npz")
    return replace(RECIPE, words=str(folder / "words.npz"))


def test_a_bloom_filter_sets_the_places_that_its_hashes_name() -> None:
    found = bloom("gout", 1024, 5)
    assert found.shape == (1024,)
    assert set(np.unique(found)) == {0.0, 1.0}
    assert 1 <= found.sum() <= 5
    assert (found == bloom("gout", 1024, 5)).all()
    assert (found != bloom("gouts", 1024, 5)).any()
    assert bloom("gout", 1024, 1).sum() == 1
    assert (bloom("gout", 1024, 1) <= found).all()


def test_the_hashes_of_a_bloom_filter_are_five_and_reach_all_bits() -> None:
    filters = np.stack([bloom(f"name {number}", 1024, 5) for number in range(300)])
    assert filters.sum(1).mean() > 4.9
    assert (filters.sum(0) > 0).mean() > 0.7


def test_a_names_loss_is_bpmll_between_the_sigmoids_and_the_filter_of_the_entity(tmp_path: Path) -> None:
    words = write_words(tmp_path / "words.npz")
    torch.manual_seed(0)
    model = NameEncoder(replace(RECIPE, name_dropout=0.5), WIDTH).eval()
    batch = [NamedText("gout", "night cough"), NamedText("asthma", "gene")]
    inputs, lengths = pad_words(words, [item.text for item in batch])
    found = model(inputs, lengths)
    by_hand = torch.sigmoid(model.embed(inputs, lengths) @ model.bits.weight.T + model.bits.bias)
    torch.testing.assert_close(found, by_hand)
    wanted = torch.from_numpy(np.stack([bloom(item.name, 64, 3) for item in batch]))  # of the entity, not of the text
    torch.testing.assert_close(name_loss(model, words, RECIPE, batch), bpmll(found, wanted))
    model.train()
    assert not torch.equal(model(inputs, lengths), model(inputs, lengths)), "half of the values are dropped"


def test_the_rate_falls_with_each_epoch() -> None:
    recipe = replace(RECIPE, learning_rate=1.0, decay=0.975, epochs=3, warmup=0.0)
    rates = [learning_rate(step, 6, recipe) for step in range(6)]
    assert rates == pytest.approx([1, 1, 0.975, 0.975, 0.975**2, 0.975**2])


def test_bpmll_compares_each_set_bit_with_each_unset_one() -> None:
    outputs, wanted = [0.9, 0.2, 0.4], [1.0, 0.0, 1.0]
    by_hand = (math.exp(-(0.9 - 0.2)) + math.exp(-(0.4 - 0.2))) / (2 * 1)
    second = (math.exp(-(0.1 - 0.5)) + math.exp(-(0.1 - 0.7))) / (1 * 2)
    found = bpmll(torch.tensor([outputs, [0.1, 0.5, 0.7]]), torch.tensor([wanted, [1.0, 0.0, 0.0]]))
    assert found.item() == pytest.approx((by_hand + second) / 2, rel=1e-6)


def test_the_robust_loss_is_equation_17() -> None:
    found = torch.zeros(2, 2, 2), torch.zeros(2, 2, 2)
    entities = torch.tensor([[[3.0, 4.0], [0.0, 0.0]], [[9.0, 9.0], [9.0, 9.0]]])
    aspects = torch.tensor([[[0.0, 1.0], [0.0, 2.0]], [[0.0, 0.0], [9.0, 9.0]]])
    entities[1, 0] = torch.tensor([0.0, 6.0])
    first = [math.sqrt(1 + ((5 + 1) / 4) ** 2) - 1, math.sqrt(1 + (2 / 4) ** 2) - 1]
    second = math.sqrt(1 + (6 / 4) ** 2) - 1  # its second sentence is padding
    loss = robust_loss(found, (entities, aspects), torch.tensor([2, 1]))
    assert loss.item() == pytest.approx((sum(first) / 2 + second) / 2, rel=1e-5)


def test_an_embedding_is_the_mean_of_the_last_states_of_both_directions(tmp_path: Path) -> None:
    words = write_words(tmp_path / "words.npz")
    model = NameEncoder(RECIPE, WIDTH).eval()
    inputs, lengths = pad_words(words, ["night cough", "gene"])
    states, _ = model.lstm(inputs[:1])
    forward, backward = states[0, -1, :8], states[0, 0, 8:]
    found = model.embed(inputs, lengths)
    torch.testing.assert_close(found[0], (forward + backward) / 2)
    torch.testing.assert_close(model.embed(inputs[1:, :1], lengths[1:])[0], found[1])  # padding changes nothing
    np.testing.assert_allclose(embed_texts(model, words, ["night cough"])[0], found[0].detach(), atol=1e-6)


def test_a_name_has_the_mean_of_its_texts_centred_if_that_is_wanted() -> None:
    texts = [NamedText("gout", "Gout"), NamedText("gout", "Salt."), NamedText("cough", "Cough")]
    embedded = np.array([[1, 0], [3, 2], [0, 5]], np.float32)
    plain = NameSpace.of(texts, embedded, centred=False)
    assert plain.centre is None
    np.testing.assert_array_equal(plain.vectors["gout"], [2, 1])
    centred = NameSpace.of(texts, embedded, centred=True)
    np.testing.assert_array_equal(centred.centre, [1, 3])
    np.testing.assert_allclose(centred.vectors["gout"], np.array([1, -2]) / math.sqrt(5), rtol=1e-6)
    np.testing.assert_allclose(centred.vectors["cough"], -centred.vectors["gout"], rtol=1e-6)


def test_the_document_encoder_is_equations_11_and_12() -> None:
    model = DocumentEncoder(RECIPE, WIDTH + 5).eval()
    inputs = torch.randn(1, 3, WIDTH + 5)
    states, _ = model.lstm(inputs)
    discourse = torch.tanh(states @ model.discourse.weight.T + model.discourse.bias)
    entities, aspects = model(inputs, torch.tensor([3]))
    torch.testing.assert_close(entities, torch.tanh(discourse @ model.entity.weight.T + model.entity.bias))
    torch.testing.assert_close(aspects, torch.tanh(discourse @ model.aspect.weight.T + model.aspect.bias))
    padded = torch.cat([inputs, torch.ones(1, 2, WIDTH + 5)], 1)
    torch.testing.assert_close(model(padded, torch.tensor([3]))[0], entities)


def test_the_graphs_compute_what_torch_does(tmp_path: Path) -> None:
    ort = pytest.importorskip("encoders.onnx").ort
    names, documents = NameEncoder(RECIPE, WIDTH).eval(), DocumentEncoder(RECIPE, WIDTH + 5).eval()
    write_name_graph(names, None, tmp_path / "names.onnx")
    write_document_graph(documents, tmp_path / "documents.onnx")
    lengths = torch.tensor([4, 2])
    words, sentences = torch.randn(2, 4, WIDTH), torch.randn(2, 4, WIDTH + 5)
    fed = {"lengths": lengths.numpy().astype(np.int32)}
    found = ort.InferenceSession(tmp_path / "names.onnx").run(None, {"words": words.transpose(0, 1).numpy(), **fed})[0]
    np.testing.assert_allclose(found, names.embed(words, lengths).detach(), atol=1e-5)
    centre = np.linspace(-1, 1, 8, dtype=np.float32)
    write_name_graph(names, centre, tmp_path / "centred.onnx")
    placed = ort.InferenceSession(tmp_path / "centred.onnx").run(None, {"words": words.transpose(0, 1).numpy(), **fed})[
        0
    ]
    np.testing.assert_allclose(placed, unit(found - centre), atol=1e-5)
    session = ort.InferenceSession(tmp_path / "documents.onnx")
    found = session.run(None, {"sentences": sentences.transpose(0, 1).numpy(), **fed})[0]
    wanted = torch.cat(documents(sentences, lengths), -1).detach()
    np.testing.assert_allclose(found[:, 0], wanted[0], atol=1e-5)
    np.testing.assert_allclose(found[:2, 1], wanted[1, :2], atol=1e-5)


def test_texts_of_one_title_are_a_document_and_what_has_no_title_or_heading_is_left_out() -> None:
    texts = [
        Text("1", "Gout", "symptoms", "Pain."), Text("2", "Gout", "", "Untold."), Text("3", "", "causes", "Nobody."),
        Text("4", "Gout", "causes", "Salt."), Text("5", "Cough", "--", "Nothing."), Text("6", "Cough", "causes", " "),
    ]  # fmt: skip
    found = list(group_documents(texts))
    assert [(item.title, item.headings, item.passages) for item in found] == [
        ("Gout", ("symptoms",), ("Pain.",)),
        ("Gout", ("causes",), ("Salt.",)),
    ]
    told = list(group_documents([texts[0], texts[1], texts[3]], headless=True, most=2))
    assert [(item.title, item.headings) for item in told] == [("Gout", ("symptoms", "")), ("Gout", ("causes",))]
    assert [item.headings for item in group_documents([texts[4]], headless=True)] == [("",)]
    assert name_entities(found) == [NamedText("gout", "Gout")]
    assert describe_aspects(found) == [NamedText("symptoms", "symptoms"), NamedText("causes", "causes")]
    assert describe_entities(found, [Text("6", "Gout", "", "Swollen joints. By salt. Never third.")]) == [
        NamedText("gout", "Gout"), NamedText("gout", "Pain."), NamedText("gout", "Salt."),
        NamedText("gout", "Swollen joints."), NamedText("gout", "By salt."),
    ]  # fmt: skip
    with pytest.raises(InvalidInput, match="no heading"):
        describe_aspects([])


def test_the_plan_shows_each_document_once_an_epoch_and_never_changes() -> None:
    recipe = replace(RECIPE, batch=3, epochs=2)
    plan = plan_documents([5, 1, 9, 2, 7], recipe)
    assert sorted(place for batch in plan[:2] for place in batch) == [0, 1, 2, 3, 4]
    assert sorted(place for batch in plan[2:] for place in batch) == [0, 1, 2, 3, 4]
    assert plan == plan_documents([5, 1, 9, 2, 7], recipe)


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"entities": "words", "dimension": WIDTH},
        {"entities": "words", "aspects": "words", "dimension": WIDTH},
    ],
)
def test_a_trained_model_finds_passages_by_entity_and_aspect(tmp_path: Path, changes: dict[str, Any]) -> None:
    recipe = replace(some_recipe(tmp_path), **changes)
    report = train_discourse(recipe, tmp_path, tmp_path / "run")
    assert report["pairs"]["documents"] + report["held_out"]["queries"] / len(ASPECTS) == len(ENTITIES)
    encoder = DiscourseEncoder.open(tmp_path / "run" / "model")
    articles = [[text.format(word) for text in ASPECTS.values()] for word in ENTITIES.values()]
    read = encoder.encode_documents(articles)
    vectors = np.concatenate([item.passage_vectors(len(ASPECTS)) for item in read])
    keys = [(name, aspect) for name in ENTITIES for aspect in ASPECTS]
    first = [keys[int(np.argmax(vectors @ encoder.encode_query(*key)))] == key for key in keys]
    assert np.mean(first) >= 0.8
    _check_scores(encoder, articles)
    _check_slots(encoder)


def _check_scores(encoder: DiscourseEncoder, articles: list[list[str]]) -> None:
    """The inner product with a passage's one vector is the mean cosine over its sentences (equations 13 and 14)."""
    (read,) = encoder.encode_documents(articles[:1])
    query = encoder.encode_query("Bluefoot fever", "symptoms")
    numbers = np.asarray(read.read.passages)
    by_sentence = [float(np.mean(read.vectors[numbers == passage] @ query)) for passage in range(3)]
    np.testing.assert_allclose(read.passage_vectors(3) @ query, by_sentence, atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(read.vectors, axis=1), 1, atol=1e-5)
    together = encoder.encode_documents(articles)[0]
    np.testing.assert_allclose(together.vectors, read.vectors, atol=1e-5)  # its neighbours in the batch change nothing


def _check_slots(encoder: DiscourseEncoder) -> None:
    whole, entity = encoder.encode_query("Salt gout", "causes"), encoder.encode_query("Salt gout", "")
    half = encoder.slot_dimension
    assert not entity[half:].any()
    assert not encoder.encode_query("", "causes")[:half].any()
    np.testing.assert_allclose(entity[:half], whole[:half] / np.linalg.norm(whole[:half]), atol=1e-6)
    assert np.isfinite(encoder.encode_query("Never seen disease", "unheard aspect")).all()
    assert not encoder.encode_query("", "").any()
    parts = [encoder.encode_query("", part) for part in ("treatment", "prevention")]
    both = encoder.encode_query("", "Treatment & Prevention!")
    np.testing.assert_allclose(both, unit(np.sum(parts, axis=0)[None])[0], atol=1e-5)
    assert [len(item.vectors) for item in encoder.encode_documents([[], [""], ["One."]])] == [0, 0, 1]
    (long,) = encoder.encode_documents([["Pain is felt. " * 5_000]])
    assert (len(long.vectors), long.read.left_out) == (MOST_SENTENCES, 5_000 - MOST_SENTENCES)


@pytest.mark.slow
def test_a_killed_run_goes_on_as_if_nothing_had_happened(tmp_path: Path) -> None:
    recipe = replace(some_recipe(tmp_path), epochs=6, name_epochs=2, save_every=1)
    train_discourse(recipe, tmp_path, tmp_path / "whole")

    def stop(entry: object) -> None:
        if isinstance(entry, dict) and entry.get("part") == "documents":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_discourse(recipe, tmp_path, tmp_path / "killed", watch=stop)
    assert json.loads((tmp_path / "killed" / "record.json").read_text())["status"] == "failed"
    train_discourse(recipe, tmp_path, tmp_path / "killed")
    first, second = (DiscourseArtifact.open(tmp_path / run / "model") for run in ("whole", "killed"))
    assert first.fingerprint == second.fingerprint


@pytest.mark.slow
def test_a_damaged_directory_and_words_of_another_dimension_are_refused(tmp_path: Path) -> None:
    recipe = replace(some_recipe(tmp_path), epochs=1, name_epochs=1)
    train_discourse(recipe, tmp_path, tmp_path / "run")
    model = tmp_path / "run" / "model"
    whole = (model / "words.npz").read_bytes()
    write_words(model / "words.npz", WIDTH + 4)
    with pytest.raises(ModelError, match=r"words\.npz is missing or was altered"):
        DiscourseEncoder.open(model)
    manifest = json.loads((model / "discourse.json").read_text())
    artifact = DiscourseArtifact(model, "small", 8, manifest["fingerprint"], manifest)
    with pytest.raises(ModelError, match="16 dimensions; the graphs read 12"):
        DiscourseEncoder(artifact)
    (model / "words.npz").write_bytes(whole)
    (model / "discourse.json").write_text(json.dumps(manifest | {"dimension": 9}))
    with pytest.raises(ModelError, match="fingerprint"):
        DiscourseEncoder.open(model)
    (model / "discourse.json").write_text("{")
    with pytest.raises(ModelError, match=r"discourse\.json"):
        DiscourseEncoder.open(model)


def test_a_run_without_words_or_corpora_says_what_is_missing(tmp_path: Path) -> None:
    recipe = some_recipe(tmp_path)
    with pytest.raises(InvalidInput, match="medley label words"):
        train_discourse(replace(recipe, words=""), tmp_path, tmp_path / "run")
    with pytest.raises(NotFound, match=r"abstracts\.jsonl is missing"):
        train_discourse(replace(recipe, documents=("abstracts",)), tmp_path, tmp_path / "run")
    with pytest.raises(InvalidInput, match="nothing to train on"):
        train_discourse(replace(recipe, documents=("definitions",)), tmp_path, tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({}, "documents"),
        ({"documents": []}, "documents"),
        ({"documents": "health"}, "documents"),
        ({"documents": ["health", ""]}, "documents"),
        ({"documents": ["health"], "hidden": 0}, "hidden"),
        ({"documents": ["health"], "name_dropout": 1}, "name_dropout"),
        ({"documents": ["health"], "name_bits": 2}, "name_hashes"),
        ({"documents": ["health"], "decay": 1.5}, "decay"),
        ({"documents": ["health"], "entities": "known"}, "entities"),
        ({"documents": ["health"], "most_passages": -1}, "most_passages"),
        ({"documents": ["health"], "linked": 1}, "linked"),
        ({"documents": ["health"], "tasks": {}}, "tasks"),
    ],
)
def test_a_wrong_recipe_names_the_setting(values: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_discourse_recipe(values, "r")
    assert caught.value.field == field


def test_several_processes_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(InvalidInput, match="trained by one process"):
        start_run(RECIPE, tmp_path, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_the_shipped_recipe_is_the_papers_but_for_its_length_and_its_names() -> None:
    recipe = load_any_recipe("cdv-fasttext")
    assert isinstance(recipe, DiscourseRecipe)
    assert (recipe.entities, recipe.aspects) == ("words", "words")
    wanted = {"hidden": 512, "discourse": 256, "dimension": 128, "batch": 16, "learning_rate": 1e-3, "decay": 0.975}
    assert wanted.items() <= recipe.as_json().items()
    assert (recipe.name_bits, recipe.name_hashes, recipe.name_batch, recipe.name_dropout) == (1024, 5, 128, 0.5)


def test_names_by_words_are_the_mean_of_the_mention(tmp_path: Path) -> None:
    ort = pytest.importorskip("encoders.onnx").ort
    words = write_words(tmp_path / "words.npz")
    model = WordMean(WIDTH)
    by_hand = words.lookup(["night", "cough"]).mean(0)
    np.testing.assert_allclose(embed_texts(model, words, ["night cough", "gene"])[0], by_hand, atol=1e-5)
    inputs, lengths = pad_words(words, ["night cough", "gene"])
    fed = {"words": inputs.transpose(0, 1).numpy(), "lengths": lengths.numpy().astype(np.int32)}
    write_name_graph(model, None, tmp_path / "names.onnx")
    found = ort.InferenceSession(tmp_path / "names.onnx").run(None, fed)[0]
    np.testing.assert_allclose(found[0], by_hand, atol=1e-5)
    write_name_graph(model, by_hand * 2, tmp_path / "centred.onnx")
    found = ort.InferenceSession(tmp_path / "centred.onnx").run(None, fed)[0]
    np.testing.assert_allclose(found[0], unit(-by_hand[None])[0], atol=1e-5)


@pytest.mark.parametrize("slot", ["entities", "aspects"])
def test_words_of_another_dimension_can_not_be_names(tmp_path: Path, slot: str) -> None:
    recipe = replace(some_recipe(tmp_path), **{slot: "words"})
    with pytest.raises(InvalidInput, match="the words have 12 dimensions"):
        train_discourse(recipe, tmp_path, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_sentence_links_to_the_conditions_that_it_names(tmp_path: Path) -> None:
    passages = ["Gout is not asthma. Rest helps.", "Gout is not asthma. No fever with pneumonia or gout."]
    (found,) = link_sentences([read_sentences(passages)], shipped_reader())
    first = (NamedText("gout", "gout"), NamedText("asthma", "asthma"))
    assert found == [first, (), first, (NamedText("pneumonia", "pneumonia"), NamedText("gout", "gout"))]


def test_what_a_sentence_is_to_tell_is_the_mean_of_its_title_and_its_links(tmp_path: Path) -> None:
    words = write_words(tmp_path / "words.npz")
    texts = [Text("1", "Salt gout", "causes", "Give asthma drops. A gene breaks.")] * 2
    write_lines(tmp_path / "corpora" / "health.jsonl", texts)
    recipe = replace(
        RECIPE, words=str(tmp_path / "words.npz"), descriptions=(), entities="words", dimension=WIDTH, linked=True
    )
    setup = prepare_discourse(recipe, tmp_path, tmp_path / "run", "cpu", None, False)
    assert setup.entities == [NamedText("salt gout", "Salt gout"), NamedText("asthma", "asthma")]
    names = embed_texts(WordMean(WIDTH), words, ["Salt gout", "asthma"])
    spaces = (NameSpace.of(setup.entities, names, centred=False), NameSpace({"causes": np.ones(3, np.float32)}, None))
    (target,) = make_targets(setup, spaces, tmp_path / "run", lambda entry: None)
    np.testing.assert_allclose(target.entities[0], names.mean(0), atol=1e-6)
    np.testing.assert_allclose(target.entities[1], names[0], atol=1e-6)
    assert shipped_reader().version in str(setup.identities["documents"])  # other rules would find other links
    plain = prepare_discourse(replace(recipe, linked=False), tmp_path, tmp_path / "run", "cpu", None, False)
    assert plain.entities == setup.entities[:1]
    (target,) = make_targets(plain, spaces, tmp_path / "run", lambda entry: None)
    np.testing.assert_allclose(target.entities, np.tile(names[0], (4, 1)), atol=1e-6)


def test_each_sentence_is_to_tell_its_entities_once_and_the_aspects_of_its_own_heading(tmp_path: Path) -> None:
    words = write_words(tmp_path / "words.npz")
    texts = [
        Text("1", "Gout", "Causes and symptoms", "Gout follows asthma. A gene breaks."),
        Text("2", "Gout", "treatment", "Give drops."),
    ]
    write_lines(tmp_path / "corpora" / "health.jsonl", texts)
    recipe = replace(
        RECIPE, words=str(tmp_path / "words.npz"), descriptions=(), entities="words", dimension=WIDTH, linked=True
    )
    setup = prepare_discourse(recipe, tmp_path, tmp_path / "run", "cpu", None, False)
    names = embed_texts(WordMean(WIDTH), words, [item.text for item in setup.entities])
    aspects = {"causes": np.array([1.0, 0.0]), "symptoms": np.array([0.0, 1.0]), "treatment": np.array([5.0, 5.0])}
    spaces = (
        NameSpace.of(setup.entities, names, centred=False),
        NameSpace({name: vector.astype(np.float32) for name, vector in aspects.items()}, None),
    )
    (target,) = make_targets(setup, spaces, tmp_path / "run", lambda entry: None)
    gout, asthma = (spaces[0].vectors[name] for name in ("gout", "asthma"))
    by_hand = np.stack([(gout + asthma) / 2, gout, gout])  # as title and as link "gout" counts once
    np.testing.assert_allclose(target.entities, by_hand, atol=1e-6)
    assert target.aspects.tolist() == [[0.5, 0.5], [0.5, 0.5], [5.0, 5.0]]


def test_a_title_without_letters_is_left_out(tmp_path: Path) -> None:
    told = [Text(name, title, "causes", "A gene.") for name, title in (("1", "肺炎"), ("2", "—"), ("3", "Gout"))]
    assert [document.title for document in group_documents(told)] == ["Gout"]


def test_where_all_documents_are_held_out_it_is_said(tmp_path: Path) -> None:
    recipe = some_recipe(tmp_path)
    held = next(f"Gout {n}" for n in range(100) if split_documents([HeadedDocument(f"Gout {n}", ("x",), ("y",))])[1])
    write_lines(tmp_path / "corpora/health.jsonl", [Text("1", held, "causes", "A gene breaks.")])
    with pytest.raises(InvalidInput, match="of all 1 documents none is left to train on: a tenth is held out"):
        train_discourse(recipe, tmp_path, tmp_path / "run")


def test_a_finished_run_without_its_state_or_of_another_kind_is_not_trained_over(tmp_path: Path) -> None:
    recipe, out = some_recipe(tmp_path), tmp_path / "run"
    out.mkdir()
    (out / "report.json").write_text("{}")
    with pytest.raises(Conflict, match=r"finished run without its documents/state\.pt"):
        start_run(recipe, tmp_path, out)
    (out / "record.json").write_text('{"recipe": {"kind": "matcher"}}')
    with pytest.raises(Conflict, match="holds a run of the kind matcher"):
        start_run(recipe, tmp_path, out)
    assert {path.name for path in out.iterdir()} == {"report.json", "record.json"}
