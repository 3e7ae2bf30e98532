"""Longformers (CAPR's P6): which token sees which, what becomes of a base, and the same answers in every place they run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the train extra is not installed")
transformers = pytest.importorskip("transformers", reason="the train extra is not installed")
pytest.importorskip("onnx", reason="the train extra is not installed")

from tiny_models import BI, CROSS, WORDS, config, write_base, write_home  # noqa: E402

from encoders.artifact import Artifact  # noqa: E402
from encoders.cache import CachedEncoder  # noqa: E402
from encoders.labels.pairs import Pair, Text, read_pairs, surround, write_lines  # noqa: E402
from encoders.poly import PolyEncoder  # noqa: E402
from encoders.runtime import BiEncoder  # noqa: E402
from encoders.training.architectures import scoring  # noqa: E402
from encoders.training.architectures.checkpoint import Checkpoint, load_checkpoint  # noqa: E402
from encoders.training.architectures.longformer import model as longformer  # noqa: E402
from encoders.training.architectures.longformer.extend import extend  # noqa: E402
from encoders.training.architectures.longformer.model import PassageLongformer  # noqa: E402
from encoders.training.data.batches import load_pairs, make_example  # noqa: E402
from encoders.training.export.service import export_run, fit_gate  # noqa: E402
from encoders.training.loop import optimise  # noqa: E402
from encoders.training.recipe import Recipe, Share  # noqa: E402
from encoders.training.runs.initial import load_initial  # noqa: E402
from encoders.training.runs.train import train  # noqa: E402
from evaluation.baselines.encoders import compare_exported  # noqa: E402
from mappings.analysis.window_text import alone, place_in_document, place_passage, place_window  # noqa: E402
from mappings.errors import InvalidInput, ModelError  # noqa: E402
from search.models.registry import Models  # noqa: E402
from search.settings import Settings  # noqa: E402

pytestmark = [
    pytest.mark.torch,
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),  # torch's exporter and transformers warn about their own internals
]
PAPER = replace(
    BI,
    objective="whole-batch",
    pooling="cls",
    similarity="dot",
    temperature=1.0,
    markers="tokens",
    windows="surroundings",
    positions=120,
    attention_window=8,
    max_length=120,  # as many as are read when it serves: all that the base has
    learning_rate=5e-4,
    tasks={"claim": Share(repeat=10)},
    negatives=0,
    dropout=0.0,
    steps=6,
)
DESIGNS: dict[str, Recipe] = {
    "bi": PAPER,
    "bi-separate": replace(PAPER, towers="separate"),
    "poly": replace(PAPER, kind="poly-encoder"),
    "poly-separate": replace(PAPER, kind="poly-encoder", towers="separate"),
    "poly-tokens": replace(PAPER, kind="poly-encoder", codes="tokens"),
}
QUERIES = [f"{word} stop" for word in WORDS[:6]]
PASSAGES = [
    place_passage("the old sleep in pain " * 4, "statins help the old", "virus stop the young " * 5),
    place_passage("", "aspirin help the old " * 6, "walking lower pain"),
    place_passage("masks", "virus", ""),
    place_passage("stroke " * 200, "walking help", "sleep " * 200),
    "the young sleep in pain",
]


def around(pairs: Path) -> None:
    """Put the passages of a document of four around each answer of the tiny pairs."""
    found = list(read_pairs(pairs / "claim.jsonl"))
    for start in range(0, len(found), 4):
        part = found[start : start + 4]
        placed = surround([pair.positive for pair in part])
        found[start : start + 4] = [replace(pair, positive=text) for pair, text in zip(part, placed, strict=True)]
    write_lines(pairs / "claim.jsonl", found)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Bases of several families, and pairs whose answers have others around them.

    Their weights are large, so that attention chooses: with small ones all texts have about the same vector.
    """
    folder = write_home(tmp_path_factory.mktemp("home"), ("distilbert", "xlnet"))
    for family in ("bert", "roberta", "longformer"):
        write_base(folder / family, family, initializer_range=0.2)
    around(folder / "pairs")
    return folder


@pytest.fixture
def base() -> Any:
    torch.manual_seed(0)
    return transformers.BertModel(config("bert")).eval()


def spread(model: Any) -> Any:
    """The model with weights of global attention that are not those of local attention."""
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(torch.randn_like(weight) * 0.1)
    return model.eval()


def inputs(length: int = 61) -> tuple[Any, Any, Any]:
    """Ids, mask and types (3, t): the first and third text have something around the passage, the second has padding."""
    torch.manual_seed(1)
    ids = torch.randint(5, 23, (3, length))
    mask, types = torch.ones_like(ids), torch.zeros_like(ids)
    mask[1, 40:] = 0
    types[0, 1:20] = types[2, 50:-1] = 1
    return ids, mask, types


@pytest.fixture(params=["by_role", "masked"])
def attention(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each way of computing attention, whatever the length."""
    way = {"masked": longformer.attend, "by_role": longformer.attend_by_role}[request.param]
    monkeypatch.setattr(longformer, "attend", way)
    monkeypatch.setattr(longformer, "attend_by_role", way)
    return str(request.param)


@torch.inference_mode()
def test_it_is_the_longformer_of_transformers(base: Any, attention: str) -> None:
    model = spread(extend(base, 120, 8))
    theirs = transformers.LongformerModel(model.config, add_pooling_layer=False).eval()
    theirs.load_state_dict(model.state_dict())
    ids, mask, types = inputs()
    everywhere = types.clone()
    everywhere[:, 0] = 1  # CLS
    wanted = theirs(input_ids=ids, attention_mask=mask, global_attention_mask=everywhere).last_hidden_state
    found = model(ids, mask, types).last_hidden_state
    assert torch.allclose(found[mask == 1], wanted[mask == 1], atol=1e-4)


@torch.inference_mode()
def test_in_one_window_it_is_the_base(base: Any, attention: str) -> None:
    ids, mask, types = inputs()
    wanted = base(input_ids=ids, attention_mask=mask).last_hidden_state
    found = extend(base, 120, 122)(ids, mask).last_hidden_state
    assert torch.allclose(found[mask == 1], wanted[mask == 1], atol=1e-5)
    # global attention starts as the local one, and in one window a token sees all either way
    found = extend(base, 120, 122)(ids, mask, types).last_hidden_state
    assert torch.allclose(found[mask == 1], wanted[mask == 1], atol=1e-5)


@torch.inference_mode()
def test_a_token_sees_half_a_window_and_what_is_global(base: Any, attention: str) -> None:
    model = spread(extend(base, 120, 8))
    model.encoder.layer = model.encoder.layer[:1]
    ids, mask, types = inputs()

    def changed(row: int, place: int) -> set[int]:
        """The tokens whose states a change of the token at `place` changes."""
        other = ids.clone()
        other[row, place] = 5 if ids[row, place] != 5 else 6
        states = [model(item, mask, types).last_hidden_state[row] for item in (ids, other)]
        return set((states[0] - states[1]).abs().amax(dim=1).gt(1e-6).nonzero().flatten().tolist())

    near = set(range(26, 35))
    assert changed(0, 30) == near | {0} | set(range(1, 20))  # its window, CLS, and all that is around the passage
    assert changed(1, 30) == near | {0}
    assert changed(0, 10) == set(range(61))  # what is around the passage is seen by all
    assert not changed(1, 50) & set(range(40))  # padding by none


@torch.inference_mode()
def test_in_the_last_layer_of_a_poly_encoder_the_passage_sees_itself_only(base: Any, attention: str) -> None:
    model = spread(extend(base, 120, 8))
    ids, mask, types = inputs()
    own = types[0] == 0
    found = {}
    for masks in (False, True):
        model.config.masks_surroundings = masks
        found[masks] = model(ids, mask, types).last_hidden_state
    assert not torch.allclose(found[True][0][own], found[False][0][own], atol=1e-3)
    assert torch.allclose(found[True][1, :40], found[False][1, :40], atol=1e-5)  # it has nothing around it

    model.encoder.layer = model.encoder.layer[-1:]  # the last layer is the only one
    other = ids.clone()
    other[0, 10] += 1 if ids[0, 10] < 22 else -1
    states = [model(item, mask, types).last_hidden_state[0][own] for item in (ids, other)]
    assert torch.equal(*states)


@torch.inference_mode()
def test_the_layers_before_the_last_see_what_is_around(base: Any, attention: str) -> None:
    model = spread(extend(base, 120, 8))
    model.config.masks_surroundings = True
    ids, mask, types = inputs()
    other = ids.clone()
    other[0, 10] += 1 if ids[0, 10] < 22 else -1  # a token of what is around
    first, second = (model(item, mask, types).last_hidden_state[0][types[0] == 0] for item in (ids, other))
    assert not torch.allclose(first, second, atol=1e-4)


@torch.inference_mode()
@pytest.mark.parametrize(("kind", "masks"), [("poly-encoder", True), ("bi-encoder", False)])
def test_a_poly_encoder_masks_what_is_around_and_a_bi_encoder_does_not(kind: Any, masks: bool, tmp_path: Path) -> None:
    base = str(write_base(tmp_path, "bert", initializer_range=0.2))
    recipe = replace(PAPER, kind=kind, base=base, layers=(0,))
    ready = load_initial(recipe)
    sides = (("virus stop", "sleep"), ("walking lower", "pain"))
    texts = [place_passage(before, "statins help the old", after) for before, after in sides]
    found = scoring.tokenize_texts(ready.model, ready.tokenizer, texts, recipe, False)
    first, second = ready.model.eval().hidden(found, query=False)
    own = (found["token_type_ids"][0] == 0).nonzero().flatten()[1:]
    assert torch.allclose(first[own], second[own], atol=1e-5) is masks


def test_positions_are_copied_block_by_block(base: Any) -> None:
    old, made = base.embeddings.position_embeddings.weight, extend(base, 200, 8).embeddings.position_embeddings.weight
    assert made.shape == (201, 32)  # the row 0 is that of padding
    for place in range(200):
        assert torch.equal(made[1 + place], old[place % 80])


def test_of_roberta_the_positions_of_tokens_are_copied() -> None:
    base = transformers.RobertaModel(transformers.RobertaConfig(
        vocab_size=23, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
        max_position_embeddings=42, type_vocab_size=1,
    )).eval()  # fmt: skip
    old, model = base.embeddings.position_embeddings.weight, extend(base, 100, 8).eval()
    made = model.embeddings.position_embeddings.weight
    for place in range(100):
        assert torch.equal(made[2 + place], old[2 + place % 40])
    ids = torch.randint(5, 23, (2, 8))
    wanted = base(input_ids=ids).last_hidden_state
    assert torch.allclose(extend(base, 40, 16).eval()(ids, torch.ones_like(ids)).last_hidden_state, wanted, atol=1e-5)


def test_global_attention_starts_as_the_local_one(base: Any) -> None:
    state = extend(base, 120, 8).state_dict()
    for name in ("query", "key", "value"):
        for part in ("weight", "bias"):
            local = f"encoder.layer.1.attention.self.{name}"
            assert torch.equal(state[f"{local}_global.{part}"], state[f"{local}.{part}"])


def test_both_ways_of_attention_have_the_same_gradients(base: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    model = spread(extend(base, 120, 8))
    model.config.masks_surroundings = True
    ids, mask, types = inputs()
    found = []
    for _ in range(2):
        model.zero_grad()
        own = (mask * (1 - types))[..., None]
        (model(ids, mask, types).last_hidden_state * own).pow(3).mean().backward()
        found.append(
            {name: weight.grad.clone() for name, weight in model.named_parameters() if weight.grad is not None}
        )
        monkeypatch.setattr(longformer, "attend_by_role", longformer.attend)
    assert found[0].keys() == found[1].keys()
    assert len(found[0]) > 40
    for name, gradient in found[0].items():
        assert torch.allclose(gradient, found[1][name], atol=1e-5 * max(1.0, float(gradient.abs().max()))), name


def test_texts_within_half_a_window_are_read_at_once(base: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(longformer, "attend_by_role", None)
    ids, mask, types = inputs()
    assert extend(base, 120, 122)(ids, mask, types).last_hidden_state.shape == (3, 61, 32)


@pytest.mark.parametrize(("family", "said"), [("xlnet", "the family XLNet"), ("distilbert", "the family DistilBERT")])
def test_a_base_without_positions_to_repeat_is_refused_by_name(family: str, said: str, home: Path) -> None:
    with pytest.raises(ModelError, match=said) as caught:
        load_initial(replace(PAPER, base=str(home / family)))
    assert caught.value.field == "base"


def test_what_a_longformer_is_not_for_is_refused(home: Path) -> None:
    with pytest.raises(ModelError, match="which reads a passage alone"):
        load_initial(replace(PAPER, base=str(home / "bert"), positions=0, max_length=60))
    with pytest.raises(ModelError, match="a cross-encoder reads each with its query"):
        load_initial(replace(CROSS, base=str(home / "longformer")))
    with pytest.raises(InvalidInput, match="the base has positions for 120 tokens"):
        load_initial(replace(PAPER, base=str(home / "bert"), max_length=121))


def test_the_nearest_of_what_is_around_a_passage_is_read(home: Path) -> None:
    ready = load_initial(replace(PAPER, base=str(home / "bert"), max_length=16))
    text = place_passage("pain old young stroke", "statins help the old", "virus masks " * 40)
    found = scoring.tokenize_texts(ready.model, ready.tokenizer, [text, "virus"], replace(PAPER, max_length=16), False)
    words = ready.tokenizer.convert_ids_to_tokens(found["input_ids"][0])
    assert words == [
        "[CLS]", "[PASSAGE]", "pain", "old", "young", "stroke", "statins", "help", "the", "old",
        "virus", "masks", "virus", "masks", "virus", "[SEP]",
    ]  # fmt: skip
    assert found["token_type_ids"][0].tolist() == [0] * 2 + [1] * 4 + [0] * 4 + [1] * 5 + [0]
    assert found["attention_mask"][1].tolist() == [1] * 4 + [0] * 12
    assert not found["token_type_ids"][1].any()
    titled = place_window("stroke", "pain old statins help the young", 9, 21)
    found = scoring.tokenize_texts(ready.model, ready.tokenizer, [titled], replace(PAPER, max_length=16), False)
    assert found["token_type_ids"][0].tolist() == [0, 0, 0, 1, 1, 0, 0, 1, 1, 0]  # a title belongs to its passage
    long = place_passage("pain " * 50, "statins " * 50, "virus " * 50)
    found = scoring.tokenize_texts(ready.model, ready.tokenizer, [long], replace(PAPER, max_length=16), False)
    assert not found["token_type_ids"].any()
    assert ready.tokenizer.convert_ids_to_tokens(found["input_ids"][0])[2:15] == ["statins"] * 13


def test_negatives_are_shown_in_their_documents_too(home: Path, tmp_path: Path) -> None:
    first, second = surround([Text("a", "", "", "statins help"), Text("b", "", "", "masks stop")])
    pairs = [
        Pair("claim", f"claim:{text.id}", text.id, split, "c", text.text, (text.id,), text, (replace(other, before=(), after=()),))
        for text, other, split in ((first, second, "train"), (second, first, "held-out"))
    ]  # fmt: skip
    write_lines(tmp_path / "claim.jsonl", pairs)
    (pair,) = load_pairs(tmp_path, PAPER, "train")["claim"]
    assert pair.negatives == (second,)
    example = make_example(pair, Share(), 1, Random(0), "surroundings")
    assert example.texts == (
        place_passage("", "statins help", "masks stop"),
        place_passage("statins help", "masks stop", ""),
    )
    (pair,) = load_pairs(tmp_path, replace(PAPER, windows="separate"), "train")["claim"]
    assert make_example(pair, Share(), 1, Random(0)).texts == ("statins help", "masks stop")


@torch.inference_mode()
def by_torch(ready: Checkpoint, recipe: Recipe) -> np.ndarray:
    found: Any = scoring.score_all(ready.model.eval(), ready.tokenizer, QUERIES, PASSAGES, recipe)
    return np.asarray(found.numpy())


def test_a_documents_passages_are_encoded_among_each_other(home: Path, tmp_path: Path) -> None:
    recipe = replace(PAPER, base=str(home / "bert"), steps=2)
    train(recipe, home / "pairs", tmp_path / "run")
    artifact = export_run(tmp_path / "run", home / "pairs", tmp_path / "model", queries=0)
    encoder = BiEncoder(artifact, form="fp32")
    assert encoder.reads_around
    document = ["statins help the old", "virus stop the young", "walking lower pain"]
    texts = place_in_document(document)
    assert [alone(text) for text in texts] == document
    found = encoder.encode_passages(texts)
    other = encoder.encode_passages(place_in_document([*document[:2], "masks raise sleep"]))
    assert np.abs(found[0] - other[0]).max() > 1e-2  # its vector depends on what is around it
    cached = CachedEncoder(encoder, tmp_path / "cache")
    for _ in range(2):
        assert np.allclose(cached.encode_passages(texts), found, atol=1e-5)
    assert not np.allclose(cached.encode_passages(document), found, atol=1e-2)


def by_runtime(artifact: Artifact) -> np.ndarray:
    if artifact.kind == "poly-encoder":
        poly = PolyEncoder(artifact, form="fp32")
        tokens = poly.encode_passages(PASSAGES)
        return np.stack([poly.score(query, tokens) for query in poly.encode_queries(QUERIES)])
    bi = BiEncoder(artifact, form="fp32")
    return bi.encode_queries(QUERIES) @ bi.encode_passages(PASSAGES).T


def as_stored(artifact: Artifact) -> np.ndarray:
    """What a search gets: a poly-encoder scores passages from what an index stores of them."""
    if artifact.kind != "poly-encoder":
        return by_runtime(artifact)
    poly = PolyEncoder(artifact, form="fp32")
    stored = poly.compress_passages(PASSAGES)
    return np.stack([poly.score_compressed(query, stored) for query in poly.encode_queries(QUERIES)])


@pytest.mark.parametrize("design", DESIGNS)
def test_it_trains_exports_and_serves_what_is_around_a_passage(design: str, home: Path, tmp_path: Path) -> None:
    recipe = replace(DESIGNS[design], base=str(home / "bert"))
    train(recipe, home / "pairs", tmp_path / "run")
    ready = load_checkpoint(tmp_path / "run/checkpoint", recipe.kind)
    assert isinstance(ready.model.passages, PassageLongformer)
    expected = by_torch(ready, recipe)
    artifact = export_run(tmp_path / "run", home / "pairs", tmp_path / "model", queries=4)
    tolerance = 1e-3 * max(1.0, float(np.abs(expected).max()))
    assert np.abs(by_runtime(artifact) - expected).max() < tolerance
    wanted = np.ones(expected.shape, dtype=bool)
    wanted[1, 2] = False
    models = Models(Settings(home=tmp_path / "home", form="fp32"))
    ranked = compare_exported(models, tmp_path / "model", QUERIES, PASSAGES, wanted)  # as suites rank
    assert np.abs(ranked - as_stored(artifact))[wanted].max() < tolerance
    assert np.corrcoef(ranked[wanted], expected[wanted])[0, 1] > 0.8  # 32 dimensions suffer from compression
    assert np.isneginf(ranked[1, 2])
    assert set(artifact.forms) == {"fp32", "int8", "fp16"}
    assert np.ptp(expected, axis=1).min() > 100 * tolerance  # texts are told apart
    further = load_initial(replace(recipe, base=str(tmp_path / "model"), positions=0))
    assert np.abs(by_torch(further, recipe) - expected).max() < tolerance


def test_the_gate_reads_as_many_tokens_however_long_passages_are() -> None:
    assert [fit_gate(192, "bi-encoder", tokens) for tokens in (128, 256, 512, 1024, 4096)] == [192, 192, 96, 48, 48]
    assert fit_gate(192, "cross-encoder", 512) == 192
    assert fit_gate(0, "bi-encoder", 4096) == 0
    assert fit_gate(4, "bi-encoder", 4096) == 4


@pytest.mark.parametrize("family", ["roberta", "longformer"])
def test_other_bases_train_and_export(family: str, home: Path, tmp_path: Path) -> None:
    recipe = replace(DESIGNS["poly"], base=str(home / family))
    if family == "longformer":
        recipe = replace(recipe, positions=0, max_length=79)
    train(recipe, home / "pairs", tmp_path / "run")
    expected = by_torch(load_checkpoint(tmp_path / "run/checkpoint", recipe.kind), recipe)
    artifact = export_run(tmp_path / "run", home / "pairs", tmp_path / "model", queries=0)
    assert np.abs(by_runtime(artifact) - expected).max() < 1e-3 * max(1.0, float(np.abs(expected).max()))


@pytest.mark.parametrize("kind", ["bi-encoder", "poly-encoder"])
def test_a_killed_run_goes_on_to_the_same_weights(kind: str, home: Path, tmp_path: Path, monkeypatch: Any) -> None:
    recipe = replace(PAPER, kind=kind, base=str(home / "bert"), save_every=2, dropout=0.1)
    train(recipe, home / "pairs", tmp_path / "whole")
    real, calls = optimise._step, []

    def killed(*arguments: Any) -> float:
        calls.append(1)
        if len(calls) == 4:  # after the state of step 2
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(optimise, "_step", killed)
    with pytest.raises(KeyboardInterrupt):
        train(recipe, home / "pairs", tmp_path / "cut")
    train(recipe, home / "pairs", tmp_path / "cut")
    assert len(calls) == 4 + 4
    states = [torch.load(tmp_path / name / "state.pt", weights_only=True)["model"] for name in ("whole", "cut")]
    assert all(torch.equal(value, states[1][name]) for name, value in states[0].items())


def test_layers_are_kept(home: Path, tmp_path: Path) -> None:
    for family in ("bert", "longformer"):
        write_base(
            tmp_path / family, family, layers=3, **({"attention_window": [8, 8, 4]} if family == "longformer" else {})
        )
        positions = 120 if family == "bert" else 0
        ready = load_initial(
            replace(PAPER, base=str(tmp_path / family), layers=(0, 2), positions=positions, max_length=60)
        )
        assert ready.model.config.attention_window == ([8, 8] if family == "bert" else [8, 4])
        assert len(ready.model.passages.encoder.layer) == 2
