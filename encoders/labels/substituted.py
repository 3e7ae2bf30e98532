"""Sentences of reports with another name in the place of a finding's: what is learnt is how reports say it, of anything.

A finding that training never saw is found by its name and by how the sentence speaks of it. The findings of a fold are
few, and a model learns them by heart; here each frame of a report carries many names. The names are conditions of
`lexicons/conditions.tsv` that are no finding, so nothing of either fold is in them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Final, NamedTuple

from encoders.labels.leaks import normalise
from encoders.labels.pairs import Pair, Text
from encoders.labels.phrasing import worded
from encoders.labels.sentences import Labelled
from encoders.labels.split import bucket, split_of
from mappings.analysis.cues import cues
from mappings.analysis.finding_lexicon import concepts
from mappings.analysis.findings import doubts, findings, labels
from mappings.analysis.lexicon import rows
from mappings.analysis.negation import polarity

TASK: Final = "substituted"
A_NAME: Final = 6
"""Sentences of each name and polarity."""
OTHERS: Final = 2
"""Negatives a pair that are the same sentence with another name."""


class Frame(NamedTuple):
    """A sentence, and the characters `start:end` of it where a name may stand; `present` is what it says of the name."""

    text: str
    start: int
    end: int
    present: bool

    def of(self, name: str) -> str:
        """The sentence that says it of `name`."""
        shown = name.capitalize() if self.start == 0 else name
        return self.text[: self.start] + shown + self.text[self.end :]


def substituted(found: Sequence[Labelled], sides: Mapping[str, int], fold: int) -> list[Pair]:
    """The pairs from the sentences that name a finding of `fold`; the same on every machine."""
    made = [frame for sentence in found for frame in _frames(sentence, sides, fold)]
    known = {present: [frame for frame in made if frame.present == present] for present in (True, False)}
    if not all(known.values()):
        return []
    said = {name: {present: _said(name, known[present]) for present in known} for name in names()}
    return [pair for name, both in said.items() for present in both for pair in _pairs(name, present, both)]


@cache
def names() -> tuple[str, ...]:
    """The conditions that are no finding and hold no cue of negation, by name; none holds another."""
    found = sorted(row[0] for row in rows("conditions") if not labels(row[0]) and not doubts(row[0]))
    plain = [name for name in found if not cues(name)]
    return tuple(name for name in plain if not any(other in name for other in plain if other != name))


def _frames(sentence: Labelled, sides: Mapping[str, int], fold: int) -> Iterator[Frame]:
    """The first place of `sentence` where a finding of the fold stands by one of its names, certain to be there or not."""
    for finding in findings(sentence.text):
        mention = sentence.text[finding.start : finding.end].lower()
        if sides.get(finding.name) == fold and not finding.uncertain and mention in concepts()[finding.name].variants:
            frame = Frame(sentence.text, finding.start, finding.end, finding.present)
            if _says(frame, names()[0]):
                yield frame
            return


def _says(frame: Frame, name: str) -> bool:
    """Whether the sentence says of another name what it says of the finding."""
    return polarity(frame.of(name), frame.start, frame.start + len(name)) == ("present" if frame.present else "absent")


def _said(name: str, frames: Sequence[Frame]) -> dict[str, Frame]:
    """Sentences that say it of `name`, each with its frame; their places are drawn by hash."""
    start = bucket(f"{TASK}:{name}", len(frames))
    drawn = [frames[(start + 7919 * step) % len(frames)] for step in range(min(A_NAME, len(frames)))]
    return {frame.of(name): frame for frame in drawn if _says(frame, name)}


def _pairs(name: str, present: bool, both: Mapping[bool, Mapping[str, Frame]]) -> Iterator[Pair]:
    relevant = tuple(map(_id, both[present]))
    opposite = [text for text in both[not present] if text not in both[present]]
    for number, (text, frame) in enumerate(both[present].items()):
        key = f"{TASK}:{name}:{'yes' if present else 'no'}:{number}"
        start = bucket(key, len(names()))
        others = [names()[(start + 31 * step) % len(names())] for step in range(OTHERS)]
        wrong = [*(frame.of(other) for other in others if other != name), *opposite]
        yield Pair(
            TASK,
            key,
            name,
            split_of(name),
            TASK,
            worded(name, present, f"template:{key}"),
            relevant,
            _text(text),
            tuple(_text(other) for other in dict.fromkeys(wrong) if _id(other) not in relevant),
        )


def _id(text: str) -> str:
    return f"{TASK}:{normalise(text)}"


def _text(text: str) -> Text:
    return Text(_id(text), "", "", text)
