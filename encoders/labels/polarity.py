"""Sentences made to teach what "no" means: conditions that are no chest finding, said to be there or ruled out.

Findings of reports are few, and each comes in its own phrases. Here the same frames are filled with other names, so that
what tells two sentences apart is the name and the polarity alone. The names are long forms of our dictionary of
abbreviations; one that is a finding of the lexicon is left out, so nothing of either fold is in them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from encoders.labels.leaks import normalise
from encoders.labels.pairs import Pair, Text
from encoders.labels.phrasing import worded
from encoders.labels.split import bucket, split_of
from mappings.analysis.findings import doubts, labels
from mappings.analysis.lexicon import rows
from mappings.analysis.negation import negated

TASK: Final = "polarity"
A_NAME: Final = 8
"""Pairs made of each name and polarity."""
OPPOSITES: Final = 4
"""Sentences of the other polarity beside each: as many as a cross-encoder's step compares."""

_CONDITION: Final = [
    "itis",
    "osis",
    "emia",
    "oma",
    "syndrome",
    "disease",
    "failure",
    "disorder",
    "injury",
    "infection",
    "infarction",
    "fibrillation",
    "cancer",
    "stenosis",
    "regurgitation",
    "ulcer",
    "stroke",
    "thrombosis",
    "hypertrophy",
    "tachycardia",
    "insufficiency",
    "hyperplasia",
    "pathy",
    "seizure",
    "fever",
]
_NONE: Final = ("diagnosis", "prognosis")
_LONGEST: Final = 4

_THERE: Final = (
    "There is {}.", "Mild {} is noted.", "Findings consistent with {}.", "{} is again seen, unchanged.", "Stable {}.",
    "{} and {}.", "Interval development of {}.", "Known {}.", "{} is present.", "Increased {} since the prior study.",
    "Persistent {} and mild {}.", "{} on the right.", "There is {} with {}.",
)  # fmt: skip
_GONE: Final = (
    "No {}.", "There is no {}.", "No evidence of {} or {}.", "{} is not seen.", "Without {} or {}.", "{} has resolved.",
    "No {}, {} or {}.", "Negative for {}.", "There is no focal {}, {}, or {}.", "No definite {} is identified.",
    "Free of {}.", "{} and {} are not seen.", "No acute {} or {}.", "Absence of {}.",
)  # fmt: skip
_THERE_NOT: Final = ("{} without {}.", "There is {}, with no {}.", "Stable {}. No {}.")
_NOT_THERE: Final = ("No {}, but there is {}.", "No {} and stable {}.", "{} is not seen; there is {}.")
"""Frames of two names: the first is there and the second is not, and the other way round."""


_LISTS: Final = ("No fever, {} or cough.", "Fever and {} are not seen.")


def names() -> list[str]:
    """The conditions, by name: none is a finding of the lexicon or holds one."""
    found = {row[1].lower() for row in rows("abbreviations")}
    usable = (name for name in found if _is_condition(name) and not labels(name) and not doubts(name))
    plain = sorted(name for name in usable if _is_plain(name))
    # One that holds another would say of that one, too, what it says of itself.
    return [name for name in plain if not any(other in name for other in plain if other != name)]


def _is_plain(name: str) -> bool:
    """Whether no word of the name is a cue itself, as in "borderline personality disorder" or "graft versus host disease"."""
    return all(_ruled_out(sentence.format(name), word) for sentence in _LISTS for word in (name, "fever"))


def _ruled_out(sentence: str, word: str) -> bool:
    start = sentence.lower().index(word)
    return negated(sentence, start, start + len(word))


def _is_condition(name: str) -> bool:
    *_, last = name.split()
    return len(name.split()) <= _LONGEST and last.endswith(tuple(_CONDITION)) and last not in _NONE


def polarity() -> list[Pair]:
    """The pairs, the same on every machine."""
    found = names()
    made = [
        _made(name, present, number, found) for name in found for present in (True, False) for number in range(A_NAME)
    ]
    relevant: dict[tuple[str, bool], dict[str, str]] = {}
    for said, text in made:
        for statement in said:
            relevant.setdefault(statement, {})[text] = f"{TASK}:{normalise(text)}"
    return list(_pairs(relevant))


def _pairs(relevant: dict[tuple[str, bool], dict[str, str]]) -> Iterator[Pair]:
    for (name, present), texts in relevant.items():
        opposite = list(relevant[name, not present].items())
        for number, (text, identifier) in enumerate(texts.items()):
            key = f"{TASK}:{name}:{'yes' if present else 'no'}:{number}"
            wrong = [opposite[(number + step) % len(opposite)] for step in range(OPPOSITES)]
            yield Pair(
                TASK,
                key,
                name,
                split_of(name),
                TASK,
                worded(name, present, key),
                tuple(texts.values()),
                Text(identifier, "", "", text),
                tuple(Text(other, "", "", said) for said, other in dict.fromkeys(wrong)),
            )


def _made(name: str, present: bool, number: int, found: list[str]) -> tuple[list[tuple[str, bool]], str]:
    """A sentence that says of `name` whether it is there, and all that it says; every fourth says the opposite of another."""
    key = f"{name}:{present}:{number}"
    turns = number % 4 == 0
    mixed = (_THERE_NOT if present else _NOT_THERE) if turns else (_THERE if present else _GONE)
    frame = mixed[bucket(f"frame:{key}", len(mixed))]
    others = [other for other in found if other != name]
    start = bucket(f"other:{key}", len(others))
    rest = [others[(start + 31 * step) % len(others)] for step in range(frame.count("{}") - 1)]
    text = frame.format(name, *rest)
    said = [(name, present), *((other, present is not turns) for other in rest)]
    return said, text[0].upper() + text[1:]
