"""Signed cursors. A cursor carries the hits that are still to be shown, so the next page repeats nothing.

It is bound to the query and to the caller's access, so a later page shows nothing that the caller may not see.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import math
import os
import secrets
import time
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from mappings.documents import Access
from mappings.errors import Forbidden, InvalidInput
from search.query import Query

MAX_CHARACTERS = 6_000
"""A cursor is part of a URL; what does not fit is retrieved again, in fused order."""

_SIGNATURE_BYTES = 16
_FIELDS = 9
_MAX_INFLATED_BYTES = 1_000_000
_COMPRESSION = 6
"""The most costs half a millisecond more, for half a percent."""


class FrozenHit(NamedTuple):
    """A hit still to be shown: its passage, final score and cross-encoder logit, if it has one.

    A tuple, because every cursor has hundreds.

    `level` is the position of its level in the cursor's `levels`.
    """

    passage: str
    score: float
    logit: float | None
    level: int = 0


class FrozenLevel(NamedTuple):
    """A level of frozen hits: its number, `of` how many, and the stage that scored them with the weight that it had.

    The weight is lower than configured if the deadline cut the stage short.
    """

    number: int = 0
    of: int = 1
    stage: str = ""
    weight: float = 0.0


@dataclass(frozen=True, slots=True)
class Cursor:
    """The rest of a result, frozen: `items` in order, and in `shown` the marks of the groups already shown.

    `query` and `access` are the marks of what it belongs to, `issued` is in seconds since 1970. `beyond`: a page has left
    the result window. `least` is the lowest score that a page has shown.
    """

    index: str
    query: str
    access: str
    items: tuple[FrozenHit, ...]
    shown: tuple[str, ...]
    issued: int
    beyond: bool = False
    least: float = 1.0
    levels: tuple[FrozenLevel, ...] = (FrozenLevel(),)


def query_mark(query: Query) -> str:
    """What must stay the same from page to page, as a short text: the query without cursor, page size and `explain`."""
    return _hash(repr(replace(query, cursor=None, size=1, explain=False, access=Access("", query.access.labels))))


def access_mark(access: Access) -> str:
    """The caller's access as a short text."""
    return _hash(access.key)


def group_mark(group: str) -> str:
    """A group that was shown, as eight characters that say 40 bits: a thousand of them fit into a URL."""
    return base64.b32encode(hashlib.blake2b(group.encode("utf-8", "replace"), digest_size=5).digest()).decode()


def _hash(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=12).digest()).decode()


def sign(cursor: Cursor, key: bytes) -> str:
    """The cursor as URL-safe text; the items that would make it too long are left out."""
    while True:
        text = _encode(cursor, key)
        if len(text) <= MAX_CHARACTERS or not cursor.items:
            return text
        cursor = replace(cursor, items=cursor.items[: len(cursor.items) * 3 // 4])


def _encode(cursor: Cursor, key: bytes) -> str:
    items = [
        [item.passage, _rounded(item.score), None if item.logit is None else round(item.logit, 4), item.level]
        for item in cursor.items
    ]
    fields = [cursor.index, cursor.query, cursor.access, items, "".join(cursor.shown), cursor.issued, cursor.beyond]
    fields += [cursor.least, list(map(list, cursor.levels))]
    body = zlib.compress(orjson.dumps(fields, option=orjson.OPT_SERIALIZE_NUMPY), _COMPRESSION)
    return base64.urlsafe_b64encode(_signature(body, key) + body).decode().rstrip("=")


def _rounded(score: float) -> float:
    """The score, rounded down, so that no later hit gets a higher score than one that was shown."""
    return math.floor(score * 1e6) / 1e6


def _signature(body: bytes, key: bytes) -> bytes:
    return hmac.new(key, body, hashlib.sha256).digest()[:_SIGNATURE_BYTES]


def verify(text: str, query: Query, key: bytes, minutes: int, now: float | None = None) -> Cursor:
    """The cursor in `text`, at most `minutes` old.

    Raises `InvalidInput` if it is forged, expired or belongs to another query, `Forbidden` if it was issued to another caller.
    """
    cursor = _decode(text, key)
    if (time.time() if now is None else now) - cursor.issued > 60 * minutes:
        raise InvalidInput(
            f"the cursor is older than {minutes} minutes: search again from the first page", field="cursor"
        )
    if cursor.access != access_mark(query.access):
        raise Forbidden("the cursor was issued to another caller: search again from the first page", field="cursor")
    if cursor.query != query_mark(query):
        raise InvalidInput("the cursor belongs to another query: repeat the query that it came with", field="cursor")
    return cursor


def _decode(text: str, key: bytes) -> Cursor:
    wrong = InvalidInput(
        "the cursor was not issued by this service, or was altered: search again from the first page", field="cursor"
    )
    try:
        raw = base64.urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
    except (ValueError, UnicodeEncodeError):
        raise wrong from None
    if not hmac.compare_digest(raw[:_SIGNATURE_BYTES], _signature(raw[_SIGNATURE_BYTES:], key)):
        raise wrong
    fields = orjson.loads(zlib.decompressobj().decompress(raw[_SIGNATURE_BYTES:], _MAX_INFLATED_BYTES))
    if len(fields) != _FIELDS:  # issued by an earlier release
        raise wrong
    return _parse(fields)


def _parse(fields: Sequence[Any]) -> Cursor:
    index, query, access, items, shown, issued, beyond, least, levels = fields
    return Cursor(
        index=index,
        query=query,
        access=access,
        items=tuple(FrozenHit(*item) for item in items),
        shown=tuple(shown[start : start + 8] for start in range(0, len(shown), 8)),
        issued=issued,
        beyond=beyond,
        least=least,
        levels=tuple(FrozenLevel(*level) for level in levels),
    )


def read_key(file: Path) -> bytes:
    """The secret key in `file`, which is created if it does not exist, readable by its owner only."""
    if not file.is_file():
        temporary = file.with_name(f"{file.name}.{os.getpid()}.{secrets.token_hex(4)}")
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as handle:
            handle.write(secrets.token_bytes(32))
        try:
            os.link(temporary, file)  # of several processes the first one succeeds, and all read its key
        except FileExistsError:
            pass
        finally:
            temporary.unlink()
    return file.read_bytes()
