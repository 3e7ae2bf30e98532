"""Report sentences whose finding is replaced by another name, to teach how reports state a finding, whichever it is.

A model recognises a finding that training never saw by its name and by how the sentence speaks of it. A fold has few
findings, and a model learns them by heart; here each frame of a report carries many names. The names are conditions of
`lexicons/conditions.tsv` that are not findings, so they show nothing of either fold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Final, NamedTuple

from encoders.labels.pairs import Pair
from encoders.labels.phrasing import worded
from encoders.labels.sentences import LabelledSentence
from encoders.labels.split import bucket
from encoders.labels.tasks.statements import drop_nested, is_finding, statement_key, statement_pair
from mappings.analysis.lexicon import rows
from mappings.analysis.mentions.cues import cues
from mappings.analysis.mentions.finding_lexicon import finding_entries
from mappings.analysis.mentions.findings import findings
from mappings.analysis.mentions.negation import polarity

TASK: Final = "substituted"
PER_NAME: Final = 6
"""Sentences for each name and polarity."""
OTHER_NAMES: Final = 2
"""Negatives of a pair that are the same sentence with another name."""


class Frame(NamedTuple):
    """A sentence, and the characters `start:end` of it that a name replaces; `present`: what it states of the name."""

    text: str
    start: int
    end: int
    present: bool

    def fill(self, name: str) -> str:
        """The sentence with `name` in the gap."""
        shown = name.capitalize() if self.start == 0 else name
        return self.text[: self.start] + shown + self.text[self.end :]


def make_substituted_pairs(sentences: Sequence[LabelledSentence], sides: Mapping[str, int], fold: int) -> list[Pair]:
    """The pairs from the sentences that name a finding of `fold`; the same on every machine.

    `sides` maps findings to folds.
    """
    frames = [frame for sentence in sentences for frame in _frames(sentence, sides, fold)]
    by_polarity = {present: [frame for frame in frames if frame.present == present] for present in (True, False)}
    if not all(by_polarity.values()):
        return []
    filled = {name: {present: _fill(name, by_polarity[present]) for present in by_polarity} for name in names()}
    return [pair for name, both in filled.items() for present in both for pair in _pairs(name, present, both)]


@cache
def names() -> tuple[str, ...]:
    """The conditions that are not findings and contain no cue of negation, by name; none contains another."""
    found = sorted(row[0] for row in rows("conditions") if not is_finding(row[0]))
    return drop_nested([name for name in found if not cues(name)])


def _frames(sentence: LabelledSentence, sides: Mapping[str, int], fold: int) -> Iterator[Frame]:
    """A frame from the first finding in `sentence`, if that is of the fold, named by a variant, and certain either way."""
    for finding in findings(sentence.text):
        mention = sentence.text[finding.start : finding.end].lower()
        known = sides.get(finding.name) == fold and not finding.uncertain
        if known and mention in finding_entries()[finding.name].variants:
            frame = Frame(sentence.text, finding.start, finding.end, finding.present)
            if _keeps_polarity(frame, names()[0]):
                yield frame
            return


def _keeps_polarity(frame: Frame, name: str) -> bool:
    """Whether the sentence states the same of another name as of the finding."""
    stated = polarity(frame.fill(name), frame.start, frame.start + len(name))
    return stated == ("present" if frame.present else "absent")


def _fill(name: str, frames: Sequence[Frame]) -> dict[str, Frame]:
    """Sentence -> its frame, for up to `PER_NAME` frames drawn by hash that keep their polarity with `name`."""
    start = bucket(f"{TASK}:{name}", len(frames))
    drawn = [frames[(start + 7919 * step) % len(frames)] for step in range(min(PER_NAME, len(frames)))]
    return {frame.fill(name): frame for frame in drawn if _keeps_polarity(frame, name)}


def _pairs(name: str, present: bool, both: Mapping[bool, Mapping[str, Frame]]) -> Iterator[Pair]:
    opposite = [sentence for sentence in both[not present] if sentence not in both[present]]
    for number, (sentence, frame) in enumerate(both[present].items()):
        key = statement_key(TASK, name, present, number)
        start = bucket(key, len(names()))
        others = [names()[(start + 31 * step) % len(names())] for step in range(OTHER_NAMES)]
        wrong = [*(frame.fill(other) for other in others if other != name), *opposite]
        query = worded(name, present, f"template:{key}")
        yield statement_pair(key, name, query, sentence, both[present], wrong)
