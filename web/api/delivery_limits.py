"""What bounds a request that delivers documents: its size once decompressed, and its lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from web.serving.request_watch import BrokenOff

MAX_RATIO: Final = 200
"""How many times its own size a gzip can contain. Records that repeat each other shrink to a fiftieth, bombs to a thousandth."""

FREE_BYTES: Final = 64 << 20
"""The ratio does not count up to here: decompressing this much takes a fraction of a second."""


class DeliveryTooLarge(BrokenOff):
    """The body exceeds a limit; the records before that point are complete."""

    code = "too_large"


@dataclass(frozen=True, slots=True)
class DeliveryLimits:
    """The most bytes, decompressed, and lines that one request can contain; 0: any number."""

    size: int
    lines: int

    def apply(self, content: Iterable[bytes]) -> Iterator[bytes]:
        """The content up to the first limit that it exceeds; there raises `DeliveryTooLarge`. Empty lines count, too."""
        size = lines = 0
        for piece in content:
            if self.lines and (begun := self._cut_lines(piece, lines)) is not None:
                yield begun
                raise DeliveryTooLarge(f"the request has more than {self.lines:,} lines")
            if self.size and size + len(piece) > self.size:
                yield piece[: self.size - size]
                raise DeliveryTooLarge(f"the request contains more than {self.size:,} bytes")
            yield piece
            size += len(piece)
            lines += piece.count(b"\n")

    def _cut_lines(self, piece: bytes, before: int) -> bytes | None:
        """The part of `piece` that is within the limit after `before` lines; None if all of it is."""
        if before + piece.count(b"\n") < self.lines:
            return None
        *_, rest = piece.split(b"\n", self.lines - before)
        return piece[: len(piece) - len(rest)] if rest else None


def check_ratio(received: int, size: int) -> None:
    """Raise `DeliveryTooLarge` if `received` bytes of gzip have become too many."""
    if size > FREE_BYTES and size > MAX_RATIO * received:
        raise DeliveryTooLarge(f"the gzip contains more than {MAX_RATIO} times its own size")
