"""Sentences of a document that an address or a form names by their places, so that nobody can send other words as its own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from mappings.analysis.passages import passages
from mappings.collection import Collection
from mappings.documents import Passage
from search.storage import StoredDocument

_MOST_MARKS: Final = 10
_MARK: Final = re.compile(r"(\d{1,9})-(\d{1,9})", re.ASCII)


@dataclass(frozen=True, slots=True)
class EvidenceMarks:
    """The evidence that the address of a document names: a passage, and offsets such as `12-80` in its text."""

    passage: str
    marks: Sequence[str]

    def texts(self, stored: StoredDocument, collection: Collection) -> list[str]:
        """The sentences; none if the document has changed since."""
        found = self.passage_of(stored, collection)
        bounds = [match for mark in self.usable if (match := _MARK.fullmatch(mark))]
        return [text for bound in bounds if found and (text := found.text[int(bound[1]) : int(bound[2])].strip())]

    @property
    def usable(self) -> list[str]:
        """The marks that are offsets."""
        return [mark for mark in self.marks if _MARK.fullmatch(mark)][:_MOST_MARKS]

    def passage_of(self, stored: StoredDocument, collection: Collection) -> Passage | None:
        """The passage; None if the document has changed since, or has no such passage."""
        if stored.document is None or not self.passage:
            return None
        found = passages(stored.document, stored.version, collection)
        return next((item for item in found if item.id == self.passage), None)
