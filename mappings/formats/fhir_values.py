"""The metadata of a FHIR resource: patient, encounter, date, version and access labels."""

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
    """The id that a Reference points to ("17" of "Patient/17"), or the identifier that it has instead."""
    target = text_of(value, "reference").split("/_history/")[0]
    return target.rpartition("/")[2] or text_of(object_of(value, "identifier"), "value")


def concept(resource: Mapping[str, Any], name: str) -> str:
    """A CodeableConcept as text: its own, or the display text or code of its first coding."""
    value = object_of(resource, name)
    first = next(iter(objects_of(value, "coding")), {})
    return (text_of(value, "text") or text_of(first, "display") or text_of(first, "code")).strip()


def coded(resource: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The object under `name`; empty if it is a list, as `context` is in R5."""
    return {} if isinstance(resource.get(name), list) else object_of(resource, name)


def encounter(resource: Mapping[str, Any]) -> str:
    """The id of the encounter, the first one if there are several."""
    if "encounter" in resource:
        return reference(object_of(resource, "encounter"))
    within = objects_of(coded(resource, "context"), "encounter")
    return reference(within[0]) if within else ""


def day_of(resource: Mapping[str, Any]) -> str | None:
    """The date of the document: the first of the elements in which FHIR resources state one."""
    for path in _DAYS:
        value: Mapping[str, Any] = resource
        for name in path[:-1]:
            value = coded(value, name)
        if text := text_of(value, path[-1]):
            return first_day(text, ".".join(path))
    return None


def version(resource: Mapping[str, Any]) -> int | None:
    """The source version: `meta.lastUpdated`, or if that is missing a numeric `meta.versionId`."""
    meta = object_of(resource, "meta")
    if updated := text_of(meta, "lastUpdated"):
        return source_moment(updated, "meta.lastUpdated")
    number = meta.get("versionId")
    return int(number) if isinstance(number, str) and _NUMBER.fullmatch(number) else None


def security(resource: Mapping[str, Any]) -> frozenset[str]:
    """The access labels of a resource marked restricted, instead of the collection's; empty for any other resource."""
    tags = objects_of(object_of(resource, "meta"), "security")
    for item in objects_of(resource, "securityLabel"):
        tags = [*tags, *objects_of(item, "coding")]
    codes = {code for code in map(_confidentiality, tags) if code}
    return frozenset({_RESTRICTED[max(codes)]}) if codes else frozenset()


def _confidentiality(coding: Mapping[str, Any]) -> str | None:
    system, code = text_of(coding, "system"), text_of(coding, "code").strip().upper()
    return code if code in _RESTRICTED and (not system or system.endswith("Confidentiality")) else None
