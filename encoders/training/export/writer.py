"""Write a checkpoint as a model directory.

Before that it passes the gate: a model whose outputs differ from those of its torch original is never written.
"""

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
from encoders.training.architectures.checkpoint import Checkpoint, load_checkpoint
from encoders.training.export import compact, gate, graphs, smoothing, towers
from encoders.training.export.restore import PLAN, describe_model
from encoders.training.export.stance import split_head
from mappings.errors import InvalidInput, ModelError

CALIBRATION_PAIRS = 64
"""How many of the pairs are run to find large activations."""


def write_artifact(
    checkpoint: str | Path | Checkpoint,
    kind: Kind,
    out: Path,
    card: Mapping[str, Any],
    pairs: Sequence[tuple[str, str]],
    reading: Reading | None = None,
    gate_queries: Sequence[gate.GateQuery] = (),
) -> Artifact:
    """Write the model directory of a checkpoint to `out`, or raise `ModelError` and leave nothing behind.

    An older model directory at `out` is replaced; if `out` contains anything else, `InvalidInput` is raised. `card`
    describes the model and must have a `name`; base, licence, training, data and scores belong there, too. `pairs` are at
    least 16 real (query, passage) texts for the gate; `gate_queries` are held-out queries with judgements.
    """
    gate.require_pairs(pairs)
    check_target(out, *([Path(checkpoint)] if isinstance(checkpoint, str | Path) else []))
    loaded = load_checkpoint(checkpoint, kind) if isinstance(checkpoint, str | Path) else checkpoint
    architecture = loaded.architecture or (Architecture.from_reading(kind, reading) if reading else Architecture(kind))
    reading = reading or architecture.reading(loaded.model.config)
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{out.name}.", dir=out.parent) as scratch:
        staged = Path(scratch) / "model"
        write_graph = partial(_write_graph, reading=reading, card=card, pairs=pairs)
        if isinstance(loaded.model, Towers):
            towers.write(loaded, write_graph, staged, pairs, gate_queries)
        else:
            write_graph(loaded, kind, staged, gate_queries=gate_queries)
        if out.exists():
            shutil.rmtree(out)
        staged.rename(out)
    return Artifact.open(out)


def check_target(out: Path, *sources: Path) -> None:
    """Raise `InvalidInput` if writing a model directory to `out` would delete anything but an older one.

    `sources` are what is exported; they need not be folders that exist.
    """
    target = out.resolve()
    for source in sources:
        origin = source.resolve()
        if source.exists() and (target.is_relative_to(origin) or origin.is_relative_to(target)):
            raise InvalidInput(
                f"{out} is, contains or is inside {source}, which is being exported: name another folder", field="OUT"
            )
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise InvalidInput(
            f"{out} is a file or a link: name a new folder, or the folder of an older model", field="OUT"
        )
    if out.exists() and any(out.iterdir()) and not (out / MANIFEST).is_file():
        raise InvalidInput(
            f"{out} contains files but no {MANIFEST}, so it is not a model directory that can be replaced: name a new folder,"
            " an empty one, or the folder of an older model",
            field="OUT",
        )


def _write_graph(
    loaded: Checkpoint,
    kind: Kind,
    folder: Path,
    reading: Reading,
    card: Mapping[str, Any],
    pairs: Sequence[tuple[str, str]],
    gate_queries: Sequence[gate.GateQuery] = (),
) -> Artifact:
    """Write the model directory of a model with a single graph to the new folder `folder`."""
    folder.mkdir()
    loaded = split_head(loaded, folder)
    with tempfile.TemporaryDirectory(prefix=".work.", dir=folder.parent) as scratch:
        _write_tokenizer(loaded.tokenizer, folder / TOKENIZER)
        fused_graph = graphs.build_graph(loaded.model, Path(scratch))
        graph = graphs.unfuse_norms(fused_graph)
        reference_graph = Path(scratch) / "reference.onnx"
        onnx.save(graph, reference_graph)
        architecture = loaded.architecture or Architecture.from_reading(kind, reading)
        (folder / PLAN).write_text(json.dumps(describe_model(loaded, architecture, graph)) + "\n", encoding="utf-8")
        inputs = ModelTokenizer(folder / TOKENIZER, reading).tokenize_inputs(kind, pairs[:CALIBRATION_PAIRS])
        forms = compact.write_forms(smoothing.smooth(graph, inputs), fused_graph, folder)
        dimension = int(loaded.model.config.hidden_size) if kind != "cross-encoder" else 1
        manifest = describe(kind, dimension, reading, forms, card)
        artifact = seal(folder, manifest)  # the gate opens it as a search would, with every numeric form
        report = gate.check(loaded.model, artifact, reference_graph, pairs, gate_queries)
    kept = {form: file for form, file in forms.items() if form in report["forms"]}
    for file in set(forms.values()) - set(kept.values()):
        (folder / file).unlink()
    # Again: the forms that failed are gone, and the manifest gets the gate's report.
    return seal(folder, {**manifest, "forms": kept, "gate": report})


def _write_tokenizer(tokenizer: Any, path: Path) -> None:
    """Write the fast tokenizer as compact JSON, without the padding and truncation settings of its last use."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        raise ModelError("the checkpoint has no fast tokenizer; save tokenizer.json with it", field="checkpoint")
    content = json.loads(backend.to_str())
    content["padding"] = content["truncation"] = None
    path.write_text(json.dumps(content, ensure_ascii=False, separators=(",", ":")), encoding="utf-8")
