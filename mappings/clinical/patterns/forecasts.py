"""Cues by pattern of risks that are named, of what is to be averted, and of what follows under a condition."""

from __future__ import annotations

import re
from typing import Final

from mappings.analysis.mentions.cue_pattern import CuePattern, WordPattern, word_pattern
from mappings.analysis.mentions.cues import CueKind
from mappings.clinical.time_patterns import PLANNED

_SIDE_EFFECT: Final = r"(?:side[-\s]effects?|adverse\seffects?|problems?|risks?|complications?|hazards?|dangers?|drawbacks?|downsides?|reactions?|worry|concern|thing\sto\s\w+)\b"
_NAMED_AS_RISK: Final = re.compile(
    r"\b(?:(?:went|gone|going|talked|talk|ran|run|took\s(?:him|her|them))\s(?:through|over)|mentioned|discussed|explained|named|quoted|listed|outlined|described|covered|flagged(?:\sup)?|touched\son|highlighted|singled\sout|emphasi[sz]ed)\s"
    rf"(?=[^.;]{{2,60}}?\s(?:as|among|being)\s(?:(?:the|an?|one\sof\sthe|possible|main|most|\w+est|potential|chief|usual|common|frequent|principal|likely|major|rare|serious)\s){{0,4}}{_SIDE_EFFECT})",
    re.I,
)
"""What is named as a risk: "went through weight gain and drowsiness as the main problems"."""
_WHAT_TO_AVERT: Final = re.compile(
    r"\s(?P<cue>(?:is|are|being)\s(?:what|the\s(?:thing|outcome|one\sthing|scenario)|something|exactly\swhat)\b[^.;,]{3,60}?\s(?:avoid|avert|prevent|head\soff|forestall|guard\sagainst|ward\soff|stave\soff|escape|pre-?empt|fear|dread|worry\sabout|look\sout\sfor)(?:s|ing|ed)?)\b(?!\s?:)",
    re.I,
)
_CAN_RARELY: Final = re.compile(
    r"\b(?:can|may|might|could|will),?\s(?:\w+\s)?(?:rarely|occasionally|sometimes|infrequently|uncommonly|exceptionally|(?:just\s)?once\sin\sa\swhile|now\sand\sthen|in\s[^,.;]{3,25}),?\s"
    r"(?:also\s)?(?:causes?|lead\sto|produce|bring\s(?:on|about)|provoke|trigger|induce|result\sin|give(?:\srise\sto)?|precipitate|set\soff|unmask|develop|get)\b",
    re.I,
)
_WOULD_MEAN: Final = re.compile(
    r"\b(?:no|any|further|persist\w+|failure|another|worsening|lack|should|more|non-?response|relapse|progression|recurrence|growth)\b[^.;,]{3,60}?\s(?P<cue>(?:(?:will|would|then|must|should)\s)?means?\s(?:(?:an?|the|more|another|urgent|early)\s)?)",
    re.I,
)
"""What follows if nothing changes: "no better by Easter means surgery"."""
_ANY_AND: Final = re.compile(
    r"(?:^|(?<=[.;:]\s))(?:any|a\ssingle|one\smore|another|more)\s(?=[^.;]{2,60}?\s(?:and|then)\s(?:(?:he|she|you|they|we|i|it)\s(?:must|should|will|would|is\sto|are\sto|need|needs|has\sto|have\sto|can)\b|(?:must|should|to|please)\s(?:ring|call|return|phone|come|go|stop)))",
    re.I,
)
_FOR_ANY: Final = re.compile(
    r"(?:^|(?<=[.;:]\s))(?:use|take|give|apply|inhale|try|reach\sfor)\s(?:the\s|his\s|her\s|your\s)?(?=[^.;]{2,40}?\s(?:for|with|at|on)\s(?:any|every|each|further|the\sfirst|severe|bad|breakthrough)\b)",
    re.I,
)
_ON_THIS_DRUG: Final = re.compile(
    r"\b(?:patients|people|women|men|children|those|users|anyone|babies|smokers|carriers)\s(?:on|taking|using|given|exposed\sto|who\s(?:take|use|smoke|carry))\s[^.;,]{2,40}?\s(?:can|may|might|will|do|could|sometimes|often|tend\sto|are\s(?:more\s)?(?:prone|likely|liable)\sto)\s"
    r"(?:\w+\s)?(?:get|develop|have|suffer|experience|notice|need|require|show|be)\b",
    re.I,
)
_ON_WEEKDAY: Final = re.compile(
    r"(?<=[A-Za-z)]\s)(?P<cue>(?:on\s|this\s|next\s|coming\s|first\sthing\s)?(?:mon|tues?|wed(?:nes)?|thur?s?|fri|sat(?:ur)?|sun)(?:day)?)\b(?=[^.;]{0,60}\b(?:nbm|npo|nil\sby\smouth|fast(?:ed|ing)?|starved?|from\smidnight|hold|withhold|consent\w*|bed\sbooked|pre-?op\w*|first\son|provided|"
    r"all\sbeing\swell|if\s(?:well|fit|stable|bloods|inr|no)|xmatch|crossmatch\w*|g&s|group\sand\ssave)\b)",
    re.I,
)
"""A day for which the patient is prepared: "pacemaker Thursday, NBM from midnight"."""
_WHEN_ALLOWED: Final = re.compile(
    r"\b(?:when|once|if|as\ssoon\sas)\s[^.;,]{1,30}?\s(?:allows?|permits?|tolerates?|improves?|recovers?|settles?|normali[sz]es?|falls|rises|stabili[sz]es?),?\s(?P<cue>(?:to\s)?(?:re-?start|begin|start|add|give|resume|reintroduce|switch\sto|change\sto|increase|consider|book|for)\s(?:an?\s|the\s|his\s|her\s)?)",
    re.I,
)
_PERMITTING: Final = re.compile(
    r"\b(?:permitting|allowing),?\s(?:to\s)?(?:re-?start|begin|start|add|give|resume|increase|for|consider|book)\s(?:an?\s)?",
    re.I,
)

FORECASTS: Final[tuple[CuePattern | WordPattern, ...]] = (
    word_pattern("as among being", _NAMED_AS_RISK, CueKind("doubt-before", "hypothetical")),
    word_pattern("what thing outcome scenario something", _WHAT_TO_AVERT, CueKind("clause-after", "hypothetical")),
    word_pattern("can may might could will", _CAN_RARELY, CueKind("doubt-before", "hypothetical")),
    word_pattern("mean means", _WOULD_MEAN, CueKind("doubt-before", PLANNED)),
    word_pattern("any single more another", _ANY_AND, CueKind("clause-before", "hypothetical")),
    word_pattern("use take give apply inhale try reach", _FOR_ANY, CueKind("doubt-before", "hypothetical")),
    word_pattern(
        "patients people women men children those users anyone babies smokers carriers",
        _ON_THIS_DRUG,
        CueKind("doubt-before", "hypothetical"),
    ),
    word_pattern(
        "nbm npo mouth fast fasted fasting starve starved midnight hold withhold consent consented consenting booked preop pre first provided well "
        "fit stable bloods inr no xmatch crossmatch crossmatched g save",
        _ON_WEEKDAY,
        CueKind("doubt-after", PLANNED),
    ),
    word_pattern(
        "allow allows permit permits tolerate tolerates improve improves recover recovers settle settles normalise normalises normalize normalizes falls "
        "rises stabilise stabilises stabilize stabilizes",
        _WHEN_ALLOWED,
        CueKind("doubt-before", PLANNED),
    ),
    word_pattern("permitting allowing", _PERMITTING, CueKind("doubt-before", PLANNED)),
)
