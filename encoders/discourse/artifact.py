"""The directory of a discourse model: a manifest with the hash of each file, three graphs, the words and the known names."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from encoders.artifact import digest
from mappings.errors import ModelError

MANIFEST: Final = "discourse.json"
MODEL: Final = "model"
"""The folder of a finished run with the directory that serves."""
WORDS, NAMES = "words.npz", "names.npz"
ENTITIES, ASPECTS, DOCUMENTS = "entities.onnx", "aspects.onnx", "documents.onnx"
FILES: Final = (WORDS, NAMES, ENTITIES, ASPECTS, DOCUMENTS)
FORMAT: Final = 1


@dataclass(frozen=True, slots=True)
class DiscourseArtifact:
    """A verified directory. `dimension` is that of an entity's vector and of an aspect's, each."""

    folder: Path
    name: str
    dimension: int
    fingerprint: str
    manifest: Mapping[str, Any]

    @classmethod
    def open(cls, folder: Path) -> DiscourseArtifact:
        """Raises `ModelError`, which names the file, if one is missing or altered."""
        path = folder / MANIFEST
        try:
            manifest = json.loads(path.read_text(encoding="utf-8"))
            files = {name: str(manifest["files"][name]) for name in FILES}
            found = cls(folder, str(manifest["name"]), int(manifest["dimension"]), manifest["fingerprint"], manifest)
            version = manifest["format"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ModelError(f"{path} can't be read as a discourse model: {error!r}", field=str(path)) from None
        if version != FORMAT:
            raise ModelError(f"{path} has format {version!r}; this version reads format {FORMAT}", field=str(path))
        for name, expected in files.items():
            if not (folder / name).is_file() or digest(folder / name) != expected:
                raise ModelError(f"{folder / name} is missing or was altered: copy the directory again", field=name)
        if found.fingerprint != _fingerprint(files, found.dimension):
            raise ModelError(
                f"{path}: the fingerprint is not that of the files; export the model again", field=str(path)
            )
        return found


def seal_discourse(folder: Path, name: str, dimension: int, card: Mapping[str, Any]) -> DiscourseArtifact:
    """Write the manifest over the files of `folder`, then open and verify them. `card` tells where the model comes from."""
    files = {item: digest(folder / item) for item in FILES}
    manifest = {
        "format": FORMAT,
        "name": name,
        "dimension": dimension,
        "fingerprint": _fingerprint(files, dimension),
        "files": files,
        "card": dict(card),
    }
    partial = folder / f"{MANIFEST}.partial"
    partial.write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    partial.replace(folder / MANIFEST)
    return DiscourseArtifact.open(folder)


def _fingerprint(files: Mapping[str, str], dimension: int) -> str:
    decisive = {"files": {name: files[name] for name in FILES}, "dimension": dimension}
    return sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest()
