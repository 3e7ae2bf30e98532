"""What is searched: documents as they come in, passages as they are found, and who may see them.

A type's constructor checks its invariant, so nothing that holds one checks again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Final

from mappings.errors import InvalidInput

MAX_ID_BYTES: Final = 512
MAX_TEXT_CHARACTERS: Final = 20_000_000
EVERY_LABEL: Final = "*"
"""As a label of `Access`: may see every document that carries any label. No document may carry it."""

FieldValue = str | float | date | tuple[str, ...]
"""A document field: keyword, number, date, or several keywords."""


def clean(text: str) -> str:
    """`text` without what no engine can hold: lone surrogates and control characters become spaces.

    Replacing one character by one keeps every offset.
    """
    return text.translate(_UNPRINTABLE) if not text.isprintable() else text


_UNPRINTABLE: Final = dict.fromkeys((*range(9), 11, 12, *range(14, 32), *range(127, 160), *range(55296, 57344)), " ")


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a document under one heading; `heading` is as written, empty where there is none."""

    heading: str
    text: str


@dataclass(frozen=True, slots=True)
class Document:
    """A source record, validated.

    `source_version` grows with each version of the record in its source, whether a time stamp (microseconds since 1970)
    or a number that the source counts up; within one source it is always of one kind, or the two can't be compared.
    It tells an old copy that comes late from a newer one. None: the copy that comes last is the newest.
    It is no content: the same content under another source version is unchanged.

    Raises `InvalidInput` for an id that is empty, over 512 bytes or unprintable, for no text at all,
    for a reserved label, and for a source version of more than 64 bits.
    """

    id: str
    title: str
    sections: tuple[Section, ...]
    labels: frozenset[str] = frozenset()
    fields: Mapping[str, FieldValue] = field(default_factory=dict)
    source_version: int | None = None

    def __post_init__(self) -> None:
        check_id(self.id)
        check_source_version(self.source_version)
        size = len(self.title) + sum(len(section.text) for section in self.sections)
        if not any(section.text.strip() for section in self.sections) and not self.title.strip():
            raise InvalidInput("the document has no text: give a title, a text or sections", field="text")
        if size > MAX_TEXT_CHARACTERS:
            raise InvalidInput(
                f"the text has {size:,} characters; at most {MAX_TEXT_CHARACTERS:,} are taken", field="text"
            )
        if EVERY_LABEL in self.labels or "" in self.labels:
            raise InvalidInput("an access label is a name; '*' and the empty label are reserved", field="labels")


def check_id(identifier: str) -> None:
    """Raise `InvalidInput` unless `identifier` can name a document."""
    if not identifier or identifier != identifier.strip():
        raise InvalidInput("a document id is a non-empty text without spaces around it", field="id")
    if not identifier.isprintable():
        raise InvalidInput("a document id has printable characters only", field="id")
    size = len(identifier.encode())
    if size > MAX_ID_BYTES:
        raise InvalidInput(f"the document id has {size:,} bytes; at most {MAX_ID_BYTES} are taken", field="id")


def check_source_version(version: int | None) -> None:
    """Raise `InvalidInput` unless `version` fits what every store can hold: a signed number of 64 bits."""
    if version is not None and not -(2**63) <= version < 2**63:
        raise InvalidInput("a source version is a whole number of at most 64 bits", field="source_version")


@dataclass(frozen=True, slots=True)
class Deletion:
    """What a source says of a record that it took back: the document goes, unless a newer one is there.

    `source_version` is of the same kind as the one of `Document`; None: whatever stands there goes.
    Raises `InvalidInput` for an id that can name no document.
    """

    id: str
    source_version: int | None = None

    def __post_init__(self) -> None:
        check_id(self.id)
        check_source_version(self.source_version)


@dataclass(frozen=True, slots=True)
class Rejection:
    """A bad record: where it stands and why it was not taken. The records around it go on."""

    source: str
    position: str
    reason: str
    field: str | None = None

    def as_json(self) -> dict[str, str | None]:
        """The rejection as a JSON object."""
        return {"source": self.source, "position": self.position, "reason": self.reason, "field": self.field}


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a text, as character offsets: `text[start:end]`."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Passage:
    """What is indexed and found: a piece of one version of a document.

    `ordinal` counts from 0 within the document. `text` is what is shown; `context` stands before it
    for the encoders (title and heading, as the collection says), so that a split passage keeps its place.
    `also` is searched but never shown: the long forms of abbreviations that stand here, and that another passage
    of the document defines.
    """

    document: str
    version: int
    ordinal: int
    title: str
    heading: str
    text: str
    context: str = ""
    also: str = ""

    @property
    def id(self) -> str:
        """`document@version#ordinal`; a document id may itself hold `@` and `#`."""
        return f"{self.document}@{self.version}#{self.ordinal}"

    @property
    def model_text(self) -> str:
        """The passage as an encoder reads it: the context, then the text."""
        return f"{self.context} {self.text}".strip()


_NUMBER: Final = re.compile(r"[0-9]{1,18}")


def parse_passage_id(identifier: str) -> tuple[str, int, int]:
    """(document, version, ordinal) of a passage id. Raises `InvalidInput`."""
    head, _, ordinal = identifier.rpartition("#")
    document, _, version = head.rpartition("@")
    if not (document and _NUMBER.fullmatch(version) and _NUMBER.fullmatch(ordinal)):
        raise InvalidInput(
            f"{identifier[:80]!r} is no passage id; one looks like 'document@version#number'", field="passage"
        )
    return document, int(version), int(ordinal)


@dataclass(frozen=True, slots=True)
class Access:
    """Who asks, and the labels of the documents they may see.

    A document is visible when it shares a label; one without labels is visible to nobody.
    """

    user: str
    labels: frozenset[str]

    @property
    def everything(self) -> bool:
        """Whether every labelled document is visible."""
        return EVERY_LABEL in self.labels

    def may_see(self, labels: frozenset[str]) -> bool:
        """Whether a document with these labels is visible."""
        return bool(labels) and (self.everything or not self.labels.isdisjoint(labels))

    @property
    def key(self) -> str:
        """What a cache key must hold: two callers share an answer only if they may see the same."""
        return "\x1f".join(sorted(self.labels))
