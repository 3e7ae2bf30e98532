"""From page to page: the frozen result window, what was shown, and what follows beyond the window."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from mappings.documents import parse_passage_id
from search.pipeline.grouping import Group
from search.pipeline.paging import cursor as cursors
from search.pipeline.retrieve import Retrieved
from search.query import Query
from search.ranking.candidates import LEVEL_GAP, NO_CONTRIBUTIONS, ONE_LEVEL, Candidate, Level, RerankScore

MAX_DEPTH = 1_000
"""How many documents paging can reach; beyond that, a narrower query helps more."""


@dataclass(frozen=True, slots=True)
class PageProgress:
    """How far earlier pages went: the marks of the groups they showed, whether they left the result window, their least score."""

    marks: tuple[str, ...] = ()
    beyond: bool = False
    least: float = 1.0


def thaw(retrieved: Retrieved, previous: cursors.Cursor) -> list[Group]:
    """The groups that an earlier page froze, with the legs' contributions if the legs still return their passages."""
    fused = {item.passage: item for item in retrieved.candidates}
    return [_thaw(fused.get(item.passage), item, previous.levels[item.level]) for item in previous.items]


def _thaw(found: Candidate | None, item: cursors.FrozenHit, frozen: cursors.FrozenLevel) -> Group:
    document, level = parse_passage_id(item.passage)[0], Level(frozen.number, frozen.of)
    own = level.within(item.score)
    found = found or Candidate(item.passage, document, own if item.logit is None else 0.0, NO_CONTRIBUTIONS)
    normalised = None
    if item.logit is not None and frozen.weight:
        # Rounded scores can lead out of [0, 1], and so can an index that has changed meanwhile.
        normalised = min(1.0, max(0.0, (own - (1 - frozen.weight) * found.fused) / frozen.weight))
    reranking = RerankScore(found.fused, item.logit, normalised, frozen.weight, frozen.stage)
    return Group(document, found._replace(score=item.score, reranking=reranking, level=level))


def score_below(groups: Sequence[Group], least: float) -> list[Group]:
    """The groups in fused order with scores below `least`, in proportion to their own; none is negative."""
    best = max((item.best.score for item in groups), default=0.0)
    share = (1 - LEVEL_GAP) * least / best if best else 0.0
    return [Group(item.key, _lowered(item.best, share), item.others) for item in groups]


def _lowered(item: Candidate, share: float) -> Candidate:
    return item._replace(score=share * item.score, reranking=RerankScore(item.fused), level=ONE_LEVEL)


def unseen(groups: Sequence[Group], marks: Sequence[str]) -> list[Group]:
    """The groups of which no page has shown anything yet."""
    shown = set(marks)
    return [item for item in groups if shown.isdisjoint(_marks(item))]


def marks_of(groups: Sequence[Group]) -> tuple[str, ...]:
    """The marks by which a cursor remembers groups that were shown."""
    return tuple(mark for item in groups for mark in _marks(item))


def _marks(item: Group) -> list[str]:
    return sorted({cursors.group_mark(name) for name in (item.key, item.best.document)})


def next_cursor(
    query: Query, retrieved: Retrieved, page: Sequence[Group], rest: Sequence[Group], progress: PageProgress, key: bytes
) -> str | None:
    """The signed cursor of the next page, or None if this page is the last."""
    marks = (*progress.marks, *marks_of(page))
    if len(marks) >= MAX_DEPTH or not (rest or retrieved.has_more):
        return None
    items, levels = _freeze([item.best for item in rest])
    return cursors.sign(
        cursors.Cursor(
            index=retrieved.meta.index,
            query=cursors.query_mark(query),
            access=cursors.access_mark(query.access),
            items=items,
            shown=marks,
            issued=int(time.time()),
            beyond=progress.beyond,
            least=min((progress.least, *(item.best.score for item in page))),
            levels=levels,
        ),
        key,
    )


def _freeze(rest: Sequence[Candidate]) -> tuple[tuple[cursors.FrozenHit, ...], tuple[cursors.FrozenLevel, ...]]:
    """The hits that are still to be shown, and their levels."""
    levels: dict[tuple[Level, str, float], int] = {}
    items = []
    for item in rest:
        place = levels.setdefault((item.level, item.stage, _weight(item)), len(levels))
        items.append(cursors.FrozenHit(item.passage, item.score, _logit(item), place))
    return tuple(items), tuple(cursors.FrozenLevel(*level, stage, weight) for level, stage, weight in levels)


def _logit(item: Candidate) -> float | None:
    return item.reranking.logit if item.reranking else None


def _weight(item: Candidate) -> float:
    return item.reranking.weight if item.reranking else 0.0
