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
_NO_TIME_WITHOUT: Final = re.compile(
    r"\b(?:has|have|had|is|are)\s?(?:not|n['’]t|never)\s(?:had|been|gone|known|spent|passed|managed)\b[^,.;:]{0,40}?\b(?P<cue>(?:without|w/o|free\sof|free\sfrom)\s)",
    re.I,
)
_NOT_EVEN_A_DAY: Final = re.compile(
    r"\b(?:(?:has|have|had)\s?(?:not|n['’]t|never)\s(?:had|been|gone|known|spent|passed|managed)|not)\s(?=(?:even\s)?(?:an?|one|a single)\s(?:\w+\s)?(?:day|night|hour|moment|week|month|meal|morning|minute)\b[^.;]{0,20}(?:without|free))",
    re.I,
)
_NO_CHANGE_OF: Final = re.compile(
    r"\bno\s(?:\w+\s)?(?:evidence|signs?|indication|suggestion|proof|hint)\s(?:that|of)\s(?=[^.;,]{2,50}?\s(?:(?:is|are|was|were|has|have)\s(?:been\s|yet\s)?(?:heal|unit|improv|resolv|clear|shr[iu]n|grow|enlarg|progress|chang|worsen|spread|respond|settl|remit|mov)\w*|"
    r"(?:healing|union|improvement|resolution|clearing|regression|response|growth|progression|enlargement|worsening)\b))",
    re.I,
)
_UNHELPED: Final = re.compile(
    r"\b(?:neither|none\sof|nothing|no)\s[^.,;:]{2,40}?\s(?:(?:has|have|had)\s)?(?:helped|touched|touches|eased|eases|shifted|relieved|relieves|cleared|controlled|controls|improved|worked\sfor|works\sfor|helps|made\sa\sdifference\sto|had\sany\seffect\son)\s",
    re.I,
)
_NOT_GROWN: Final = re.compile(
    r"\b(?:has|have|had)(?:\snot|n['’]t)\s(?:\w+ly\s|yet\s|really\s)?(?:grown|enlarged|shrunk|spread|moved|changed|progressed|increased|decreased|responded|worsened|healed|united)\b",
    re.I,
)
_NOT_AT_ALL_GONE: Final = re.compile(
    r"\b(?:by\sno\smeans|not\sby\sany\smeans|far\sfrom|anything\sbut|nowhere\snear|not\sat\sall|not\sentirely|not\squite)\s(?:gone|resolved|over|settled|clear|cleared|healed|finished|cured)\b",
    re.I,
)
_NO_LONGER_WHETHER: Final = re.compile(
    r"\b(?:question|issue|point|matter|debate)\s(?:is|was)\s(?:no\slonger|not)\s(?:if|whether)\s(?:(?:there\sis|he\shas|she\shas|they\shave|it\sis|this\sis)\b)?",
    re.I,
)
_WERE_IT_NOT: Final = re.compile(
    r"\b(?:if\sit\s(?:were|was|had|is)(?:\snot|n['’]t)(?:\sbeen)?|were\sit\snot|had\sit\snot\sbeen|but|if\snot)\sfor\s(?:the|his|her|their|this|that)\s(?=[^.;]{2,60}\b(?:would|could|might)\b)",
    re.I,
)
_OF_KNOWN: Final = re.compile(
    r"\b(?:investigations?|work-?up|treatment|imaging|follow-?up|monitoring|evaluation|assessment|management|surveillance|review)\s(?:of|for)\s(?:the|his|her|this|their|a)\s(?:known|established|existing|long-?standing|stable|pre-?existing)\s",
    re.I,
)
_NEEDS_DAILY: Final = re.compile(
    r"\b(?:now|still|currently)\s(?:needs|requires|needing|requiring|is\sneeding|is\srequiring)\s(?=[^.;,]{2,40}?\b(?:hours?\sa|(?:a|per|every|each)\sday|daily|nightly|at\snight|overnight|continuous\w*|(?:round|around)\sthe\sclock|\d+\s?L|at\srest|to\ssleep|to\swalk|twice|three\stimes)\b)",
    re.I,
)
_OUT_OF_RANGE: Final = re.compile(
    r"\bno\slonger\s(?:in\s(?:range|control|target)|(?:well\s|adequately\s)?controlled|adequate|effective|responding|working|sufficient|enough|helped|coping|held)\s?(?:on|with|by|to|despite|for)?\b",
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
    r"\b(?:short-?\s?lived|fleeting|momentary)\s(?=[^.;,]{2,40}?(?:\s(?:at|on|during|after|with|around)\s|,))", re.I
)
_APART_FROM: Final = re.compile(
    r"\b(?:apart|aside)\sfrom\b[^.;]{2,60}?\s(?P<cue>(?:he|she|they|there|i|pt|patient)\s)(?=[^.;]{0,40}\b(?:no|not|nil|none|nothing|denies|denied)\b)",
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
_RULE_IT_OUT: Final = re.compile(
    r"\b(?:can(?:not|\snot|['’]t)|could(?:\snot|n['’]t)|unable\sto|not\spossible\sto|hard\sto|difficult\sto)\srule\s(?=(?!out\b)[^.,;]{2,40}?\sout\b)",
    re.I,
)
_YOU_HAVE: Final = re.compile(
    r"^you\s(?:still\s)?have\s(?=(?!any\b|been\b|to\b|the\sright|questions)[^.;,]{2,40}?(?:;|,\s(?:which|and|so|but)\b|\s(?:which|that\sis|for\swhich)\b))",
    re.I,
)
_INCLUDES: Final = re.compile(
    r"\b(?:differentials?|ddx|considerations?|possibilities)\b[^.;:]{2,60}?\s(?P<cue>(?:would\s|could\s|may\s|also\s)?(?:includ(?:es?|ing|ed)|compris(?:es?|ing)|lists?))\s",
    re.I,
)
_MONTH_OF_MAY: Final = re.compile(
    r" May\b(?!\s(?:be|have|not)\b)(?:(?<=\d May)|(?<=(?:st|nd|rd|th) May)|(?<=the May)|(?<=(?:in|of|by) May)|(?<=early May)|(?<=late May)|(?<=mid May)|"
    r"(?<=last May)|(?<=since May)|(?<=until May))"
)
_THE_KNOWN: Final = re.compile(r"\b(?:the|his|her|their|patient['’]s|this|with|of|from)\sknown\s", re.I)
_LEGACY: Final = re.compile(r"\blegacy\sof\s", re.I)

LASTING: Final[tuple[CuePattern | WordPattern, ...]] = (
    word_pattern("relieved abolished aborted reversed", _RELIEVED, CueKind("doubt-after", _HISTORICAL)),
    word_pattern("short fleeting momentary", _SHORT_LIVED, CueKind("next-before", HISTORY)),
    word_pattern("started restarted commenced began begun put switched changed initiated", _RESTARTED, CueKind("end")),
    word_pattern("without w free", _NO_TIME_WITHOUT, CueKind("pseudo")),
    word_pattern("without free", _NOT_EVEN_A_DAY, CueKind("pseudo")),
    word_pattern(
        "healing healed uniting united improving improved resolving resolved clearing cleared shrinking shrunk growing grown enlarging enlarged "
        "progressing progressed changing changed worsening worsened spreading spread responding responded settled moving union improvement "
        "resolution regression response growth progression enlargement",
        _NO_CHANGE_OF,
        CueKind("pseudo"),
    ),
    word_pattern(
        "helped helps touched touches eased eases shifted relieved relieves cleared controlled controls improved worked works difference effect",
        _UNHELPED,
        CueKind("pseudo"),
    ),
    word_pattern(
        "grown enlarged shrunk spread moved changed progressed increased decreased responded worsened healed united",
        _NOT_GROWN,
        CueKind("pseudo"),
    ),
    word_pattern(
        "means far anything nowhere all entirely quite", _NOT_AT_ALL_GONE, CueKind("sentence-after", _CURRENT)
    ),
    word_pattern("question issue point matter debate", _NO_LONGER_WHETHER, CueKind("clause-before", "present")),
    word_pattern("would could might", _WERE_IT_NOT, CueKind("doubt-before", "present")),
    word_pattern(
        "known established existing standing longstanding stable", _OF_KNOWN, CueKind("doubt-before", "present")
    ),
    word_pattern("now still currently", _NEEDS_DAILY, CueKind("doubt-before", _CURRENT)),
    word_pattern("longer", _OUT_OF_RANGE, CueKind("skip")),
    word_pattern("apart aside", _APART_FROM, CueKind("end")),
    word_pattern("known", _THE_KNOWN, CueKind("next-before", "present")),
    word_pattern("legacy", _LEGACY, CueKind("doubt-before", HISTORY)),
    word_pattern("which", _WHICH_EXPLAINS, CueKind("end")),
    word_pattern("resolving improving clearing evolving resolved", _AS_RESOLVING, CueKind("doubt-before", "uncertain")),
    word_pattern("rule", _RULE_IT_OUT, CueKind("doubt-before", "uncertain")),
    word_pattern("you", _YOU_HAVE, CueKind("doubt-before", "present")),
    word_pattern(
        "differential differentials ddx consideration considerations possibilities",
        _INCLUDES,
        CueKind("doubt-before", "uncertain"),
    ),
    word_pattern("may", _MONTH_OF_MAY, CueKind("skip")),
    word_pattern(
        "distended tender swollen obese tachycardic bradycardic irregular wheezy pale jaundiced icteric confused drowsy febrile hypotensive dehydrated agitated tearful warm dry",
        _AND_DISTENDED,
        CueKind("end"),
    ),
    word_pattern("previously formerly earlier once past", _UNLIKE_BEFORE, CueKind("end")),
)
