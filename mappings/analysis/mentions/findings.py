"""Findings of a report and whether they are present (RADIOLOGY, R1 and R2): the lexicon's phrases, then negation.

A longer phrase hides those inside it ("pericardial effusion" is not a pleural effusion). A part that is described as
normal rules findings out, too: "heart size is normal" means no cardiomegaly.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from mappings.analysis.mentions import finding_lexicon as lexicon
from mappings.analysis.mentions.cues import cues
from mappings.analysis.mentions.cues import words as cue_words
from mappings.analysis.mentions.negation import polarity
from mappings.analysis.mentions.phrases import Match, Word, split
from mappings.analysis.sentences import sentences

_REACH: Final = 120
_NEAR: Final = 30
_TAKES_BACK: Final = ("before", "either", "doubt-before", "pseudo", "end", "relative")


class Finding(NamedTuple):
    """A finding at the characters `start:end`; `uncertain` if the sentence leaves it open ("cannot exclude")."""

    name: str
    start: int
    end: int
    present: bool
    uncertain: bool = False


def findings(text: str) -> list[Finding]:
    """The findings of `text` in order, sentence by sentence; their names are those in `lexicons/findings.tsv`."""
    return [
        finding._replace(start=finding.start + item.start, end=finding.end + item.start)
        for item in sentences(text)
        for finding in _of_sentence(text[item.start : item.end])
    ]


def labels(sentence: str) -> dict[str, bool]:
    """Finding -> whether it is present, where `sentence` is certain, with the wider findings that this implies.

    A finding that is present on one side and absent on the other is present.
    """
    found: dict[str, bool] = {}
    for finding in findings(sentence):
        if not finding.uncertain:
            found[finding.name] = found.get(finding.name, False) or finding.present
    implied = [wider for name, present in found.items() if present for wider in lexicon.ancestors(name)]
    return found | dict.fromkeys(implied, True)


def doubts(sentence: str) -> frozenset[str]:
    """The findings that `sentence` leaves open, and the wider ones of these, unless `labels` decides them."""
    names = [finding.name for finding in findings(sentence) if finding.uncertain]
    wider = [name for found in names for name in lexicon.ancestors(found)]
    return frozenset((*names, *wider)) - labels(sentence).keys()


def _of_sentence(sentence: str) -> list[Finding]:
    words = split(sentence)
    names, phrases = lexicon.variants()
    mentions = _apart(phrases.find(words), names)
    stated = dict.fromkeys(
        _stated(sentence, words, names[match.phrase], match) for match in mentions if names[match.phrase]
    )
    used = {at for match in mentions for at in match.words}
    named = {finding.name for finding in stated}
    normal = dict.fromkeys(item for item in _normal(sentence, words, used) if item.name not in named)
    return sorted((*stated, *normal), key=lambda finding: (finding.start, finding.end, finding.name))


def _apart(matches: Sequence[Match], names: Sequence[str]) -> list[Match]:
    """`matches`, best first, without those that use a word twice for one family: "rib fracture" is one finding."""
    kept: list[Match] = []
    for match in matches:
        kin = [other for other in kept if _family(names[other.phrase]) == _family(names[match.phrase])]
        if all(set(match.words).isdisjoint(other.words) for other in kin):
            kept.append(match)
    return kept


def _family(name: str) -> str:
    return lexicon.family(name) if name else ""


def _stated(sentence: str, words: Sequence[Word], name: str, match: Match) -> Finding:
    start, end = words[match.words[0]].start, words[match.words[-1]].end
    stated = polarity(sentence, start, end)
    return Finding(name, start, end, stated != "absent", stated == "uncertain")


def _normal(sentence: str, words: Sequence[Word], used: set[int]) -> Iterator[Finding]:
    """The findings that normal parts rule out. `used` are the words of findings: "the enlarged heart" is not normal."""
    names, phrases = lexicon.parts()
    for match in phrases.find(words):
        if used.isdisjoint(match.words):
            start, end = words[match.words[0]].start, words[match.words[-1]].end
            state = _state(sentence, start, end)
            if state:
                for name in names[match.phrase]:
                    yield Finding(name, min(start, state[0]), max(end, state[1]), present=False)


def _state(sentence: str, start: int, end: int) -> tuple[int, int] | None:
    """Where the part at `start:end` is described as normal: before it ("clear lungs") or after it ("lungs are clear")."""
    beside = f"{sentence[max(0, start - 12) : start]} | {sentence[end : end + 12]}"
    if lexicon.words("side").search(beside):
        return None
    before = [match.span() for match in lexicon.words("normal").finditer(sentence, max(0, start - _NEAR), start)]
    after = [match.span() for match in lexicon.words("normal").finditer(sentence, end, end + _REACH)][:1]
    for place in (*before[-1:], *after):
        between = sentence[place[1] : start] if place[1] <= start else sentence[end : place[0]]
        if _belong_together(between, after=place[0] >= end) and _is_asserted(sentence, place):
            return place
    return None


def _belong_together(between: str, *, after: bool) -> bool:
    """Whether the words between a part and "normal" leave them connected: at most one verb if the part comes first."""
    if ";" in between or "." in between or lexicon.words("barrier").search(between):
        return False
    verbs = len(cue_words("verb").findall(between))
    if any(cue.kind in _TAKES_BACK for cue in cues(between)):
        return False
    return (
        verbs <= 1 if after else verbs == 0 and "," not in between and ":" not in between and len(between.split()) <= 2
    )


def _is_asserted(sentence: str, place: tuple[int, int]) -> bool:
    """Whether the state is asserted, unlike "not normal", "borderline normal", or "clear of …", which rules out what follows."""
    follows = sentence[place[1] :].split()[:1]
    barred = lexicon.words("barrier").search(sentence, max(0, place[0] - 14), place[0])
    return not barred and follows not in (["of"], ["from"]) and polarity(sentence, *place) == "present"
