"""Tiny models: artifacts written by hand (no torch, no onnx), and random checkpoints of several families (torch)."""

from __future__ import annotations

import json
import string
from pathlib import Path

import numpy as np
import onnx_bytes as ob
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from encoders.artifact import STANCE_HEAD, TOKENIZER, WEIGHTS, Artifact, Kind, Reading, describe, seal
from encoders.stances import HIDDEN
from mappings.stances import STANCES

SPECIALS = ("[PAD]", "[CLS]", "[SEP]", "[UNK]")
WORDS = [
    "aspirin",
    "fever",
    "stroke",
    "heart",
    "pain",
    "cough",
    "the",
    "of",
    "and",
    "in",
    "with",
    "trial",
    "patients",
    "dose",
    "risk",
    "lung",
    "renal",
    "acute",
    "chronic",
]
VOCABULARY = {
    token: number
    for number, token in enumerate(
        [*SPECIALS, *string.ascii_lowercase, *(f"##{letter}" for letter in string.ascii_lowercase), *WORDS]
    )
}
WIDTH = 8


def word_pieces(pair_types: bool = True) -> Tokenizer:
    """A WordPiece tokenizer over letters and a few words, with BERT's templates."""
    tokenizer = Tokenizer(models.WordPiece(VOCABULARY, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    second = 1 if pair_types else 0
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair=f"[CLS] $A [SEP] $B:{second} [SEP]:{second}",
        special_tokens=[("[CLS]", 1), ("[SEP]", 2)],
    )
    return tokenizer


def sentences(count: int, seed: int = 1) -> list[str]:
    """Random texts of 1 to 30 words, as different in length as real ones."""
    draw = np.random.default_rng(seed)
    return [" ".join(draw.choice(WORDS, size=draw.integers(1, 30))) for _ in range(count)]


def write_artifact(folder: Path, kind: Kind = "bi-encoder", reading: Reading | None = None) -> Artifact:
    """A model of one table: hidden states are its rows; a pair's logit is the sum of values by token and by segment.

    A stance classifier has a random head over the hidden states. One that reads surroundings sums the rows of all tokens.
    """
    folder.mkdir(parents=True)
    bi = kind in ("bi-encoder", "stance-classifier")
    if kind == "stance-classifier":
        np.savez(folder / STANCE_HEAD, **_head())
    table = np.random.default_rng(7).normal(size=(len(VOCABULARY), WIDTH if bi else 1)).astype(np.float32)
    around = reading is not None and reading.windows == "surroundings"
    if around:
        table[0] = 0  # padding
    (folder / WEIGHTS).write_bytes(table.tobytes())
    word_pieces().save(str(folder / TOKENIZER))
    stored = [ob.external("table", table, WEIGHTS, 0)]
    for form in ("fp32", "int8"):
        (folder / f"{form}.onnx").write_bytes(_bag(stored) if around else _lookup(stored) if bi else _scorer(stored))
    reading = reading or (Reading(query_tokens=16, passage_tokens=32) if bi else Reading("none", False, 16, 32))
    forms = {"fp32": "fp32.onnx", "int8": "int8.onnx"}
    card = {"name": folder.name, "licence": "Apache-2.0"}
    return seal(folder, describe(kind, WIDTH if bi else 1, reading, forms, card))


def _head() -> dict[str, np.ndarray]:
    draw = np.random.default_rng(5)
    shapes = {"evidence": (1, WIDTH), "hidden": (HIDDEN, 2 * WIDTH), "stance": (len(STANCES), HIDDEN)}
    weights = {f"{name}.weight": draw.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    return weights | {f"{name}.bias": np.zeros(shape[0], np.float32) for name, shape in shapes.items()}


def edit(folder: Path, **changes: object) -> None:
    """Change top-level entries of a model.json."""
    path = folder / "model.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


IDS = ob.value("input_ids", "int64", ["b", "t"])


def _lookup(tensors: list[bytes]) -> bytes:
    nodes = [ob.node("Gather", ["table", "input_ids"], "output")]
    return ob.model(nodes, tensors, [IDS], ob.value("output", "float32", ["b", "t", "d"]))


def _bag(tensors: list[bytes]) -> bytes:
    """One state (b, 1, d), as if of CLS: the sum over all tokens, so that it depends on each of them."""
    nodes = [
        ob.node("Gather", ["table", "input_ids"], "states"),
        ob.node("ReduceSum", ["states", "axis"], "output", {"keepdims": 1}),
    ]
    axis = ob.tensor("axis", np.array([1]))
    return ob.model(nodes, [*tensors, axis], [IDS], ob.value("output", "float32", ["b", "one", "d"]))


def _scorer(tensors: list[bytes]) -> bytes:
    """The sum over real tokens of value * (1 + segment), so that a lost segment or mask changes the logit."""
    axes, one = ob.tensor("axes", np.array([1, 2])), ob.tensor("one", np.array([1], dtype=np.float32))
    last = ob.tensor("last", np.array([2]))
    nodes = [
        ob.node("Gather", ["table", "input_ids"], "values"),
        ob.node("Cast", ["token_type_ids"], "segments", {"to": 1}),
        ob.node("Add", ["segments", "one"], "factors"),
        ob.node("Cast", ["attention_mask"], "real", {"to": 1}),
        ob.node("Mul", ["factors", "real"], "weights"),
        ob.node("Unsqueeze", ["weights", "last"], "wide"),
        ob.node("Mul", ["values", "wide"], "terms"),
        ob.node("ReduceSum", ["terms", "axes"], "output", {"keepdims": 0}),
    ]
    inputs = [IDS, *(ob.value(name, "int64", ["b", "t"]) for name in ("attention_mask", "token_type_ids"))]
    return ob.model(nodes, [*tensors, axes, one, last], inputs, ob.value("output", "float32", ["b"]))
