"""SciFact (Wadden et al. 2020): scientific claims and the abstracts that they cite."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from mappings.collection import Collection
from mappings.datasets.files import dataset_records
from mappings.documents import Document
from mappings.formats.scifact import parse

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
class ScientificClaim:
    """A claim, the ids of the abstracts it cites, and of those in which annotators found evidence for or against it.

    `rationales`: by the id of such an abstract the places of the sentences that are the evidence, counted from 0.
    """

    id: str
    text: str
    cited: tuple[str, ...]
    evidence: tuple[str, ...]
    rationales: Mapping[str, frozenset[int]] = field(default_factory=dict)


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
        rationales = {
            document: frozenset(place for found in evidence for place in found["sentences"])
            for document, evidence in record["evidence"].items()
        }
        yield ScientificClaim(str(record["id"]), record["claim"], cited, tuple(rationales), rationales)


def read_sentence_abstracts(data: Path | None, name: str, identifier: str) -> Iterator[SentenceAbstract]:
    """The abstracts in the file `name`, which have their id under the key `identifier`."""
    for record in dataset_records(data, name, (identifier, "title", "abstract")):
        yield SentenceAbstract(str(record[identifier]), record["title"], tuple(record["abstract"]))
