"""Export of every family of encoder: parity with torch, the gate, and the way back. Needs the train extra."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tiny import sentences

from encoders.artifact import SHIPPED, Artifact, Reading
from encoders.runtime import BiEncoder, CrossEncoder
from evaluation.bench.shared.workload import QUERIES, passages
from mappings.errors import InvalidInput, ModelError

torch = pytest.importorskip("torch", reason="the train extra is not installed")
pytest.importorskip("transformers", reason="the train extra is not installed")
pytest.importorskip("onnx", reason="the train extra is not installed")

from tiny_torch import CARD, FAMILIES, PAIRS, checkpoint  # noqa: E402

from encoders.training.architectures.checkpoint import Checkpoint, load_checkpoint  # noqa: E402
from encoders.training.export.gate import GateQuery, ndcg, passes, spearman  # noqa: E402
from encoders.training.export.restore import restore  # noqa: E402
from encoders.training.export.writer import write_artifact  # noqa: E402

pytestmark = [
    pytest.mark.torch,
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),  # torch's exporter and transformers warn about their own internals
]


def torch_outputs(
    ready: Checkpoint, texts: list[str], seconds: list[str] | None = None, limit: int = 64, cut: str = "end"
) -> np.ndarray:
    """Mean-pooled unit vectors, or logits, one input at a time through transformers alone."""
    outputs = []
    for number, text in enumerate(texts):
        second = [seconds[number]] if seconds else None
        truncation = cut == "end" and ("only_second" if seconds else True)
        batch = ready.tokenizer([text], second, return_tensors="pt", truncation=truncation, max_length=limit)
        if cut == "middle" and (over := batch["input_ids"].shape[1] - limit) > 0:
            places = [place for place, part in enumerate(batch.sequence_ids(0)) if part == 1]
            kept = round(0.4 * (len(places) - over))
            gone = places[kept : kept + over]
            stays = [place for place in range(batch["input_ids"].shape[1]) if place not in gone]
            batch = {name: values[:, stays] for name, values in batch.items()}
        if getattr(ready.model.config, "type_vocab_size", 0) < 2:
            batch.pop("token_type_ids", None)
        with torch.inference_mode():
            output = ready.model(**batch)
        outputs.append(output.logits[0, 0] if seconds else output.last_hidden_state[0].mean(dim=0))
    found = torch.stack(outputs).numpy()
    return found if seconds else found / np.linalg.norm(found, axis=1, keepdims=True)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_bi_encoder_agrees_with_torch_and_comes_back(family: str, tmp_path: Path) -> None:
    ready = checkpoint(family, head=False)
    artifact = write_artifact(ready, "bi-encoder", tmp_path / "tiny", CARD, PAIRS, Reading(passage_tokens=64))
    texts = [passage for _, passage in PAIRS]
    expected = torch_outputs(ready, texts)
    assert artifact.manifest["gate"]["torch"] >= 0.9999
    assert artifact.manifest["gate"]["forms"]["fp32"]["spearman"] >= 0.99
    # The stored weights are rounded to eight bits, so vectors agree to .999, not to the last digit.
    vectors = BiEncoder(artifact, form="fp32").encode_passages(texts)
    assert (vectors * expected).sum(axis=1).min() > 0.999
    # What was shipped can be restored, rounding included: there the agreement is exact to fp32.
    assert np.abs(vectors - torch_outputs(restore(artifact), texts)).max() < 1e-4


@pytest.mark.parametrize("family", FAMILIES)
def test_a_cross_encoder_agrees_with_torch_on_both_segments(family: str, tmp_path: Path) -> None:
    ready = checkpoint(family, head=True, seed=5)
    artifact = write_artifact(ready, "cross-encoder", tmp_path / "tiny", CARD, PAIRS, Reading("none", False, 32, 64))
    queries, passages = [query for query, _ in PAIRS], [passage for _, passage in PAIRS]
    scores = np.concatenate([CrossEncoder(artifact, form="fp32").score(query, [text]) for query, text in PAIRS])
    assert np.corrcoef(scores, torch_outputs(ready, queries, passages))[0, 1] > 0.999
    assert np.abs(scores - torch_outputs(restore(artifact), queries, passages)).max() < 1e-4


def test_token_types_reach_a_model_that_has_them(tmp_path: Path) -> None:
    artifact = write_artifact(checkpoint("Bert", True, 5), "cross-encoder", tmp_path / "tiny", CARD, PAIRS)
    encoder = CrossEncoder(artifact, form="fp32")
    assert {"input_ids", "attention_mask", "token_type_ids"} == encoder.model._inputs
    untyped = write_artifact(checkpoint("Roberta", True, 5), "cross-encoder", tmp_path / "untyped", CARD, PAIRS)
    assert {"input_ids", "attention_mask"} == CrossEncoder(untyped, form="fp32").model._inputs


def test_a_folder_exports_and_judgements_are_kept(tmp_path: Path) -> None:
    ready = checkpoint("Bert", head=False)
    ready.model.save_pretrained(tmp_path / "hf")
    ready.tokenizer.save_pretrained(tmp_path / "hf")
    judged = [
        GateQuery(query, tuple(sentences(12, seed=n)), (1.0, *[0.0] * 11)) for n, (query, _) in enumerate(PAIRS[:4])
    ]
    artifact = write_artifact(tmp_path / "hf", "bi-encoder", tmp_path / "tiny", CARD, PAIRS, gate_queries=judged)
    assert artifact.manifest["gate"]["judged"] == 4
    assert "ndcg_change" in artifact.manifest["gate"]["forms"]["fp32"]
    assert artifact.manifest["card"] == {"base": "random", "licence": "Apache-2.0"}
    assert (load_checkpoint(tmp_path / "hf", "bi-encoder").tokenizer("fever").input_ids) == ready.tokenizer(
        "fever"
    ).input_ids


def test_the_fingerprint_follows_the_weights_and_not_the_card(tmp_path: Path) -> None:
    first = write_artifact(checkpoint("Bert", False), "bi-encoder", tmp_path / "a", CARD, PAIRS)
    same = write_artifact(checkpoint("Bert", False), "bi-encoder", tmp_path / "b", CARD | {"name": "other"}, PAIRS)
    other = write_artifact(checkpoint("Bert", False, seed=9), "bi-encoder", tmp_path / "c", CARD, PAIRS)
    assert first.fingerprint == same.fingerprint != other.fingerprint


def test_a_failed_gate_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("encoders.training.export.gate.RANKS", 1.1)
    with pytest.raises(ModelError, match="Spearman must reach"):
        write_artifact(checkpoint("Bert", head=False), "bi-encoder", tmp_path / "tiny", CARD, PAIRS)
    assert list(tmp_path.iterdir()) == []


def test_an_export_needs_enough_pairs_and_a_readable_checkpoint(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="at least 16 real"):
        write_artifact(checkpoint("Bert", head=False), "bi-encoder", tmp_path / "tiny", CARD, PAIRS[:3])
    (tmp_path / "empty").mkdir()
    with pytest.raises(ModelError, match=r"empty is not a Hugging Face checkpoint: config\.json is missing"):
        write_artifact(tmp_path / "empty", "bi-encoder", tmp_path / "tiny", CARD, PAIRS)
    assert not (tmp_path / "tiny").exists()


@pytest.mark.parametrize("name", ["own", "hf", "hf/model", ".", "own/notes.txt", "link"])
def test_an_export_deletes_nothing_but_an_older_model(tmp_path: Path, name: str) -> None:
    ready = checkpoint("Bert", head=False)
    for part in (ready.model, ready.tokenizer):
        part.save_pretrained(tmp_path / "hf")
    (tmp_path / "own").mkdir()
    (tmp_path / "own/notes.txt").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "own", target_is_directory=True)
    before = {path: path.is_file() and path.read_bytes() for path in tmp_path.rglob("*")}
    with pytest.raises(InvalidInput) as caught:
        write_artifact(tmp_path / "hf", "bi-encoder", tmp_path / name, CARD, PAIRS)
    assert caught.value.field == "OUT"
    assert {path: path.is_file() and path.read_bytes() for path in tmp_path.rglob("*")} == before


def test_an_older_model_and_an_empty_folder_are_replaced(tmp_path: Path) -> None:
    first = write_artifact(checkpoint("Bert", False), "bi-encoder", tmp_path / "tiny", CARD, PAIRS)
    second = write_artifact(checkpoint("Bert", False, seed=9), "bi-encoder", tmp_path / "tiny", CARD, PAIRS)
    assert first.fingerprint != second.fingerprint == Artifact.open(tmp_path / "tiny").fingerprint
    (tmp_path / "empty").mkdir()
    assert write_artifact(checkpoint("Bert", False), "bi-encoder", tmp_path / "empty", CARD, PAIRS).name == "tiny"


def test_a_hand_written_artifact_says_nothing_about_torch(bi: Artifact) -> None:
    with pytest.raises(ModelError, match=r"torch\.json is missing"):
        restore(bi)


def test_rank_correlation_and_ndcg_by_hand() -> None:
    assert spearman(np.array([1.0, 2, 3, 4]), np.array([10.0, 20, 30, 40])) == pytest.approx(1)
    assert spearman(np.array([1.0, 2, 2, 3]), np.array([3.0, 2, 2, 1])) == pytest.approx(-1)
    assert ndcg(np.array([0.1, 0.9, 0.5]), [1, 0, 0]) == pytest.approx(0.5)
    assert ndcg(np.array([0.9, 0.1]), [1, 0]) == 1
    assert ndcg(np.array([0.9, 0.1]), [0, 0]) == 0


def test_what_is_no_number_passes_no_gate(tmp_path: Path) -> None:
    broken = np.array([np.nan, np.nan, 1.0, 2.0])
    assert spearman(broken, broken) == 0
    assert ndcg(np.array([np.nan, np.nan]), [1, 0]) == 0
    ready = checkpoint("Bert", head=False)
    with torch.no_grad():
        next(ready.model.encoder.parameters()).fill_(float("nan"))
    with pytest.raises(ModelError, match="outputs are NaN or infinite"):
        write_artifact(ready, "bi-encoder", tmp_path / "tiny", CARD, PAIRS)
    assert list(tmp_path.iterdir()) == []


def _shipped(kind: str) -> Artifact:
    for path in sorted(SHIPPED.glob("*/model.json")):
        artifact = Artifact.open(path.parent)
        if artifact.kind == kind:
            return artifact
    pytest.skip(f"no {kind} is shipped yet")


def test_the_shipped_models_agree_with_torch_on_their_own_weights() -> None:
    """fp32 against torch within 1e-3 of a logit and 1e-5 of a cosine; int8 within the compact gate."""
    bi, cross = _shipped("bi-encoder"), _shipped("cross-encoder")
    query, texts = QUERIES[0], passages(24, seed=11)
    expected = torch_outputs(restore(bi), texts, limit=bi.reading.passage_tokens)
    assert (BiEncoder(bi, form="fp32").encode_passages(texts) * expected).sum(axis=1).min() > 1 - 1e-5
    assert (BiEncoder(bi, form="int8").encode_passages(texts) * expected).sum(axis=1).min() > 0.99
    assert cross.reading.cut == "middle"
    logits = torch_outputs(restore(cross), [query] * 24, texts, cross.reading.passage_tokens, "middle")
    assert np.abs(CrossEncoder(cross, form="fp32").score(query, texts) - logits).max() < 1e-3
    assert spearman(CrossEncoder(cross, form="int8").score(query, texts), logits) > 0.98


@pytest.mark.parametrize(
    ("figures", "passed"),
    [
        ({"spearman": 0.99}, True),
        ({"spearman": 0.9899}, False),
        ({"spearman": 0.995, "ndcg_change": -0.005}, True),
        ({"spearman": 0.995, "ndcg_change": -0.0051}, False),
        ({"spearman": 0.995, "ndcg_change": 0.006}, True),  # a gain is no loss, and Spearman holds the ranks together
        ({"spearman": 0.98, "ndcg_change": 0.006}, False),
    ],
)
def test_a_form_may_not_lose(figures: dict[str, float], passed: bool) -> None:
    assert passes(figures) is passed
