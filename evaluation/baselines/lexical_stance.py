"""A stance from words alone: the baseline of the suite `stance`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from evaluation.suites.claim_pairs import ClaimPair, suite_pairs
from mappings.analysis.words import tokens
from mappings.stances import Stance

_NEGATION: Final = re.compile(
    r"\b(?:no|not|never|neither|nor|without|lack(?:s|ed)?|fail(?:s|ed)?|cannot|absence)\b|n't\b", re.I
)
_UP: Final = re.compile(r"\b(?:increas|rais|higher|more|greater|enhanc|promot|improv|activat|induc|gain)\w*", re.I)
_DOWN: Final = re.compile(
    r"\b(?:decreas|reduc|lower|less|fewer|inhibit|prevent|impair|worsen|suppress|declin|loss)\w*", re.I
)
_THRESHOLDS: Final = tuple(step / 20 for step in range(21))


@dataclass(frozen=True, slots=True)
class LexicalStance:
    """`neither` if the best sentence has less than `threshold` of the claim's words; else by negation and direction."""

    threshold: float

    @classmethod
    def fitted(cls, data: Path | None) -> LexicalStance:
        """The threshold that decides best whether the training claims are decided on."""
        pairs = [pair for found in suite_pairs(data, "train").values() for pair in found]
        known = [(_best(pair)[0], pair.stance != "neither") for pair in pairs]
        right = {value: sum((share >= value) == decided for share, decided in known) for value in _THRESHOLDS}
        return cls(max(_THRESHOLDS, key=lambda value: (right[value], -value)))

    def read(self, pair: ClaimPair) -> Stance:
        """The stance of a passage."""
        share, sentence = _best(pair)
        if share < self.threshold:
            return "neither"
        differs = bool(_NEGATION.search(pair.claim)) != bool(_NEGATION.search(sentence))
        opposed = (_only(_UP, _DOWN, pair.claim) and _only(_DOWN, _UP, sentence)) or (
            _only(_DOWN, _UP, pair.claim) and _only(_UP, _DOWN, sentence)
        )
        return "refutes" if differs != opposed else "supports"


def _only(present: re.Pattern[str], absent: re.Pattern[str], text: str) -> bool:
    return bool(present.search(text)) and not absent.search(text)


def _best(pair: ClaimPair) -> tuple[float, str]:
    """The largest share of the claim's words in one sentence, and that sentence."""
    wanted = {token.term for token in tokens(pair.claim)}
    texts = [pair.passage.text[start:end] for start, end in pair.passage.spans]
    shares = [(len(wanted & {token.term for token in tokens(text)}) / max(1, len(wanted)), text) for text in texts]
    return max(shares, key=lambda item: item[0], default=(0.0, ""))
