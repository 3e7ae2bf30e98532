"""Remembers the scores of earlier searches in memory that a gateway's processes share, so that all give one answer.

The processes of a gateway are forked from one, and a search reaches any of them. The memory holds hashes and numbers, no text.
"""

from __future__ import annotations

import hashlib
import math
import mmap
import struct
import zlib
from collections.abc import Sequence
from typing import Final

Scores = Sequence[Sequence[float | None]]
"""Lists of scores; None for what was not scored."""

_HEAD: Final = struct.Struct("<16sIH")  # hash of the key, checksum of the rest, how many lists
_LENGTH: Final = struct.Struct("<I")


class ScoreMemory:
    """`slots` lists of scores by key, of at most `slot_bytes` each; of two keys that need one slot, the newer stays.

    Processes forked later share it, without locks: a slot that two write at once fails its checksum and counts as empty. Memory
    is used only by slots that hold something.
    """

    def __init__(self, slots: int = 4_096, slot_bytes: int = 8_192) -> None:
        self._slots, self._bytes = slots, slot_bytes
        self._memory = mmap.mmap(-1, slots * slot_bytes)

    def get(self, key: tuple[object, ...]) -> Scores | None:
        """The scores kept under `key`, or None. Equal keys must have the same `repr` in every process."""
        name = _hash(key)
        start = self._start(name)
        kept, check, count = _HEAD.unpack_from(self._memory, start)
        if kept != name:
            return None
        body = self._memory[start + _HEAD.size : start + self._bytes]
        scores, used = _unpacked(body, count)
        return scores if zlib.crc32(body[:used]) == check else None

    def keep(self, key: tuple[object, ...], scores: Scores) -> Scores:
        """Keep `scores` unless there are some under `key` already; return those that are kept.

        Scores that need more than a slot are not kept.
        """
        known = self.get(key)
        if known is not None:
            return known
        name, body = _hash(key), _packed(scores)
        if _HEAD.size + len(body) <= self._bytes:
            start = self._start(name)
            entry = _HEAD.pack(name, zlib.crc32(body), len(scores)) + body
            self._memory[start : start + len(entry)] = entry
        return scores

    def _start(self, name: bytes) -> int:
        return int.from_bytes(name[:8], "little") % self._slots * self._bytes


def _hash(key: tuple[object, ...]) -> bytes:
    return hashlib.blake2b(repr(key).encode("utf-8", "replace"), digest_size=16).digest()


def _packed(scores: Scores) -> bytes:
    """The lists one after another, each with its length; NaN stands for None."""
    numbers = [[math.nan if score is None else score for score in each] for each in scores]
    return b"".join(_LENGTH.pack(len(each)) + struct.pack(f"<{len(each)}d", *each) for each in numbers)


def _unpacked(body: bytes, count: int) -> tuple[Scores, int]:
    """The lists and the bytes that they take; nothing where a damaged length leads out of the slot."""
    scores, at = [], 0
    for _ in range(count):
        if at + _LENGTH.size > len(body):
            return [], 0
        (length,) = _LENGTH.unpack_from(body, at)
        at += _LENGTH.size
        if at + 8 * length > len(body):
            return [], 0
        found = struct.unpack_from(f"<{length}d", body, at)
        scores.append([None if math.isnan(score) else score for score in found])
        at += 8 * length
    return scores, at
