"""The directory of a discourse model: a manifest with the hash of each file, three graphs, the words and the known names.

A model whose sentences a transformer reads has that one in the subfolder `sentences`, as a model directory of its own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from encoders.artifact import Artifact, digest
from mappings.errors import ModelError

MANIFEST: Final = "discourse.json"
MODEL: Final = "model"
"""The folder of a finished run with the directory that serves."""
WORDS, NAMES = "words.npz", "names.npz"
ENTITIES, ASPECTS, DOCUMENTS = "entities.onnx", "aspects.onnx", "documents.onnx"
FILES: Final = (WORDS, NAMES, ENTITIES, ASPECTS, DOCUMENTS)
SENTENCES: Final = "sentences"
"""The subfolder with the bi-encoder that reads sentences, and its fingerprint in the manifest."""
FORMAT: Final = 2
"""Format 2 names an encoder of sentences. A model whose sentences are means of words has format 1, as before there was one."""


@dataclass(frozen=True, slots=True)
class DiscourseArtifact:
    """A verified directory. `dimension` is that of an entity's vector and of an aspect's, each.

    `sentences` is the encoder of sentences; None where they are the means of their words.
    """

    folder: Path
    name: str
    dimension: int
    fingerprint: str
    manifest: Mapping[str, Any]
    sentences: Artifact | None = None

    @classmethod
    def open(cls, folder: Path) -> DiscourseArtifact:
        """Raises `ModelError`, which names the file, if one is missing or altered, also in the encoder of sentences."""
        path = folder / MANIFEST
        try:
            manifest = json.loads(path.read_text(encoding="utf-8"))
            files = {name: str(manifest["files"][name]) for name in FILES}
            found = cls(folder, str(manifest["name"]), int(manifest["dimension"]), manifest["fingerprint"], manifest)
            version = manifest["format"]
            named = str(manifest[SENTENCES]) if version == FORMAT else ""
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ModelError(f"{path} can't be read as a discourse model: {error!r}", field=str(path)) from None
        if version not in range(1, FORMAT + 1):
            message = f"{path} has format {version!r}; this version reads formats up to {FORMAT}"
            raise ModelError(message, field=str(path))
        for name, expected in files.items():
            if not (folder / name).is_file() or digest(folder / name) != expected:
                raise ModelError(f"{folder / name} is missing or was altered: copy the directory again", field=name)
        if found.fingerprint != _fingerprint(files, found.dimension, named):
            raise ModelError(
                f"{path}: the fingerprint is not that of the files; export the model again", field=str(path)
            )
        return replace(found, sentences=_open_sentences(folder, named)) if version == FORMAT else found


def seal_discourse(
    folder: Path, name: str, dimension: int, card: Mapping[str, Any], sentences: Artifact | None = None
) -> DiscourseArtifact:
    """Write the manifest over the files of `folder`, then open and verify them.

    `card` tells where the model comes from; `sentences` is what the subfolder `sentences` holds.
    """
    files = {item: digest(folder / item) for item in FILES}
    named = sentences.fingerprint if sentences else ""
    manifest = {
        "format": FORMAT if named else 1,
        "name": name,
        "dimension": dimension,
        "fingerprint": _fingerprint(files, dimension, named),
        **({SENTENCES: named} if named else {}),
        "files": files,
        "card": dict(card),
    }
    partial = folder / f"{MANIFEST}.partial"
    partial.write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    partial.replace(folder / MANIFEST)
    return DiscourseArtifact.open(folder)


def _open_sentences(folder: Path, named: str) -> Artifact:
    """The encoder of sentences. Raises `ModelError` if a file of it is missing or altered, or if it is not the named one."""
    found = Artifact.open(folder / SENTENCES)
    if found.fingerprint != named:
        message = f"{found.folder} is not the encoder that {folder / MANIFEST} names: copy the directory again"
        raise ModelError(message, field=SENTENCES)
    return found


def _fingerprint(files: Mapping[str, str], dimension: int, sentences: str) -> str:
    decisive: dict[str, Any] = {"files": {name: files[name] for name in FILES}, "dimension": dimension}
    decisive |= {SENTENCES: sentences} if sentences else {}
    return sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest()
