"""A document as CDV reads it: a sequence of sentences, each with flags that tell its place (Arnold et al. 2020, 4.1)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mappings.analysis.sentences import sentences
from mappings.documents import Sentence

MOST_SENTENCES: Final = 396
"""A longer document is cut; what is left out has no vector."""
MOST_WORDS: Final = 96
"""Of a longer sentence only the beginning counts."""
FLAGS: Final = ("document begins", "document ends", "paragraph begins", "paragraph ends", "list item")
_ITEM: Final = re.compile(r"\s*(?:[-*\u2022\u2013]|\(?\d{1,2}[.)])\s")


@dataclass(frozen=True, slots=True)
class SentenceSequence:
    """The sentences of a document, the number of the passage that each belongs to, and their flags, shape (sentences, 5).

    `left_out` counts the sentences beyond `MOST_SENTENCES`.
    """

    sentences: tuple[str, ...]
    passages: tuple[int, ...]
    flags: NDArray[np.float32]
    left_out: int = 0


def read_sentences(passages: Sequence[str]) -> SentenceSequence:
    """The sentences of passages in the order of the document; a passage begins and ends a paragraph, and so does a blank line."""
    texts: list[str] = []
    numbers: list[int] = []
    flags: list[tuple[int, int, int, int, int]] = []
    for number, passage in enumerate(passages):
        spans = sentences(passage)
        ends = [place for place, span in enumerate(spans) if _ends_paragraph(passage, spans, place)]
        for place, span in enumerate(spans):
            text = passage[span.start : span.end]
            begins = place == 0 or place - 1 in ends
            texts.append(text)
            numbers.append(number)
            flags.append((0, 0, begins, place in ends, _ITEM.match(f"{text} ") is not None))
    found = np.asarray(flags, np.float32).reshape(-1, len(FLAGS))
    if len(found):
        found[0, 0] = found[-1, 1] = 1
    kept = slice(MOST_SENTENCES)
    return SentenceSequence(tuple(texts[kept]), tuple(numbers[kept]), found[kept], max(0, len(texts) - MOST_SENTENCES))


def _ends_paragraph(text: str, spans: Sequence[Sentence], place: int) -> bool:
    if place == len(spans) - 1:
        return True
    here, following = spans[place], spans[place + 1]
    return "\n\n" in text[here.end : following.start]
