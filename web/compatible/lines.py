"""Reads the body of an `_msearch`: pairs of lines, each a header and a search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from mappings.errors import InvalidInput
from web.compatible.parameters import EXECUTION
from web.compatible.shapes import an_object, check_keys, unsupported
from web.forms import MAX_BATCH
from web.validation import parse_json

_HEADER_NEUTRAL: Final = {"search_type": ("query_then_fetch",)}


@dataclass(frozen=True, slots=True)
class NamedSearch:
    """One search of an `_msearch`, as it was sent: the collection, and the body."""

    collection: str
    body: Any


def read_lines(sent: bytes, collection: str) -> list[NamedSearch]:
    """The searches in a body; `collection` is that of the address, "" if it names none.

    Raises `InvalidInput` for a body that is not pairs of lines of JSON, or that has too many: no search is answered then.
    """
    lines = sent.split(b"\n")
    if lines and not lines[-1].strip():
        lines.pop()
    if not lines or len(lines) % 2:
        raise InvalidInput(
            f"the body must be pairs of lines, each a header and a search; it has {len(lines)} lines", field="body"
        )
    if len(lines) > 2 * MAX_BATCH:
        raise InvalidInput(f"the body has {len(lines) // 2} searches; at most {MAX_BATCH} are allowed", field="body")
    read = [_line(number, line, is_header=number % 2 == 1) for number, line in enumerate(lines, 1)]
    pairs = zip(read[::2], read[1::2], strict=True)
    return [NamedSearch(_named(header, number, collection), body) for number, (header, body) in enumerate(pairs)]


def _line(number: int, line: bytes, is_header: bool) -> Any:
    if is_header and not line.strip():
        return {}  # an empty header means the collection of the address
    try:
        return parse_json(line)
    except InvalidInput as error:
        message = error.message.replace("the body is", "it is", 1)
        raise InvalidInput(f"line {number} cannot be read: {message}", field="body") from error


def _named(header: Any, number: int, collection: str) -> str:
    where = f"searches.{number}"
    given: Mapping[str, Any] = {name: item for name, item in an_object(header, where).items() if name not in EXECUTION}
    check_keys(given, ("index",), where, _HEADER_NEUTRAL)
    name = given.get("index", collection)
    if isinstance(name, list):
        if len(name) != 1:
            raise unsupported("a search of several collections", where, "send one search for each")
        name = name[0]
    if not isinstance(name, str):
        raise InvalidInput("[index] must be the name of a collection", field=where)
    return name
