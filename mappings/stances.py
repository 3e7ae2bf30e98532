"""What a text says of a claim: it supports it, refutes it, or does neither."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, get_args

from mappings.analysis.sentences import sentences
from mappings.errors import InvalidInput

Stance = Literal["supports", "refutes", "neither"]
STANCES: Final[tuple[Stance, ...]] = get_args(Stance)
DECIDED: Final[tuple[Stance, ...]] = ("supports", "refutes")
_LABELS: Final[dict[str, Stance]] = {
    "SUPPORT": "supports",
    "REFUTE": "refutes",
    "NEUTRAL": "neither",
    "NOTENOUGHINFO": "neither",
}
SURE: Final = 0.7
"""From here on a stance is told without "perhaps": of 260 held-out pairs .68 of all stances that were read are right, and
.77 of these."""
RELATED: Final = 0.2
"""Below this probability that a hit answers, four of five hits are about something else: no stance of one is sure. Of forty
headlines that were read by hand, all eight stances told for sure of other hits were right, and three of nine of these."""
UNREAD: Final = float("-inf")
"""The evidence of a sentence that was cut off."""


class ClaimPassage(NamedTuple):
    """A passage as a stance classifier reads it: after its `context`, in `spans` of characters of `text`, its sentences."""

    context: str
    text: str
    spans: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, text: str, context: str = "") -> ClaimPassage:
        """The passage in the sentences that the product sees."""
        return cls(context, text, tuple((item.start, item.end) for item in sentences(text)))


@dataclass(frozen=True, slots=True)
class StanceReading:
    """What a passage says of a claim: the probability of each of `STANCES`, and the evidence (a logit) of each sentence."""

    probabilities: tuple[float, float, float]
    evidence: tuple[float, ...]

    @property
    def stance(self) -> Stance:
        """The most probable stance; of equal ones the first."""
        return STANCES[max(range(len(STANCES)), key=lambda place: (self.probabilities[place], -place))]

    @property
    def probability(self) -> float:
        """That of the most probable stance."""
        return max(self.probabilities)

    @property
    def decided(self) -> float:
        """The probability that the passage decides on the claim: that it supports or refutes it."""
        return self.probabilities[0] + self.probabilities[1]

    def best(self, count: int) -> list[int]:
        """The places of the `count` sentences that are evidence most, in the order of the text; none that was cut off."""
        read = [place for place, value in enumerate(self.evidence) if value != UNREAD]
        return sorted(sorted(read, key=lambda place: (-self.evidence[place], place))[:count])


def is_sure(stance: Stance, probability: float, answers: float | None = None) -> bool:
    """Whether a stance is told without "perhaps"; that a passage says neither is told so in any case.

    `answers` is the probability that the passage answers at all, where that can be told.
    """
    return stance == "neither" or (probability >= SURE and (answers is None or answers >= RELATED))


def stance_of_label(label: str) -> Stance:
    """The stance that a data set calls `label`. Raises `InvalidInput`."""
    try:
        return _LABELS[label]
    except KeyError:
        raise InvalidInput(
            f"the label is {label!r:.80}; it must be one of {', '.join(_LABELS)}", field="label"
        ) from None


def as_stance(text: object, field: str = "stance") -> Stance:
    """`text` as a stance. Raises `InvalidInput`."""
    if not isinstance(text, str) or text not in STANCES:
        raise InvalidInput(f"{field} is {text!r:.80}; it must be one of {', '.join(STANCES)}", field=field)
    return text
