"""What the hits of a page say of a claim, counted and in words. Never a verdict on the claim: that is the reader's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from mappings.collection import Collection
from mappings.stances import RELATED, STANCES, Stance
from search.pipeline.results import Hit, Results

ANSWERS: Final = 0.5
"""From here on it is more likely than not that a hit answers, or that any hit of the page does."""
NOTHING: Final = "nothing here seems to answer this"
SAYS: Final[dict[Stance, str]] = {"supports": "supports", "refutes": "refutes", "neither": "says neither"}
"""What a single hit does, by its stance; also the names of the styles: `stance-supports`."""
_PLURAL: Final[dict[Stance, str]] = {"supports": "support", "refutes": "refute", "neither": "say neither"}
_RETRACTED: Final = "retracted"


def in_words(probability: float | None) -> str:
    """How well a hit answers; "" where that can't be told."""
    if probability is None:
        return ""
    return "answers" if probability >= ANSWERS else "related" if probability >= RELATED else "weak"


def seems_unanswered(results: Results) -> bool:
    """Whether probably no hit of the page answers, or there is none."""
    return not results.hits or (results.probability is not None and results.probability < ANSWERS)


def document_noun(collection: Collection) -> str:
    """What is read in the collection, as a word."""
    return "abstract" if collection.sections == "abstract" else "document"


@dataclass(frozen=True, slots=True)
class StanceSummary:
    """How many of `total` hits say what; those that were not read are in none of the counts.

    `retracted` counts the retracted ones that support or refute: whoever counts votes must leave them out.
    """

    counts: tuple[int, int, int]
    total: int
    retracted: int
    noun: str = "abstract"

    @property
    def read(self) -> int:
        """How many were read."""
        return sum(self.counts)

    @property
    def unread(self) -> int:
        """How many were not."""
        return self.total - self.read

    @property
    def words(self) -> str:
        """Such as "of 10 abstracts read, 3 support, 1 refutes, 6 say neither"; "" where none was read."""
        if not self.read:
            return ""
        parts = [
            f"{count} {SAYS[stance] if count == 1 else _PLURAL[stance]}"
            for stance, count in zip(STANCES, self.counts, strict=True)
            if count
        ]
        said = f"of {self.read} {self.noun}{'' if self.read == 1 else 's'} read, {', '.join(parts)}"
        decided = self.counts[0] + self.counts[1]
        verb = "is" if self.retracted == 1 else "are"
        return said + (f"; {self.retracted} of the {decided} {verb} retracted" if self.retracted else "")

    @property
    def unread_words(self) -> str:
        """Such as "8 of 20 read"; "" if all were."""
        return f"{self.read or 'none'} of {self.total} read" if self.unread else ""


def summary_of(hits: Iterable[Hit], collection: Collection) -> StanceSummary:
    """Count the stances of hits."""
    hits = list(hits)
    found = Counter(hit.stance.label for hit in hits if hit.stance)
    supports, refutes, neither = (found[stance] for stance in STANCES)
    retracted = sum(_RETRACTED in hit.badges for hit in hits if hit.stance and hit.stance.label != "neither")
    return StanceSummary((supports, refutes, neither), len(hits), retracted, document_noun(collection))


def missing_in_words(missing: Sequence[str]) -> str:
    """Such as "no document mentions ivermectin"; "" if nothing is missing."""
    return f"no document mentions {' or '.join(missing)}" if missing else ""
