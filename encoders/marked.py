"""A bi-encoder whose vectors keep apart what a text states and what it rules out, without training.

The vector of a text is the sum, at unit length, of

- the vector of its words without the mentions that it rules out,
- the mean direction of the names of the concepts that it states, times `Marking.stated` and their share of the words,
- the same of the concepts that it rules out, turned by a right angle, times `Marking.ruled_out` and their share.

The turn maps each pair of coordinates (x, y) to (-y, x). It keeps angles, so "no effusion" is as near to "no pleural
fluid" as "effusion" to "pleural fluid"; and it makes every vector perpendicular to itself, so "no effusion" and
"effusion" have nothing in common. Queries and passages are treated alike.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from encoders.cache import Encodes
from encoders.pooling import Floats, unit
from mappings.analysis.window_text import alone
from mappings.clinical.marking import MARKING_VERSION, MarkedText, shipped_marker
from mappings.marking import Marking

_MARK: Final = "+"
_SHOWN: Final = 12


class MarkedEncoder:
    """An encoder of marked texts over `encoder`, with a fingerprint of its own; implements `search.protocols.Encoder`.

    `encoder` reads words and names separately: with a cache, a concept's name is encoded once for all texts.
    """

    def __init__(self, encoder: Encodes, marking: Marking) -> None:
        self.encoder = encoder
        self.dimension = encoder.dimension
        self.fingerprint = mark_fingerprint(encoder.fingerprint, marking)
        self._marking = marking

    @property
    def form(self) -> str:
        """The numeric form of the wrapped encoder; "" if it has none."""
        return str(getattr(self.encoder, "form", ""))

    @property
    def tokens_run(self) -> int:
        """How many tokens the wrapped encoder has read so far; 0 if it does not count them."""
        return int(getattr(self.encoder, "tokens_run", 0))

    def encode_queries(self, texts: Sequence[str]) -> Floats:
        """Shape (n, d), unit rows, in input order."""
        return self._encode(texts, self.encoder.encode_queries)

    def encode_passages(self, texts: Sequence[str]) -> Floats:
        """Shape (n, d), unit rows, in input order."""
        return self._encode(texts, self.encoder.encode_passages)

    def encode_passages_within(self, texts: Sequence[str], seconds: float) -> Floats:
        """Like `encode_passages`; an encoder that supports time limits gets at most `seconds`."""
        timed = getattr(self.encoder, "encode_passages_within", None)
        return self._encode(texts, (lambda parts: timed(parts, seconds)) if timed else self.encoder.encode_passages)

    def _encode(self, texts: Sequence[str], encode: Callable[[Sequence[str]], Floats]) -> Floats:
        marked = [shipped_marker().mark(alone(text)) for text in texts]
        parts = list(dict.fromkeys(part for item in marked for part in self._parts(item)))
        vectors = dict(zip(parts, encode(parts), strict=True)) if parts else {}
        rows = [self._vector(item, vectors) for item in marked]
        return unit(np.stack(rows)) if rows else np.empty((0, self.dimension), np.float32)

    def _parts(self, item: MarkedText) -> list[str]:
        """The texts that the wrapped encoder reads for one marked text: a blank one has nothing but its words."""
        stated = item.stated if self._marking.stated else ()
        words = (item.words,) if item.words or not item.ruled_out else ()
        return [*words, *stated, *item.ruled_out]

    def _vector(self, item: MarkedText, vectors: dict[str, Floats]) -> Floats:
        total = np.zeros(self.dimension, np.float32)
        if item.words or not item.ruled_out:
            total += vectors[item.words]
        if item.stated and self._marking.stated:
            total += self._marking.stated * item.stated_share * _direction(item.stated, vectors)
        if item.ruled_out:
            total += self._marking.ruled_out * item.ruled_out_share * turn(_direction(item.ruled_out, vectors))
        return total


def turn(vector: Floats) -> Floats:
    """`vector`, shape (d,), turned by a right angle in each pair of coordinates; the last of an odd number stays."""
    turned = vector.copy()
    even = len(vector) // 2 * 2
    turned[0:even:2], turned[1:even:2] = -vector[1:even:2], vector[0:even:2]
    return turned


def _direction(names: Sequence[str], vectors: dict[str, Floats]) -> Floats:
    summed = np.stack([vectors[name] for name in names]).sum(axis=0, keepdims=True)
    return np.asarray(unit(summed)[0])


def mark_fingerprint(fingerprint: str, marking: Marking) -> str:
    """The fingerprint of an encoder with marking: that of the encoder, the version of the marking, and its weights."""
    return f"{fingerprint}{_MARK}{MARKING_VERSION}:{marking.stated:g}:{marking.ruled_out:g}"


def base_fingerprint(fingerprint: str) -> str:
    """The fingerprint of the encoder itself, of one with or without marking."""
    return fingerprint.partition(_MARK)[0]


def marking_of(fingerprint: str) -> Marking | None:
    """The marking that a fingerprint names; None without one, or with that of another version."""
    version, *weights = fingerprint.partition(_MARK)[2].split(":")
    if version != MARKING_VERSION or len(weights) != 2:
        return None
    try:
        return Marking(*map(float, weights))
    except ValueError:
        return None


def short_fingerprint(fingerprint: str) -> str:
    """A fingerprint as people read it: twelve digits of the encoder, and the marking where there is one."""
    base, mark, marking = fingerprint.partition(_MARK)
    return f"{base[:_SHOWN]}{mark}{marking}"
