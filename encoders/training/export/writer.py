"""From a Hugging Face checkpoint to an artifact, through the gate: what does not agree with torch is never written."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import onnx

from encoders.artifact import MANIFEST, TOKENIZER, Artifact, Kind, Reading, describe, seal
from encoders.text import ModelTokenizer
from encoders.training.architectures.architecture import Architecture
from encoders.training.architectures.bi_encoder import Towers
from encoders.training.architectures.checkpoint import Checkpoint, load
from encoders.training.export import compact, gate, graphs, smoothing, towers
from encoders.training.export.restore import PLAN, places
from mappings.errors import InvalidInput, ModelError

CALIBRATION = 64
"""How many of the pairs show which activations are large."""


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

    A model directory that `out` held before is replaced; raises `InvalidInput` where it holds anything else.
    `card` describes the model and must hold `name`; base, licence, training, data and scores belong there too.
    `pairs` are real (query, passage) texts, at least 16, for the gate; `judged` are held-out queries with judgements.
    """
    may_write(out, *([Path(checkpoint)] if isinstance(checkpoint, str | Path) else []))
    ready = load(checkpoint, kind) if isinstance(checkpoint, str | Path) else checkpoint
    plan = ready.architecture or (Architecture.told(kind, reading) if reading else Architecture(kind))
    reading = reading or plan.reading(ready.model.config)
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{out.name}.", dir=out.parent) as scratch:
        final = Path(scratch) / "model"
        export_one = partial(_graph, reading=reading, card=card, pairs=pairs)
        if isinstance(ready.model, Towers):
            towers.write(ready, export_one, final, pairs, judged)
        else:
            export_one(ready, kind, final, judged=judged)
        if out.exists():
            shutil.rmtree(out)
        final.rename(out)
    return Artifact.open(out)


def may_write(out: Path, *sources: Path) -> None:
    """Raise `InvalidInput` where a model directory written to `out` would delete anything but an older one.

    `sources` are what is exported, and may be names of what is no folder.
    """
    place = out.resolve()
    for source in sources:
        there = source.resolve()
        if source.exists() and (place.is_relative_to(there) or there.is_relative_to(place)):
            raise InvalidInput(
                f"{out} is, holds or lies in {source}, which is exported: name another folder", field="OUT"
            )
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise InvalidInput(f"{out} is a file or a link: name a new folder, or that of an older model", field="OUT")
    if out.exists() and any(out.iterdir()) and not (out / MANIFEST).is_file():
        raise InvalidInput(
            f"{out} holds files and no {MANIFEST}, so it is no model directory to be replaced: name a new folder,"
            " an empty one, or that of an older model",
            field="OUT",
        )


def _graph(
    ready: Checkpoint,
    kind: Kind,
    folder: Path,
    reading: Reading,
    card: Mapping[str, Any],
    pairs: Sequence[tuple[str, str]],
    judged: Sequence[gate.Judged] = (),
) -> Artifact:
    """The artifact of a model that is one graph, in `folder`, which is made."""
    folder.mkdir()
    with tempfile.TemporaryDirectory(prefix=".work.", dir=folder.parent) as scratch:
        _tokenizer(ready.tokenizer, folder / TOKENIZER)
        fused = graphs.build(ready.model, Path(scratch))
        graph = graphs.plain_norms(fused)
        plain = Path(scratch) / "plain.onnx"
        onnx.save(graph, plain)
        architecture = ready.architecture or Architecture.told(kind, reading)
        (folder / PLAN).write_text(json.dumps(places(ready, architecture, graph)) + "\n", encoding="utf-8")
        inputs = ModelTokenizer(folder / TOKENIZER, reading).inputs(kind, pairs[:CALIBRATION])
        forms = compact.write(smoothing.smooth(graph, inputs), fused, folder)
        dimension = int(ready.model.config.hidden_size) if kind != "cross-encoder" else 1
        manifest = describe(kind, dimension, reading, forms, card)
        artifact = seal(folder, manifest)
        report = gate.check(ready.model, artifact, plain, pairs, judged)
    kept = {form: file for form, file in forms.items() if form in report["forms"]}
    for file in set(forms.values()) - set(kept.values()):
        (folder / file).unlink()
    return seal(folder, {**manifest, "forms": kept, "gate": report})


def _tokenizer(tokenizer: Any, path: Path) -> None:
    """The fast tokenizer as compact JSON, without the padding and truncation of whoever used it last."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        raise ModelError("the checkpoint has no fast tokenizer (tokenizer.json); save one with it", field="checkpoint")
    content = json.loads(backend.to_str())
    content["padding"] = content["truncation"] = None
    path.write_text(json.dumps(content, ensure_ascii=False, separators=(",", ":")), encoding="utf-8")
