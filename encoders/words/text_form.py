"""Reads vectors of words in text form: GloVe's files, word2vec's, and fastText's `.vec`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from encoders.words.vectors import WordVectors, split_words
from mappings.errors import InvalidInput

_LARGEST: Final = float(np.finfo(np.float16).max)


def read_text_vectors(path: Path, most: int) -> WordVectors:
    """The first `most` words of a file whose lines are a word and its numbers, perhaps after one with two counts.

    Words that `split_words` does not find, such as signs or phrases, are left out, as are further forms of one word ("The"
    after "the"). There are no n-grams in such a file, so other words have no vector. Raises `InvalidInput` that names the line.
    """
    words: dict[str, NDArray[np.float16]] = {}
    width = 0
    for number, word, values in _lines(path):
        if not width:
            width = len(values)
        if len(values) != width:
            raise InvalidInput(f"{path}, line {number}: {len(values)} numbers, where {width} were before", field="file")
        if split_words(word) == [word.lower()] and word.lower() not in words:
            words[word.lower()] = _vector(path, number, values)
            if len(words) == most:
                break
    if not words:
        raise InvalidInput(f"{path} has no line with a word and its numbers", field="file")
    return WordVectors(list(words), np.stack(list(words.values())), np.zeros((0, width), np.float16))


def _lines(path: Path) -> Iterator[tuple[int, str, list[str]]]:
    """(number, word, its numbers as text) of each line."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            for number, line in enumerate(file, 1):
                word, *values = line.rstrip().split(" ")
                is_count = number == 1 and len(values) == 1 and word.isdigit() and values[0].isdigit()
                if values and not is_count:
                    yield number, word, values
    except OSError as error:
        raise InvalidInput(f"{path} can't be read: {error.strerror}", field="file") from None


def _vector(path: Path, number: int, values: list[str]) -> NDArray[np.float16]:
    try:
        found = np.array(values, np.float64)
    except ValueError:
        raise InvalidInput(f"{path}, line {number}: not every value is a number", field="file") from None
    if not (np.abs(found) <= _LARGEST).all():
        raise InvalidInput(
            f"{path}, line {number}: a number is not finite, or too large for half precision", field="file"
        )
    return found.astype(np.float16)
