"""How much of what a suite evaluates a model or its ancestors saw in training."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from encoders.ancestry.record import Ancestry, KnownOverlap
from encoders.ancestry.seen import name_hash, passage_hashes, text_hash
from encoders.labels.evaluated import JudgedData
from encoders.labels.guard import SHARED


@dataclass(frozen=True, slots=True)
class Overlap:
    """What a model's ancestry saw of a suite: `queries`, `texts` (passages and titles), and `entities` of articles.

    `recorded` are overlaps that a person found and wrote down, where the texts themselves were not recorded. `unknown`
    says what is not recorded; the counts are then the least there can be.
    """

    suite: str
    queries: int = 0
    texts: int = 0
    entities: int = 0
    recorded: tuple[KnownOverlap, ...] = ()
    unknown: tuple[str, ...] = ()

    @property
    def counted(self) -> int:
        """How many queries, texts and entities of the suite were seen, as far as is recorded by hash."""
        return self.queries + self.texts + self.entities

    @property
    def state(self) -> str:
        """`overlap`, `unknown` or `clean`."""
        if self.counted or self.recorded:
            return "overlap"
        return "unknown" if self.unknown else "clean"

    def __str__(self) -> str:
        parts = (
            (self.queries, "query", "queries"),
            (self.texts, "text", "texts"),
            (self.entities, "entity", "entities"),
        )
        counts = ", ".join(f"{number:,} {one if number == 1 else more}" for number, one, more in parts if number)
        found = [f"saw {counts} of this suite"] if counts else []
        found += [item.what for item in self.recorded]
        if self.state == "clean":
            return "saw nothing of this suite"
        return "; ".join([*found, *(f"unknown: {reason}" for reason in self.unknown)])


def find_overlap(ancestry: Ancestry, judged: JudgedData) -> Overlap:
    """What the ancestry saw of a suite.

    Of a suite whose training and evaluation claims share one corpus by design, only the queries count.
    """
    recorded = tuple(item for item in ancestry.overlaps if item.suite == judged.suite)
    if ancestry.texts is None:
        return Overlap(judged.suite, recorded=recorded, unknown=ancestry.unknown)
    queries = {text_hash(query) for query in judged.queries}
    texts: set[int] = set()
    if judged.suite not in SHARED:
        texts = {found for text in judged.texts for found in passage_hashes(text)} - queries
    return Overlap(
        judged.suite,
        ancestry.texts.count(queries),
        ancestry.texts.count(texts),
        ancestry.texts.count(map(name_hash, judged.names)),
        recorded,
        ancestry.unknown,
    )


def overlaps(ancestry: Ancestry, suites: Iterable[JudgedData]) -> list[Overlap]:
    """The overlaps with those suites of which something was seen."""
    return [found for found in (find_overlap(ancestry, judged) for judged in suites) if found.state == "overlap"]
