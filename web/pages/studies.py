"""What kind of study a publication reports, as the pages show it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from mappings.documents import FieldValue
from mappings.studies.badges import WARNINGS, badge_of_notice, values_of
from mappings.studies.description import BADGES, NOTICES, SAMPLE_SIZE

_STUDY_FIELDS: Final = frozenset({BADGES, SAMPLE_SIZE, NOTICES})


@dataclass(frozen=True, slots=True)
class StudyBadge:
    """A badge; `warns` if its reader must know before anything else, `notice` where that was announced."""

    name: str
    warns: bool = False
    notice: str = ""


def study_badges(fields: Mapping[str, FieldValue]) -> list[StudyBadge]:
    """The badges of a publication, warnings first, then the number of people studied."""
    notices = values_of(fields, NOTICES)
    found = [
        StudyBadge(name, name in WARNINGS, next((item for item in notices if name == badge_of_notice(item)), ""))
        for name in values_of(fields, BADGES)
    ]
    size = fields.get(SAMPLE_SIZE)
    return [*found, *([StudyBadge(f"n = {int(size):,}")] if isinstance(size, float) else [])]


def without_study(fields: Mapping[str, FieldValue]) -> dict[str, FieldValue]:
    """The fields that are not shown as badges or notices."""
    return {name: value for name, value in fields.items() if name not in _STUDY_FIELDS}
