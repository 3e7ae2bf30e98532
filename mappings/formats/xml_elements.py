"""Records of XML files of any size: one in memory at a time, entities never expanded, no other file ever read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple

from lxml import etree

from mappings.collection import Collection
from mappings.documents import Deletion, Document, Rejection, clean
from mappings.errors import InvalidInput
from mappings.formats.files import LocatedItem, chunks, parse_or_reject

SUFFIXES: Final = (".xml",)
MAX_RECORD_BYTES: Final = 16 << 20
_MAX_OPENING_BYTES: Final = 1 << 20
_MAX_FAULTS: Final = 100
"""The parser does not report any further faults, even one that ends the file."""
_POWER: Final = re.compile(r"[-+\u2212\u2013]?\d{1,4}")

Shape = Mapping[str, tuple[str, ...]]
"""The roots that a format accepts, each with those of its children that are records; none: the root is the record."""


class _Fault(NamedTuple):
    line: int
    message: str


@dataclass(frozen=True, slots=True)
class XmlRecord:
    """One record of a file; `number` counts from 1. Its element is cleared when the next record is read."""

    number: int
    element: etree._Element

    @property
    def position(self) -> str:
        """The position of the record in its file."""
        return f"record {self.number}"


def elements(path: Path, shape: Shape) -> Iterator[XmlRecord | Rejection]:
    """The records of a file. If it is truncated or malformed, the last item is a rejection that names the line.

    Raises `InvalidInput` if the file is of another format, or declares entities, with which a small file can expand into
    a huge one or read another file.
    """
    stream = chunks(path)
    head, root = _read_opening(path, stream)
    if root is None:
        yield from (item for item in head if isinstance(item, Rejection))
        return
    if root not in shape:
        expected = " or ".join(f"<{name}>" for name in shape)
        raise InvalidInput(f"{path}: expected XML with the root {expected}, found <{root[:80]}>", field="path")
    yield from _records(str(path), chain(head, stream), shape[root] or (root,), 1 if shape[root] else 0)


def xml_records(
    shape: Shape, parse: Callable[[etree._Element, Collection], Document | Deletion]
) -> Callable[[Path, Collection], Iterator[LocatedItem]]:
    """A reader of files in which every record is one element for `parse`, which raises `InvalidInput`."""

    def read(path: Path, collection: Collection) -> Iterator[LocatedItem]:
        for item in elements(path, shape):
            if isinstance(item, Rejection):
                yield LocatedItem(item.position, item)
            else:
                yield parse_or_reject(str(path), item.position, partial(parse, item.element, collection))

    return read


def _read_opening(path: Path, stream: Iterator[bytes | Rejection]) -> tuple[list[bytes | Rejection], str | None]:
    """The chunks up to the first element, and its name: None if the file is empty or truncated before it."""
    parser = _parser("start")
    head: list[bytes | Rejection] = []
    for chunk in stream:
        head.append(chunk)
        if isinstance(chunk, Rejection):
            return head, None
        fault = _feed(parser, chunk)
        for _, root in parser.read_events():
            _refuse_entities(path, root)
            return head, str(root.tag)
        if fault or sum(len(item) for item in head if isinstance(item, bytes)) > _MAX_OPENING_BYTES:
            break
    if head:
        raise InvalidInput(f"{path}: expected XML, plain or gzip; it has no first element", field="path")
    return head, None


def _records(
    source: str, stream: Iterable[bytes | Rejection], tags: tuple[str, ...], depth: int
) -> Iterator[XmlRecord | Rejection]:
    parser, number, size = _parser("end", tags), 0, 0
    for chunk in stream:
        if isinstance(chunk, Rejection):
            yield Rejection(source, f"record {number + 1}", chunk.reason)
            return
        fault = _feed(parser, chunk)
        size += len(chunk)
        for _, element in parser.read_events():
            if _depth(element) == depth:
                number, size = number + 1, 0
                yield _record(source, number, element)
                _drop(element)
        if fault or size > MAX_RECORD_BYTES:
            yield _broken(source, fault) if fault else _too_long(source, number + 1)
            return
    if fault := _close(parser):
        yield _broken(source, fault)


def _parser(event: str, tags: tuple[str, ...] | None = None) -> etree.XMLPullParser:
    # huge_tree stays off: a text of more than 10 MB, or 256 elements deep, is an error of the parser.
    return etree.XMLPullParser(
        events=(event,),
        tag=tags,
        resolve_entities=False,
        load_dtd=False,
        dtd_validation=False,
        no_network=True,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )


def _feed(parser: etree.XMLPullParser, chunk: bytes) -> _Fault | None:
    try:
        parser.feed(chunk)
    except etree.XMLSyntaxError as error:
        return _Fault(error.lineno or 1, str(error.msg))
    # The parser reports some faults only in its log, and would treat the next chunk as a new file.
    logged = parser.feed_error_log.filter_from_errors()
    fatal = next((_Fault(entry.line, entry.message) for entry in logged.filter_from_fatals()), None)
    return fatal or (_Fault(logged[-1].line, f"{len(logged)} faults") if len(logged) >= _MAX_FAULTS else None)


def _close(parser: etree.XMLPullParser) -> _Fault | None:
    try:
        parser.close()
    except etree.XMLSyntaxError as error:
        return _Fault(error.lineno or 1, str(error.msg))
    return None


def _broken(source: str, fault: _Fault) -> Rejection:
    message = " ".join(fault.message.split())
    reason = f"the XML is truncated or malformed ({message}); everything before was read"
    return Rejection(source, f"line {fault.line}", reason)


def _too_long(source: str, number: int) -> Rejection:
    reason = f"the record has more than {MAX_RECORD_BYTES:,} bytes; everything before was read"
    return Rejection(source, f"record {number}", reason)


def _refuse_entities(path: Path, root: etree._Element) -> None:
    declared = root.getroottree().docinfo.internalDTD
    names = [str(entity.name) for entity in declared.iterentities()] if declared is not None else []
    if names:
        raise InvalidInput(
            f"{path}: the file declares the entity {names[0][:80]!r}; entities are not accepted", field="path"
        )


def _record(source: str, number: int, element: etree._Element) -> XmlRecord | Rejection:
    unknown = next(element.iter(etree.Entity), None)
    if unknown is None:
        return XmlRecord(number, element)
    reason = f"the record contains the entity {str(unknown.text)[:80]}, which the file does not define"
    return Rejection(source, f"record {number}", reason)


def _depth(element: etree._Element) -> int:
    """0 for the root, 1 for its children, 2 for deeper elements."""
    parent = element.getparent()
    return 0 if parent is None else 1 if parent.getparent() is None else 2


def _drop(element: etree._Element) -> None:
    """Free a record that was read, and all before it; the parser still needs the empty element."""
    element.clear(keep_tail=True)
    while element.getprevious() is not None:
        del element.getparent()[0]


def plain(element: etree._Element | None) -> str:
    """The text in an element, without markup, white space normalised, "10<sup>6</sup>" as "10^6"; "" for None."""
    return "" if element is None else " ".join(clean("".join(_pieces(element))).split())


def _pieces(element: etree._Element) -> Iterator[str]:
    before = ""
    for event, node in etree.iterwalk(element, events=("start", "end")):
        text = (node.text if event == "start" else node.tail if node is not element else "") or ""
        if event == "start" and node.tag == "sup" and before[-1:].isdigit() and _POWER.fullmatch(text):
            yield "^"
        before = text or before
        yield text


def texts(element: etree._Element, path: str) -> list[str]:
    """The texts of the elements at `path`, without empty ones."""
    return [text for text in map(plain, element.iterfind(path)) if text]
