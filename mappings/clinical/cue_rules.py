"""The cues of `lexicons/assertion.tsv`, together with those of `lexicons/negation.tsv`, which they can redefine."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, Literal, NamedTuple, get_args

from mappings.analysis.lexicon import LEXICONS, rows_of
from mappings.analysis.mentions.cue_phrases import tokens
from mappings.analysis.mentions.cues import (
    Cue,
    CueKind,
    CueLexicon,
    Places,
    disjoint,
    negation_classes,
    negation_phrases,
    numbers,
)
from mappings.analysis.mentions.screens import Screened
from mappings.clinical.cue_patterns import CuePatterns
from mappings.clinical.time_patterns import CONSIDERED, HISTORY, PLANNED, TAKEN, is_beginning
from mappings.errors import InvalidInput

Assertion = Literal["present", "ruled-out", "uncertain", "hypothetical", "historical", "family"]
ASSERTIONS: Final[tuple[str, ...]] = get_args(Assertion)
FILE: Final = LEXICONS / "assertion.tsv"
CURRENT: Final = "current"
"""What a cue says that keeps a mention from being history."""
_SAYS: Final = (*ASSERTIONS[1:], HISTORY, PLANNED, TAKEN, CONSIDERED, CURRENT, "present")
_DIRECTIONS: Final = ("before", "after", "either", "facing")
_SCOPES: Final = ("next", "list", "clause", "sentence", "pseudo", "skip", "keep", "end")
_ONE_WAY: Final = ("before", "after", "doubt-before", "doubt-after")
FACING: Final = "facing"
"""The kind of a cue that is about what follows it, or about what precedes it where nothing follows: "possible"."""
_NOT_YET: Final = re.compile(
    r"(?:\b(?:not|never|hardly|scarcely|yet\sto)|n['’]t)\s(?:(?:yet|fully|quite|been|have)\s){0,2}$", re.I
)
_PAST: Final = ("historical", HISTORY)
_FAMILY_END: Final = "family-end"
_SHARES: Final = ("share", "Share", "like", "Like", "unlike", "Unlike")


@dataclass(frozen=True, slots=True)
class CueRule:
    """A row of `assertion.tsv`; the example has its mention at `start:end`, with the assertion `expected`."""

    phrases: tuple[str, ...]
    says: str
    direction: str
    scope: str
    example: str
    start: int
    end: int
    expected: str


class _Seen(NamedTuple):
    """A sentence, where phrases can start in it, and the numbers of the patterns that may match."""

    screened: Screened
    places: Places
    possible: Sequence[int]


class AssertionCues:
    """Finds all cues of a sentence: those of negation and those of `rules`."""

    def __init__(self, rules: list[CueRule], classes: dict[str, tuple[str, ...]]) -> None:
        classes = negation_classes() | classes
        own = _by_kind(rules, classes)
        given = {phrase for phrases in own.values() for phrase in phrases}
        both = {kind: [item for item in phrases if item not in given] for kind, phrases in negation_phrases().items()}
        signs = {phrase: kind for kind, phrases in own.items() for phrase in phrases if not phrase[0].isalnum()}
        words = {kind: [item for item in phrases if item not in signs] for kind, phrases in own.items()}
        every = {**both, **{kind: [*both.get(kind, ()), *own] for kind, own in words.items()}}
        self._lexicon = CueLexicon(every, classes)
        self._signs = signs
        self._patterns = CuePatterns(classes["relative"])
        longest = sorted(signs, key=lambda sign: (-len(sign), sign))
        self._sign = re.compile("|".join(map(_sign, longest)), re.IGNORECASE)

    def find(self, sentence: str) -> list[Cue]:
        """The cues in order and disjoint: of two that overlap, the longer one counts."""
        seen = self._look(sentence)
        return _chosen(sentence, [*self._stating(seen), *self._silent(seen)])

    def find_stating(self, sentence: str) -> list[Cue]:
        """As `find`, but none where no cue states anything: others only delimit what such a cue is about."""
        seen = self._look(sentence)
        stating = self._stating(seen)
        return _chosen(sentence, [*stating, *self._silent(seen)]) if stating else []

    def _look(self, sentence: str) -> _Seen:
        screened = Screened.of(sentence)
        return _Seen(screened, self._lexicon.places(screened), self._patterns.possible(screened))

    def _stating(self, seen: _Seen) -> list[Cue]:
        """The cues that state something, in no order."""
        sentence = seen.screened.sentence
        found = [cue for cue in self._lexicon.stating(seen.screened, seen.places) if not _is_void(sentence, cue)]
        found += [Cue(*match.span(), *self._kind(sentence, match)) for match in self._sign.finditer(sentence)]
        found += self._patterns.find(seen.screened, seen.possible)
        return found

    def _silent(self, seen: _Seen) -> Iterator[Cue]:
        """The cues that only delimit others, in no order."""
        yield from self._lexicon.silent(seen.screened, seen.places)
        yield from numbers(seen.screened.sentence)
        yield from self._patterns.find_silent(seen.screened, seen.possible)

    def _kind(self, sentence: str, sign: re.Match[str]) -> CueKind:
        """A sign before a word is about what follows ("? pneumonia"), one after a word about what precedes it."""
        kind = self._signs[sign[0].lower()]
        before = sentence[sign.start() - 1 : sign.start()].strip(" ([/")
        if not kind.kind.startswith("next"):
            return kind
        follows = before or not sentence[sign.end() :].strip(" .")
        return CueKind("next-after" if follows else "next-before", kind.says)


def _chosen(sentence: str, every: list[Cue]) -> list[Cue]:
    """Those of `every` that do not overlap a longer one, in order."""
    # Whom a sentence is about and what it says may be told by the same words: "mother worried that he has measles".
    kin = [cue for cue in every if cue.says == "family" or cue.kind == _FAMILY_END]
    kin = [cue for cue in kin if not _is_owner(sentence, cue)]
    if kin:
        others = [cue for cue in every if cue.says != "family" and cue.kind != _FAMILY_END]
        kept = sorted([*disjoint(others), *disjoint(kin)])
    else:
        kept = disjoint(every)
    return [_with_colon(sentence, cue) for cue in kept] if ":" in sentence else kept


@cache
def assertion_cues() -> AssertionCues:
    """The cues of the shipped lexicons."""
    return AssertionCues(list(rules()), classes())


@cache
def rules(path: Path = FILE) -> tuple[CueRule, ...]:
    """The rules of a file. Raises `InvalidInput` with the line of a malformed one."""
    return tuple(_rule(path, number, row) for number, row in rows_of(path) if not row[0].startswith(":"))


@cache
def classes(path: Path = FILE) -> dict[str, tuple[str, ...]]:
    """The words of each class of a file."""
    return {row[0][1:]: tuple(row[1].split("|")) for _, row in rows_of(path) if row[0].startswith(":")}


def marked(text: str) -> tuple[str, int, int] | None:
    """A text without the brackets of its one `[[mention]]`, and the mention's start and end; None without just one."""
    before, opened, rest = text.partition("[[")
    mention, closed, after = rest.partition("]]")
    if not (opened and closed and mention.strip()) or "[[" in mention + after or "]]" in before + after:
        return None
    return before + mention + after, len(before), len(before) + len(mention)


def _is_void(sentence: str, cue: Cue) -> bool:
    """Whether a cue of the past says nothing: something only began then, or it is not over ("not settled with morphine")."""
    if cue.says not in _PAST or not cue.kind.endswith("-after"):
        return False
    if _NOT_YET.search(sentence, max(0, cue.start - 24), cue.start):
        return True
    return cue.kind == "clause-after" and is_beginning(sentence, cue.start, cue.end)


def _is_owner(sentence: str, cue: Cue) -> bool:
    """Whether a relative is not passed over, but has what follows: "here with her mother's osteoporosis in mind"."""
    owns = cue.kind == "skip" and sentence[cue.end : cue.end + 2] in ("'s", "’s")
    return owns and not sentence.startswith(_SHARES, cue.start)


def _sign(sign: str) -> str:
    if sign == "?":  # "?DVT" and "DVT?", but not the end of "Is it so? Yes."
        # Nor what leaves the cause of something open: "diarrhea ?cause".
        return (
            r"\?(?:(?<!\w\?)(?!\s*$)|(?!\w))(?!\s?(?:cause|a?etiology|source|origin|trigger|reason|why|significance)\b)"
        )
    first, rest = re.escape(sign[0]), re.escape(sign[1:])
    opens = "" if sign[0] in "?(" else rf"(?<!\w{first})"
    return first + opens + rest + r"(?!\w)"  # a search for a character is much faster than one for what precedes it


def _with_colon(sentence: str, cue: Cue) -> Cue:
    """A cue before its mentions, with a colon right after it: "Ddx: gout", "Negative for: fever", "Excluded: stroke"."""
    if sentence[cue.end : cue.end + 1] != ":":
        return cue
    if cue.kind == FACING and sentence[cue.end + 1 :].strip(" ."):
        return cue._replace(end=cue.end + 1, kind="before" if cue.says == "ruled-out" else "doubt-before")
    if cue.kind == "either" and cue.says in ("", "ruled-out") and not sentence[: cue.start].strip():
        return cue._replace(end=cue.end + 1, kind="before")
    return cue._replace(end=cue.end + 1) if cue.kind in ("before", "doubt-before") else cue


def _rule(path: Path, number: int, row: tuple[str, ...]) -> CueRule:
    if len(row) != 6:
        raise InvalidInput(f"{path}:{number}: a rule has 6 columns, this one has {len(row)}", field="lexicon")
    phrases, says, direction, scope, example, expected = row
    for value, allowed in ((says, _SAYS), (direction, _DIRECTIONS), (scope, _SCOPES), (expected, ASSERTIONS)):
        if value not in allowed:
            raise InvalidInput(f"{path}:{number}: {value!r} is not one of {', '.join(allowed)}", field="lexicon")
    found = marked(example)
    if not found:
        raise InvalidInput(f"{path}:{number}: the example needs one mention in [[ ]]", field="lexicon")
    names = tuple(phrase.strip() for phrase in phrases.split("|"))
    if not all(names):
        raise InvalidInput(f"{path}:{number}: a cue is empty", field="lexicon")
    return CueRule(names, says, direction, scope, *found, expected)


def _by_kind(found: list[CueRule], classes: dict[str, tuple[str, ...]]) -> dict[CueKind, list[str]]:
    """The phrases by kind; one that stands both before and after a mention becomes one that looks both ways."""
    kinds: dict[str, set[CueKind]] = defaultdict(set)
    for rule in found:
        for phrase in rule.phrases:
            for spelt in _spelt_out(phrase, classes):
                kinds[spelt].add(_kind(rule))
    by_kind: dict[CueKind, list[str]] = defaultdict(list)
    for phrase, chosen in kinds.items():
        for kind in sorted(_merged(chosen)):  # the same order in every process
            by_kind[kind].append(phrase)
    return by_kind


def _kind(rule: CueRule) -> CueKind:
    if rule.scope in ("pseudo", "skip", "keep"):
        return CueKind(rule.scope, "family" if rule.says == "family" else "")
    if rule.scope == "end":
        return CueKind(_FAMILY_END if rule.says == "family" else "end")
    if rule.direction == FACING:
        return CueKind(FACING, rule.says)
    if rule.scope != "list":
        return CueKind(f"{rule.scope}-{rule.direction}", rule.says)
    if rule.says == "ruled-out":
        return CueKind(rule.direction, rule.says)
    return CueKind("either" if rule.direction == "either" else f"doubt-{rule.direction}", rule.says)


def _merged(kinds: set[CueKind]) -> Iterator[CueKind]:
    facing = {kind.says for kind in kinds if kind.kind == FACING}
    kinds = {kind for kind in kinds if kind.says not in facing or kind.kind not in _ONE_WAY}
    lists = {kind.says for kind in kinds if kind.kind in ("doubt-before", "before")}
    both = lists & {kind.says for kind in kinds if kind.kind in ("doubt-after", "after")}
    for kind in kinds:
        if kind.says not in both:
            yield kind
    for says in both:
        yield CueKind("either" if says == "ruled-out" else FACING, says)


def _spelt_out(phrase: str, classes: dict[str, tuple[str, ...]]) -> Iterator[str]:
    """A phrase that starts with a class or a group, once for each of its words: cues are found by their first word."""
    first, *more = tokens(phrase)
    if first[0] not in "<{":
        yield phrase.lower()
        return
    rest = " ".join(more)
    if first[-1] in "*?":
        yield from _spelt_out(rest, classes)
    name = first.rstrip("*?")[1:-1]
    for word in classes[name] if first[0] == "<" else name.split(","):
        yield f"{word} {rest}".strip().lower()
