"""The chain of the access log: every line ends with its number, the hash of the line before and its own.

A line's own hash is the SHA-256 of the line up to it. The head, a small file beside the log, holds the last number and hash.
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from web.access.private_files import OWNER_ONLY

_TAIL: Final = re.compile(rb', "number": ([0-9]{1,18}), "before": "([0-9a-f]{64})", "chain": "([0-9a-f]{64})"\}\n?\Z')
_HEAD: Final = re.compile(rb"([0-9]{18}) ([0-9a-f]{64})\n")
_TAIL_BYTES: Final = 256
_HEAD_BYTES: Final = 84


@dataclass(frozen=True, slots=True)
class Link:
    """One line's place in the chain: its number, from 1, the hash of the line before, and its own."""

    number: int = 0
    before: str = ""
    chain: str = "0" * 64

    def follow(self, line: str) -> tuple[bytes, Link]:
        """The JSON object `line` as the next line of the chain, and its link."""
        opened = f'{line[:-1]}, "number": {self.number + 1}, "before": "{self.chain}"'
        own = sha256(opened.encode()).hexdigest()
        return f'{opened}, "chain": "{own}"}}\n'.encode(), Link(self.number + 1, self.chain, own)


START: Final = Link()


def link_of(line: bytes) -> Link | None:
    """The link at the end of a line, or of the end of a file; None if it ends otherwise."""
    found = _TAIL.search(line)
    return Link(int(found[1]), found[2].decode(), found[3].decode()) if found else None


def is_intact(line: bytes) -> bool:
    """Whether a line has the content that its own hash was taken of."""
    opened, _, rest = line.rpartition(b', "chain": "')
    return sha256(opened).hexdigest().encode() == rest[:64]


def last_link(descriptor: int) -> tuple[Link | None, bool]:
    """(link of the last line of an open file, whether the file ends with a whole line); reads only its end."""
    size = os.fstat(descriptor).st_size
    end = os.pread(descriptor, _TAIL_BYTES, max(0, size - _TAIL_BYTES))
    return link_of(end), not end or end.endswith(b"\n")


def head_path(log: Path) -> Path:
    """The head of a log."""
    return log.with_name(f"{log.name}.head")


@contextmanager
def held_head(log: Path) -> Iterator[int]:
    """Lock the chain of `log` for writing during the block, which gets the head's descriptor.

    The head is never renamed, so its lock holds across a rotation of the log. Raises `OSError`.
    """
    descriptor = os.open(head_path(log), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, OWNER_ONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


def read_head(descriptor: int) -> Link | None:
    """The last link by the head, without what came before it; None if the head is new or damaged."""
    found = _HEAD.fullmatch(os.pread(descriptor, _HEAD_BYTES + 1, 0))
    return Link(int(found[1]), "", found[2].decode()) if found else None


def write_head(descriptor: int, link: Link) -> None:
    """Write the head in place: it always has the same length, so a full disk does not hinder it. Raises `OSError`."""
    content = f"{link.number:018d} {link.chain}\n".encode()
    if os.pwrite(descriptor, content, 0) != len(content):
        raise OSError(0, "only part of the head could be written")
    os.ftruncate(descriptor, len(content))


def continue_from(descriptor: int, last: Link | None) -> tuple[Link, bool]:
    """(link that the next line follows, whether the head was lost), from the head and the link of the log's last line.

    A log that ends before its head was cut or rotated: the chain goes on from the head, so a cut stays visible. A log that
    ends after it was written by a process that was killed before it could write the head. Raises `OSError`.
    """
    head = read_head(descriptor)
    if head is None and last is None:
        write_head(descriptor, START)  # before the first line, so that a process killed after that line loses no head
        return START, False
    if head is None:
        return last or START, True
    return (last if last and last.number > head.number else head), False
