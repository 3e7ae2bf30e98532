"""Cues by pattern of what is not there, is refused or was left alone, and of what only sounds like it."""

from __future__ import annotations

import re
from typing import Final

from mappings.analysis.mentions.cue_pattern import CuePattern, WordPattern, word_pattern
from mappings.analysis.mentions.cues import CueKind

_SEE: Final = (
    r"(?:elicit|find|found|see|saw|seen|hear|heard|feel|felt|detect|demonstrat|confirm|reproduc|provok|palpat|auscultat|make\sout|made\sout|"
    r"identif|witness|notic|report|observ|record|document|discover|trigger|induc|appreciat|visuali[sz]|locat|spot|pick\sup|picked\sup)\w*"
)
_NEGATIVE: Final = r"(?:clean|clear|neg|negative|-ve|normal|unremarkable|reassuring|nil|sterile|non-?reactive|not\sdetected|undetectable)"
_NOBODY_SAW: Final = re.compile(
    r"\b(?:neither\b[^.;,]{2,40}?\bnor\b[^.;,]{1,30}?|(?:neither|none|nobody|no[-\s]one|not\sone)\b[^.;,]{0,40}?)\s"
    rf"(?P<cue>(?:(?:could|can|was|were|has|have|had|did|is|are|able|to|ever|yet|been|really|managed|us|them)\s){{0,5}}{_SEE})\b",
    re.I,
)
_NOBODY_THOUGHT: Final = re.compile(
    r"\b(?:nobody|no[-\s]one|none)\b[^.;,]{0,30}?\s(?P<cue>(?:thought|thinks|believes?|believed|felt|considered|suspects?|suspected)\s(?:that\s)?(?:he|she|it|this|they|there)\s(?:had|has|was|is|were|have)\b\s)",
    re.I,
)
_LEFT_ALONE: Final = re.compile(
    r"\b(?:left|leaves|leaving|let)\s(?:his|her|the|all|any|their)?\s?(?=[^.;,]{2,30}?\s(?:well\s)?(?:alone|untouched|unopened|unworn|unused|in\sthe\s(?:box|packet|drawer|cupboard))\b)|"
    r"\b(?:gave|gives|giving|given)\s(?:his|her|the|their)?\s?(?=[^.;,]{2,30}?\sa\s(?:miss|wide\sberth)\b)",
    re.I,
)
_LAID_TO_REST: Final = re.compile(
    r"\b(?:laid|lays|laying|puts?|putting)\s(?:the\s|any\s|our\s|his\s|her\s)?(?:\w+\s(?:of|about)\s)?(?=[^.;,]{2,40}?\sto\s(?:rest|bed)\b)|"
    r"\b(?:taken?|took|takes)\s(?=[^.;,]{2,30}?\soff\s(?:the\s)?(?:table|list|cards|differential)\b)|"
    r"\b(?:struck|strikes?|crossed|crosses|removed?|removes|deleted?|deletes|scored|rubbed|dropped|drops)\s(?:the\s(?:label|diagnosis)\sof\s)?"
    r"(?=[^.;,]{2,30}?\s(?:off|from|out\sof)\s(?:the|his|her|our|my)\s(?:problem\s|diagnosis\s|active\s|medical\s)?(?:list|differential|records?|notes|chart)\b)",
    re.I,
)
"""What a result takes off the list: "has laid the question of vasculitis to rest"."""
_SCREEN_CLEAN: Final = re.compile(
    r"\b(?:screens?|swabs?|tests?|cultures?|serology|pcr|films?|smears?|scans?|imaging|antibod\w+|antigens?|probe|stains?|bloods|biops\w+|work-?up)\s(?:for|re)\s[^.;,]{2,40}?\s"
    rf"(?P<cue>(?:(?:is|was|were|are|all|both|has|have|came|come|back|returned|again|now|remains|x\s?\d)\s){{0,4}}{_NEGATIVE})(?=\s*(?:[.;,)]|$)|\s(?:x\s?\d|twice|again|today|on\s))",
    re.I,
)
_NOT_JUSTIFIED: Final = re.compile(
    r"(?:\bnot|n['’]t)\s(?:really\s|currently\s)?(?:feel|think|believe|consider|judge|find|see)\s(?:that\s)?(?=[^.;,]{2,40}?\s(?:is|are|was|were|would\sbe|to\sbe|will\sbe)\s(?:\w+\s)?"
    r"(?:justified|warranted|indicated|needed|necessary|required|appropriate|present|to\sblame|responsible|the\s(?:cause|answer|explanation|problem)|relevant|helpful|called\sfor|worthwhile)\b)",
    re.I,
)
_NOT_FOR: Final = re.compile(
    r"(?:^|[.;:,–-]\s|\b(?:is|are|was|were|remains?|deemed|and|but|he|she|patient|pt)\s)(?P<cue>not\sfor)\s(?=(?:(?:any|further|active|full|invasive|intensive|re-?)\s?)?"
    r"(?:cpr|resus\w*|escalation|itu|icu|hdu|crit\w+\scare|intubation|ventilation|dialysis|rrt|surg\w+|operati\w*|chemo\w*|radio\w*|transfus\w*|antibiotics|peg|niv|bipap|cpap|"
    r"admission|readmission|ino\w+|vasopressors|attempt\w*|cardioversion|transplant\w*|thrombolysis|anticoagulation)\b)",
    re.I,
)
_NO_WAIT_FOR_NOT: Final = re.compile(
    r"(?:\bnot|n['’]t)\s(?:that|as\s(?:if|though)|because)\s(?:he|she|they|it|there|the\s\w+|this)\s[^.;,]{0,20}?\b(?:no|not|n['’]t|without|never|lacks?|free\sof|denies|nothing)\b",
    re.I,
)
"""Two negations: "it is not that she has no pain"."""
_IS_NOT_NEW: Final = re.compile(
    r"\b(?:is|are|was|were|looks?|appears?)\s(?:\w+\s)?(?:new|old|recent|worse|worsening|better|improved|larger|bigger|smaller|painful|tender|stable|unchanged|longstanding|chronic|acute|obvious|severe|mild|progressive|symptomatic|treated|treatable|understood|explained),?"
    r"\s(?:but\s|and\s|while\s|whereas\s)?(?:the|his|her|this)\s[^.,;]{2,40}?\s(?P<cue>(?:is|are|was|were)(?:\snot|n['’]t))(?=\s*(?:[.;,]|$))",
    re.I,
)
"""What is only unlike another: "the murmur is new, the fibrillation is not"."""
_BUT_IT_IS: Final = re.compile(
    r"\b(?:queried|suspected|questioned|wondered\sabout|feared|presumed)\b[^.;]{2,60}?\s(?P<cue>(?:is|are)\s(?:indeed|now|clearly|definitely|still|quite|certainly|easily|readily|plainly|again|very|in\sfact|today|\s)*"
    r"(?:audible|visible|palpable|obvious|evident|confirmed|there|present|unmistakable|established|apparent|plain|proven|real|genuine))\b",
    re.I,
)
"""What was doubted and is there: "the murmur queried in May is indeed audible"."""
_NOT_GONE: Final = re.compile(
    r"(?:,\s|\s)(?P<cue>(?:but|though|although|yet|while|and)\s(?:(?:it|they|this|that|these)\s)?(?:(?:(?:has|have|is|are|was|were)(?:\snot|n['’]t|\snever|\syet\sto)|not|never|far\sfrom|by\sno\smeans)\s)(?:\w+\s){0,2}"
    r"(?:gone|go|cleared|clear|resolved|settled|disappeared|vanished|healed|over|away))\b",
    re.I,
)
"""What has only got better: "calmed down, although it has not gone"."""
_BACK_IN: Final = re.compile(r"(?<=\w)\sback\s(?:in|up)(?=\s*(?:[.;,)]|$))", re.I)
_NO_WHEN_ASKED: Final = re.compile(
    r"\b(?:no|never|not|nothing|shook\s(?:his|her)\shead|shakes\s(?:his|her)\shead|denied|denies|denial|negative)\b[^.;]{0,30}\b(?:when|if|to|on)\s(?:being\s)?(?:asked|questioned|pressed|probed|questioning)\s(?:specifically\s|directly\s)?(?:about|for|regarding|on)\s(?:any\s)?",
    re.I,
)
_TEST_NEGATIVE: Final = re.compile(
    rf"(?<=\w\s)(?:screen(?:ing)?|tests?|swabs?|serology|pcr|antibod(?:y|ies)|antigens?|smears?|titres?)\s(?:(?:of\scure|results?|is|was|were|has|have|been|scan|came|come|back|returned|again|both|all|now|x\s?\d)\s){{0,4}}{_NEGATIVE}(?=\s*(?:[.;,)]|$)|\s(?:x\s?\d|twice|again|today|on\s))",
    re.I,
)
"""The result of the test for what is named before it: "chlamydia test of cure negative"."""
_NOT_IN_MY_VIEW: Final = re.compile(
    r"(?:\bnot|n['’]t),\s(?:in\s(?:my|our|his|her)\s(?:view|opinion|judg\w+|estimation)|(?:I|we)\s(?:think|believe|feel|am\ssure)|to\s(?:my|our)\s(?:mind|eye)|as\sfar\sas\s[^,]{3,30}|at\s(?:present|least)|thankfully|however|and\snever\s(?:was|has\sbeen|were)|"
    r"nor\s[^,]{3,25}|clinically|of\scourse|so\sfar|it\sseems),\s",
    re.I,
)
_MISSED_DOSE: Final = re.compile(
    r"(?:(?:did|does|do|has|have|had)\s?)?(?:\bnot|n['’]t)\s(?:take|taken|use|used|inject|injected)\s(?=[^.;,]{2,30}?\s(?:last\snight|yesterday|today|this\s(?:morning|evening|am)|tonight|(?:for|in)\s(?:the\slast\s|the\spast\s)?(?:\d+|two|three|a\sfew|several)\s(?:days|nights)|regularly|every\sday|as\s(?:prescribed|directed)|properly|reliably|consistently|on\s\w+day)\b)",
    re.I,
)
"""Who missed a dose still has the drug: "did not take her lithium last night"."""

DENIALS: Final[tuple[CuePattern | WordPattern, ...]] = (
    word_pattern("neither none nobody noone one", _NOBODY_SAW, CueKind("before", "ruled-out")),
    word_pattern("nobody one noone none", _NOBODY_THOUGHT, CueKind("before", "ruled-out")),
    word_pattern("left leaves leaving let gave gives giving given", _LEFT_ALONE, CueKind("before", "ruled-out")),
    word_pattern(
        "rest bed table list cards differential record records notes chart",
        _LAID_TO_REST,
        CueKind("before", "ruled-out"),
    ),
    word_pattern(
        "clean clear neg negative ve normal unremarkable reassuring nil sterile reactive nonreactive detected undetectable",
        _SCREEN_CLEAN,
        CueKind("after", "ruled-out"),
    ),
    word_pattern(
        "justified warranted indicated needed necessary required appropriate present blame responsible cause answer explanation problem "
        "relevant helpful called worthwhile",
        _NOT_JUSTIFIED,
        CueKind("before", "ruled-out"),
    ),
    word_pattern("not", _NOT_FOR, CueKind("before", "ruled-out")),
    word_pattern("that if though because", _NO_WAIT_FOR_NOT, CueKind("pseudo")),
    word_pattern(
        "new old recent worse worsening better improved larger bigger smaller painful tender stable unchanged longstanding chronic acute obvious "
        "severe mild progressive symptomatic treated treatable understood explained",
        _IS_NOT_NEW,
        CueKind("doubt-after", "present"),
    ),
    word_pattern(
        "queried suspected questioned wondered feared presumed",
        _BUT_IT_IS,
        CueKind("sentence-after", "present"),
    ),
    word_pattern(
        "gone go cleared clear resolved settled disappeared vanished healed over away",
        _NOT_GONE,
        CueKind("sentence-after", "current"),
    ),
    word_pattern("back", _BACK_IN, CueKind("doubt-after", "current")),
    word_pattern("asked questioned pressed probed questioning", _NO_WHEN_ASKED, CueKind("before", "ruled-out")),
    word_pattern(
        "screen screening test tests swab swabs serology pcr antibody antibodies antigen antigens smear smears titre titres",
        _TEST_NEGATIVE,
        CueKind("after", "ruled-out"),
    ),
    word_pattern("not t", _NOT_IN_MY_VIEW, CueKind("before", "ruled-out")),
    word_pattern("take taken use used inject injected", _MISSED_DOSE, CueKind("pseudo")),
)
