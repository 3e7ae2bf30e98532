"""Which sentences of an article make claims that studies can support or refute, and why: by rules, in English.

A sentence makes a claim if it asserts what something does, compares, or gives a number with its unit, of something medical.
Questions, opinions, plans, jokes, anecdotes, who-said-so and the furniture of a web page claim nothing. A sentence that
begins with "it" or "the drug" is worth less: out of its article nobody knows what it is about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from mappings.analysis.sentences import sentences
from mappings.claims import cues

MOST_PROPOSED: Final = 40
"""More check boxes than this nobody reads; the best ones are kept."""
MOST_SELECTED: Final = 5
"""How many are selected at first: an article rarely rests on more, and each costs a search."""
MOST_CHARACTERS: Final = 600
"""A longer sentence is a list or a paragraph without full stops; passages are not read for what they say of it."""
_LEAST_WORDS: Final = 4
_WORTHY, _CLEAR = 2.5, 3.0
"""From `_WORTHY` on a sentence is proposed; what is selected unasked must be a claim without its article, too."""
_EFFECT, _COMPARISON, _MEASURED, _NUMBER, _LIKELIHOOD = 2.0, 1.5, 1.5, 0.5, 0.5
_MEDICAL, _HEALTH, _RESEARCH = 1.5, 1.0, 0.5
_ANAPHORIC, _ANECDOTE, _LONG = 1.0, 2.0, 1.0
_LONG_WORDS: Final = 45

Names = Callable[[str], Sequence[str]]
"""The medical names that a sentence mentions, as it spells them."""


@dataclass(frozen=True, slots=True)
class ProposedClaim:
    """A sentence `text[start:end]` that makes a claim: `reasons` say why, `selected` whether it is among the best ones."""

    text: str
    start: int
    end: int
    reasons: tuple[str, ...]
    score: float
    selected: bool = False


def proposed_claims(text: str, names: Names) -> list[ProposedClaim]:
    """The sentences of `text` that make claims, in its order, each once; the best ones are selected."""
    found: dict[str, ProposedClaim] = {}
    for item in sentences(text):
        sentence = " ".join(text[item.start : item.end].split())
        score, reasons = judge(sentence, names)
        if score >= _WORTHY:
            found.setdefault(sentence.casefold(), ProposedClaim(sentence, item.start, item.end, reasons, score))
    best = _best(found.values(), MOST_PROPOSED)
    clear = [item for item in best if item.score >= _CLEAR]
    chosen = {item.start for item in _best(clear, MOST_SELECTED)}
    kept = sorted(best, key=lambda item: item.start)
    return [
        ProposedClaim(item.text, item.start, item.end, item.reasons, item.score, item.start in chosen) for item in kept
    ]


def _best(items: Iterable[ProposedClaim], count: int) -> list[ProposedClaim]:
    return sorted(items, key=lambda item: (-item.score, item.start))[:count]


def judge(sentence: str, names: Names) -> tuple[float, tuple[str, ...]]:
    """How much a sentence is worth checking, and what speaks for it; 0 and nothing if it makes no claim."""
    said = cues.ATTRIBUTION.sub("", sentence).strip(" \"“”'‘’.,")
    words = cues.WORD.findall(said)
    if len(words) < _LEAST_WORDS or len(sentence) > MOST_CHARACTERS or claims_nothing(sentence):
        return 0.0, ()
    reasons = _assertions(said)
    if not reasons:
        return 0.0, ()
    medical = list(dict.fromkeys(names(said)))
    if medical:
        reasons[f"a medical name ({medical[0]})"] = _MEDICAL
    elif found := cues.HEALTH.search(said):
        reasons[f"a word of health ({found[0].lower()})"] = _HEALTH
    if cues.RESEARCH.search(sentence):
        reasons["what a study found"] = _RESEARCH
    score = sum(reasons.values()) - _drawbacks(sentence, len(words))
    return score, tuple(reasons)


def claims_nothing(sentence: str) -> bool:
    """Whether a sentence is a question, an opinion, a plan, a joke or the furniture of a page."""
    patterns = (cues.OPINION, cues.JOKE, cues.PLAN, cues.FURNITURE)
    return is_question(sentence) or any(pattern.search(sentence) for pattern in patterns)


def is_question(sentence: str) -> bool:
    """Whether it ends with a question mark of any script, or several marks with one."""
    end = sentence.rstrip(" \"”'’)»")
    return bool(set("?？؟") & set(end[-2:]))


def _assertions(said: str) -> dict[str, float]:
    """What it asserts, each with its weight. A bare number alone asserts nothing: it can be a date or a house number."""
    reasons: dict[str, float] = {}
    if found := cues.EFFECT.search(said):
        reasons[f"an effect ({found[0].lower()})"] = _EFFECT
    if cues.COMPARISON.search(said):
        reasons["a comparison"] = _COMPARISON
    if cues.MEASURED.search(said):
        reasons["a number with its unit"] = _MEASURED
    elif reasons and any(letter.isdigit() for letter in said):
        reasons["a number"] = _NUMBER
    if reasons and cues.LIKELIHOOD.search(said):
        reasons["what is or can be"] = _LIKELIHOOD
    return reasons


def _drawbacks(sentence: str, words: int) -> float:
    return (
        _ANAPHORIC * bool(cues.ANAPHORA.match(sentence))
        + _ANECDOTE * bool(cues.ANECDOTE.search(sentence))
        + _LONG * (words > _LONG_WORDS)
    )
