"""Every architecture on every family: trained, exported, run without torch, restored, and the same each time."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the train extra is not installed")
pytest.importorskip("transformers", reason="the train extra is not installed")
pytest.importorskip("onnx", reason="the train extra is not installed")

from tiny_models import BI, CROSS, FAMILIES, WORDS, write_base, write_home  # noqa: E402

from encoders.artifact import BASIS, Artifact  # noqa: E402
from encoders.late.windows import WindowTokenizer  # noqa: E402
from encoders.poly import PolyEncoder  # noqa: E402
from encoders.runtime import BiEncoder, CrossEncoder  # noqa: E402
from encoders.text import ModelTokenizer  # noqa: E402
from encoders.training.architectures import bi_encoder, checkpoint, scoring  # noqa: E402
from encoders.training.architectures.architecture import Architecture  # noqa: E402
from encoders.training.export import compact, gate  # noqa: E402
from encoders.training.export import towers as two_towers  # noqa: E402
from encoders.training.export.service import export_run  # noqa: E402
from encoders.training.recipe import Recipe, Share  # noqa: E402
from encoders.training.runs.initial import load_initial  # noqa: E402
from encoders.training.runs.train import train  # noqa: E402
from mappings.analysis.window_text import place_window  # noqa: E402
from mappings.errors import ModelError  # noqa: E402

pytestmark = [
    pytest.mark.torch,
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),  # torch's exporter and transformers warn about their own internals
]
TASKS = {"claim": Share(repeat=10)}
PAPER = {"pooling": "cls", "similarity": "dot", "towers": "separate", "temperature": 1.0, "objective": "whole-batch"}
DESIGNS: dict[str, Recipe] = {
    "bi": BI,
    "bi-separate": replace(BI, **PAPER, markers="tokens", learning_rate=5e-4),
    "triplet": replace(BI, objective="triplet"),
    "poly": replace(BI, kind="poly-encoder", markers="template"),
    "poly-tokens": replace(BI, kind="poly-encoder", codes="tokens"),
    "poly-tokens-separate": replace(BI, kind="poly-encoder", codes="tokens", towers="separate"),
    "poly-separate": replace(BI, kind="poly-encoder", **PAPER, learning_rate=5e-4),
    "cls": CROSS,
    "two-class": replace(CROSS, objective="two-class"),
    "two-class-pairs": replace(CROSS, objective="two-class-pairs", batch=16),
    "interaction": replace(CROSS, head="interaction"),
}
QUERIES = [f"{word} stop" for word in WORDS[:6]]
PASSAGES = [f"{word} help the old" for word in WORDS[:4]] + ["the young sleep in pain", "masks"]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a base of each family, and pairs."""
    return write_home(tmp_path_factory.mktemp("home"), FAMILIES)


def by_torch(ready: checkpoint.Checkpoint, recipe: Recipe) -> np.ndarray:
    """Scores of each query with each passage."""
    model, tokenizer = ready.model.eval(), ready.tokenizer
    with torch.inference_mode():
        if recipe.kind == "cross-encoder":
            rows = [
                scoring.score_pairs(model, tokenizer, [query] * len(PASSAGES), PASSAGES, recipe) for query in QUERIES
            ]
            return torch.stack(rows).numpy()
        found: Any = scoring.score_all(model, tokenizer, QUERIES, PASSAGES, recipe)
        return found.numpy()


def by_runtime(artifact: Artifact) -> np.ndarray:
    if artifact.kind == "cross-encoder":
        encoder = CrossEncoder(artifact, form="fp32")
        return np.stack([encoder.score(query, PASSAGES) for query in QUERIES])
    if artifact.kind == "poly-encoder":
        poly = PolyEncoder(artifact, form="fp32")
        tokens = poly.encode_passages(PASSAGES)
        basis = np.load(artifact.folder / BASIS)
        assert np.allclose(basis.T @ basis, np.eye(basis.shape[1]), atol=1e-5)
        assert poly.format.codec.startswith(f"mean-{basis.shape[1]}x2-")
        return np.stack([poly.score(poly.encode_query(query), tokens) for query in QUERIES])
    bi = BiEncoder(artifact, form="fp32")
    return bi.encode_queries(QUERIES) @ bi.encode_passages(PASSAGES).T


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("family", FAMILIES)
def test_it_learns_and_is_the_same_wherever_it_runs(family: str, design: str, home: Path, tmp_path: Path) -> None:
    recipe = replace(DESIGNS[design], base=str(home / family), tasks=TASKS, threads=1, steps=10, dropout=0.0)
    train(recipe, home / "pairs", tmp_path / "run")
    entries = [json.loads(line) for line in (tmp_path / "run/log.jsonl").read_text().splitlines()]
    assert entries[-1]["step"] == 10
    assert falls(recipe, home, tmp_path)

    ready = checkpoint.load_checkpoint(tmp_path / "run/checkpoint", recipe.kind)
    expected = by_torch(ready, recipe)
    artifact = export_run(tmp_path / "run", home / "pairs", tmp_path / "model", queries=0)
    tolerance = 1e-3 * max(1.0, float(np.abs(expected).max()))
    assert np.abs(by_runtime(artifact) - expected).max() < tolerance
    further = load_initial(replace(recipe, base=str(tmp_path / "model")))
    assert np.abs(by_torch(further, recipe) - expected).max() < tolerance


@pytest.mark.parametrize("design", ["interaction", "poly", "poly-tokens"])
@pytest.mark.parametrize("family", ["bert", "xlnet"])
def test_every_form_orders_alike(
    family: str, design: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compact, "SMALL", 1024)  # so that the tiny products are stored as int8, smoothing and all
    monkeypatch.setattr(
        gate, "RANKS", 0.95
    )  # with nothing left in fp32, a few of so small a model's texts change places
    recipe = replace(DESIGNS[design], base=str(home / family), tasks=TASKS, threads=1, steps=10)
    train(recipe, home / "pairs", tmp_path / "run")
    artifact = export_run(tmp_path / "run", home / "pairs", tmp_path / "model", queries=0)
    found = artifact.manifest["gate"]
    figures = found.get("whole", found["forms"])
    assert set(figures) == {"fp32", "int8", "fp16"} == set(artifact.forms)
    assert min(row["spearman"] for row in figures.values()) >= 0.95


def test_a_compact_form_that_ranks_otherwise_as_a_whole_is_not_shipped(home: Path, tmp_path: Path, monkeypatch) -> None:
    recipe = replace(DESIGNS["poly"], base=str(home / "bert"), tasks=TASKS, threads=1, steps=4)
    train(recipe, home / "pairs", tmp_path / "run")
    true = two_towers._compare
    spoiled = {"int8": {"spearman": 0.5}}
    monkeypatch.setattr(two_towers, "_compare", lambda *given: spoiled.get(given[2]) or true(*given))
    artifact = export_run(tmp_path / "run", home / "pairs", tmp_path / "model", queries=4)
    assert set(artifact.forms) == {"fp32", "fp16"}
    assert artifact.manifest["gate"]["whole"]["int8"] == {"spearman": 0.5}
    assert not [file for file in artifact.folder.iterdir() if "int8" in file.name]
    assert abs(artifact.manifest["gate"]["whole"]["fp32"]["ndcg_change"]) <= gate.LOSS


@pytest.mark.parametrize("design", ["bi", "poly-tokens"])
@pytest.mark.parametrize("family", ["bert", "xlnet"])
def test_texts_of_like_length_together_give_the_same(
    family: str, design: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = replace(DESIGNS[design], base=str(home / family), dropout=0.0)
    torch.manual_seed(0)
    ready = load_initial(recipe)
    ready.model.eval()
    texts = [" ".join(WORDS[: 1 + number * 5 % 13]) for number in range(17)]
    found = []
    for together in (10_000, 40, 1):
        monkeypatch.setattr(bi_encoder, "CPU_BATCH_TOKENS", together)
        found.append(scoring.score_all(ready.model, ready.tokenizer, texts[:3], texts, recipe))
        found[-1].sum().backward()
    assert torch.allclose(found[1], found[0], atol=1e-5)
    assert torch.allclose(found[2], found[0], atol=1e-5)


def falls(recipe: Recipe, home: Path, tmp_path: Path) -> bool:
    """Whether the loss of the first batch is smaller after training than before."""
    from encoders.training.data.batches import load_pairs, plan_batches
    from encoders.training.objectives.losses import Objective

    (batch, *_) = plan_batches(load_pairs(home / "pairs", recipe, "train"), recipe)
    trained = replace(recipe, base=str(tmp_path / "run/checkpoint"))
    losses = []
    for chosen in (recipe, trained):
        torch.manual_seed(recipe.seed)
        ready = load_initial(chosen)
        with torch.inference_mode():
            losses.append(Objective(ready.model.eval(), ready.tokenizer, chosen).loss(batch).item())
    return losses[1] < losses[0]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_smaller_student_keeps_the_layers_that_are_named(family: str, home: Path, tmp_path: Path) -> None:
    write_base(tmp_path / "base", family, layers=4)
    whole = load_initial(replace(CROSS, base=str(tmp_path / "base")))
    small = load_initial(replace(CROSS, base=str(tmp_path / "base"), layers=(0, 3)))
    assert small.model.config.num_hidden_layers == 2
    theirs, mine = whole.model.state_dict(), small.model.state_dict()
    layers = {name for name in theirs if ".3." in name}
    assert layers
    assert all(torch.equal(theirs[name], mine[name.replace(".3.", ".1.")]) for name in layers)
    checkpoint.save_checkpoint(small.model, small.tokenizer, tmp_path / "small", small.architecture)
    again = checkpoint.load_checkpoint(tmp_path / "small", "cross-encoder")
    assert np.allclose(by_torch(again, CROSS), by_torch(small, CROSS), atol=1e-5)
    with pytest.raises(ModelError, match="layers contains 7; the base has 0 to 3"):
        load_initial(replace(CROSS, base=str(tmp_path / "base"), layers=(0, 7)))


@pytest.mark.parametrize("family", FAMILIES)
def test_scores_do_not_depend_on_padding(family: str, home: Path) -> None:
    for recipe in (
        CROSS,
        replace(CROSS, head="interaction"),
        replace(BI, pooling="cls"),
        replace(BI, kind="poly-encoder"),
    ):
        recipe = replace(recipe, base=str(home / family), dropout=0.0)
        ready = load_initial(recipe)
        together = by_torch(ready, recipe)
        model, tokenizer = ready.model.eval(), ready.tokenizer
        with torch.inference_mode():
            for place, passage in enumerate(PASSAGES):
                found = (
                    scoring.score_pairs(model, tokenizer, QUERIES[:1], [passage], recipe)
                    if recipe.kind == "cross-encoder"
                    else scoring.score_all(model, tokenizer, QUERIES[:1], [passage], recipe)
                )
                assert found.item() == pytest.approx(float(together[0, place]), abs=1e-4)


def test_marks_are_tokens_with_the_meaning_of_their_words(home: Path) -> None:
    ready = load_initial(replace(BI, base=str(home / "bert"), markers="tokens"))
    assert ready.tokenizer.tokenize("[QUERY] pain") == ["[QUERY]", "pain"]
    weight = ready.model.passages.get_input_embeddings().weight
    ids = ready.tokenizer.convert_tokens_to_ids(["[PASSAGE]", "passage", "[QUERY]", "query"])
    assert torch.equal(weight[ids[0]], weight[ids[1]])
    assert torch.equal(weight[ids[2]], weight[ids[3]])
    assert len(ready.tokenizer) == weight.shape[0]


LONG = " ".join(WORDS * 3)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("cut", ["end", "middle"])
@pytest.mark.parametrize("markers", ["none", "template", "tokens"])
def test_training_reads_what_serving_reads(family: str, cut: str, markers: str, home: Path, tmp_path: Path) -> None:
    recipe = replace(CROSS, base=str(home / family), cut=cut, markers=markers, max_length=24, max_query=9)
    ready = load_initial(recipe)
    ready.tokenizer.backend_tokenizer.save(str(tmp_path / "tokenizer.json"))
    reading = Architecture.from_recipe(recipe).reading(ready.model.config, recipe.max_query, recipe.max_length)
    tokenizer = ModelTokenizer(tmp_path / "tokenizer.json", reading)
    for query, text in (("pain", LONG), (LONG, LONG), ("pain stop", "masks help"), (LONG, "")):
        (served,) = tokenizer.tokenize_pairs(query, [text])
        trained = scoring.tokenize_pairs(ready.tokenizer, [query], [text], recipe)
        assert trained["input_ids"][0] == served.ids
        if "token_type_ids" in ready.tokenizer.model_input_names:
            assert trained["token_type_ids"][0] == served.types
    bi = replace(recipe, kind="bi-encoder", objective="contrastive")
    for is_query, tokens in ((True, tokenizer.tokenize_queries([LONG])), (False, tokenizer.tokenize_passages([LONG]))):
        ids = scoring.tokenize_texts(ready.model, ready.tokenizer, [LONG], bi, query=is_query)["input_ids"]
        assert ids[0].tolist() == tokens[0].ids


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("markers", ["none", "template"])
@pytest.mark.parametrize("windows", ["late", "late-context"])
@pytest.mark.parametrize("limit", [30, 78])
def test_training_pools_the_windows_that_serving_pools(
    family: str, markers: str, windows: str, limit: int, home: Path, tmp_path: Path
) -> None:
    recipe = replace(BI, base=str(home / family), markers=markers, windows=windows, max_length=limit, max_query=9)
    ready = load_initial(recipe)
    ready.tokenizer.backend_tokenizer.save(str(tmp_path / "tokenizer.json"))
    reading = Architecture.from_recipe(recipe).reading(ready.model.config, recipe.max_query, recipe.max_length)
    serving = WindowTokenizer(ModelTokenizer(tmp_path / "tokenizer.json", reading).underlying, reading)
    texts = [place_window("pain", LONG, 10, 40), place_window("", LONG, 0, 9), LONG, "pain"]
    trained = scoring.tokenize_texts(ready.model, ready.tokenizer, texts, recipe, query=False)
    for row, text in enumerate(texts):
        served, *further = serving.tokenize([text])
        real = trained["attention_mask"][row].bool()
        pooled = trained[bi_encoder.POOLED][row][real].nonzero().flatten().tolist()
        assert trained[bi_encoder.POOLED][row].sum() == len(pooled)
        assert len(pooled) <= real.sum() <= limit
        if not further:
            assert trained["input_ids"][row][real].tolist() == served.tokens.ids
            assert pooled == sorted(place for span in served.spans for place in range(span.first, span.last))


@pytest.mark.parametrize("family", FAMILIES)
def test_candidates_are_told_apart_in_bfloat16_too(family: str, home: Path) -> None:
    ready = load_initial(replace(CROSS, base=str(home / family), precision="bf16"))
    model = ready.model.eval()
    linear = [module for module in model.modules() if isinstance(module, torch.nn.Linear)][-1]
    with torch.no_grad():
        linear.bias.fill_(8.0)  # so that scores lie between few neighbours of bfloat16, which are .03 apart there
    texts = [f"{one} help {two}" for one in WORDS[:6] for two in WORDS[:6]]
    with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16):
        found = scoring.score_pairs(model, ready.tokenizer, ["masks stop"] * len(texts), texts, CROSS)
    assert found.dtype == torch.float32
    assert len(set(found.tolist())) > len(texts) / 2


def test_an_unsupported_family_is_refused_with_the_supported_ones(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    write_base(tmp_path)
    small = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}
    transformers.AutoModel.from_config(transformers.ElectraConfig(vocab_size=30, **small)).save_pretrained(tmp_path)
    with pytest.raises(
        ModelError, match="belongs to the family 'electra'; supported are BERT, RoBERTa, DistilBERT, MPNet, XLNet"
    ):
        load_initial(replace(BI, base=str(tmp_path)))


def test_a_head_goes_on_under_another_reading_and_one_that_is_lacking_is_named(home: Path, tmp_path: Path) -> None:
    recipe = replace(CROSS, base=str(home / "bert"), head="interaction", steps=1, threads=1)
    train(recipe, home / "pairs", tmp_path / "run")
    export_run(tmp_path / "run", home / "pairs", tmp_path / "model", queries=0)
    had, middle = load_initial(replace(recipe, base=str(tmp_path / "model"))), replace(recipe, cut="middle")
    assert had.model.head.importance.abs().max() > 0
    for base in ("model", "run/checkpoint"):
        kept = load_initial(replace(middle, base=str(tmp_path / base)))
        assert kept.architecture.cut == "middle"
        assert torch.equal(kept.model.head.importance, had.model.head.importance)
    poly = load_initial(replace(BI, kind="poly-encoder", base=str(tmp_path / "run/checkpoint"))).model
    assert torch.equal(poly.head.weight, torch.eye(32))
    with pytest.raises(ModelError, match=r"has the head 'interaction'.*needs 'cls'"):
        load_initial(replace(CROSS, base=str(tmp_path / "model")))
    with pytest.raises(ModelError, match="is a cross-encoder, not a bi-encoder"):
        load_initial(replace(BI, base=str(tmp_path / "model")))
