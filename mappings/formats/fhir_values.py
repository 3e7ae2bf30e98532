"""What a FHIR resource says beside its text: whom it is about, when it was written, how new it is, who may see it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from mappings.formats.fields import object_of, objects_of, text_of
from mappings.formats.moments import first_day, source_moment

_DAYS: Final = (
    ("date",),
    ("effectiveDateTime",),
    ("effectivePeriod", "start"),
    ("context", "period", "start"),
    ("issued",),
)
_NUMBER: Final = re.compile(r"\d{1,18}")
_RESTRICTED: Final = {"R": "restricted", "V": "very-restricted"}


def reference(value: Mapping[str, Any]) -> str:
    """The id that a Reference leads to ("Patient/17" is "17"), or the identifier that stands in its place."""
    target = text_of(value, "reference").split("/_history/")[0]
    return target.rpartition("/")[2] or text_of(object_of(value, "identifier"), "value")


def concept(resource: Mapping[str, Any], name: str) -> str:
    """A CodeableConcept in words: its text, or what its first coding shows."""
    value = object_of(resource, name)
    first = next(iter(objects_of(value, "coding")), {})
    return (text_of(value, "text") or text_of(first, "display") or text_of(first, "code")).strip()


def coded(resource: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The object under `name`; empty where it is a list, as `context` is in R5."""
    return {} if isinstance(resource.get(name), list) else object_of(resource, name)


def encounter(resource: Mapping[str, Any]) -> str:
    """The id of the encounter; of several, the first."""
    if "encounter" in resource:
        return reference(object_of(resource, "encounter"))
    within = objects_of(coded(resource, "context"), "encounter")
    return reference(within[0]) if within else ""


def day_of(resource: Mapping[str, Any]) -> str | None:
    """The day the document is of; the first of those that FHIR's resources say it by."""
    for path in _DAYS:
        value: Mapping[str, Any] = resource
        for name in path[:-1]:
            value = coded(value, name)
        if text := text_of(value, path[-1]):
            return first_day(text, ".".join(path))
    return None


def version(resource: Mapping[str, Any]) -> int | None:
    """The source version: `meta.lastUpdated`; a `meta.versionId` that is a number where a server leaves that out."""
    meta = object_of(resource, "meta")
    if updated := text_of(meta, "lastUpdated"):
        return source_moment(updated, "meta.lastUpdated")
    number = meta.get("versionId")
    return int(number) if isinstance(number, str) and _NUMBER.fullmatch(number) else None


def security(resource: Mapping[str, Any]) -> frozenset[str]:
    """The labels in the place of the collection's: of a record marked restricted, those who see the rest do not see it."""
    tags = objects_of(object_of(resource, "meta"), "security")
    for item in objects_of(resource, "securityLabel"):
        tags = [*tags, *objects_of(item, "coding")]
    codes = {code for code in map(_confidentiality, tags) if code}
    return frozenset({_RESTRICTED[max(codes)]}) if codes else frozenset()


def _confidentiality(coding: Mapping[str, Any]) -> str | None:
    system, code = text_of(coding, "system"), text_of(coding, "code").strip().upper()
    return code if code in _RESTRICTED and (not system or system.endswith("Confidentiality")) else None
