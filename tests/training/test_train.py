from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from encoders.labels.pairs import Pair, Text, write_lines  # noqa: E402
from encoders.runtime import CrossEncoder  # noqa: E402
from encoders.text import Reader  # noqa: E402
from encoders.training import bases, checkpoint, loop, models, run  # noqa: E402
from encoders.training.recipe import Recipe, Share  # noqa: E402
from encoders.training.ship import Serving, ship  # noqa: E402
from mappings.errors import InvalidInput, ModelError, NotFound  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
WORDS = [
    "statins",
    "aspirin",
    "walking",
    "masks",
    "stroke",
    "sleep",
    "pain",
    "virus",
    "lower",
    "raise",
    "stop",
    "help",
    "in",
    "the",
    "old",
    "young",
]
SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
CROSS = Recipe(
    "tiny", "cross-encoder", "listwise", {"claim": Share(repeat=4)}, learning_rate=5e-3, save_every=4, frozen=()
)
BI = replace(CROSS, kind="bi-encoder", objective="contrastive", negatives=1)


def configs() -> dict[str, object]:
    size = 64
    distil = transformers.DistilBertConfig(vocab_size=size, dim=32, n_layers=2, n_heads=2, hidden_dim=64)
    roberta = transformers.RobertaConfig(
        vocab_size=size, max_position_embeddings=80, pad_token_id=0, type_vocab_size=1, **SMALL
    )
    return {"bert": transformers.BertConfig(vocab_size=size, **SMALL), "distilbert": distil, "roberta": roberta}


@pytest.fixture(scope="module", params=["bert", "distilbert", "roberta"])
def base(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny random checkpoint of one family, with a vocabulary of sixteen words."""
    folder = tmp_path_factory.mktemp(request.param)
    (folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]))
    torch.manual_seed(0)
    tokenizer = transformers.BertTokenizerFast(str(folder / "vocab.txt"))
    tokenizer.model_input_names = ["input_ids", "attention_mask"]
    checkpoint.save(transformers.AutoModel.from_config(configs()[request.param]), tokenizer, folder)
    return folder


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Queries of one word whose answer holds that word, half of them held out."""
    folder = tmp_path_factory.mktemp("pairs")
    texts = {word: Text(word, "", "", f"{word} help the old") for word in WORDS[:8]}
    found = [
        Pair("claim", f"{split}:{word}", word, split, "c", f"{word} {asked}", (word,), text,
             tuple(other for other in texts.values() if other != text))
        for split, asked in (("train", "stop"), ("held-out", "raise"))
        for word, text in texts.items()
    ]  # fmt: skip
    write_lines(folder / "claim.jsonl", found)
    return folder


@pytest.mark.parametrize(
    "recipe", [CROSS, replace(CROSS, objective="pointwise"), BI], ids=["listwise", "pointwise", "bi"]
)
def test_any_family_trains_and_reports(base: Path, pairs: Path, tmp_path: Path, recipe: Recipe) -> None:
    recipe = replace(recipe, base=str(base))
    report = run.train(recipe, pairs, tmp_path)
    assert report == json.loads((tmp_path / "report.json").read_text())
    assert report["pairs"] == {"claim": 8}
    assert report["held_out"]["trained"]["claim"]["queries"] == 8
    steps = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert steps[-1]["step"] == steps[-1]["steps"] == 4
    bases.load(replace(recipe, base=str(tmp_path / "checkpoint")))


@pytest.fixture
def bert(tmp_path: Path) -> Recipe:
    torch.manual_seed(0)
    (tmp_path / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]))
    tokenizer = transformers.BertTokenizerFast(str(tmp_path / "vocab.txt"))
    checkpoint.save(transformers.AutoModel.from_config(configs()["bert"]), tokenizer, tmp_path / "base")
    return replace(CROSS, base=str(tmp_path / "base"))


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_training_learns_what_the_pairs_show(bert: Recipe, tmp_path: Path, precision: str) -> None:
    found = [
        Pair("claim", word, word, split, "c", word, (word,), Text(word, "", "", f"{word} help the old"),
             tuple(Text(f"{word}{other}", "", "", f"{other} stop the young") for other in WORDS[:5]))
        for split, words in (("train", WORDS[:8]), ("held-out", WORDS[8:12]))
        for word in words
    ]  # fmt: skip
    write_lines(tmp_path / "pairs/claim.jsonl", found)
    recipe = replace(bert, tasks={"claim": Share(repeat=30)}, learning_rate=1e-3, precision=precision)
    assert run.train(recipe, tmp_path / "pairs", tmp_path / "run")["held_out"]["trained"]["mean"] == {
        "RR": 1.0,
        "Success@1": 1.0,
    }
    state = torch.load(tmp_path / "run/state.pt", weights_only=True)["model"]
    assert {value.dtype for value in state.values() if value.is_floating_point()} == {torch.float32}


def test_scores_do_not_depend_on_what_is_computed_together(bert: Recipe, tmp_path: Path) -> None:
    ready = bases.load(replace(bert, dropout=0.0))
    model, tokenizer = ready.model.eval(), ready.tokenizer
    texts = [" ".join(WORDS[: 1 + number % 9]) for number in range(2 * models.TOGETHER + 3)]
    queries = [WORDS[number % 5] for number in range(len(texts))]
    with torch.inference_mode():
        together = models.score(model, tokenizer, queries, texts, bert)
        alone = [models.score(model, tokenizer, [q], [t], bert)[0] for q, t in zip(queries, texts, strict=True)]
    assert torch.allclose(together, torch.stack(alone), atol=1e-5)


def test_a_shipped_model_is_a_base_by_its_name() -> None:
    ready = bases.load(replace(CROSS, base="medley-crossencoder", dropout=0.0))
    model, tokenizer = ready.model, ready.tokenizer
    assert {module.p for module in model.modules() if isinstance(module, torch.nn.Dropout)} == {0.0}
    assert tokenizer.mask_token == "[MASK]"
    with torch.inference_mode():
        right, wrong = models.score(
            model, tokenizer, ["aspirin lowers fever"] * 2, ["Aspirin reduced fever.", "The eye has a lens."], CROSS
        )
    assert right > wrong


def test_a_killed_run_goes_on_to_the_same_weights(bert: Recipe, pairs: Path, tmp_path: Path, monkeypatch) -> None:
    recipe = replace(bert, tasks={"claim": Share(repeat=8)})
    run.train(recipe, pairs, tmp_path / "whole")
    real, calls = loop.loss_of, []

    def killed(*arguments):
        calls.append(1)
        if len(calls) == 7:  # after the checkpoint of step 4
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(loop, "loss_of", killed)
    with pytest.raises(KeyboardInterrupt):
        run.train(recipe, pairs, tmp_path / "cut")
    run.train(recipe, pairs, tmp_path / "cut")
    assert len(calls) == 7 + 4
    states = [torch.load(tmp_path / name / "state.pt", weights_only=True) for name in ("whole", "cut")]
    assert all(torch.equal(value, states[1]["model"][key]) for key, value in states[0]["model"].items())


def test_frozen_weights_stay_and_a_soup_lies_between(bert: Recipe, pairs: Path, tmp_path: Path) -> None:
    recipe = replace(bert, kind="bi-encoder", objective="contrastive", negatives=1, frozen=("embeddings",))
    run.train(recipe, pairs, tmp_path / "full")
    run.train(replace(recipe, soup=0.25), pairs, tmp_path / "mixed")
    folders = (bert.base, tmp_path / "full/checkpoint", tmp_path / "mixed/checkpoint")
    base, full, mixed = (
        bases.load(replace(recipe, base=str(folder))).model.passages.state_dict() for folder in folders
    )
    key = "encoder.layer.0.attention.self.query.weight"
    assert torch.equal(base["embeddings.word_embeddings.weight"], full["embeddings.word_embeddings.weight"])
    assert not torch.equal(base[key], full[key])
    assert torch.allclose(mixed[key], 0.25 * full[key] + 0.75 * base[key], atol=1e-6)


def test_an_unknown_base_is_named() -> None:
    with pytest.raises(ModelError, match="no checkpoint could be loaded from '/nowhere'"):
        bases.load(replace(BI, base="/nowhere"))


def test_the_learning_rate_rises_and_falls() -> None:
    recipe = replace(CROSS, learning_rate=1.0, warmup=0.2)
    rates = [loop.learning_rate(step, 10, recipe) for step in range(10)]
    assert rates[:2] == [0.5, 1.0]
    assert rates[2:] == sorted(rates[2:], reverse=True)
    assert rates[-1] > 0


def test_a_finished_run_ships_with_its_card(bert: Recipe, pairs: Path, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="the run has not finished"):
        ship(tmp_path / "run", pairs, tmp_path / "model")
    (pairs / "counts.json").write_text('{"dropped": {"twins": 3}}')
    report = run.train(bert, pairs, tmp_path / "run")
    artifact = ship(tmp_path / "run", pairs, tmp_path / "model", queries=0)
    (pairs / "counts.json").unlink()
    card = artifact.manifest["card"]
    assert (artifact.name, artifact.kind, artifact.reading.passage_tokens) == ("model", "cross-encoder", 512)
    assert card["data"] == {"training_pairs": {"claim": 8}, "dropped": {"twins": 3}}
    assert card["held_out"] == report["held_out"]
    assert card["recipe"]["name"] == "tiny"
    assert [set(entry) for entry in card["log"]] == [{"step", "steps", "loss", "seconds_per_step"}]
    assert card["base"] == bert.base

    with pytest.raises(InvalidInput, match="read is 600; the base has positions for 512 tokens"):
        ship(tmp_path / "run", pairs, tmp_path / "long", queries=0, serving=Serving(read=600))
    lean = ship(tmp_path / "run", pairs, tmp_path / "lean", queries=0, serving=Serving(read=64, seen=1))
    known, all_known = (
        len(Reader(m.folder / "tokenizer.json", m.reading)._tokenizer.get_vocab()) for m in (lean, artifact)
    )
    assert (lean.reading.passage_tokens, lean.manifest["card"]["export"]) == (64, {"read": 64, "seen": 1})
    assert known < all_known
    query, texts = "aspirin stop", ["aspirin help the old", "masks help the old"]
    scores = [CrossEncoder(model, form="fp32").score(query, texts).tolist() for model in (lean, artifact)]
    assert scores[0] == pytest.approx(scores[1], abs=1e-4)

    further = run.train(replace(bert, base=str(artifact.folder)), pairs, tmp_path / "further")
    assert further["base"]["base"] == f"model {artifact.fingerprint[:12]}, itself from {bert.base}"
    assert further["held_out"]["base"]["claim"]["queries"] == 8
    with pytest.raises(ModelError, match="is a cross-encoder, not a bi-encoder"):
        bases.load(replace(BI, base=str(artifact.folder)))
