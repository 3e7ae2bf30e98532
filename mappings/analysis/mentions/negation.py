"""Whether a sentence rules out what it mentions: the cues of `lexicons/negation.tsv`, and the scope of each.

A cue before a list rules out all of it ("no pneumothorax, effusion or consolidation"), and so does one after it
("pneumothorax and effusion are not seen"). The scope of a cue ends with its clause: at a word that closes it ("but",
"with", "due to"), at another cue, at a semicolon, or before a part after a comma or "and" that is not an item of the
list: one with a verb of its own ("no effusion, the heart is large"), or one that starts as only a positive finding does
("no effusion, mild scarring").
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Container, Iterator, Sequence
from functools import lru_cache
from typing import Final, Literal, NamedTuple, cast

from mappings.analysis.mentions.cues import Cue, cues, words
from mappings.analysis.sentences import sentences

Polarity = Literal["present", "absent", "uncertain"]

_JOIN: Final = re.compile(
    r"(?=[\s,/(&aon])(?:\s*(?:,|/(?!\w)|\()?\s*(?:\b(?P<word>and/or|or|nor|and|as well as)\b|&)\s*|\s*[,(]\s*)", re.I
)
_STOP: Final = re.compile(r"[;:?!)]|(?<!\b[A-Z])\.(?=\s|$)|\s[-–—]+\s|\n\s*\n")
_ANSWER: Final = re.compile(r"\s*(?::|[-–=]\s)\s*(?:no|none|negative|absent|nil|denies|denied)\s*(?=[.,;)\n]|$)", re.I)
_MODAL: Final = re.compile(r"(?:can|could|may|might|will|would)\b", re.I)
_SUBJECT: Final = re.compile(r"\b(?:we|i|he|she|they|you|one|there\s(?:is|are|was|were))\b", re.I)
_GRADED: Final = re.compile(r"\d\+|\+|\d+(?:\.\d+)?\s?(?:cm|mm|x\s?\d)")
"""How a positive finding starts: "2+ edema", "3 mm nodule"."""
_OPENING: Final = re.compile(r"(?:[-,;:(.\u2013\u2014]|\b(?:and|or|but|with|(?:this|that|there|it) is))$", re.I)
_WHY: Final = re.compile(r"\s*(?:because|due|for|after|when|until|only|since|there)\b", re.I)
_CONDITIONS: Final = (" once ", " until ", " till ", " unless ", " as soon as ")
"""What starts a clause that says nothing of what precedes it: "start allopurinol once the attack has settled"."""
_SPACE: Final = re.compile(r"\s*")
_KEPT: Final = 64
_BEFORE: Final = ("before", "either", "doubt-before")
_AFTER: Final = ("after", "either", "doubt-after")
_CLOSING: Final = ("before", "doubt-before", "pseudo", "end", "relative")


def negated(text: str, start: int, end: int) -> bool:
    """Whether the mention `text[start:end]` is ruled out in its sentence: "nausea" in "no fever or nausea"."""
    return polarity(text, start, end) == "absent"


def polarity(text: str, start: int, end: int) -> Polarity:
    """What its sentence states about the mention `text[start:end]`: "uncertain" in "cannot exclude pneumonia"."""
    if not 0 <= start < end <= len(text):
        return "present"
    starts, bounds = _sentences(text)
    first, last = bounds[max(0, bisect_right(starts, start) - 1)]
    sentence, start, end = text[first : max(last, end)], start - first, end - first
    if _ANSWER.match(sentence, end):
        return "absent"
    inside = [scope for scope in _scopes(_hidden(sentence, start, end)) if scope.covers(start, end)]
    return cast(Polarity, min(inside, key=lambda scope: scope.rank(start)).states) if inside else "present"


def _hidden(sentence: str, start: int, end: int) -> str:
    """`sentence`; a mention whose name contains a cue ("graft versus host disease") is replaced by neutral letters."""
    mention = sentence[start:end]
    if all(cue.kind == "before" for cue in cues(mention)):
        return sentence
    return sentence[:start] + "x" * len(mention) + sentence[end:]


@lru_cache(_KEPT)
def _sentences(text: str) -> tuple[list[int], list[tuple[int, int]]]:
    found = [(item.start, item.end) for item in sentences(text)] or [(0, len(text))]
    return [start for start, _ in found], found


class Scope(NamedTuple):
    """The characters `start:end` that a cue covers, and what it states about them."""

    start: int
    end: int
    cue: Cue
    states: str

    def covers(self, start: int, end: int) -> bool:
        """Whether the mention `start:end` is in the scope."""
        # "heart is not enlarged" is one mention with its cue inside.
        return self.start <= start < self.end or (start < self.cue.start < end and self.cue.kind != "either")

    def rank(self, start: int) -> tuple[bool, bool, int]:
        """Sort key: cues after the mention first, of those a doubt first; then the nearest cue before it."""
        after = self.cue.start >= start
        return not after, after and self.states != "uncertain", abs(self.cue.start - start)


@lru_cache(_KEPT * 16)
def _scopes(sentence: str) -> tuple[Scope, ...]:
    return tuple(scopes(sentence, cues(sentence)))


def scopes(sentence: str, found: Sequence[Cue], says: Container[str] | None = None) -> Iterator[Scope]:
    """The scopes of the cues `found`, which are in order and disjoint; a cue that says something states that.

    With `says`, only the scopes of those that say one of these.
    """
    resolved = [_resolve_direction(sentence, cue) for cue in found if cue.kind != "keep"]
    for number, cue in enumerate(resolved):
        if says is None or cue.says in says:
            yield from _of_cue(sentence, resolved, number)


def _of_cue(sentence: str, found: Sequence[Cue], number: int) -> Iterator[Scope]:
    cue = found[number]
    stated = cue.says or ("uncertain" if cue.kind.startswith("doubt") else "absent")
    if cue.kind in _BEFORE and not _is_part_of_negation(sentence, found, number):
        # The scope starts inside the cue: the cue "no acute finding" contains its mention.
        end = _forward(sentence, found, number)
        yield Scope(cue.start + 1, end, cue, stated)
        # A cue that nothing follows refers to what came before: "hemoptysis denied".
        looks_back = cue.kind == "before" and not sentence[cue.end : end].strip() and not _goes_on(sentence, end)
    else:
        looks_back = False
    if cue.kind in _AFTER or looks_back:
        yield Scope(_backward(sentence, found, number), cue.start, cue, stated)


def _goes_on(sentence: str, end: int) -> bool:
    """Whether what closed an empty scope tells why: "because of vertigo, not because she tripped"."""
    return _WHY.match(sentence, end) is not None


def _resolve_direction(sentence: str, cue: Cue) -> Cue:
    """A doubt of either direction looks ahead if it opens its part of the sentence ("effusion, unlikely pneumonia"), else back."""
    if cue.kind != "doubt-either":
        return cue
    before, after = sentence[: cue.start].rstrip(), sentence[cue.end :].strip(" .")
    opens = bool(after) and (not before or _OPENING.search(before))
    return cue._replace(kind="doubt-before" if opens else "doubt-after")


def _is_part_of_negation(sentence: str, found: Sequence[Cue], number: int) -> bool:
    """Whether a doubt only qualifies a negation right before it, as in "no findings suspicious for malignancy"."""
    cue, before = found[number], found[number - 1] if number else None
    if cue.kind != "doubt-before" or before is None or before.kind != "before":
        return False
    if cue.says == "hypothetical" and _MODAL.match(sentence, cue.start):  # "Without treatment could lead to a stroke."
        return False
    between = sentence[before.end : cue.start]
    return not (_JOIN.search(between) or _STOP.search(between) or _SUBJECT.search(between))


def _forward(sentence: str, found: Sequence[Cue], number: int) -> int:
    """Where the scope of a cue that rules out what follows ends."""
    start = found[number].end
    limit = _limit(sentence, found, number)
    stop = _STOP.search(sentence, start, limit)
    limit = stop.start() if stop else limit
    joins = [match for match in _JOIN.finditer(sentence, start, limit) if match.end() > match.start()]
    if found[number].kind == "either":
        verb = words("verb").search(sentence, start, joins[0].start() if joins else limit)
        return verb.start() if verb else joins[0].start() if joins else limit
    for place, join in enumerate(joins):
        end = joins[place + 1].start() if place + 1 < len(joins) else limit
        listed = any(_word(later) in ("or", "nor", "and/or") for later in joins[place:])
        named = not _only_described(sentence[start : join.start()])
        # "No new complaints, still nauseous": the cue itself can be the first item.
        item = join.start() > start or " " in sentence[found[number].start : start]
        if item and named and not _continues_list(sentence[join.end() : end], _word(join), listed):
            return join.start()
    return limit


def _limit(sentence: str, found: Sequence[Cue], number: int) -> int:
    for later, cue in enumerate(found[number + 1 :], start=number + 1):
        if cue.kind in _CLOSING and cue.start >= found[number].end and not _is_part_of_negation(sentence, found, later):
            return cue.start
    return len(sentence)


def _only_described(part: str) -> bool:
    """Whether a part has only adjectives: "no acute, displaced fracture" has one item, not two."""
    return bool(part.strip()) and all(words("size").fullmatch(word) for word in part.split())


def _continues_list(part: str, join: str, listed: bool) -> bool:
    """Whether the part after a join is one more item. `listed`: the join is an "or", or one is still to come."""
    if join in ("or", "nor", "and/or"):
        return True
    if words("stable").match(part) or _GRADED.match(part):
        return False
    verb = words("verb").search(part)
    if verb and not (_is_verb_of_seeing(part, verb.end()) and (listed or join)):
        return False
    return listed or not words("small").match(part)


def _is_verb_of_seeing(part: str, start: int) -> bool:
    """Whether the verb that ends at `start` only says that something is seen, so that its list is one subject."""
    return bool(words("seen").search(part, start, start + 40))


def _word(join: re.Match[str]) -> str:
    return (join["word"] or "").lower()


def _backward(sentence: str, found: Sequence[Cue], number: int) -> int:
    """Where the scope of a cue that rules out what precedes it starts."""
    first = _floor(sentence, found, number)
    end = _subject_end(sentence, first, found[number].start)
    joins = [match for match in _JOIN.finditer(sentence, first, end) if match.end() > match.start()]
    start, coordinated = end, False
    for join in reversed(joins):
        part = sentence[join.end() : start]
        verb = _last_verb(part)
        if verb is not None:
            return join.end() + verb
        coordinated = coordinated or bool(_word(join))
        if not coordinated or words("verb").search(sentence, first, join.start()):
            return join.end()
        start = join.start()
    return first + (_last_verb(sentence[first:start]) or 0)


def _floor(sentence: str, found: Sequence[Cue], number: int) -> int:
    cue = found[number]
    # "an effusion, which has resolved": the clause is about what precedes "which".
    before = [other.end for other in found[:number] if other.kind != "relative" and other.end <= cue.start]
    stops = [match.end() for match in _STOP.finditer(sentence, 0, cue.start) if match[0] != ")"]
    conditions = [sentence.rfind(word, 0, cue.start) for word in _CONDITIONS]
    return max([0, *before, *stops, *conditions])


def _subject_end(sentence: str, first: int, end: int) -> int:
    """`end` without the auxiliary verbs, adverbs and "which" right before it."""
    while True:
        kept = sentence[first:end].rstrip(" ,")
        last = kept.rpartition(" ")[2]
        if not last or not (words("auxiliary").fullmatch(last) or last.lower() in ("which", "that")):
            return first + len(kept)
        end = first + len(kept) - len(last)


def _last_verb(part: str) -> int | None:
    ends = [match.end() for match in words("verb").finditer(part)]
    return ends[-1] if ends else None
