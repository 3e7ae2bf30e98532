"""Which split a record belongs to. A hash decides, so the answer depends neither on order nor on a random state."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from typing import Final

TRAIN, HELD_OUT = "train", "held-out"
TEST_YEARS: Final = (9, 10)
"""The years of BioASQ's questions that are for evaluation and that training never sees: the last ones, as in use."""


def bucket(key: str, buckets: int) -> int:
    """A number from 0 to `buckets` - 1, the same for the same key on every machine."""
    return int.from_bytes(sha256(key.encode()).digest()[:8], "big") % buckets


def split_of(group: str) -> str:
    """`held-out` for a tenth of the training groups: models are selected, and weights tuned, on those only."""
    return HELD_OUT if bucket(f"held-out:{group}", 10) == 0 else TRAIN


def is_test_note(identifier: str) -> bool:
    """Whether a clinical note belongs to the fifth that is for evaluation and that training never sees."""
    return bucket(f"note:{identifier}", 5) == 0


def is_test_summary(technical: str) -> bool:
    """Whether a technical text, by its id, belongs to the half of the plain-language summaries that is for evaluation.

    All that is told of the text in lay language, whole or by sentence, belongs to the same half.
    """
    return bucket(f"lay:{technical}", 2) == 0


def is_test_abstract(identifier: str) -> bool:
    """Whether an abstract of the pool belongs to the twentieth that is for evaluation and that training never sees.

    None that Check-COVID shares with the pool does: its training claims are about them.
    """
    return not identifier.startswith("cord:") and bucket(f"abstract:{identifier}", 20) == 0


def link(sets: Iterable[Iterable[str]]) -> dict[str, str]:
    """Each key -> the least of all keys that are linked to it: the name of a group.

    Keys of one set are linked, and so are those that a chain of sets connects.
    """
    parents: dict[str, str] = {}

    def root(key: str) -> str:
        while (above := parents.setdefault(key, key)) != key:
            parents[key] = parents[above]
            key = above
        return key

    for keys in sets:
        roots = sorted({root(key) for key in keys})
        for other in roots[1:]:
            parents[other] = roots[0]
    return {key: root(key) for key in list(parents)}
