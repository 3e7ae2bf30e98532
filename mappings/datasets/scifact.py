"""SciFact (Wadden et al. 2020): scientific claims and the abstracts that they cite."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from mappings.collection import Collection
from mappings.datasets.files import dataset_records
from mappings.documents import Document
from mappings.formats.scifact import parse
from mappings.stances import Stance, stance_of_label

NAME: Final = "scifact"


@dataclass(frozen=True, slots=True)
class SentenceAbstract:
    """An abstract as a list of sentences, the form that Check-COVID shares."""

    id: str
    title: str
    sentences: tuple[str, ...]

    @property
    def text(self) -> str:
        """The sentences, joined by spaces."""
        return " ".join(self.sentences)

    def document(self, collection: Collection) -> Document:
        """The document that the format `scifact` makes of this abstract."""
        return parse({"doc_id": self.id, "title": self.title, "abstract": list(self.sentences)}, collection)


@dataclass(frozen=True, slots=True)
class MarkedEvidence:
    """What annotators marked in an abstract: its stance to the claim, and the places of the sentences that show it, from 0."""

    stance: Stance
    sentences: frozenset[int]


@dataclass(frozen=True, slots=True)
class ScientificClaim:
    """A claim, the ids of the abstracts it cites, and by its id the evidence in each that is for or against it.

    An abstract that is cited and has no evidence says nothing of the claim.
    """

    id: str
    text: str
    cited: tuple[str, ...]
    evidence: Mapping[str, MarkedEvidence] = field(default_factory=dict)


def read_corpus(data: Path | None) -> Iterator[SentenceAbstract]:
    """The 5,183 abstracts."""
    return read_sentence_abstracts(data, f"{NAME}/corpus", "doc_id")


def read_claims(data: Path | None, split: str) -> Iterator[ScientificClaim]:
    """The claims of a split, `train` or `dev`."""
    return read_cited_claims(data, f"{NAME}/claims_{split}")


def read_cited_claims(data: Path | None, name: str) -> Iterator[ScientificClaim]:
    """The claims in the file `name`."""
    for record in dataset_records(data, name, ("id", "claim", "cited_doc_ids", "evidence")):
        cited = tuple(map(str, record["cited_doc_ids"]))
        evidence = {document: _join(found) for document, found in record["evidence"].items() if found}
        yield ScientificClaim(str(record["id"]), record["claim"], cited, evidence)


def _join(found: Sequence[Mapping[str, Any]]) -> MarkedEvidence:
    """All the evidence in one abstract, which is of one stance in every file."""
    places = frozenset(place for item in found for place in item["sentences"])
    return MarkedEvidence(stance_of_label(found[0]["label"]), places)


def read_sentence_abstracts(data: Path | None, name: str, identifier: str) -> Iterator[SentenceAbstract]:
    """The abstracts in the file `name`, which have their id under the key `identifier`."""
    for record in dataset_records(data, name, (identifier, "title", "abstract")):
        yield SentenceAbstract(str(record[identifier]), record["title"], tuple(record["abstract"]))
