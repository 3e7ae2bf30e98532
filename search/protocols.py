"""The interfaces of engines, encoders and rerankers; `tests/contracts/` checks every engine against them.

Invariants: every ranking is sorted by descending score, then by passage id; access and filters apply inside every leg, to
totals and to facets; one answer never shows two versions of a document.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from encoders.tokens.format import TokenFormat
from mappings.analysis.headings import normalise_heading
from mappings.clinical.placing import FOUND, assertion_key
from mappings.documents import Access, FieldValue, Passage
from mappings.fields import ASPECTS, ASSERTED, CONCEPTS, MENTIONED
from search.document_criteria import DocumentCriterion, check_distances
from search.query import Facets, Filter, LexicalQuery, Phrase, Ranking, Scored, Total

Vectors = NDArray[np.float32]

_FOUND_BY_A_PASSAGE: Final = assertion_key("", FOUND)
ASPECT_CHARACTERS: Final = 200
"""A longer heading is none: an index does not count it among the aspects of a document."""

BM25: Final = "bm25"
"""The name of the lexical leg; a dense leg has the name of its vector field."""


@dataclass(frozen=True, slots=True)
class IndexMeta:
    """The description and counts of one index.

    `encoders` maps a vector field to the fingerprint of its encoder; `windows` is the maximum number of words in a window,
    0 if a vector covers a whole passage; `rows` is the number of vectors; `commit` increases with every visible commit.
    `reading` is the version of the rules and the lexicon that its documents were read by, "" if they were not. `by_words` of
    the documents have no vectors yet: only their words find them. `tokens` says whose token vectors it can store, if any.
    """

    index: str
    collection: str
    generation: int
    encoders: Mapping[str, str]
    analysis: str
    commit: int
    passages: int
    documents: int
    windows: int = 0
    rows: int = 0
    reading: str = ""
    by_words: int = 0
    tokens: TokenFormat | None = None


@dataclass(frozen=True, slots=True)
class LegsRequest:
    """All legs of one search, fetched in one round trip, each with the same filters and access.

    `vectors` maps a vector field to a unit query vector of shape (d,). `documents` is how many distinct documents each
    leg should return. The legs are named `bm25` and by their vector fields. `withheld` are ids of documents that count as
    absent, because the index holds an earlier version of them than the store.
    """

    index: str
    lexical: LexicalQuery
    vectors: Mapping[str, Vectors]
    access: Access
    documents: int
    filters: tuple[Filter, ...] = ()
    facets: tuple[str, ...] = ()
    withheld: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LegsAnswer:
    """Rankings by leg; the total and the facets count documents that match lexically under the filters.

    The facet of a field that the index does not have is empty: the kind is newer. `holders` are passages of documents
    that hold the query, to as many documents, with their scores of the lexical leg: first those that hold all of it, then
    the best ones of documents that hold it in several passages. `missing` maps each leg that failed to the reason.
    """

    rankings: Mapping[str, Ranking]
    total: Total
    facets: Facets
    missing: Mapping[str, str] = field(default_factory=dict)
    holders: Sequence[Scored] = ()


ALONE: Final = "id:"
"""Begins the name of a patient that is a single document, as it has no value of the field that groups; its id follows."""


@dataclass(frozen=True, slots=True)
class PatientsRequest:
    """The patients who meet every criterion of `all`, at least one of `any` (if there are any), and none of `none`.

    A patient is a value of the field `group_by`, or one document: of an index that is grouped by `document`, and where the
    document has no value. Criteria are numbered from 0, in the order all, any, none. `date` is the field with the date of a
    document, which `within_days` needs. `withheld` are ids of documents that count as absent. The answer has the `size`
    patients after `after`, in the order of their names; with `names_only` without their documents. Raises `InvalidInput` for
    criteria that are within days of themselves.
    """

    index: str
    group_by: str
    access: Access
    all: tuple[DocumentCriterion, ...] = ()
    any: tuple[DocumentCriterion, ...] = ()
    none: tuple[DocumentCriterion, ...] = ()
    date: str = ""
    withheld: tuple[str, ...] = ()
    after: str = ""
    size: int = 20
    names_only: bool = False

    def __post_init__(self) -> None:
        check_distances([(item.within_days, item.of) for item in self.criteria])

    @property
    def criteria(self) -> tuple[DocumentCriterion, ...]:
        """All criteria in the order of their numbers."""
        return (*self.all, *self.any, *self.none)


@dataclass(frozen=True, slots=True)
class PatientDocuments:
    """A patient, the documents that the caller may see, and for each criterion those that meet it; all in order of id."""

    patient: str
    documents: tuple[str, ...] = ()
    meeting: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class PatientsAnswer:
    """A page of patients in the order of their names; all counts are exact, and of documents that the caller may see.

    `total` patients meet the criteria, of the `known` ones; `counts` has for each criterion how many meet it by itself.
    """

    patients: tuple[PatientDocuments, ...]
    total: int
    known: int
    counts: tuple[int, ...]
    has_more: bool = False


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """One version of a document, ready to be indexed whole.

    `vectors[field]` has shape (rows, d), unit rows; those of `discourse` are at most that long, and zero where a
    passage has no sentence. In order, `windows[n]` of them belong to passage n, or one each if `windows` is empty. The score
    of a passage is that of its best row. Without any vectors the document is found by its words, until it is written again.
    `asserted[n]` are the keys of what passage n asserts; it is empty for a document that was not read. `tokens[n]` are the
    compressed token vectors of passage n; it is empty where the index stores none.
    """

    document: str
    version: int
    labels: frozenset[str]
    fields: Mapping[str, FieldValue]
    passages: tuple[Passage, ...]
    vectors: Mapping[str, Vectors]
    windows: tuple[int, ...] = ()
    asserted: tuple[frozenset[str], ...] = ()
    tokens: tuple[bytes, ...] = ()

    @property
    def indexed_fields(self) -> Mapping[str, FieldValue]:
        """The document's fields, and those of `mappings.fields` that come from its headings and from its being read."""
        aspects = {normalise_heading(item.heading) for item in self.passages} - {""}
        found = {**self.fields, ASPECTS: tuple(sorted(item for item in aspects if len(item) <= ASPECT_CHARACTERS))}
        if self.asserted:
            asserted = {key for key in frozenset[str]().union(*self.asserted) if not key.endswith(_FOUND_BY_A_PASSAGE)}
            mentioned = {f"{item.concept}|{item.assertion}" for passage in self.passages for item in passage.mentions}
            concepts = {key.partition("|")[0] for key in asserted}
            read = {ASSERTED: asserted, MENTIONED: mentioned, CONCEPTS: concepts}
            found |= {name: tuple(sorted(keys)) for name, keys in read.items()}
        return found

    def proven(self, number: int) -> tuple[str, ...]:
        """The keys of what passage `number` asserts, sorted."""
        return tuple(sorted(self.asserted[number])) if self.asserted else ()

    @property
    def rows(self) -> tuple[int, ...]:
        """How many rows of each vector field belong to each passage; at least one."""
        return self.windows or (1,) * len(self.passages)


class SearchEngine(Protocol):
    """Reads one index at a time. Raises `NotFound` for an unknown one, `Unavailable` if the engine is down."""

    def resolve(self, collection: str) -> IndexMeta:
        """The published index of `collection`, as it was at most a second ago."""
        ...

    def meta(self, index: str) -> IndexMeta:
        """The description and counts of any index, published or not.

        They describe its newest commit, or one that was the newest at most a second ago: cheap enough for every
        request. Raises `NotFound` for a dropped index.
        """
        ...

    def legs(self, request: LegsRequest) -> LegsAnswer:
        """All rankings, the total and the facets, in one round trip.

        Exclusions take one more, and so do documents that hold a query in several passages.
        """
        ...

    def passages(self, index: str, ids: Sequence[str], access: Access) -> Mapping[str, Passage]:
        """The passages that exist and that the caller may see; the others are absent from the result."""
        ...

    def tokens(self, index: str, ids: Sequence[str], access: Access) -> Mapping[str, bytes]:
        """The compressed token vectors of the passages that have some, as `meta.tokens` says, and that the caller may see."""
        ...

    def fields(self, index: str, documents: Sequence[str], access: Access) -> Mapping[str, Mapping[str, FieldValue]]:
        """The fields of the documents that exist and that the caller may see."""
        ...

    def has_visible(self, index: str, access: Access) -> bool:
        """Whether the index has any document that the caller may see."""
        ...

    def patients(self, request: PatientsRequest) -> PatientsAnswer:
        """The patients who meet criteria over all of their documents, counted exactly and paged.

        Raises `InvalidInput` for a field that the index does not have.
        """
        ...

    def proofs(
        self, index: str, documents: Sequence[str], keys: Sequence[str], access: Access, phrases: Sequence[Phrase] = ()
    ) -> Mapping[str, Sequence[Passage]]:
        """Document -> its passages that assert one of `keys` (`concept|assertion`) or have one of `phrases`, in order.

        Documents without one, and those that the caller may not see, are absent from the result.
        """
        ...

    def values(self, index: str, field: str, access: Access, withheld: Sequence[str] = ()) -> Mapping[str, int]:
        """Value of a field -> how many documents that the caller may see have it, exactly; without the documents `withheld`.

        At most `MAX_VALUES` values (`search.engines.values`), the most frequent ones. Raises `InvalidInput` for a field that
        the index does not have.
        """
        ...


@runtime_checkable
class Encoder(Protocol):
    """Encodes texts as unit vectors; queries and passages have separate methods."""

    @property
    def fingerprint(self) -> str:
        """SHA-256 of what determines the vectors: weights, tokenizer, pooling, templates."""
        ...

    @property
    def dimension(self) -> int:
        """The length d of a vector."""
        ...

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """Shape (n, d), unit rows, in input order."""
        ...

    def encode_passages(self, texts: Sequence[str]) -> Vectors:
        """Shape (n, d), unit rows, in input order."""
        ...


@runtime_checkable
class Reranker(Protocol):
    """Scores texts against a query; the caller sorts and truncates."""

    @property
    def fingerprint(self) -> str:
        """SHA-256 of what determines the scores."""
        ...

    def score(self, query: str, passages: Sequence[str]) -> Vectors:
        """Shape (n,), in input order; a logit, higher is better."""
        ...
