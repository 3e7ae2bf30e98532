"""Reads the body of `POST /v1/documents` as it arrives: decompresses it, then splits, parses and batches its lines.

Memory is bounded by one batch and one line, however long the body is.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import IO, Any, Final

from werkzeug.exceptions import ClientDisconnected
from werkzeug.wsgi import get_input_stream

from mappings.collection import Collection
from mappings.documents import Deletion, Document, Rejection
from mappings.formats.files import TextLine, numbered_lines, parse_or_reject
from mappings.formats.jsonl import parse_record
from mappings.formats.records import record_of
from web.delivery.delivery_limits import BrokenOff, check_ratio
from web.serving.sockets import ClientSocket

MAX_LINE_BYTES: Final = 16 << 20
BATCH_DOCUMENTS: Final = 500
BATCH_BYTES: Final = 4_000_000
STALL_SECONDS: Final = 60.0
"""A client that sends nothing for this long is considered gone: other requests need the waiting thread."""

MAX_SHOWN_ID: Final = 512
_DISCARDED_BYTES: Final = 32 << 20
_DISCARD_SECONDS: Final = 10.0
_PIECE: Final = 1 << 16
_UNPACKED: Final = 1 << 16
_GZIP: Final = b"\x1f\x8b"


Check = Callable[[], None]
"""Raises `BrokenOff` if nobody needs the rest of a request any more; called between two pieces of it."""


@dataclass(frozen=True, slots=True)
class PostedRecord:
    """A record as it was sent: its line, counted from 1, its id, its size in bytes, and the parsed item."""

    line: int
    id: str | None
    size: int
    item: Document | Deletion | Rejection


def _no_check() -> None:
    """For a body that nothing interrupts."""


def body_of(environ: dict[str, Any], expected: int | None, check: Check = _no_check) -> Iterator[bytes]:
    """The body of a request, in pieces. Raises `BrokenOff` if it stalls or ends before `expected` bytes."""
    if connection := environ.get("gunicorn.socket"):
        connection.settimeout(STALL_SECONDS)
    return pieces(get_input_stream(environ), expected, check)


def pieces(stream: IO[bytes], expected: int | None, check: Check = _no_check) -> Iterator[bytes]:
    """The content of `stream`, in pieces.

    Raises `BrokenOff` if it ends before `expected` bytes, its announced length.
    """
    received = 0
    while piece := _read(stream, received):
        received += len(piece)
        yield piece
        check()
    # A server can mistake a dropped connection for the end of the body.
    if expected is not None and received < expected:
        raise BrokenOff(f"the request broke off after {received:,} of {expected:,} bytes")


def _read(stream: IO[bytes], received: int) -> bytes:
    try:
        return stream.read(_PIECE)
    except (OSError, ValueError, ClientDisconnected) as error:
        raise BrokenOff(f"the request broke off after {received:,} bytes") from error


def hurry(environ: dict[str, Any]) -> None:
    """Wait only briefly for the rest of a rejected body."""
    if isinstance(connection := environ.get("gunicorn.socket"), ClientSocket):
        connection.hurry(_DISCARD_SECONDS)


def discard(body: Iterator[bytes]) -> None:
    """Read the rest of a rejected body, up to a bound: many clients read the answer only after sending everything."""
    left, until = _DISCARDED_BYTES, time.monotonic() + _DISCARD_SECONDS
    try:
        while left > 0 and time.monotonic() < until:
            left -= len(next(body))
    except (StopIteration, BrokenOff):
        return


def unpacked(body: Iterator[bytes], declared: bool, check: Check = _no_check) -> Iterator[bytes]:
    """The body, decompressed if it is `declared` as gzip or starts like gzip.

    Raises `BrokenOff` if it is damaged, `DeliveryTooLarge` if it is a bomb.
    """
    first = next(body, b"")
    whole = chain([first], body)
    yield from _unzipped(whole, check) if declared or first.startswith(_GZIP) else whole


def _unzipped(body: Iterable[bytes], check: Check) -> Iterator[bytes]:
    decoder = _decoder()
    received = size = 0
    try:
        for piece in body:
            received += len(piece)
            rest = piece
            while rest:
                check()  # one piece can contain a thousand times its size
                if decoder.eof:  # a gzip file can have several members
                    decoder = _decoder()
                content = decoder.decompress(rest, _UNPACKED)
                size += len(content)
                check_ratio(received, size)
                yield content
                rest = decoder.unconsumed_tail or decoder.unused_data
        yield decoder.flush()
    except zlib.error as error:
        raise BrokenOff(f"the gzip is damaged ({error})") from error
    if not decoder.eof:
        raise BrokenOff("the gzip ends early")


def _decoder() -> Any:
    return zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)


def records(body: Iterator[bytes], collection: Collection) -> Iterator[PostedRecord]:
    """The records of a body, in order.

    An invalid one becomes a rejection, an empty line is skipped. Raises `BrokenOff`.
    """
    for number, line in numbered_lines("", body, MAX_LINE_BYTES, skip_blank=True):
        if isinstance(line, Rejection):
            yield PostedRecord(number, None, 0, line)
        elif line.content.strip():
            yield _parsed(number, line, collection)


def _parsed(number: int, line: TextLine, collection: Collection) -> PostedRecord:
    record = record_of(line)
    if isinstance(record, Rejection):
        return PostedRecord(number, None, 0, record)
    content = record[1]
    item = parse_or_reject("", line.position, partial(parse_record, content, collection)).item
    return PostedRecord(number, _shown_id(content.get("id")), len(line.content), item)


def _shown_id(identifier: object) -> str | None:
    """The id as the answer repeats it, truncated; None for a value that is not an id."""
    if isinstance(identifier, bool) or not isinstance(identifier, str | int):
        return None
    return str(identifier)[:MAX_SHOWN_ID]


def batches(posted: Iterable[PostedRecord]) -> Iterator[list[PostedRecord]]:
    """Group records into batches of bounded size.

    If the body breaks off, yields the complete records before it raises.
    """
    batch: list[PostedRecord] = []
    size = 0
    try:
        for record in posted:
            batch.append(record)
            size += record.size
            if len(batch) == BATCH_DOCUMENTS or size >= BATCH_BYTES:
                yield batch
                batch, size = [], 0
    except BrokenOff:
        if batch:
            yield batch
        raise
    if batch:
        yield batch
