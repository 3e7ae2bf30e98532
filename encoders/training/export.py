"""From a Hugging Face checkpoint to an artifact, through the gate: what does not agree with torch is never written."""

from __future__ import annotations

import json
import shutil
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx
import torch
from transformers import AutoModel, AutoModelForSequenceClassification, AutoTokenizer

from encoders.artifact import TOKENIZER, Artifact, Kind, Reading, describe, seal
from encoders.training import compact, gate
from mappings.errors import ModelError

OPSET = 17
INPUTS = ("input_ids", "attention_mask", "token_type_ids")


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A model in memory with its tokenizer: what a training run ends with, or `load` reads from a folder."""

    model: Any
    tokenizer: Any


def load(path: str | Path, kind: Kind) -> Checkpoint:
    """Read a Hugging Face checkpoint by folder or name. Raises `ModelError` for one that can't be read."""
    base = AutoModel if kind == "bi-encoder" else AutoModelForSequenceClassification
    try:
        model = base.from_pretrained(path, attn_implementation="eager", dtype=torch.float32)
        return Checkpoint(model, AutoTokenizer.from_pretrained(path, use_fast=True))
    except (OSError, ValueError, KeyError) as error:
        raise ModelError(
            f"{path} is no Hugging Face checkpoint that can be read: {error}", field="checkpoint"
        ) from error


def export(
    checkpoint: str | Path | Checkpoint,
    kind: Kind,
    out: Path,
    card: Mapping[str, Any],
    pairs: Sequence[tuple[str, str]],
    reading: Reading | None = None,
    judged: Sequence[gate.Judged] = (),
) -> Artifact:
    """Write the artifact of a checkpoint to `out`, or raise `ModelError` and leave nothing.

    `card` describes the model and must hold `name`; base, licence, training, data and scores belong there too.
    `pairs` are real (query, passage) texts, at least 32, for the gate; `judged` are held-out queries with judgements.
    """
    ready = load(checkpoint, kind) if isinstance(checkpoint, str | Path) else checkpoint
    reading = reading or Reading(pooling="mean" if kind == "bi-encoder" else "none", normalise=kind == "bi-encoder")
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{out.name}.", dir=out.parent) as scratch:
        work, final = Path(scratch) / "work", Path(scratch) / "model"
        work.mkdir()
        final.mkdir()
        _tokenizer(ready.tokenizer, final / TOKENIZER)
        fused = _fuse(_graph(ready.model, kind, work / "traced.onnx"), ready.model.config)
        plain = work / "plain.onnx"
        onnx.save(fused, plain)
        forms = compact.write(fused, final)
        dimension = int(ready.model.config.hidden_size) if kind == "bi-encoder" else 1
        manifest = describe(kind, dimension, reading, forms, card)
        artifact = seal(final, manifest)
        report = gate.check(ready.model, artifact, plain, pairs, judged)
        kept = {form: file for form, file in forms.items() if form in report["forms"]}
        for file in set(forms.values()) - set(kept.values()):
            (final / file).unlink()
        seal(final, {**manifest, "forms": kept, "gate": report})
        if out.exists():
            shutil.rmtree(out)
        final.rename(out)
    return Artifact.open(out)


def _tokenizer(tokenizer: Any, path: Path) -> None:
    """The fast tokenizer as compact JSON, without the padding and truncation of whoever used it last."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        raise ModelError("the checkpoint has no fast tokenizer (tokenizer.json); save one with it", field="checkpoint")
    content = json.loads(backend.to_str())
    content["padding"] = content["truncation"] = None
    path.write_text(json.dumps(content, ensure_ascii=False, separators=(",", ":")), encoding="utf-8")


class _Output(torch.nn.Module):
    """A model as a function of positional tensors, with one output: hidden states (n, t, d), or logits (n,)."""

    def __init__(self, model: Any, kind: Kind, names: Sequence[str]) -> None:
        super().__init__()
        self.model, self.kind, self.names = model, kind, tuple(names)

    def forward(self, *arrays: torch.Tensor) -> torch.Tensor:
        output = self.model(**dict(zip(self.names, arrays, strict=True)))
        return output.last_hidden_state if self.kind == "bi-encoder" else output.logits[:, -1]


def inputs_of(model: Any) -> list[str]:
    """The inputs that matter to the model: token types only where it has more than one."""
    typed = getattr(model.config, "type_vocab_size", 0) > 1
    return [name for name in INPUTS if name != "token_type_ids" or typed]


def _graph(model: Any, kind: Kind, path: Path) -> Path:
    names = inputs_of(model)
    wrapped = _Output(model, kind, names).eval()
    ids = torch.randint(5, 40, (2, 9))
    mask = torch.ones_like(ids)
    mask[1, 6:] = 0
    arrays = dict(zip(INPUTS, (ids, mask, torch.zeros_like(ids)), strict=True))
    axes = {name: {0: "batch", 1: "tokens"} for name in names} | {"output": {0: "batch"}}
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")  # the tracer warns about every shape that it makes a constant
        torch.onnx.export(
            wrapped, tuple(arrays[name] for name in names), str(path), input_names=names,
            output_names=["output"], opset_version=OPSET, dynamic_axes=axes, dynamo=False,
        )  # fmt: skip
    return path


def _fuse(path: Path, config: Any) -> onnx.ModelProto:
    """The graph with attention, layer norms and activations fused into ONNX Runtime's own operators."""
    from onnxruntime.transformers import optimizer

    fused = optimizer.optimize_model(
        str(path), model_type="bert", num_heads=config.num_attention_heads, hidden_size=config.hidden_size, opt_level=0
    )
    return fused.model
