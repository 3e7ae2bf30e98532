"""Cues by pattern of what lasts, is known or is said to be there: "no day without", "the known X", "you have X"."""

from __future__ import annotations

import re
from typing import Final

from mappings.analysis.mentions.cue_pattern import CuePattern, WordPattern, word_pattern
from mappings.analysis.mentions.cues import CueKind
from mappings.clinical.time_patterns import HISTORY

_HISTORICAL: Final = "historical"
_CURRENT: Final = "current"
_RELIEVED: Final = re.compile(
    r"(?<!is\s)(?<!are\s)(?:completely|fully|entirely|totally)\s(?:relieved|abolished|aborted|reversed)\s(?:by|with|after|following)\s(?:the|a|an|one|two|his|her|\d)",
    re.I,
)
_RESTARTED: Final = re.compile(
    r"\b(?:stopped|discontinued|ceased|d/c['’]?d|came\soff|weaned\soff|finished|withdrew)\b[^.;:]{2,60}?(?P<cue>\b(?:and|then|but)\s(?:was\s|were\s|has\s|then\s){0,2}(?:re-?started|started|commenced|began|begun|put\son|switched\sto|changed\sto|initiated))\s",
    re.I,
)
_NOT_AT_ALL_GONE: Final = re.compile(
    r"\b(?:by\sno\smeans|not\sby\sany\smeans|far\sfrom|anything\sbut|nowhere\snear|not\sat\sall|not\sentirely|not\squite)\s(?:gone|resolved|over|settled|clear|cleared|healed|finished|cured)\b",
    re.I,
)
_NEEDS_DAILY: Final = re.compile(
    r"\b(?:now|still|currently)\s(?:needs|requires|needing|requiring|is\sneeding|is\srequiring)\s(?=[^.;,]{2,40}?\b(?:hours?\sa|(?:a|per|every|each)\sday|daily|nightly|at\snight|overnight|continuous\w*|(?:round|around)\sthe\sclock|\d+\s?L|at\srest|to\ssleep|to\swalk|twice|three\stimes)\b)",
    re.I,
)
_AND_DISTENDED: Final = re.compile(
    r"\bno\s[^.,;:]{2,30}(?P<cue>,)\s(?=(?:but\s|mildly\s|slightly\s|very\s|grossly\s|quite\s)?(?:distended|tender|swollen|obese|tachycardic|bradycardic|irregular|wheezy|pale|jaundiced|icteric|confused|drowsy|febrile|hypotensive|dehydrated|agitated|tearful|warm|dry)\s*(?:[.;]|$))",
    re.I,
)
_UNLIKE_BEFORE: Final = re.compile(
    r"\b(?:no|not|nil|none)\b[^.;]{2,50}(?P<cue>,)\s(?:but\s)?(?=(?:previously|formerly|earlier|once|in\sthe\spast)\s(?:had\s|did\s)?(?!seen|noted|described|identified|reported|known|documented|demonstrated|well|healthy|no\b|not\b|had\b|has\b|was\b|been\b|on\b|in\b)\w)",
    re.I,
)
_SHORT_LIVED: Final = re.compile(
    r"\b(?:short-?\s?lived|fleeting|momentary|(?:brief|short|transient)\s(?:run|episode|spell|period|burst|bout)\sof|transient(?=\s\w+\s(?:during|on|in|after)\s))\s(?=[^.;,]{2,40}?(?:\s(?:at|on|during|after|with|around|in|overnight|last)\b|,))",
    re.I,
)
_WHICH_EXPLAINS: Final = re.compile(
    r",\swhich\s(?:may|might|could|would|can|probably|possibly)\s(?:well\s|also\s|partly\s|in\spart\s)?(?:explains?|account(?:s)?\sfor|be\s(?:why|the\sreason|the\scause|responsible))\b",
    re.I,
)
_AS_RESOLVING: Final = re.compile(
    r"\b(?:may|might|could|possibly|probably|likely|suggests?|suggestive\sof|suggesting|suspected|possible|probable|represents?)\s(?:(?:be|represent|reflect|due\sto|an?|some|developing|or)\s){0,3}"
    r"(?:resolving|improving|clearing|evolving|partially\sresolved)\s",
    re.I,
)
_YOU_HAVE: Final = re.compile(
    r"^you\s(?:still\s)?have\s(?=(?!any\b|been\b|to\b|the\sright|questions)[^.;,]{2,40}?(?:;|,\s(?:which|and|so|but)\b|\s(?:which|that\sis|for\swhich)\b))",
    re.I,
)
_THE_KNOWN: Final = re.compile(r"\b(?:the|his|her|their|patient['’]s|this|with|of|from)\sknown\s", re.I)
_FOR_DAYS: Final = re.compile(r"\b\d+\s?/\s?(?:7|52|12|24)\s(?:hx|history|h/o|ho)\b(?:\sof)?", re.I)
"""How long something has been there: "3/7 hx cough"."""
_PAST_DEGREES: Final = re.compile(r"\bpast\s\d+", re.I)

LASTING: Final[tuple[CuePattern | WordPattern, ...]] = (
    word_pattern("relieved abolished aborted reversed", _RELIEVED, CueKind("doubt-after", _HISTORICAL)),
    word_pattern("short shortlived fleeting momentary brief transient", _SHORT_LIVED, CueKind("next-before", HISTORY)),
    word_pattern("started restarted commenced began begun put switched changed initiated", _RESTARTED, CueKind("end")),
    word_pattern(
        "means far anything nowhere all entirely quite", _NOT_AT_ALL_GONE, CueKind("sentence-after", _CURRENT)
    ),
    word_pattern("now still currently", _NEEDS_DAILY, CueKind("doubt-before", _CURRENT)),
    word_pattern("known", _THE_KNOWN, CueKind("next-before", "present")),
    word_pattern("which", _WHICH_EXPLAINS, CueKind("end")),
    word_pattern("resolving improving clearing evolving resolved", _AS_RESOLVING, CueKind("doubt-before", "uncertain")),
    word_pattern("you", _YOU_HAVE, CueKind("doubt-before", "present")),
    word_pattern(
        "distended tender swollen obese tachycardic bradycardic irregular wheezy pale jaundiced icteric confused drowsy febrile hypotensive dehydrated agitated tearful warm dry",
        _AND_DISTENDED,
        CueKind("end"),
    ),
    word_pattern("previously formerly earlier once past", _UNLIKE_BEFORE, CueKind("end")),
    word_pattern("hx history h ho", _FOR_DAYS, CueKind("skip")),
    word_pattern("past", _PAST_DEGREES, CueKind("skip")),
)
