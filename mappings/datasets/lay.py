"""Lay beside technical language: summaries, sentences, terms and definitions, each from several sources.

Sources differ. `cochrane-auto` has a lay title beside the technical one, which for a third of the reviews is the same;
the other Cochrane sources have at most the technical one, and many of their summaries begin with how many studies were
found, of whatever. `plaba` has no titles, and for some abstracts several adaptations (`123/adaptation1`). `elife` has
spaces before punctuation. Cochrane's technical texts are the results and conclusions of an abstract.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mappings.analysis.sentences import sentences
from mappings.datasets.files import dataset_records

NAME: Final = "lay"


@dataclass(frozen=True, slots=True)
class PlainSummary:
    """A plain-language summary and the technical text that it summarises. Titles that are not known are empty."""

    id: str
    source: str
    title: str
    technical: str
    lay_title: str
    lay: str

    @property
    def opening(self) -> str:
        """The first sentence of the summary that has a letter; elife's summaries can begin with a lone full stop."""
        found = (self.lay[part.start : part.end].strip() for part in sentences(self.lay))
        return next((sentence for sentence in found if any(map(str.isalpha, sentence))), "")


@dataclass(frozen=True, slots=True)
class PlainSentence:
    """A technical sentence, or two, beside the lay ones; a review's title beside its lay title is a sentence, too."""

    id: str
    source: str
    technical: str
    lay: str


@dataclass(frozen=True, slots=True)
class LayTerm:
    """A lay, colloquial or brand name and the technical or generic one.

    `concept` is its code in a terminology that depends on the source, or empty. Names of one thing are not always lay in
    one and technical in the other: `nci-also-called` and `nhs-names` list synonyms in any order.
    """

    source: str
    lay: str
    technical: str
    concept: str


@dataclass(frozen=True, slots=True)
class TermDefinition:
    """A term and what it means, for patients. `nhs-conditions` has a page's teaser instead ("Find out how …")."""

    source: str
    term: str
    definition: str


def technical_id(identifier: str) -> str:
    """The id of the technical text that a summary or a sentence belongs to: what precedes the first slash."""
    return identifier.partition("/")[0]


def read_summaries(data: Path | None) -> Iterator[PlainSummary]:
    """The 3,088 summaries of 2,985 technical texts."""
    for record in dataset_records(data, f"{NAME}/passages", ("source", "id", "technical", "lay")):
        title, lay_title = record.get("title") or "", record.get("lay_title") or ""
        yield PlainSummary(record["id"], record["source"], title, record["technical"], lay_title, record["lay"])


def read_sentences(data: Path | None) -> Iterator[PlainSentence]:
    """The 14,382 sentences. Nearly all are of texts that `read_summaries` has, with the same `technical_id`."""
    names = ("id", "source", "technical", "lay")
    for record in dataset_records(data, f"{NAME}/sentences", names):
        yield PlainSentence(*(record[name] for name in names))


def read_terms(data: Path | None) -> Iterator[LayTerm]:
    """The 24,636 pairs of names."""
    for record in dataset_records(data, f"{NAME}/terms", ("source", "lay", "technical")):
        yield LayTerm(record["source"], record["lay"], record["technical"], record.get("concept") or "")


def read_definitions(data: Path | None) -> Iterator[TermDefinition]:
    """The 10,552 definitions."""
    names = ("source", "term", "definition")
    for record in dataset_records(data, f"{NAME}/definitions", names):
        yield TermDefinition(*(record[name] for name in names))
