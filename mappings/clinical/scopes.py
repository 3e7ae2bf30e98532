"""How far the cues of `lexicons/assertion.tsv` reach: over a list, the next words, their clause, or all of the sentence."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from typing import Final

from mappings.analysis.mentions.cues import Cue
from mappings.analysis.mentions.negation import Scope, scopes
from mappings.clinical.cue_rules import CURRENT, FACING
from mappings.clinical.time_patterns import HISTORY

PAST: Final = ("historical", HISTORY, CURRENT)
"""What the cues of the past say."""
_CLAUSE_END: Final = re.compile(
    r"[;!?]|(?<!\b[DM]r)(?<!\bM[sx])(?<!\bMrs)(?<!\b[A-Z])\.(?=\s|$)|\b(?:but|(?<!, )however|although|though|whereas|while|and\s(?:since|now))\b",
    re.I,
)
_SENTENCE_STOP: Final = re.compile(r";|(?<!\b[DM]r)(?<!\bM[sx])(?<!\bMrs)(?:[!?]|(?<!\b[A-Z])\.)(?=\s)")
_CLAUSE_START: Final = re.compile(
    r"[;:!?]|(?<!\b[DM]r)(?<!\bM[sx])(?<!\bMrs)(?<!\b[A-Z])\.(?=\s)|,\s|\b(?:but|however|although|who|which|now(?!\s\d)|denies|currently)\b|"
    r"\band\s+(?:has|had|is|was|he|she|now|currently|takes)\b",
    re.I,
)
_OWN_SUBJECT: Final = re.compile(
    r"(?:,\s|\b)(?:although|though|but|while|whereas|yet)\s(?:the|his|her|their|its|a|an)\s(?!former\b|first\b|latter\b|other\b|lot\b|patient\b|pt\b|family\b|mother\b|wife\b|husband\b|daughter\b|son\b)\w+\b",
    re.I,
)
"""Where a part starts that is about something else: "limited by pain, although the swelling has settled"."""
_OTHER_SUBJECT: Final = re.compile(
    r"(?:,|\band)\s*(?:(?:and|but|so|while|whereas)\s+)?(?:he|she|the patient|patient|pt|i)\b|,\s*so\b|,\s(?:low|high|little|some|no)\s(?:clinical\s|index\sof\s)?(?:suspicion|concern)\b",
    re.I,
)
_NEXT_BREAK: Final = re.compile(
    r"[.,;:!?)]|\b(?:and|or|with|but|for|of|in|is|was|has|had|due|to|than|after|before|when|during|from|by|on|at|about)\b",
    re.I,
)
_NEXT_WORDS: Final = 3
_OTHER_REACH: Final = ("next-", "clause-", "sentence-")
_OF_CAUSE: Final = re.compile(
    r"\s+(?:due|from|secondary|related|because|caused|as a|in the setting|of|by|on the basis)\b", re.I
)
"""What follows a doubt about a cause: "abdominal pain, probably from constipation"."""
_LIKELY: Final = re.compile(
    r"(?:most\s|very\s|quite\s)?(?:probably|likely|possibly|presumably|perhaps|apparently|presumed)", re.I
)
_DUE_TO: Final = re.compile(
    r"\s+(?:due\sto|from|secondary\sto|related\sto|caused\sby|as\sa\s(?:result|consequence)\sof)\b", re.I
)
_IS_LAST: Final = re.compile(
    r"(?:likely|probabl[ey]|possibl[ey]|plausible|suspected|presumed|questionable|conceivabl[ey]|query)[.;)]?$|"
    r"\w\s(?:\w+\s)?(?:likely|probable|possible|plausible|suspected|presumed),$",
    re.I,
)
"""A doubt that nothing follows: "vasovagal most probable"."""
_LEADING: Final = {"after": "before", "doubt-after": "doubt-before", FACING: "doubt-before"}
_FROM: Final = (" from ", " of ")
_LEADS_ON: Final[dict[str, tuple[str, ...]]] = {
    "": (" for ", " of "),
    "ruled-out": (" for ", " of "),
    "historical": _FROM,
    HISTORY: _FROM,
    "uncertain": (" that ", " whether ", " if ", " about ", " regarding ", " as to ", " of ", " for "),
}
"""What a cue can lead on with, though most often it follows what it is about: "ruled out for sepsis", "unlikely that"."""
_CLAUSES: Final = (" that ", " whether ", " if ")
_FOR_NOW: Final = re.compile(
    r"\s(?:for|of)\s(?:now|the\s(?:time|moment|present)|this|lack|want|good|sure|certain)\b", re.I
)
_HAS_SUBJECT: Final = re.compile(
    r"(?:^|[.;:,]\s?|\b(?:he|she|they|it|we|i|you|patient|pt|who|and|there|this|him|her|then)\s)(?:(?:is|was|were|are|has|have|had|been|be|to|me|us|now|since|also|a|an|the|made|being)\s){0,4}$",
    re.I,
)
_NOTHING_FOLLOWS: Final = re.compile(
    r"\s*(?:$|[.,;:)\]?!]|[-–—]\s|(?:in|on|at|by|with|without|for|from|to|of|due|because|given|as|since|after|before|during|"
    r"but|and|or|while|when|until|today|yesterday|overnight|this|last|now|again|here|clinically|radiographically|based|per|is|"
    r"are|was|were|has|have|had|not|although|however|though|secondary|despite|followed|which|who|that|if|yet|either|only|"
    r"instead|then|only|following|pending|over\s(?:the|this|time|next|\d)|throughout|at\sany|so|owing|\d[\w:/.]*|within|spontaneously|completely|fully|entirely|recently|abruptly|suddenly|gradually|"
    r"altogether|sometime|shortly|soon|later|already|myself|himself|herself|prior|s/p|post|pod\d*|hd\d*|"
    r"(?:one|two|three|four|five|six|several|a few|some|many|a)\s(?:hours?|days?|weeks?|months?|years?|nights?))\b)",
    re.I,
)

_ENDED_WHEN: Final = re.compile(
    r"\s(?:\(|~|->|→|(?:d/t|2/2|around|about|roughly|approximately|circa|the\s(?:next|following|same|very|day|morning|evening|night|week|moment|minute)|tonight|between|thanks|long|early|late|"
    r"mid-?\w*|well\s(?:before|after)|naturally|upon|near|once|of\s(?:its|their)\sown)\b)",
    re.I,
)
"""What follows the end of what precedes it: "hiccups stopped the day after", "sertraline discontinued (sodium 121)"."""


def cue_scopes(
    sentence: str, chosen: Sequence[Cue], every: Sequence[Cue], says: Container[str] | None = None
) -> Iterator[Scope]:
    """The scopes of lists, as in negation, and those of single words and whole clauses; of all cues, or those that say one of `says`."""
    lists = [
        _as_list(sentence, cue) for cue in chosen if not cue.kind.startswith(_OTHER_REACH) or _is_afterthought(cue)
    ]
    yield from scopes(sentence, lists, says)
    for cue in chosen:
        if says is not None and cue.says not in says:
            continue
        reach, _, direction = cue.kind.partition("-")
        if reach == "next":
            yield from _next(sentence, cue, direction)
        elif reach == "clause":
            yield from clause_scopes(sentence, cue, direction, every)
        elif reach == "sentence":
            yield from _sentence(sentence, cue, direction)
        elif cue.kind == "doubt-after" and cue.says in PAST and _opens(sentence, cue):
            yield from clause_scopes(sentence, cue, "before", every)


def _opens(sentence: str, cue: Cue) -> bool:
    """Whether a cue is the first of its sentence or part."""
    return sentence[: cue.start].rstrip()[-1:] in ("", ";", ":", ".")


def _is_label(sentence: str, cue: Cue) -> bool:
    """Whether a cue of the past is what a list is headed by: "Stopped: ramipril"."""
    return cue.says in PAST and sentence[cue.end : cue.end + 1] == ":" and _opens(sentence, cue)


def _is_afterthought(cue: Cue) -> bool:
    """Whether a cue ends what precedes it, however far: "fits with the fever, since resolved"."""
    return cue.kind == "sentence-after" and cue.says == HISTORY


def _is_answer(sentence: str, cue: Cue) -> bool:
    """Whether a cue tells what came of a search: "looked for nodes; there were none"."""
    return cue.says == "ruled-out" and sentence[cue.start : cue.start + 6].lower() == "there "


def _is_of_cause(sentence: str, cue: Cue) -> bool:
    """Whether a doubt is about the cause of what precedes it, which is there."""
    if sentence[: cue.start].rstrip().endswith((",", ")")):
        return _OF_CAUSE.match(sentence, cue.end) is not None
    return _LIKELY.fullmatch(sentence, cue.start, cue.end) is not None and _DUE_TO.match(sentence, cue.end) is not None


def _is_last(sentence: str, cue: Cue) -> bool:
    """Whether nothing follows a doubt, so that it is about what precedes it: "vasovagal most probable"."""
    if sentence[cue.end : cue.end + 1] not in ("", ".", ";", ",", ")"):
        return False
    return _IS_LAST.search(sentence, max(0, cue.start - 2), cue.end + 1) is not None


def _leads_on(sentence: str, cue: Cue) -> int:
    """The end of a cue with the word that leads on to what it is about, or 0: "unlikely that" he has gout."""
    words = _LEADS_ON.get(cue.says, ())
    if not (words and sentence.startswith(words, cue.end)) or _FOR_NOW.match(sentence, cue.end):
        return 0
    word = next(word for word in words if sentence.startswith(word, cue.end))
    if word in _CLAUSES or _HAS_SUBJECT.search(sentence, max(0, cue.start - 40), cue.start):
        return cue.end + len(word) - 1
    return 0


def _as_list(sentence: str, cue: Cue) -> Cue:
    """A cue with the direction in which it reaches over a list."""
    if cue.kind == "doubt-before" and cue.says == "uncertain" and _is_last(sentence, cue):
        return cue._replace(kind="doubt-after")
    if cue.kind in _LEADING and (end := _leads_on(sentence, cue)):
        return cue._replace(kind=_LEADING[cue.kind], end=end)
    if _is_afterthought(cue):  # What directly precedes an afterthought is over even if it is a chronic condition.
        return cue._replace(kind="doubt-after", says="historical")
    if cue.kind == FACING:
        if cue.says == "uncertain" and _is_of_cause(sentence, cue):
            return cue._replace(kind="doubt-before")
        if _is_label(sentence, cue):
            return cue._replace(kind="doubt-before", end=cue.end + 1)
        after = _NOTHING_FOLLOWS.match(sentence, cue.end) or (cue.says in PAST and _ENDED_WHEN.match(sentence, cue.end))
        ruled_out = cue.says == "ruled-out"
        return cue._replace(
            kind=("after" if ruled_out else "doubt-after") if after else "before" if ruled_out else "doubt-before"
        )
    return cue


def _sentence(sentence: str, cue: Cue, direction: str) -> Iterator[Scope]:
    """What stands before or after a cue that refers to all of it: "considered, but the scan excluded it"."""
    if direction in ("before", "either"):
        stop = _SENTENCE_STOP.search(sentence, cue.end)
        yield Scope(cue.end, stop.start() if stop else len(sentence), cue, cue.says)
    if direction in ("after", "either"):
        last = cue.start
        if (_is_afterthought(cue) or _is_answer(sentence, cue)) and _opens(
            sentence, cue
        ):  # "Jaundice as a newborn; well since."
            last = len(sentence[:last].rstrip(" ;:"))
        stops = [match.end() for match in _SENTENCE_STOP.finditer(sentence, 0, last)]
        if _is_afterthought(cue):
            stops += [match.start() for match in _OWN_SUBJECT.finditer(sentence, 0, last)]
        yield Scope(max([0, *stops]), cue.start, cue, cue.says)


def _next(sentence: str, cue: Cue, direction: str) -> Iterator[Scope]:
    if direction in ("before", "either"):
        words = list(re.finditer(r"\S+", sentence[cue.end : cue.end + 80]))[: _NEXT_WORDS + 1]
        stop = cue.end + (words[-1].end() if words else 0)
        found = _NEXT_BREAK.search(sentence, cue.end, stop)
        yield Scope(cue.start + 1, found.start() if found else stop, cue, cue.says)
    if direction in ("after", "either"):
        yield Scope(_last_words(sentence, cue.start), cue.start, cue, cue.says)


def _last_words(sentence: str, end: int) -> int:
    """Where the noun phrase right before `end` starts: at most five words, without punctuation or prepositions."""
    start = max(0, end - 60)
    breaks = [match.end() for match in _NEXT_BREAK.finditer(sentence, start, len(sentence[:end].rstrip(" :(")))]
    return max([start, *breaks])


def clause_scopes(sentence: str, cue: Cue, direction: str, every: Sequence[Cue]) -> Iterator[Scope]:
    """The clause before or after `cue`; `every`: all cues of the sentence, of which some end what is about the family."""
    if direction in ("before", "either"):
        stops = [match.start() for match in _CLAUSE_END.finditer(sentence, cue.end)][:1]
        if cue.says == "family":
            stops += [match.start() for match in _OTHER_SUBJECT.finditer(sentence, cue.end)][:1]
            stops += [other.start for other in every if other.kind == "family-end" and other.start >= cue.end][:1]
        yield Scope(cue.end, min([len(sentence), *stops]), cue, cue.says)
    if direction in ("after", "either"):
        if cue.says in PAST and _opens(sentence, cue):  # "Two years ago she had a seizure."
            yield from clause_scopes(sentence, cue, "before", every)
        last = len(sentence[: cue.start].rstrip(" ,"))  # "diarrhea, should it strike"
        starts = [match.end() for match in _CLAUSE_START.finditer(sentence, 0, last)]
        yield Scope(max([0, *starts]), cue.start, cue, cue.says)
