"""Keeps an answer free of replaced and deleted versions, which an index still holds until it has processed the change.

What else an index cannot find yet, or any more, is said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from mappings.analysis.words import ANALYSIS_VERSION
from mappings.clinical.reading import ConceptReader
from mappings.documents import parse_passage_id
from search.pipeline.grouping import Group
from search.pipeline.services import SearchServices, Trace
from search.protocols import IndexMeta, LegsAnswer
from search.query import Total
from search.ranking.candidates import Candidate

MAX_WITHHELD: Final = 5_000
"""How many documents a search can leave out inside the engine; beyond that, each hit is still checked on its own."""


@dataclass(frozen=True, slots=True)
class Withheld:
    """The documents of which an index may hold an earlier version; `complete`: these are all of them."""

    documents: tuple[str, ...] = ()
    complete: bool = True


def find_withheld(services: SearchServices, meta: IndexMeta, trace: Trace) -> Withheld:
    """The documents that a search of the index `meta` must leave out, as of now."""
    if services.store is None:
        return Withheld()
    found = services.store(meta.collection).superseded(meta.index, MAX_WITHHELD + 1)
    if len(found) <= MAX_WITHHELD:
        return Withheld(tuple(sorted(found)))
    trace.degraded.append(
        f"more than {MAX_WITHHELD:,} changed documents wait to be indexed: the total is an upper bound, and facets are left out"
    )
    return Withheld(tuple(sorted(found[:MAX_WITHHELD])), complete=False)


def without_counts(answer: LegsAnswer) -> LegsAnswer:
    """The answer as it may be shown while it could count earlier versions: an upper bound as total, and no facets.

    A facet would tell values of documents that the caller may no longer see.
    """
    return replace(answer, total=Total(answer.total.value, "at_most"), facets=dict.fromkeys(answer.facets, ()))


def only_newest(candidates: Sequence[Candidate], services: SearchServices, collection: str) -> list[Candidate]:
    """The candidates without passages of earlier versions, looked up in the store now."""
    newest = services.store(collection).newest({item.document for item in candidates}) if services.store else {}
    return [item for item in candidates if _is_newest(item.passage, newest)]


def keep_newest(groups: Sequence[Group], services: SearchServices, collection: str) -> list[Group]:
    """The groups without passages of earlier versions, looked up in the store now; a group that loses its best one goes."""
    if services.store is None or not groups:
        return list(groups)
    newest = services.store(collection).newest({name for item in groups for name in item.documents})
    return [
        Group(item.key, item.best, [other for other in item.others if _is_newest(other.passage, newest)])
        for item in groups
        if _is_newest(item.best.passage, newest)
    ]


def _is_newest(passage: str, newest: Mapping[str, int]) -> bool:
    document, version, _ = parse_passage_id(passage)
    return newest.get(document) == version


def describe_shortcomings(meta: IndexMeta, reader: ConceptReader | None, by_findings: bool) -> Iterator[str]:
    """The shortcomings of an index in plain words; `by_findings`: the query asks for findings."""
    if meta.analysis != ANALYSIS_VERSION:
        yield (
            f"the index {meta.index} was built with another word analysis ({meta.analysis}, now {ANALYSIS_VERSION}): "
            "some matches may be missed until it is rebuilt"
        )
    if reader is not None and meta.reading != reader.version and by_findings:
        yield (
            f"the documents of the index {meta.index} were read by another version ({meta.reading or 'none'}, now "
            f"{reader.version}): findings may be missed until it is rebuilt"
        )
    if meta.by_words:
        # A share, since the caller may not see all of these documents.
        encoded = max(0, meta.documents - meta.by_words) / max(1, meta.documents)
        yield f"new documents are found by their words alone so far: {encoded:.0%} of all have their vectors"
