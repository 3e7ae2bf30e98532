"""Generated sentences that teach what "no" means: conditions that are not chest findings, present or ruled out.

Reports have few findings, and each comes in its own phrases. Here the same frames carry other names, so that only the
name and the polarity tell two sentences apart. The names are long forms of our dictionary of abbreviations, without
those that are findings of the lexicon, so they show nothing of either fold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from encoders.labels.pairs import Pair
from encoders.labels.phrasing import worded
from encoders.labels.split import bucket
from encoders.labels.tasks.statements import drop_nested, is_finding, statement_key, statement_pair
from mappings.analysis.abbreviations import dictionary
from mappings.analysis.mentions.negation import negated

TASK: Final = "polarity"
PER_NAME: Final = 8
"""Sentences generated for each name and polarity."""
OPPOSITES: Final = 4
"""Negatives of the opposite polarity in each pair: as many as one training step of a cross-encoder compares."""

_CONDITION_ENDINGS: Final = (
    *("itis", "osis", "emia", "oma", "syndrome", "disease", "failure", "disorder", "injury", "infection"),
    *("infarction", "fibrillation", "cancer", "stenosis", "regurgitation", "ulcer", "stroke", "thrombosis"),
    *("hypertrophy", "tachycardia", "insufficiency", "hyperplasia", "pathy", "seizure", "fever"),
)
_NOT_CONDITIONS: Final = ("diagnosis", "prognosis")
_MAX_WORDS: Final = 4

_PRESENT: Final = (
    "There is {}.", "Mild {} is noted.", "Findings consistent with {}.", "{} is again seen, unchanged.", "Stable {}.",
    "{} and {}.", "Interval development of {}.", "Known {}.", "{} is present.", "Increased {} since the prior study.",
    "Persistent {} and mild {}.", "{} on the right.", "There is {} with {}.",
)  # fmt: skip
_ABSENT: Final = (
    "No {}.", "There is no {}.", "No evidence of {} or {}.", "{} is not seen.", "Without {} or {}.", "{} has resolved.",
    "No {}, {} or {}.", "Negative for {}.", "There is no focal {}, {}, or {}.", "No definite {} is identified.",
    "Free of {}.", "{} and {} are not seen.", "No acute {} or {}.", "Absence of {}.",
)  # fmt: skip
_PRESENT_THEN_ABSENT: Final = ("{} without {}.", "There is {}, with no {}.", "Stable {}. No {}.")
_ABSENT_THEN_PRESENT: Final = ("No {}, but there is {}.", "No {} and stable {}.", "{} is not seen; there is {}.")
_FRAMES: Final[Mapping[tuple[bool, bool], Sequence[str]]] = {
    (True, False): _PRESENT,
    (False, False): _ABSENT,
    (True, True): _PRESENT_THEN_ABSENT,
    (False, True): _ABSENT_THEN_PRESENT,
}
"""(polarity of the first name, whether a second name has the opposite polarity) -> frames."""

_LISTS: Final = ("No fever, {} or cough.", "Fever and {} are not seen.")


class Statement(NamedTuple):
    """A condition, and whether it is present."""

    name: str
    present: bool


def names() -> list[str]:
    """The conditions, by name: none is a finding of the lexicon, contains one, or contains another condition."""
    found = {entry.long.lower() for entry in dictionary()}
    usable = (name for name in found if _is_condition(name) and not is_finding(name))
    return list(drop_nested(sorted(name for name in usable if _is_free_of_cues(name))))


def _is_free_of_cues(name: str) -> bool:
    """Whether no word of the name is itself a cue, as in "borderline personality disorder" or "graft versus host disease"."""
    ruled_out = all(_is_ruled_out(sentence.format(name), word) for sentence in _LISTS for word in (name, "fever"))
    return ruled_out and not _is_ruled_out(f"Fever and {name}.", "fever")


def _is_ruled_out(sentence: str, word: str) -> bool:
    start = sentence.lower().index(word)
    return negated(sentence, start, start + len(word))


def _is_condition(name: str) -> bool:
    *_, last = name.split()
    return len(name.split()) <= _MAX_WORDS and last.endswith(_CONDITION_ENDINGS) and last not in _NOT_CONDITIONS


def make_polarity_pairs() -> list[Pair]:
    """The pairs, the same on every machine."""
    found = names()
    sentences: dict[Statement, dict[str, None]] = {}
    for name in found:
        for present in (True, False):
            for number in range(PER_NAME):
                statements, sentence = _make_sentence(Statement(name, present), number, found)
                for statement in statements:
                    sentences.setdefault(statement, {})[sentence] = None
    return list(_pairs(sentences))


def _pairs(sentences: Mapping[Statement, Mapping[str, None]]) -> Iterator[Pair]:
    for (name, present), relevant in sentences.items():
        opposite = list(sentences[Statement(name, not present)])
        for number, sentence in enumerate(relevant):
            key = statement_key(TASK, name, present, number)
            wrong = [opposite[(number + step) % len(opposite)] for step in range(OPPOSITES)]
            yield statement_pair(key, name, worded(name, present, key), sentence, relevant, wrong)


def _make_sentence(statement: Statement, number: int, found: list[str]) -> tuple[list[Statement], str]:
    """A sentence that makes the statement, and all the statements it makes.

    One in four also says the opposite of another name.
    """
    name, present = statement
    key = f"{name}:{present}:{number}"
    mixed = number % 4 == 0
    frames = _FRAMES[present, mixed]
    frame = frames[bucket(f"frame:{key}", len(frames))]
    others = [other for other in found if other != name]
    start = bucket(f"other:{key}", len(others))
    rest = [others[(start + 31 * step) % len(others)] for step in range(frame.count("{}") - 1)]
    text = frame.format(name, *rest)
    statements = [statement, *(Statement(other, present is not mixed) for other in rest)]
    return statements, text[0].upper() + text[1:]
