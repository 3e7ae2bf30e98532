"""Cues by pattern of when something ended: what is off since noon, what a problem was treated with, what is over."""

from __future__ import annotations

import re
from typing import Final

from mappings.analysis.mentions.cue_pattern import CuePattern, WordPattern, word_pattern
from mappings.analysis.mentions.cues import CueKind
from mappings.clinical.patterns.course import TREATMENT
from mappings.clinical.time_patterns import HISTORY

_HISTORICAL: Final = "historical"
_CLOCK: Final = (
    r"(?:\d{1,2}[:.]?\d\d\s?h?\b|\d{1,2}\s?(?:am|pm|h|hrs?)\b|noon|midday|midnight|breakfast|lunch|yesterday|overnight|this\s(?:morning|am|afternoon|evening|week)|last\s\w+|"
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)\b|day\s?\d+|pod\s?\d|d\d\b|(?:19|20)\d\d\b|(?:january|february|march|april|june|july|august|september|october|november|december)\b)"
)
_OFF_SINCE: Final = re.compile(
    rf"(?<=[\w)%]\s)(?<!day\s)(?<!days\s)(?<!time\s)(?<!work\s)(?<!school\s)(?<!sent\s)(?<!went\s)(?<!goes\s)(?<!fell\s)(?<!came\s)(?<!come\s)(?<!coming\s)(?<!taken\s)(?<!weaned\s)(?<!switched\s)(?<!turned\s)(?<!on\sand\s)(?P<cue>\boff\b\s(?:(?:since|by|at|from|around|about|as\sof|on|before)\s)?{_CLOCK})",
    re.I,
)
"""When an infusion or the like ended: "propofol off 0800"."""
_AND_OFF: Final = re.compile(
    rf",\s(?P<cue>(?:(?:now|but|then|and)\s)?off\s(?:since|from|by|in)\s(?:the\s)?{_CLOCK})", re.I
)
_AT_AGE: Final = re.compile(
    r"\b(?:had|suffered|developed|got|sustained|underwent|survived|caught|came\sdown\swith|was\s\w+ed\s(?:for|with))\s[^.;,:]{2,40}?\s(?P<cue>at\s(?:only\s|just\s|about\s)?[1-9]\d?)(?=\s(?:that|which|when|needing|requiring|treated|needed)\b|,\s(?!\d))",
    re.I,
)
_DEAF_SINCE: Final = re.compile(
    r"(?<=[a-z]\s)at\s\d{1,2},\s(?=[^.;]{2,40}\s(?:since|ever\ssince|from\sthen\son|thereafter|ever\safter|as\sa\sresult)\b)",
    re.I,
)
"""What happened at an age and what it left: "meningitis at 7, deaf since"."""
_WAS_THEN: Final = re.compile(
    r"(?:^|(?<=[.;]\s))(?:was|were)(?:\s(?:initially|very|quite|rather|mildly|briefly|slightly|somewhat|a\sbit|a\slittle|acutely|profoundly|still|extremely))*\s"
    r"(?=(?!found|diagnosed|noted|seen|started|admitted|given|referred|put|told|brought|known|due|using|taking|on|in|to|the|an?|not|no|never|well|born|treated|discharged|transferred|positive|negative|able|unable|her|his|this)[^.;,]{3,60},\s[^.;]{0,60}"
    r"\b(?:by\s(?:\d[\d:.]*|noon|midday|midnight|the\s\w+|evening|morning|night|lunch|tea|breakfast|day)|now|today|this\s(?:morning|evening|afternoon|am|pm)|since|at\spresent|currently|subsequently|later|afterwards|thereafter)\b)",
    re.I,
)
"""A state and what it has become: "was drowsy on arrival, alert by noon"."""
_HAD_OUT: Final = re.compile(
    r"(?<!\bto\s)(?<!must\s)(?<!should\s)(?<!will\s)(?<!would\s)(?<!may\s)\b(?:having|had|have|has)\s(?:had\s)?(?:his|her|the|their|my|a|an|all|both)\s(?=[^.;,]{2,30}?\s(?:taken\s(?:out|away|off|down)|removed|out(?!\s(?:of|on|at|for|with|in))|pulled|extracted|withdrawn|explanted|whipped\sout)\b)",
    re.I,
)
_TREATED_OUT: Final = re.compile(
    r"^[^:]{3,40}:\s[^.:]{0,30}?(?P<cue>\b(?:antibiotics?|abx|course|treatment|therapy|tablets|vanc\w*|tazocin|steroids?|\w+(?:cillin|mycin|cycline|floxacin|azole|prim|oxin|clav|clox)|doxy|eradication|chemo\w*|radiotherapy|regimen|taper)\b"
    r"(?:\s(?:of|with|for)\s[\w-]+)?\s(?:(?:was|were|has|have|all|now|been|is)\s){0,3}(?:finished|completed?|done|ended|over)\b)(?=[^.]{0,60}?\b(?:ago|last|clear|asymptomatic|normal|well|formed|better|settled|gone|dry|healed)\b)(?![^.]*\b(?:still|but|again|back|recur\w*|persist\w*)\b(?!\sto\snormal))",
    re.I,
)
"""A problem of a list that was treated: "cellulitis: flucloxacillin finished last week, leg normal"."""
_OVER_IT: Final = re.compile(
    r"(?:^|(?<=[.;]\s)|\b(?:is|are|now|well|quite|completely|finally|got|almost)\s)over\s(?:his|her|their)\s(?=(?!left|right|\w*\s?(?:knee|hip|chest|abdomen|back|wound))[\w\s-]{3,30}?(?:\snow\b|\s*[.;,]|$))",
    re.I,
)
_SWAPPED: Final = re.compile(
    r"\b(?:swapped|swap|traded)\s(?:his|her|the)?\s?(?=[^.;,]{2,30}?\sfor\s)|\breplaced\s(?:his|her|the)\s(?=[^.;,]{2,30}?\s(?:with|by)\s)",
    re.I,
)
_PREVIOUS_BIRTH: Final = re.compile(
    r"(?:^|(?<=[.;]\s)|(?<=\n))(?:first|second|third|fourth|last|previous|eldest|youngest|1st|2nd|3rd)\s(?:baby|child|pregnancy|delivery|labou?r|birth|confinement)\s?[:–-]\s?",
    re.I,
)
_LAST_SAW: Final = re.compile(
    r"\b(?:last|first|originally|previously)\s(?:saw|met|seen|reviewed|assessed|treated|looked\safter|came\sacross)\b[^.;]{0,40}?\s(?P<cue>(?:when|while|after|because)\s(?:(?:he|she|they)\s)?(?:had|was|were|suffered|developed|presented)\b(?:\swith)?)",
    re.I,
)
_PUT_BEHIND: Final = re.compile(
    r"\b(?:put|puts|leave|leaves|left|leaving|putting)\s(?=[^.;,]{2,40}?\sbehind\s(?:him|her|them)\b)", re.I
)
_THERE_IN_SPRING: Final = re.compile(
    r"\b(?:there\s(?:was|were)|had|suffered|got)\b[^.;,]{2,50}?\s(?P<cue>in\s(?:the\s)?(?:early\s|late\s)?(?:spring|summer|autumn|winter|new\syear))\b(?!\s(?:when|if))",
    re.I,
)
_LIMITED_UNTIL: Final = re.compile(
    rf"(?:^|(?<=[.;]\s))(?:prior\sto|before|until)\s(?:the|his|her|their|this)\s{TREATMENT}[^,.;]{{0,20}},?\s(?:he|she|they)\s(?:had|was|were|got|suffered)\b(?:\s(?:had|got|often|much|very|severely|badly|limited|troubled|bothered|plagued|crippled|disabled|by|with|from))*\s",
    re.I,
)
_WHILE_ABROAD: Final = re.compile(
    r"\b(?:[Ww]hen|[Ww]hile|[Ww]hilst)\s(?:(?:he|she)\swas\s)?(?:working|living|travelling|traveling|serving|stationed|posted|backpacking|volunteering|teaching|studying|on\sholiday|a\sstudent|in\sservice)\s(?:in|for|with|at)\s(?=[A-Z])"
)

ENDINGS: Final[tuple[CuePattern | WordPattern, ...]] = (
    word_pattern("off", _OFF_SINCE, CueKind("doubt-after", _HISTORICAL)),
    word_pattern("off", _AND_OFF, CueKind("sentence-after", HISTORY)),
    word_pattern("at", _AT_AGE, CueKind("clause-after", HISTORY)),
    word_pattern("since thereafter after result then", _DEAF_SINCE, CueKind("clause-after", HISTORY)),
    word_pattern("was were", _WAS_THEN, CueKind("next-before", HISTORY)),
    word_pattern(
        "out away off down removed pulled extracted withdrawn explanted", _HAD_OUT, CueKind("next-before", _HISTORICAL)
    ),
    word_pattern("finished complete completed done ended over", _TREATED_OUT, CueKind("sentence-after", HISTORY)),
    word_pattern("over", _OVER_IT, CueKind("next-before", _HISTORICAL)),
    word_pattern("swapped swap traded replaced", _SWAPPED, CueKind("doubt-before", _HISTORICAL)),
    word_pattern(
        "baby child pregnancy delivery labour labor birth confinement",
        _PREVIOUS_BIRTH,
        CueKind("clause-before", HISTORY),
    ),
    word_pattern("last first originally previously", _LAST_SAW, CueKind("doubt-before", HISTORY)),
    word_pattern("behind", _PUT_BEHIND, CueKind("doubt-before", _HISTORICAL)),
    word_pattern("spring summer autumn winter year", _THERE_IN_SPRING, CueKind("clause-after", HISTORY)),
    word_pattern("prior before until", _LIMITED_UNTIL, CueKind("clause-before", _HISTORICAL)),
    word_pattern("when while whilst", _WHILE_ABROAD, CueKind("clause-after", HISTORY)),
)
