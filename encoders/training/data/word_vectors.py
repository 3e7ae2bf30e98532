"""The vectors of words that a recipe names: they are read by a run, and stay as they are."""

from __future__ import annotations

from pathlib import Path

from encoders.words.vectors import WordVectors
from mappings.errors import InvalidInput, NotFound


def open_words(path: str) -> WordVectors:
    """The vectors that a recipe names. Raises `InvalidInput` if it names none, `NotFound`, `ModelError`."""
    if not path:
        raise InvalidInput(
            "words is empty; give the file of word vectors, such as --set words=words.npz"
            " (`medley label words` writes one)",
            field="words",
        )
    if not Path(path).is_file():
        raise NotFound(
            f"there are no word vectors {path}; `medley label words LABELS {path}` makes some", field="words"
        )
    return WordVectors.load(Path(path))
