"""Words that no other text holds, and a search for them in the bytes of every file, packed as stores pack them, too."""

from __future__ import annotations

import base64
import random
from collections.abc import Iterable
from pathlib import Path

from mappings.documents import Document
from search.engines import codec

_SLICE = 16


class Markers:
    """Makes words that can be told from everything else by their first letters, in any form that a file can hold."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.words: list[str] = []
        self.packed: list[bytes] = []

    def word(self) -> str:
        """A new word. Stemming can cut its end, so only its start is looked for."""
        made = "".join(self._random.choices("bcdfghjklmnpqrtvwxz", k=12))
        self.words.append(made)
        return f"{made}oma"

    def mark(self, document: Document) -> Document:
        """The document, whose packed form is looked for, too."""
        packed = codec.pack(codec.dump(document))
        middle = len(packed) // 2 // 3 * 3
        self.packed += [packed[middle : middle + _SLICE], base64.b64encode(packed)[middle * 4 // 3 :][:_SLICE]]
        return document

    def found(self, folder: Path) -> list[str]:
        """Each word and packed document that a file under `folder` holds, with the name of the file."""
        wanted = [word.encode() for word in self.words] + self.packed
        return [
            f"{path.relative_to(folder)}: {item!r}"
            for path in files(folder)
            for content in [_content(path)]
            for item in wanted
            if item in content
        ]


def files(folder: Path) -> Iterable[Path]:
    """Every file under `folder`."""
    return (path for path in sorted(folder.rglob("*")) if path.is_file())


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:  # a node removes files at any time
        return b""
