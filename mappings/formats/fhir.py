"""FHIR R4: DocumentReference and DiagnosticReport, one a line (bulk export), or in Bundles.

The id of the document is `<resourceType>/<id>`. A resource that is marked as entered in error, or deleted in a Bundle,
is a deletion.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

import orjson

from mappings.collection import Collection
from mappings.documents import Deletion, Document, Rejection, Section
from mappings.errors import InvalidInput
from mappings.formats.fhir_text import texts_of_resource
from mappings.formats.fhir_values import coded, concept, day_of, encounter, reference, security, version
from mappings.formats.fields import dropped_of, fields_of, id_of, object_of, objects_of, text_of
from mappings.formats.files import MAX_LINE_BYTES, LocatedItem, TextLine, chunks, lines, parse_or_reject
from mappings.formats.jsonl import split
from mappings.formats.moments import source_moment
from mappings.formats.records import json_objects

ACCEPTED: Final = ("DocumentReference", "DiagnosticReport")
_ENTERED_IN_ERROR: Final = "entered-in-error"


def read(path: Path, collection: Collection) -> Iterator[LocatedItem]:
    """The documents and deletions of a file: one resource or Bundle a line, or a single one over many lines."""
    whole = _read_indented(path)
    records = json_objects(path) if whole is None else iter([whole])
    for record in records:
        if isinstance(record, Rejection):
            yield LocatedItem(record.position, record)
        elif record[1].get("resourceType") == "Bundle":
            yield from _bundle(*record, collection)
        else:
            yield parse_or_reject(record[0].source, record[0].position, partial(parse, record[1], collection))


def _read_indented(path: Path) -> tuple[TextLine, Mapping[str, Any]] | None:
    """The one object of an indented file; None if the first line is an object by itself, or not the start of one."""
    first = next(lines(path), None)
    if not isinstance(first, TextLine) or not first.content.lstrip().startswith(b"{") or _object(first.content):
        return None
    parts: list[bytes] = []
    for chunk in chunks(path):
        parts.append(chunk if isinstance(chunk, bytes) else b"")
        if sum(map(len, parts)) > MAX_LINE_BYTES:
            return None
    found = _object(b"".join(parts).removeprefix(b"\xef\xbb\xbf"))
    return (first, found) if found else None


def _object(content: bytes) -> Mapping[str, Any] | None:
    try:
        found = orjson.loads(content)
    except orjson.JSONDecodeError:
        return None
    return found if isinstance(found, dict) else None


def _bundle(line: TextLine, bundle: Mapping[str, Any], collection: Collection) -> Iterator[LocatedItem]:
    try:
        entries = list(enumerate(objects_of(bundle, "entry"), start=1))
    except InvalidInput as error:
        yield LocatedItem(line.position, line.rejected(error.message, error.field))
        return
    # A history lists the newest version first; of several versions, the one read last is kept.
    for number, entry in reversed(entries) if bundle.get("type") == "history" else entries:
        yield parse_or_reject(line.source, f"{line.position}, entry {number}", partial(_entry, entry, collection))


def _entry(entry: Mapping[str, Any], collection: Collection) -> Document | Deletion:
    request = object_of(entry, "request")
    if request.get("method") != "DELETE":
        return parse(object_of(entry, "resource"), collection)
    parts = text_of(request, "url", required=True).split("?")[0].strip("/").split("/_history/")[0].split("/")
    if len(parts) < 2:
        raise InvalidInput(
            "request.url must name the deleted resource, as in DocumentReference/17", field="request.url"
        )
    moment = text_of(object_of(entry, "response"), "lastModified")
    when = source_moment(moment, "response.lastModified") if moment else None
    return Deletion(f"{_accepted_type(parts[-2])}/{parts[-1]}", when)


def parse(resource: Mapping[str, Any], collection: Collection) -> Document | Deletion:
    """One resource. Raises `InvalidInput` that names the field."""
    kind = _accepted_type(resource.get("resourceType"))
    identifier = f"{kind}/{id_of(resource)}"
    if _ENTERED_IN_ERROR in (resource.get("status"), resource.get("docStatus")):
        return Deletion(identifier, version(resource))
    values = _values(resource)
    texts = texts_of_resource(resource)
    title = text_of(resource, "description").strip() or next((title for title, _ in texts if title), "")
    return Document(
        id=identifier,
        title=title or values["type"],
        sections=tuple(_sections(texts, collection)),
        labels=security(resource) or collection.default_labels,
        fields=fields_of(values, collection),
        dropped=dropped_of(values, collection, ("source",)),
        source_version=version(resource),
    )


def _accepted_type(kind: object) -> str:
    if kind not in ACCEPTED:
        reason = f"{kind[:80]!r} is not accepted" if isinstance(kind, str) else "it is missing"
        raise InvalidInput(
            f"resourceType: {reason}; {' and '.join(ACCEPTED)} are, and Bundles of them", field="resourceType"
        )
    return str(kind)


def _sections(texts: list[tuple[str, str]], collection: Collection) -> Iterator[Section]:
    """The sections of every text. If there are several texts, the title of each is the heading of its sections."""
    for title, text in texts:
        for section in split(text, collection):
            yield Section(title, section.text) if len(texts) > 1 and not section.heading else section


def _values(resource: Mapping[str, Any]) -> dict[str, Any]:
    """The values of the fields that a kind can declare, by name."""
    kind = concept(resource, "type") or concept(resource, "code")
    return {
        "patient": reference(object_of(resource, "subject")),
        "encounter": encounter(resource),
        "date": day_of(resource),
        "type": kind,
        "specialty": concept(coded(resource, "context"), "practiceSetting"),
        "status": text_of(resource, "docStatus") or text_of(resource, "status"),
        "source": "FHIR",
    }
