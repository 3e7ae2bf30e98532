"""What benches compare with: an artifact's own weights in sentence-transformers or in torch.

This and `evaluation.bench.systems` are where evaluation reaches torch. Every import of it is inside a function, because the other
benches run without the extras `train` and `bench`.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from encoders.artifact import Artifact
from encoders.pooling import Floats
from mappings.errors import InvalidInput, Unavailable

MODULES: Final = "sentence_transformers.models"
INSTALL: Final = "pip install -e '.[cpu,train,bench]'"


@contextmanager
def open_reference(artifact: Artifact) -> Iterator[Any]:
    """The artifact's own weights in sentence-transformers, in fp32 on the CPU. Raises `Unavailable` without it.

    A cross-encoder whose head it does not know runs there as the backbone under a plain head: the same work, other scores.
    """
    try:
        import sentence_transformers as theirs

        from encoders.training.architectures.checkpoint import save_checkpoint
    except ImportError as error:
        raise Unavailable(
            f"this bench compares with sentence-transformers and needs {error.name}: {INSTALL}"
        ) from error
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = _restore(artifact)
        if artifact.queries() is not artifact:
            raise InvalidInput(
                f"{artifact.name} has a second tower; sentence-transformers supports only one", field="model"
            )
        if not _has_plain_head(checkpoint):
            checkpoint = load_yardstick().classifier(checkpoint)
        save_checkpoint(checkpoint.model, checkpoint.tokenizer, Path(folder))
        yield _cross(theirs, artifact, folder) if artifact.kind == "cross-encoder" else _bi(theirs, artifact, folder)


def exact_scores(artifact: Artifact, pairs: Sequence[tuple[str, str]], theirs: Floats) -> Floats:
    """The scores of the weights in fp32: those of sentence-transformers where it knows the head, torch's otherwise."""
    if _has_plain_head(_restore(artifact)):
        return theirs
    found: Floats = load_yardstick().scores(artifact, pairs)
    return found


def load_yardstick() -> Any:
    """The module that runs a model in torch for comparison. Raises `ImportError` without the extra `train`."""
    from encoders.training.export import yardstick

    return yardstick


def _restore(artifact: Artifact) -> Any:
    from encoders.training.export.restore import restore

    return restore(artifact)


def _has_plain_head(checkpoint: Any) -> bool:
    """Whether sentence-transformers knows the head."""
    return bool(checkpoint.architecture.head == "cls")


def _cross(theirs: Any, artifact: Artifact, folder: str) -> Any:
    return theirs.CrossEncoder(folder, max_length=artifact.reading.passage_tokens, device="cpu")


def _bi(theirs: Any, artifact: Artifact, folder: str) -> Any:
    """Read from a directory in sentence-transformers' own form, which every version of it can read."""
    parts = ("Transformer", "Pooling", "Normalize")
    modules = [
        {"idx": number, "name": str(number), "path": f"{number}_{part}" if number else "", "type": f"{MODULES}.{part}"}
        for number, part in enumerate(parts)
    ]
    pooling = {
        "word_embedding_dimension": artifact.dimension,
        "pooling_mode_mean_tokens": artifact.reading.pooling == "mean",
        "pooling_mode_cls_token": artifact.reading.pooling == "cls",
    }
    root = Path(folder)
    _write_json(root / "modules.json", modules)
    _write_json(root / "sentence_bert_config.json", {"max_seq_length": artifact.reading.passage_tokens})
    _write_json(root / "1_Pooling" / "config.json", pooling)
    (root / "2_Normalize").mkdir()
    return theirs.SentenceTransformer(folder, device="cpu")


def _write_json(path: Path, content: Any) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")
