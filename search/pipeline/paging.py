"""From page to page: the frozen window, what was shown, and what comes past the window's end."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from mappings.documents import parse_passage_id
from search.pipeline import cursor as cursors
from search.pipeline.context import Found
from search.pipeline.grouping import Group
from search.query import Query, Reranked
from search.ranking.cascade import Ranked
from search.ranking.fusion import NOTHING, Fused

MAX_DEPTH = 1_000
"""Documents that paging may reach; past them a narrower query serves better."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What came before a page: the marks of shown groups, whether the window's end was passed, the reranker's reach."""

    marks: tuple[str, ...] = ()
    beyond: bool = False
    reranked: Reranked = Reranked(0, 0)


def frozen(found: Found, previous: cursors.Cursor) -> list[Group]:
    """The groups that an earlier page froze, with their fusion parts where the legs still bring them."""
    parts = {item.passage: item for item in found.fused}
    weight = found.collection.reranking.weight if previous.weight is None else previous.weight
    return [_frozen(parts.get(item.passage), item, weight) for item in previous.items]


def _frozen(fused: Fused | None, item: cursors.Item, weight: float) -> Group:
    document = parse_passage_id(item.passage)[0]
    fused = fused or Fused(item.passage, document, item.score if item.cross is None else 0.0, NOTHING)
    if item.cross is None or not weight:
        return Group(document, Ranked(fused, item.score, item.cross))
    normalised = (item.score - (1 - weight) * fused.score) / weight
    return Group(document, Ranked(fused, item.score, item.cross, normalised, weight))


def unseen(groups: Sequence[Group], marks: Sequence[str]) -> list[Group]:
    """The groups of which nothing was shown."""
    shown = set(marks)
    return [item for item in groups if shown.isdisjoint(_marks(item))]


def marks_of(groups: Sequence[Group]) -> tuple[str, ...]:
    """What a cursor remembers of shown groups."""
    return tuple(mark for item in groups for mark in _marks(item))


def _marks(item: Group) -> list[str]:
    return sorted({cursors.group_mark(name) for name in (item.key, item.best.fused.document)})


def _decided(item: Ranked) -> float | None:
    """The last stage's logit: a frozen page explains no more than that."""
    return item.cross if item.stage == "last" else None


def next_cursor(
    query: Query, found: Found, page: Sequence[Group], rest: Sequence[Group], shown: Shown, key: bytes
) -> str | None:
    """The signed cursor of the next page, or None when there is none."""
    marks = (*shown.marks, *marks_of(page))
    if len(marks) >= MAX_DEPTH or not (rest or found.full):
        return None
    items = tuple(cursors.Item(item.best.fused.passage, item.best.score, _decided(item.best)) for item in rest)
    weight = next((item.best.weight for item in rest if _decided(item.best) is not None), None)
    issued = int(time.time())
    asked, access = cursors.query_mark(query), cursors.access_mark(query.access)
    made = cursors.Cursor(found.meta.index, asked, access, items, marks, issued, shown.beyond, weight)
    return cursors.sign(made, key)
