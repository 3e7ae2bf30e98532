"""What a sentence asserts of a mention: present, ruled out, uncertain, hypothetical, historical, or about the family.

Three readings of the same cues, each with the scopes of `mappings.analysis.mentions.negation` (lists and clauses):
whether it is so (ruled out, uncertain, hypothetical, ended), whether it was so (history), and whom it is about (family).
What is ruled out is ruled out for the past and for relatives, too: "denies h/o stroke". Where the sentence has no cue,
the section decides.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, cast

from mappings.analysis.headings import level
from mappings.analysis.mentions.negation import Scope
from mappings.clinical.answers import answer, is_normal, is_of_relative, is_reaction
from mappings.clinical.cue_rules import CURRENT, Assertion
from mappings.clinical.layers import NO_LAYERS, Layers, layers_for
from mappings.clinical.persistence import is_chronic, is_intervention, is_past_operation
from mappings.clinical.section_defaults import section_default, shows_remains
from mappings.clinical.time_patterns import CONSIDERED, HISTORY, PLANNED, SINCE_NOW

_ASIDE: Final = re.compile(r"[ )]*?(?P<aside>,\s(?:which|who|that|whose|as)\s[^,;]{3,80},|\s\([^()]{2,80}\))")
_TOLD_OF: Final = re.compile(
    r"\s(?:(?:that|which|whom?)\s(?:(?:he|she|they|we|i)\s)?|he\s|she\s|they\s|we\s|i\s|there\s|"
    r"(?:the|his|her)\s[^\s,;.()]+\s|(?=(?:reported|seen|noted|described|found|mentioned|identified|shown|visible)\s(?:on|in|by|at|from|during)\s))[^\s,;.()]+\s"
    r"(?:[^\s,;.()]+\s){0,9}?(?=(?:has|have|had|is|are|was|were|got|went|came|left|can|could|may|might|settled|stopped|ceased|resolved|cleared|"
    r"(?:is|was|has|had|are|were|have|does|did|do|can|could)n['’]t|faded|subsided|vanished|disappeared|healed|wore|died|eased|dried|melted|lifted|passed|never|no\slonger)\b)",
    re.I,
)
"""A clause without commas about a mention: "the rash she had in May", "the nodule seen on CT"."""
_YEAR_AFTER: Final = re.compile(
    r"(?:\s*x\s?\d)?(?:\s(?!since|from|than|to|in|on|not|next|due|by|repeat|booked|prior|compared|dated?|until|through|present|first|diagnosed|dx|started|begun|known|implanted|"
    r"inserted|placed|fitted|unchanged|stable)[\w/]+){0,3}"
    r"[\s(,]{1,2}(?:\(|in )?(?:\d{1,2}/)?(?:19[3-9]\d|20[0-4]\d)s?\b(?!\s*(?:mg|ml|/))"
)
_LASTED: Final = re.compile(
    r"\s(?:for\s)?(?:\d+|two|three|four|five|six|seven|ten|several)\s?(?:hours?|hrs?|days?|nights?|weeks?|wks?|/7|/52)\b(?!\s(?:so\sfar|now|to\sdate|ago))",
    re.I,
)
_TREATED: Final = re.compile(
    r"(?:ventilated|intubated|dialy[sz]ed|transfused|catheteri[sz]ed|sedated|cooled|paraly[sz]ed|hospitali[sz]ed)\b",
    re.I,
)
"""What somebody was for a time: "ventilated six days"."""
_SHORT_YEAR: Final = re.compile(r"\s['’]\d\d\b(?!\s?[s\d])")
_SPAN_AFTER: Final = re.compile(r"[\s(,]{1,2}(?:from )?(?:19|20)\d\d\s?(?:[-–]|to|until)\s?(?:19|20)?\d\d\b")
"""From year to year: "polymyalgia 2010-2013" is over, though it is a condition that lasts."""
_TREATED_IN: Final = re.compile(
    r",\s(?!since|on|diagnosed|dx|from|started|known|implanted|inserted|placed|fitted|sited|unchanged|stable|similar|similarly|same|as\s)(?:[A-Za-z/+]+\s){0,2}(?:19[3-9]\d|20[0-4]\d)\b(?!\s*[-–])"
)
"""A year after a comma: "syphilis, treated 1985"."""
_AGAIN: Final = re.compile(
    r"(?:not|n['’]t|never)\s(?:\w+\s){0,2}(?:gone|go|cleared|resolved|settled|disappeared|vanished|healed|left|over|away)|by no means|far from|anything but|back|retur|recur|relaps|reaccumul|reappear|reopen|flared|again|unchanged|still|progress|worse|same|larger|refill",
    re.I,
)
_GOES_ON: Final = re.compile(
    r"\s*(?:,|[-–—(:])\s*(?:now\s|currently\s|still\s|both\s|all\s)?(?:on|under|wears?|uses?|takes?|using|taking|wearing|requiring|ongoing|active|"
    r"long-?\s?standing|lifelong|stable|(?:well|poorly|diet|tablet|insulin)[-\s]controlled|controlled|managed|followed|under)(?!\w)(?!\s(?:19|20)\d\d)|"
    r"\s(?:\w+\s)?(?:since|on)\s(?!the\b|left|right|that\b|this\b)(?=\w)",
    re.I,
)
"""What follows a condition that lasts in a list of past ones: "uveitis, on steroid drops", "pump since 2016"."""
_LEAD: Final = re.compile(r"([A-Za-z][A-Za-z /&']{1,40})\s*:")
_OR_AFTER: Final = re.compile(r"\s+or,?\s+(?!so\b|more\b|less\b|not\b|two\b)\w|,\s+or\s[^.;]{2,40}\?", re.I)
_OR_BEFORE: Final = re.compile(
    r"[a-z)](?<!more)(?<!less)\s+or\s+(?:(?:a|an|the|early|other|possibly|acute|old|new|small|large|simply|just|merely|only|even)\s+){0,2}$",
    re.I,
)
_BUT_OVER: Final = re.compile(r"(?:but|and|though|then|it|they|that|this|these|those)\b", re.I)
"""How it starts that something current has ended: "nausea this morning, but that has passed"."""
_ASKED: Final = re.compile(r"\s*\?+")
_ALLERGIC: Final = re.compile(r"allerg|\breact|intoleran|anaphyla|hypersensitiv", re.I)
"""What a relative must not have is about the relative: "her sister reacts to penicillin"."""
_SIGNED: Final = "signed"
"""What an answer beside the mention says is there, so that a relative has it under "Family history": "+HTN"."""
_WHOLE: Final = ("sentence-before", "sentence-after")
_MAY_BE_OR: Final = re.compile(r"[oO][rR](?<=\s..)\s")
_PATIENT_IS: Final = re.compile(r"(?:he|she|(?:the |our )?patient|pt)\s(?:is|has|was|had|does|did)\b", re.I)
_IF: Final = ("clause-before", "clause-after")


def assertion(sentence: str, start: int, end: int, section: str = "", name: str = "") -> Assertion:
    """What `sentence`, in a section with the heading `section`, asserts of the mention `start:end`.

    `name`: what else the mention is called, which tells chronic conditions from others. Raises `ValueError` for a mention
    that is not inside the sentence.
    """
    if not 0 <= start < end <= len(sentence):
        raise ValueError(f"the mention {start}:{end} is not inside a sentence of {len(sentence)} characters")
    called = f"{sentence[start:end]} {name}"
    found = _stated(sentence, start, end, called)
    if found == "historical" and shows_remains(section, sentence[:start], called):
        found = "present"
    if found in ("", CURRENT, _SIGNED):
        heading = _heading_within(sentence, start) or section
        default = section_default(heading, called, sentence[max(0, start - 80) : start])
        found = _in_section(found, default)
        if found == "historical" and _GOES_ON.match(sentence, end) and not is_intervention(called):
            found = "present"
        if found == "present" and _is_alternative(sentence, start, end):
            found = "uncertain"
    return cast(Assertion, found)


def _in_section(found: str, default: str) -> str:
    """What a section that asserts `default` makes of a mention of which its sentence says `found` or nothing."""
    if found == CURRENT and default == "historical":
        return "present"
    if found == _SIGNED and default != "family":
        return "present"
    return default


def _heading_within(sentence: str, start: int) -> str:
    """The heading that a sentence starts with, where a text is not divided: "FAMILY HISTORY: mother with gout"."""
    match = _LEAD.match(sentence, 0, start) if ":" in sentence else None
    return match[1] if match and level(match[1]) == "section" else ""


def _stated(sentence: str, start: int, end: int, called: str) -> str:
    """What the sentence states, or "" if it has no cue for the mention: then it is present unless its section differs."""
    if is_reaction(sentence, end) and is_intervention(called):
        return "hypothetical"
    said = answer(sentence, start, end)
    if said and said != "present":
        return said
    if said and (asked := _ASKED.match(sentence, end)):  # The mark of a question that is answered leaves nothing open.
        sentence = sentence[:end] + ":" + " " * (len(asked[0]) - 1) + sentence[asked.end() :]
        if asked[0][0] == "?":  # "Diabetes? Yes."
            return "family" if _read(sentence, start, end, called) == "family" else said
    if is_normal(sentence, end, called):
        return "ruled-out"
    found = _read(sentence, start, end, called)
    current, found = found == CURRENT, "" if found == CURRENT else found
    if found in ("", "historical") and is_of_relative(sentence, start, end):
        return "family"
    aside = None if found else _ASIDE.match(sentence, end)
    if aside:
        # "A hernia, which had been wondered about, is not there."
        blank = " " * len(aside["aside"])
        found = _read(sentence[: aside.start("aside")] + blank + sentence[aside.end() :], start, end, called)
    clause = _TOLD_OF.match(sentence, end) if found in ("", "present") else None
    if clause:  # "The rash she had in May has gone."
        found = _read(sentence[:end] + " " + sentence[clause.end() :], start, end, called) or found
    return found or (_SIGNED if said else CURRENT if current else "")


def _read(sentence: str, start: int, end: int, called: str) -> str:
    """As `_stated`, from cues alone."""
    layers = layers_for(sentence, start, end)
    stated, past = ("", "") if layers is NO_LAYERS else _by_cues(sentence, layers, start, end, called)
    if stated:
        return stated
    if past == HISTORY and SINCE_NOW.match(sentence, end):
        return CURRENT
    past = past or (HISTORY if _is_dated(sentence, end) or _TREATED_IN.match(sentence, end) else "")
    if past != CURRENT and _SPAN_AFTER.match(sentence, end):
        return "historical"
    if past == "historical" or (past == HISTORY and not is_chronic(called)):
        return "historical"
    if not past and (_TREATED.match(called) and _LASTED.match(sentence, end)):
        return "historical"
    if not past and is_past_operation(called, sentence[max(0, start - 50) : start]):
        return "historical"
    return "present" if past == HISTORY else past


def _by_cues(sentence: str, layers: Layers, start: int, end: int, called: str) -> tuple[str, str]:
    """What cues state of a mention, and, where that is nothing, what the past says of it."""
    if _is_conditional(layers.state, start, end):
        return "hypothetical", ""
    kin = _nearest_before(layers.kin, start, end)
    # "Both parents have gout, he has none": what is said of him is not about theirs.
    about = layers.state if kin is None else [scope for scope in layers.state if not _is_of_patient(sentence, scope)]
    state = _winner(about, start, end)
    if state == "ruled-out":
        return state, ""
    if kin is not None and not (
        state == "hypothetical"
        and (_nearest_before(layers.state, start, end) or 0) > kin
        and not _ALLERGIC.search(sentence, kin, start)
    ):
        return "family", ""
    if state == CONSIDERED:
        return ("hypothetical" if is_intervention(called) else "uncertain"), ""
    if state:
        return state, ""
    past = _past(sentence, layers.past, start, end)
    if past != "historical" and layers.done and is_intervention(called) and (done := _winner(layers.done, start, end)):
        return ("hypothetical" if done == PLANNED else "historical"), ""
    return "", past


def _is_of_patient(sentence: str, scope: Scope) -> bool:
    """Whether a cue after its mentions names the patient as its subject."""
    return scope.cue.kind == "sentence-after" or _PATIENT_IS.match(sentence, scope.cue.start, scope.cue.end) is not None


def _is_dated(sentence: str, end: int) -> bool:
    """Whether a year follows the mention that ends at `end`: "pneumonia 2019"."""
    has_year = sentence.find("20", end) >= 0 or sentence.find("19", end) >= 0
    return (has_year and _YEAR_AFTER.match(sentence, end) is not None) or _SHORT_YEAR.match(sentence, end) is not None


def _is_alternative(sentence: str, start: int, end: int) -> bool:
    """Whether a mention is one of two that a sentence leaves open: "tiny polyp or adherent stone"."""
    first = max(0, start - 40)
    return bool(
        _OR_AFTER.match(sentence, end)
        or (_MAY_BE_OR.search(sentence, first, start) and _OR_BEFORE.search(sentence, first, start))
    )


def _nearest_before(found: Sequence[Scope], start: int, end: int) -> int | None:
    """Where the last cue before a mention starts, 0 if all are after it, None without any."""
    starts = [scope.cue.start if scope.cue.start < start else 0 for scope in found if scope.covers(start, end)]
    return max(starts, default=None)


def _is_conditional(found: Sequence[Scope], start: int, end: int) -> bool:
    """Whether a condition covers the mention, and so whatever its clause states: "return if the fever is not gone"."""
    return any(scope.states == "hypothetical" and scope.cue.kind in _IF and scope.covers(start, end) for scope in found)


def _past(sentence: str, found: Sequence[Scope], start: int, end: int) -> str:
    """What the past says of a mention; one that is ongoing is over only if that is said after it."""
    inside = [scope for scope in found if scope.covers(start, end)]
    over = [scope for scope in inside if scope.states == "historical"]
    current = [scope.cue for scope in inside if scope.states == CURRENT]
    if any(not _is_between(over, cue.start, start) for cue in current):
        # "The effusion drained in May has come back": what is said last counts.
        again = [cue.start for cue in current if _AGAIN.search(sentence, cue.start, cue.end)]
        first = max([start, *again])
        over = [scope for scope in over if scope.cue.start >= first]
        ends = [scope for scope in inside if scope.states == HISTORY and scope.cue.start >= first]
        if not over and any(_BUT_OVER.match(sentence, scope.cue.start) for scope in ends):
            return HISTORY
        return "historical" if over else CURRENT
    return "historical" if over else HISTORY if inside else ""


def _is_between(found: Sequence[Scope], first: int, last: int) -> bool:
    return any(first < scope.cue.start < last for scope in found)


def _winner(found: Sequence[Scope], start: int, end: int) -> str:
    inside = [scope for scope in found if scope.covers(start, end)] if found else ()
    if not inside:
        return ""
    for scope in inside:
        if scope.cue.kind in _WHOLE:  # "Considered, but the scan excluded it."
            return scope.states
    if any(scope.states == "uncertain" and scope.cue.kind == "clause-before" for scope in inside):
        return "uncertain"  # "One cannot be certain that this is not angina."
    if any(scope.states == "ruled-out" and scope.cue.start >= end for scope in inside):
        # "The screen for sepsis came back negative": what is said of a test is said of what it is for.
        inside = [scope for scope in inside if (scope.cue.kind, scope.states) != ("next-after", "hypothetical")]
    states = min(inside, key=lambda scope: scope.rank(start)).states
    return "ruled-out" if states == "absent" else states
