from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from time import monotonic

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from tiny_models import BI, CROSS, FAMILIES, WORDS, config, tokenizer, write_base, write_pairs  # noqa: E402

from encoders.artifact import SHIPPED, Artifact  # noqa: E402
from encoders.labels.pairs import Pair, Text, write_lines  # noqa: E402
from encoders.runtime import CrossEncoder  # noqa: E402
from encoders.text import ModelTokenizer  # noqa: E402
from encoders.training.architectures import bases, checkpoint, scoring, weights  # noqa: E402
from encoders.training.export.restore import read_architecture  # noqa: E402
from encoders.training.export.service import Serving, export_run  # noqa: E402
from encoders.training.recipe import Recipe, Share  # noqa: E402
from encoders.training.runs.initial import load_initial  # noqa: E402
from encoders.training.runs.train import train  # noqa: E402
from mappings.errors import InvalidInput, ModelError, NotFound  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_pairs(tmp_path_factory.mktemp("pairs"))


@pytest.fixture
def bert(tmp_path: Path) -> Recipe:
    return replace(CROSS, base=str(write_base(tmp_path / "base", max_position_embeddings=512)))


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
    assert train(recipe, tmp_path / "pairs", tmp_path / "run")["held_out"]["trained"]["mean"] == {
        "RR": 1.0,
        "Success@1": 1.0,
    }
    state = torch.load(tmp_path / "run/state.pt", weights_only=True)["model"]
    assert {value.dtype for value in state.values() if value.is_floating_point()} == {torch.float32}


def test_scores_do_not_depend_on_what_is_computed_together(bert: Recipe, tmp_path: Path) -> None:
    ready = load_initial(replace(bert, dropout=0.0))
    model, tokenizer = ready.model.eval(), ready.tokenizer
    texts = [" ".join(WORDS[: 1 + number % 9]) for number in range(2 * scoring.CPU_BATCH + 3)]
    queries = [WORDS[number % 5] for number in range(len(texts))]
    with torch.inference_mode():
        together = scoring.score_pairs(model, tokenizer, queries, texts, bert)
        alone = [scoring.score_pairs(model, tokenizer, [q], [t], bert)[0] for q, t in zip(queries, texts, strict=True)]
    assert torch.allclose(together, torch.stack(alone), atol=1e-5)


def test_a_shipped_model_is_a_base_by_its_name() -> None:
    plan = read_architecture(Artifact.open(SHIPPED / "medley-crossencoder"))
    shipped = replace(CROSS, base="medley-crossencoder", head=plan.head, cut=plan.cut, dropout=0.0)
    ready = load_initial(shipped)
    model, tokenizer = ready.model, ready.tokenizer
    assert {module.p for module in model.modules() if isinstance(module, torch.nn.Dropout)} == {0.0}
    assert tokenizer.mask_token == "[MASK]"
    with torch.inference_mode():
        right, wrong = scoring.score_pairs(
            model, tokenizer, ["aspirin lowers fever"] * 2, ["Aspirin reduced fever.", "The eye has a lens."], shipped
        )
    assert right > wrong


def test_frozen_weights_stay_and_a_soup_lies_between(bert: Recipe, pairs: Path, tmp_path: Path) -> None:
    recipe = replace(bert, kind="bi-encoder", objective="contrastive", negatives=1, frozen=("embeddings",))
    train(recipe, pairs, tmp_path / "full")
    train(replace(recipe, soup=0.25), pairs, tmp_path / "mixed")
    folders = (bert.base, tmp_path / "full/checkpoint", tmp_path / "mixed/checkpoint")
    base, full, mixed = (
        load_initial(replace(recipe, base=str(folder))).model.passages.state_dict() for folder in folders
    )
    key = "encoder.layer.0.attention.self.query.weight"
    assert torch.equal(base["embeddings.word_embeddings.weight"], full["embeddings.word_embeddings.weight"])
    assert not torch.equal(base[key], full[key])
    assert torch.allclose(mixed[key], 0.25 * full[key] + 0.75 * base[key], atol=1e-6)


@pytest.mark.parametrize("name", ["/nowhere", "./nowhere", "~no-such-user/nowhere", "a/b/c"])
def test_a_base_that_is_a_path_is_a_folder(name: str) -> None:
    message = re.escape(f"{name} is not a Hugging Face checkpoint: config.json is missing")
    with pytest.raises(ModelError, match=message):
        load_initial(replace(BI, base=name))
    with pytest.raises(ModelError, match=message):
        checkpoint.load_checkpoint(name, "bi-encoder")


@pytest.mark.parametrize("name", ["minilmm", "no such name"])
def test_a_misspelt_base_is_named_at_once(
    name: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    began = monotonic()
    with pytest.raises(
        ModelError, match=rf"no folder '{name}'.*owner/model, minilm, or .*: medley-biencoder"
    ) as caught:
        load_initial(replace(BI, base=name))
    assert monotonic() - began < 5
    assert (caught.value.field, capfd.readouterr().err) == ("base", "")


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ('{"model_type": "t5"}', "belongs to the family 't5'; supported are BERT"),
        ("{broken", r"config\.json is not valid JSON"),
        ("[]", r"config\.json is not a JSON object"),
    ],
)
def test_what_a_foreign_folder_is_is_told(tmp_path: Path, config: str, message: str) -> None:
    (tmp_path / "config.json").write_text(config)
    with pytest.raises(ModelError, match=message):
        load_initial(replace(BI, base=str(tmp_path)))


def test_a_cached_base_needs_no_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = tmp_path / "models--owner--tiny"
    write_base(cache / "snapshots/0123")
    (cache / "refs").mkdir()
    (cache / "refs/main").write_text("0123")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert bases.locate_checkpoint("owner/tiny", "base") == str(cache / "snapshots/0123")
    assert load_initial(replace(BI, base="owner/tiny")).tokenizer.tokenize("statins") == ["statins"]
    (cache / "snapshots/0123/model.safetensors").unlink()
    with pytest.raises(ModelError, match="no checkpoint of that name could be downloaded"):
        load_initial(replace(BI, base="owner/tiny"))


def test_a_base_in_the_home_folder_can_be_named_by_a_tilde(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = write_base(tmp_path / "base")
    assert bases.resolve_base("~/base") == bases.locate_checkpoint("~/base", "base") == str(folder)
    assert load_initial(replace(BI, base="~/base")).tokenizer.tokenize("statins") == ["statins"]
    (tmp_path / "model").mkdir()
    (tmp_path / "model/model.json").touch()
    assert bases.is_artifact("~/model")


@pytest.mark.parametrize("family", FAMILIES)
def test_a_checkpoint_without_a_tokenizer_is_refused(tmp_path: Path, family: str) -> None:
    folder = write_base(tmp_path / "base", family)
    for file in folder.glob("*token*"):
        file.unlink()
    with pytest.raises(ModelError, match=r"base has no tokenizer.*tokenizer\.json.* is missing"):
        load_initial(replace(BI, base=str(folder)))
    with pytest.raises(ModelError, match="has no tokenizer"):
        checkpoint.load_checkpoint(folder, "bi-encoder")


@pytest.mark.parametrize("name", ["model.safetensors", "head.safetensors"])
def test_cut_off_weights_are_named(bert: Recipe, tmp_path: Path, name: str) -> None:
    recipe = replace(bert, head="interaction")
    ready = load_initial(recipe)
    checkpoint.save_checkpoint(ready.model, ready.tokenizer, tmp_path / "cut", ready.architecture)
    path = tmp_path / "cut" / name
    path.write_bytes(path.read_bytes()[:-50])
    with pytest.raises(ModelError, match=f"no checkpoint could be loaded from '{path.parent}'"):
        load_initial(replace(recipe, base=str(path.parent)))
    with pytest.raises(ModelError, match=f"{path.parent} is not a readable Hugging Face checkpoint"):
        checkpoint.load_checkpoint(path.parent, "cross-encoder")


def test_a_base_stored_in_half_precision_is_trained_in_single(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = transformers.AutoModel.from_config(config("bert")).half()
    checkpoint.save_checkpoint(model, tokenizer("bert"), tmp_path)
    assert "float16" in (tmp_path / "config.json").read_text()
    for recipe in (BI, CROSS):
        trained = load_initial(replace(recipe, base=str(tmp_path))).model
        assert {weight.dtype for weight in trained.parameters()} == {torch.float32}


@pytest.mark.parametrize(("family", "most"), [("bert", 40), ("roberta", 38), ("mpnet", 38)])
def test_a_length_beyond_the_base_is_refused(tmp_path: Path, family: str, most: int) -> None:
    base = str(write_base(tmp_path, family, max_position_embeddings=40))
    assert load_initial(replace(BI, base=base, max_length=most, max_query=most))
    for name in ("max_length", "max_query"):
        lengths = {"max_length": most, "max_query": most, name: most + 1}
        with pytest.raises(InvalidInput, match=f"{name} is {most + 1}; the base has positions for {most} tokens"):
            load_initial(replace(BI, base=base, **lengths))


@pytest.mark.parametrize(
    ("frozen", "said"), [(("embedings",), "no weight of the base has such a name"), (("e",), "no weight to")]
)
def test_frozen_names_some_weights_and_not_all(bert: Recipe, frozen: tuple[str, ...], said: str) -> None:
    with pytest.raises(InvalidInput, match=said) as caught:
        weights.freeze(load_initial(bert).model, frozen)
    assert caught.value.field == "frozen"


@pytest.mark.parametrize("family", FAMILIES)
def test_by_default_the_words_of_every_family_stay(tmp_path: Path, family: str) -> None:
    model = load_initial(replace(BI, base=str(write_base(tmp_path, family)))).model
    weights.freeze(model, Recipe("x", "bi-encoder", "contrastive", {"a": Share()}).frozen)
    fixed = [name for name, weight in model.named_parameters() if not weight.requires_grad]
    assert [name.partition("word_embedding")[1] for name in fixed] == ["word_embedding"]


def test_a_finished_run_ships_with_its_card(bert: Recipe, pairs: Path, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="the run has not finished"):
        export_run(tmp_path / "run", pairs, tmp_path / "model")
    (pairs / "counts.json").write_text('{"dropped": {"twins": 3}}')
    report = train(bert, pairs, tmp_path / "run")
    kept = sorted((tmp_path / "run").rglob("*"))
    for place in ("run", "run/checkpoint", "run/model", "."):
        with pytest.raises(InvalidInput, match=r"is, contains or is inside .*run, which is being exported"):
            export_run(tmp_path / "run", pairs, tmp_path / place, queries=0)
    assert sorted((tmp_path / "run").rglob("*")) == kept
    artifact = export_run(tmp_path / "run", pairs, tmp_path / "model", queries=0)
    (pairs / "counts.json").unlink()
    card = artifact.manifest["card"]
    assert (artifact.name, artifact.kind, artifact.reading.passage_tokens) == ("model", "cross-encoder", 512)
    assert card["data"] == {"training_pairs": {"claim": 8}, "dropped": {"twins": 3}}
    assert card["held_out"] == report["held_out"]
    assert card["recipe"]["name"] == "tiny"
    assert [set(entry) for entry in card["log"]] == [{"step", "steps", "loss", "seconds_per_step"}]
    assert card["base"] == bert.base

    with pytest.raises(InvalidInput, match="read is 600; the base has positions for 512 tokens"):
        export_run(tmp_path / "run", pairs, tmp_path / "long", queries=0, serving=Serving(read=600))
    with pytest.raises(InvalidInput, match="read_query is 600; the base has positions for 512 tokens"):
        export_run(tmp_path / "run", pairs, tmp_path / "long", queries=0, serving=Serving(read_query=600))
    with pytest.raises(InvalidInput, match="read_query is 64, and both texts together have 64 tokens"):
        export_run(tmp_path / "run", pairs, tmp_path / "long", queries=0, serving=Serving(read=64, read_query=64))
    serving = Serving(read=64, seen=1, read_query=20)
    lean = export_run(tmp_path / "run", pairs, tmp_path / "lean", queries=0, serving=serving)
    known, all_known = (
        len(ModelTokenizer(m.folder / "tokenizer.json", m.reading)._tokenizer.get_vocab()) for m in (lean, artifact)
    )
    assert (lean.reading.passage_tokens, lean.reading.query_tokens) == (64, 20)
    assert lean.manifest["card"]["export"] == {"read": 64, "seen": 1, "read_query": 20}
    assert known < all_known
    query, texts = "aspirin stop", ["aspirin help the old", "masks help the old"]
    scores = [CrossEncoder(model, form="fp32").score(query, texts).tolist() for model in (lean, artifact)]
    assert scores[0] == pytest.approx(scores[1], abs=1e-4)

    further = train(replace(bert, base=str(artifact.folder)), pairs, tmp_path / "further")
    assert further["base"]["base"] == f"model {artifact.fingerprint[:12]}, itself from {bert.base}"
    assert further["held_out"]["base"]["claim"]["queries"] == 8
    with pytest.raises(ModelError, match="is a cross-encoder, not a bi-encoder"):
        load_initial(replace(BI, base=str(artifact.folder)))
