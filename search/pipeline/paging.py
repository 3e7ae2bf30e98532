"""From page to page: the frozen result window, what was shown, and what follows beyond the window."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from mappings.documents import parse_passage_id
from search.pipeline import cursor as cursors
from search.pipeline.grouping import Group
from search.pipeline.retrieve import Retrieved
from search.query import Query
from search.ranking.candidates import NO_CONTRIBUTIONS, Candidate, RerankScore

MAX_DEPTH = 1_000
"""How many documents paging can reach; beyond that, a narrower query helps more."""


@dataclass(frozen=True, slots=True)
class PageProgress:
    """How far earlier pages went: the marks of the groups they showed, and whether they left the result window."""

    marks: tuple[str, ...] = ()
    beyond: bool = False


def thaw(retrieved: Retrieved, previous: cursors.Cursor) -> list[Group]:
    """The groups that an earlier page froze, with the legs' contributions if the legs still return their passages."""
    fused = {item.passage: item for item in retrieved.candidates}
    weight = retrieved.collection.reranking.weight if previous.weight is None else previous.weight
    return [_thaw(fused.get(item.passage), item, weight) for item in previous.items]


def _thaw(fused: Candidate | None, item: cursors.FrozenHit, weight: float) -> Group:
    document = parse_passage_id(item.passage)[0]
    fused = fused or Candidate(item.passage, document, item.score if item.logit is None else 0.0, NO_CONTRIBUTIONS)
    if item.logit is None or not weight:
        reranking = RerankScore(fused.score, item.logit)
    else:
        normalised = (item.score - (1 - weight) * fused.score) / weight
        reranking = RerankScore(fused.score, item.logit, normalised, weight)
    return Group(document, fused._replace(score=item.score, reranking=reranking))


def unseen(groups: Sequence[Group], marks: Sequence[str]) -> list[Group]:
    """The groups of which no page has shown anything yet."""
    shown = set(marks)
    return [item for item in groups if shown.isdisjoint(_marks(item))]


def marks_of(groups: Sequence[Group]) -> tuple[str, ...]:
    """The marks by which a cursor remembers groups that were shown."""
    return tuple(mark for item in groups for mark in _marks(item))


def _marks(item: Group) -> list[str]:
    return sorted({cursors.group_mark(name) for name in (item.key, item.best.document)})


def _last_stage(candidate: Candidate) -> RerankScore | None:
    """The score by the last stage, if there is one: a later page can explain no other."""
    reranking = candidate.reranking
    return reranking if reranking and reranking.logit is not None and reranking.stage == "last" else None


def next_cursor(
    query: Query, retrieved: Retrieved, page: Sequence[Group], rest: Sequence[Group], progress: PageProgress, key: bytes
) -> str | None:
    """The signed cursor of the next page, or None if this page is the last."""
    marks = (*progress.marks, *marks_of(page))
    if len(marks) >= MAX_DEPTH or not (rest or retrieved.has_more):
        return None
    scored = [(item.best, _last_stage(item.best)) for item in rest]
    items = tuple(cursors.FrozenHit(best.passage, best.score, score.logit if score else None) for best, score in scored)
    return cursors.sign(
        cursors.Cursor(
            index=retrieved.meta.index,
            query=cursors.query_mark(query),
            access=cursors.access_mark(query.access),
            items=items,
            shown=marks,
            issued=int(time.time()),
            beyond=progress.beyond,
            weight=next((score.weight for _, score in scored if score), None),
        ),
        key,
    )
