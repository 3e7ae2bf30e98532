"""Where a ranking by entity and aspect goes wrong (CDV, sections 5.3 and 5.4): by source, by aspect, and by the first hit.

Nothing is ranked here: rankings that were measured are counted once more.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from evaluation.breakdown.repetition import find_boilerplate
from evaluation.corpus.abstracts import plain
from evaluation.measures import Judgements, Measure, Run, Values, per_query
from evaluation.statistics import interval
from mappings.analysis.words import terms

MEASURES: Final = (Measure("Success", 1), Measure("Success", 10))
EXAMPLES: Final = 5
"""Wrong first hits that are named of each kind: those of the first queries by id."""
NO_HIT: Final = "no hit"
KINDS: Final = (
    "same entity, same aspect",
    "same entity, other aspect",
    "other entity, same aspect",
    "other entity, other aspect",
    NO_HIT,
)
"""What a wrong first hit is about, beside what was asked: each is one of these."""
RELATED, BOILERPLATE = "related entity", "boilerplate"
GENERIC: Final = frozenset(terms("disease disorder syndrome condition type form"))
"""Words of names that make no two entities related."""


class Topic(NamedTuple):
    """What a query asks for or a passage is about, and whose article it is."""

    entity: str
    aspect: str
    source: str = ""


class FirstHit(NamedTuple):
    """The first passage of a query's ranking, "" where there is none."""

    query: str
    passage: str
    right: bool


@dataclass(frozen=True, slots=True)
class TopicBreakdown:
    """What is to be known of the queries and of all passages that can be ranked for them."""

    queries: Mapping[str, Topic]
    passages: Mapping[str, Topic]
    texts: Mapping[str, str]

    def describe(self, system: str, run: Run, judgements: Judgements) -> dict[str, Any]:
        """The breakdown of one system's rankings, in the stable JSON form."""
        values = per_query(MEASURES, judgements, run)
        names = list(judgements)
        hits = [
            FirstHit(name, next(iter(run.get(name, ())), ""), bool(right))
            for name, right in zip(names, values[MEASURES[0]], strict=True)
        ]
        return {
            "system": system,
            "sources": _groups([self.queries[name].source for name in names], values),
            "aspects": _groups([self.queries[name].aspect for name in names], values),
            "matches": {
                "entity": _share([self._same_entity(hit) for hit in hits]),
                "aspect": _share([self._same_aspect(hit) for hit in hits]),
            },
            "errors": self._errors([hit for hit in hits if not hit.right]),
        }

    def _errors(self, wrong: Sequence[FirstHit]) -> dict[str, Any]:
        """How many are of each kind, and how many also bear a mark: of these a hit can have several."""
        repeated = find_boilerplate(self.texts, {key: plain(topic.entity) for key, topic in self.passages.items()})
        kinds = [self._kind(hit) for hit in wrong]
        marks: dict[str, Callable[[FirstHit], bool]] = {
            RELATED: self._related,
            BOILERPLATE: lambda hit: hit.passage in repeated,
        }
        return {
            "queries": len(wrong),
            "kinds": list(_counted(wrong, {name: [kind == name for kind in kinds] for name in KINDS})),
            "marks": list(_counted(wrong, {name: [test(hit) for hit in wrong] for name, test in marks.items()})),
        }

    def _kind(self, hit: FirstHit) -> str:
        if not hit.passage:
            return NO_HIT
        entity, aspect = ("same" if same else "other" for same in (self._same_entity(hit), self._same_aspect(hit)))
        return f"{entity} entity, {aspect} aspect"

    def _same_entity(self, hit: FirstHit) -> bool:
        found = self.passages.get(hit.passage)
        return found is not None and plain(found.entity) == plain(self.queries[hit.query].entity)

    def _same_aspect(self, hit: FirstHit) -> bool:
        found = self.passages.get(hit.passage)
        return found is not None and found.aspect == self.queries[hit.query].aspect

    def _related(self, hit: FirstHit) -> bool:
        """Whether it is about another entity whose name shares a word with that of the query."""
        if not hit.passage or self._same_entity(hit):
            return False
        names = (self.passages[hit.passage].entity, self.queries[hit.query].entity)
        first, second = (set(terms(name)) - GENERIC for name in names)
        return any(len(word) > 1 and not word.isdigit() for word in first & second)


def _groups(names: Sequence[str], values: Mapping[Measure, Values]) -> list[dict[str, Any]]:
    """Every group with its measures, the largest first; queries without a name are in none."""
    places: defaultdict[str, list[int]] = defaultdict(list)
    for place, name in enumerate(names):
        if name:
            places[name].append(place)
    ordered = sorted(places.items(), key=lambda item: (-len(item[1]), item[0]))
    return [
        {
            "name": name,
            "queries": len(rows),
            "measures": {str(measure): interval(found[rows]).as_json() for measure, found in values.items()},
        }
        for name, rows in ordered
    ]


def _counted(wrong: Sequence[FirstHit], found: Mapping[str, Sequence[bool]]) -> Iterator[dict[str, Any]]:
    for name, marks in found.items():
        chosen = sorted(hit for hit, marked in zip(wrong, marks, strict=True) if marked)
        if chosen:
            examples = [{"query": hit.query, "first": hit.passage} for hit in chosen[:EXAMPLES]]
            yield {"name": name, "queries": len(chosen), "share": _share(marks), "examples": examples}


def _share(marks: Sequence[bool]) -> dict[str, float]:
    return interval(np.array(marks, dtype=np.float64)).as_json()
