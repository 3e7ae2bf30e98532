"""What is searched: documents as they come in, passages as they are found, and who is allowed to see them.

A type's constructor checks its invariants, so no code that gets an instance checks them again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Final, NamedTuple

from mappings.errors import InvalidInput

MAX_ID_BYTES: Final = 512
MAX_TEXT_CHARACTERS: Final = 20_000_000
EVERY_LABEL: Final = "*"
"""As a label of `Access`: sees every document that has any label. No document can have it."""

FieldValue = str | float | date | tuple[str, ...]
"""A document field: keyword, number, date, or several keywords."""


def clean(text: str) -> str:
    """`text` without characters that no engine can store: lone surrogates and control characters become spaces.

    Each is replaced by one character, so that offsets stay.
    """
    return text.translate(_UNPRINTABLE) if not text.isprintable() else text


_UNPRINTABLE: Final = dict.fromkeys((*range(9), 11, 12, *range(14, 32), *range(127, 160), *range(55296, 57344)), " ")


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a document under one heading, which is as written, and empty where there is none."""

    heading: str
    text: str


class TaggedMention(NamedTuple):
    """A mention that came with a document, from a program of its sender's: as `ConceptMention`, but without its sentence."""

    section: int
    start: int
    end: int
    concept: str
    assertion: str


@dataclass(frozen=True, slots=True)
class Document:
    """A source record, validated.

    `source_version` grows with each version of the record in its source: a time stamp (microseconds since 1970) or a
    number that the source increments. One source must use only one of the two, as they cannot be compared. It tells an
    old copy that arrives late from a newer one. None: the copy that arrives last is the newest. It is not content: the
    same content with another source version is unchanged.

    `tagged` are the mentions that came with it, instead of which none are read; None: it is read as others are.

    `dropped` are the names of values that the record had and the document has not, since its kind declares no such fields.
    They are for notices only: not stored, and not compared.

    Raises `InvalidInput` for an id that is empty, over 512 bytes or unprintable, for a document without any text, for a
    reserved label, for a source version of more than 64 bits, and for a mention outside its section.
    """

    id: str
    title: str
    sections: tuple[Section, ...]
    labels: frozenset[str] = frozenset()
    fields: Mapping[str, FieldValue] = field(default_factory=dict)
    source_version: int | None = None
    dropped: tuple[str, ...] = field(default=(), compare=False)
    tagged: tuple[TaggedMention, ...] | None = None

    def __post_init__(self) -> None:
        check_id(self.id)
        for number, item in enumerate(self.tagged or ()):
            _check_inside(number, item, self.sections)
        check_source_version(self.source_version)
        size = len(self.title) + sum(len(section.text) for section in self.sections)
        if not any(section.text.strip() for section in self.sections) and not self.title.strip():
            raise InvalidInput("the document has no text: give a title, a text or sections", field="text")
        if size > MAX_TEXT_CHARACTERS:
            raise InvalidInput(
                f"the text has {size:,} characters; at most {MAX_TEXT_CHARACTERS:,} are accepted", field="text"
            )
        if EVERY_LABEL in self.labels or "" in self.labels:
            raise InvalidInput("an access label must be a name; '*' and the empty label are reserved", field="labels")

    @property
    def labelled_text(self) -> str:
        """The sections as one text, each a paragraph after its heading ("METHODS: …"), as abstracts are usually written."""
        parts = (f"{part.heading}: {part.text}" if part.heading else part.text for part in self.sections)
        return "\n\n".join(parts)


def _check_inside(number: int, item: TaggedMention, sections: tuple[Section, ...]) -> None:
    length = len(sections[item.section].text) if 0 <= item.section < len(sections) else 0
    if not 0 <= item.start < item.end <= length:
        raise InvalidInput(
            f"mentions[{number}] is not inside a section: section {item.section}, characters {item.start} to {item.end}",
            field=f"mentions[{number}]",
        )


def check_id(identifier: str) -> None:
    """Raise `InvalidInput` unless `identifier` can be the id of a document."""
    if not identifier or identifier != identifier.strip():
        raise InvalidInput("a document id must be a non-empty string without spaces around it", field="id")
    if not identifier.isprintable():
        raise InvalidInput("a document id must have printable characters only", field="id")
    size = len(identifier.encode())
    if size > MAX_ID_BYTES:
        raise InvalidInput(f"the document id has {size:,} bytes; at most {MAX_ID_BYTES} are accepted", field="id")


def check_source_version(version: int | None) -> None:
    """Raise `InvalidInput` unless `version` is a signed number of 64 bits, which every store supports."""
    if version is not None and not -(2**63) <= version < 2**63:
        raise InvalidInput("a source version must be a whole number of at most 64 bits", field="source_version")


@dataclass(frozen=True, slots=True)
class Deletion:
    """A record that its source withdrew: the document is deleted, unless a newer version exists.

    `source_version` as in `Document`; None: whichever version exists is deleted. Raises `InvalidInput` for an id that
    cannot be a document's.
    """

    id: str
    source_version: int | None = None

    def __post_init__(self) -> None:
        check_id(self.id)
        check_source_version(self.source_version)


@dataclass(frozen=True, slots=True)
class Rejection:
    """An invalid record: where it is and why it was rejected. The records around it are not affected."""

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


class PassageMention(NamedTuple):
    """A concept that a passage mentions at the characters `start:end` of its text, and what it asserts of it.

    `sentence_start:sentence_end` is the sentence there, as far as it is in the passage.
    """

    concept: str
    assertion: str
    start: int
    end: int
    sentence_start: int
    sentence_end: int


@dataclass(frozen=True, slots=True)
class Passage:
    """What is indexed and found: a piece of one version of a document.

    `ordinal` counts from 0 within the document. `text` is what users see; models read `context` before it (title and
    heading, as the collection configures), so that a piece of a section keeps its context. `also` is searched but never
    shown: the long forms of abbreviations that this passage uses and another passage of the document defines. `mentions`
    are in the order of the text; a passage of a kind that is not read has none.
    """

    document: str
    version: int
    ordinal: int
    title: str
    heading: str
    text: str
    context: str = ""
    also: str = ""
    mentions: tuple[PassageMention, ...] = ()

    @property
    def id(self) -> str:
        """`document@version#ordinal`; a document id can itself contain `@` and `#`."""
        return f"{self.document}@{self.version}#{self.ordinal}"

    @property
    def model_text(self) -> str:
        """The passage as a model reads it: the context, then the text."""
        return f"{self.context} {self.text}".strip()

    @property
    def as_returned(self) -> Passage:
        """The passage as an index returns it: `also` is searched, never shown."""
        return replace(self, also="") if self.also else self


_NUMBER: Final = re.compile(r"[0-9]{1,18}")


def parse_passage_id(identifier: str) -> tuple[str, int, int]:
    """(document, version, ordinal) of a passage id. Raises `InvalidInput`."""
    head, _, ordinal = identifier.rpartition("#")
    document, _, version = head.rpartition("@")
    if not (document and _NUMBER.fullmatch(version) and _NUMBER.fullmatch(ordinal)):
        raise InvalidInput(
            f"{identifier[:80]!r} is not a passage id such as 'document@version#number'", field="passage"
        )
    return document, int(version), int(ordinal)


def document_of(identifier: str) -> str:
    """The document of a passage id that is known to be one: hundreds of them are read for each leg of a search."""
    return identifier[: identifier.rindex("@")]


@dataclass(frozen=True, slots=True)
class Access:
    """The caller, and the labels of the documents that the caller is allowed to see.

    A document is visible if it shares a label; one without labels is visible to nobody.
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
        """The part of a cache key that keeps callers apart who are allowed to see different documents."""
        return "\x1f".join(sorted(self.labels))
