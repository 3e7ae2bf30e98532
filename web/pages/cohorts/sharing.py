"""With whom a kept item is shared, as the forms of the pages send it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from werkzeug.datastructures import MultiDict

from mappings.documents import EVERY_LABEL, Access, clean


@dataclass(frozen=True, slots=True)
class SharingChoice:
    """A label that an item can be shared with."""

    label: str
    chosen: bool


def sharing_choices(access: Access, chosen: Iterable[str] = ()) -> list[SharingChoice]:
    """The labels that the caller has, and those that the item is shared with already."""
    shared = set(chosen)
    return [SharingChoice(label, label in shared) for label in sorted((access.labels - {EVERY_LABEL}) | shared)]


def sent_labels(sent: MultiDict[str, str]) -> frozenset[str]:
    """The labels that are chosen in a form, and the one that is typed: who sees everything has no list of their own."""
    given = [*sent.getlist("share"), sent.get("share-other", "")]
    return frozenset(text for label in given if (text := clean(label).strip()))


def sent_revision(sent: MultiDict[str, str]) -> int:
    """The revision that a form was made from; 0, which no item has, if the form names none."""
    text = sent.get("revision", "")
    return int(text) if text.isdecimal() and len(text) < 10 else 0
