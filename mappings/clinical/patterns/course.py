"""Cues by pattern of how things end and go on: what was given for some days, what a change of another left, what lasts."""

from __future__ import annotations

import re
from typing import Final

from mappings.analysis.mentions.cue_pattern import CuePattern, WordPattern, word_pattern
from mappings.analysis.mentions.cues import CueKind
from mappings.clinical.time_patterns import HISTORY, TAKEN

_HISTORICAL: Final = "historical"
_CURRENT: Final = "current"
_GONE: Final = (
    r"(?:gone|resolved|settled|cleared|passed|stopped|ceased|healed|faded|subsided|vanished|disappeared|abated|eased|lifted|went|worn\soff|wore\soff|"
    r"recovered|involuted|remitted|burnt\sout|burned\sout|died\sdown)"
)
_GONE_WORDS: Final = (
    "gone resolved settled cleared passed stopped ceased healed faded subsided vanished disappeared abated eased lifted "
    "went off recovered involuted remitted out down"
)
_ENDS_IN_NOT: Final = r"^(?=.*(?:\snot|n['’]t)\s*(?:[.;]|$)).*?"
"""Looked for first, as it is rare."""
TREATMENT: Final = (
    r"(?:\w+\s){0,2}(?:surgery|operation|bypass|transplant|transplantation|stents?|stenting|ablation|repair|replacement|injections?|treatment|chemotherapy|"
    r"radiotherapy|pacemaker|implant|biologic|infusion|\w+(?:ectomy|plasty|plication|otomy|ostomy))\b"
)
_IT_ENDED: Final = re.compile(
    rf"[;–—-]\s(?P<cue>(?:it|they|this|that|these|those|both|all)\s(?:(?:has|have|had|all|both|since|soon|quickly|now|then|later)\s){{0,3}}{_GONE}\b(?!\sbad)|"
    r"(?:it|they|this|that|these|those|both)\s(?:has|have|had|did|does|do)(?:\s(?:not|never)|n['’]t)\s(?:since\s)?(?:recur(?:red)?|return(?:ed)?|come\sback|been\sback|reappear(?:ed)?)\b)",
    re.I,
)
"""How what the part before tells of ended: "nausea on arrival; that wore off"."""
_DASH_ENDED: Final = re.compile(
    r"\s[-–—]\s(?:(?:now|since|fully|has|have|all)\s){0,2}(?:resolved|ceased|settled|stopped|discontinued|removed|healed|cleared|gone|withdrawn|completed)"
    r"(?=\s*(?:[.;,)]|$)|\s(?:in|on|at|by|after|within|with|following|before|when|last|\d))",
    re.I,
)
_DEVICE_OUT: Final = re.compile(
    r"\b(?:cannulas?|lines?|drains?|catheters?|tubes?|foleys?|PICC|IVs?|IVC|NGT?|sutures|stitches|staples|packs?|grommets|stents?)\b(?:\s(?!with|put|to\b|ran|run|for\b|and\b|is\b|was\b)\w+){0,4}?"
    r"\s(?P<cue>(?:(?:is|was|came|has come|now|fell|has fallen|taken)\s){0,2}out)\b(?!\sof\b|\sthrough\b|\sfrom\b|\svia\b|put|\s\d+\s?(?:ml|cc)|\sto\b)",
    re.I,
)
"""A device is out: "cannula in the left hand out as tissued"."""
_NEEDED_FOR: Final = re.compile(
    r"(?<=\s)(?:(?<=was\s)|(?<=were\s)|(?<=been\s)|(?<=only\s)|(?<=briefly\s))(?:needed|required|necessary|used|given|continued)\s(?:for\s)?(?:only\s|just\s|about\s|some\s)*"
    r"(?:for\s)?(?:only\s|just\s|about\s)?(?:\d+|an?|one|two|three|four|five|six|seven|ten|several|a few|a couple of)\s(?:\w+\s)?(?:hours?|days?|nights?|weeks?|months?|years?|doses?)\b",
    re.I,
)
_BEFORE_TREATMENT: Final = re.compile(
    rf"\b(?:had|did have|troubled|bothered|plagued|suffered from|limited|there was|there were)\b[^.;:]{{2,50}}?\s(?P<cue>(?:before|until)\s(?:the|his|her|their|this)\s{TREATMENT})",
    re.I,
)
"""What there was before a treatment: "heartburn troubled her before the fundoplication"."""
_DID_HAVE: Final = re.compile(
    rf"\bdid\s(?:have|get|suffer|experience|feel|notice)\b(?=[^.;:]{{2,60}}?(?:\s(?:before|until|prior to)\s(?:the|his|her|their)\s{TREATMENT}|\sat\s(?:the\s)?(?:onset|outset|start|beginning)\b|\sinitially\b|\sat\sfirst\b))",
    re.I,
)
_BEFORE_WHICH: Final = re.compile(
    r"(?:^|(?<=[.;]\s))(?:prior\sto|before|until)\s(?!(?:the\s|this\s|his\s|her\s)?(?:admission|arrival|presentation|visit|transfer|onset|hospitali[sz]ation|coming|being|bed|meals?|going))"
    r"(?:(?:the|his|her|their|starting|having)\s(?!admission)[^,.;:]{2,40}?,?\s(?:there\s(?:was|were)|(?:he|she|they|it)\s(?:had|was|were))\b|(?:that|then|this),?(?=\s)(?:\s(?:he|she|they|it)\s(?:had|was|were)\b(?:\s(?:on|taking|treated\swith|given|managed\swith))?)?)",
    re.I,
)
"""What came before: "prior to the injection there was pain", "before that heavy drinking"."""
_YEAR_LIST: Final = re.compile(
    r"(?:^|(?<=[.;,\n]\s)|(?<=\n))(?:in\s)?(?:(?:0?[1-9]|1[0-2])/)?(?:19[3-9]\d|20[0-4]\d)\s?(?::|[-–—]\s)"
    r"(?!\s*(?:diagnosed|dx|onset|started|starts|began|since|now|known|commenced|first|presents|\d))",
    re.I,
)
"""An item of a list of dates: "2018: pneumonia"."""
_YEAR_BEFORE: Final = re.compile(
    r"(?:\b(?:his|her|their|the|a|my)|['’]s)\s(?P<cue>(?:19[3-9]\d|20[0-4]\d)\s)(?=[a-z])(?!(?:guid|criteria|class|study|stud|scan|films?|ct|mri|to|and|or|it|he|she|x-?ray|exam|report)\w*\b)",
    re.I,
)
"""The year of an event before its name: "his 2015 stroke"."""
_WHERE_THERE_WAS: Final = re.compile(
    r"\bwhere\s(?:there\s(?:was|were)|(?:he|she|they)\s(?:had|was|were))\b(?=[^.;]{2,80}\b(?:now|today)\b[^.;]{0,20}\b(?:none|no|not|nothing|clear|gone)\b)",
    re.I,
)
_STILL_NOT: Final = re.compile(
    rf"{_ENDS_IN_NOT}\b(?:persists?|remains?|continues?|is still there|are still there|is back|stays)[.;,]?[^.;]{{0,20}}[;,]\s(?:but\s|and\s|though\s|while\s)?[^,;.]{{2,60}}?\s(?P<cue>(?:is|are|has|have|does|do|did)(?:\snot|n['’]t))(?=\s*(?:[.;]|$))",
    re.I,
)
"""An end told by what it is not: "the effusion persists; the edema of last week does not"."""
_SO_DID: Final = re.compile(
    rf"^(?=.*\s(?:and|as)\s(?:so|thus)\s).*?\b{_GONE}\b[^.;]{{0,60}}?\s(?P<cue>(?:and|as)\s(?:so|thus)\s(?:did|has|have|is|was|were)\b)",
    re.I,
)
_DID_TOO: Final = re.compile(
    rf"^(?=.*\s(?:did|has|have|was|were)\s(?:too|so\stoo|as\swell|likewise)\b).*?\b{_GONE}\b[^.;]{{2,60}}?\s(?P<cue>(?:did|has|have|was|were)\s(?:too|so\stoo|as\swell|likewise))(?=\s*(?:[.,;]|$))",
    re.I,
)
_OVER: Final = re.compile(
    r"(?:^|(?<=[.;]\s))(?!(?:hand|handed|took|take|taken|bent|roll|rolled|turn|turned|carried|crossed|start|started|moved|left|went|care)\b)(?:[\w'’-]+\s){1,3}(?P<cue>over)(?=\s*(?:[.,;]|$))",
    re.I,
)
_FREE_OF_WHAT: Final = re.compile(
    r"\b(?:(?:been|is|was|now)\s)?(?:free|clear|rid)\s(?:of|from)\s(?:the|that|those|his|her)\s(?=[^.;,]{2,30}?\s(?:that|which)\s(?:had|once|used|so|\w+ed)\b)",
    re.I,
)
_NOT_TAKEN_SINCE: Final = re.compile(
    r"\b(?:has|have|had)(?:\snot|n['’]t)\s(?:been\son|taken|used|needed|required)\s(?=[^.;,]{2,40}?\bsince\s(?:(?:19|20)\d\d|\d|(?:early|mid|late|last|the)\s|"
    r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\w*|(?:spring|summer|autumn|winter)|(?:he|she|they)\s|stopp))",
    re.I,
)
_LAST_COMPLICATED: Final = re.compile(
    r"\b(?:complicated|followed|marred|delayed|ended|spoilt|spoiled)\s(?:his|her|their|the)\s(?:last|first|second|third|previous|prior|earlier|initial|original|index|(?:19|20)\d\d)\s",
    re.I,
)
_YEARS_FROM: Final = re.compile(
    r"\b(?:years?|months?|weeks?|days?|decades?)\s(?:on|out|down the line|along|removed|further on)\s(?:from|after|since|following)\s",
    re.I,
)
_LIKE_WHEN: Final = re.compile(
    r"\b(?:not\s(?:feel\s|look\s|at\sall\s|really\s)?)?(?:like|than|remembers?|recalls?)\s(?:when|the\stime)\s(?:he|she|they|i)\s(?:had|was\shaving|got|suffered|was\sadmitted\swith|was\sdown\swith|caught)\b",
    re.I,
)
_DONE_TODAY: Final = re.compile(
    r"\bunderwent\s(?=[^.;]{2,80}?\b(?:today|this\s(?:morning|afternoon|evening)|earlier\stoday|just\snow)\b)", re.I
)
"""What is done on the day of the note is no history."""
_GIVEN_THERE: Final = re.compile(
    r"\b(?:received|given|got|administered|had|needed|required|transfused|loaded\swith|placed\son)\b(?=[^.;:]{2,60}?\s(?:(?:in|at)\s(?:the\s)?(?:theatre|theater|operating\sroom|OR|ED|ER|A&E|emergency\sdepartment|ambulance|resus|"
    r"recovery|PACU|field|scene|OSH|outside\shospital|referring\shospital|outlying\shospital|triage|cath\slab|angio\ssuite|first\s24\shours)\b|en\sroute\b|pre-?hospital\b|intra-?op\w*|by\s(?:EMS|paramedics|the\s(?:crew|paramedics))\b|"
    r"(?:on|at|for)\sinduction\b|before\s(?:transfer|arrival)\b|prior\sto\s(?:transfer|arrival)\b|during\s(?:the\s)?(?:surgery|procedure|operation|case|transfer|transport)\b))",
    re.I,
)
"""What was given in another place than where the note is written: "received two units in theatre"."""
_LAST_ONE: Final = re.compile(
    r"\b(?:last|latest|most\srecent)\s(?:had\s(?:an?\s)?|took\s|used\s|received\s|known\s|documented\s)?(?=(?!year|month|week|night|time|visit|admission|seen|hour|day|dose\b|meal|oral|menstrual|two|three|few|few|scan|couple|\d)[^.;,:]{2,40}?"
    r"(?:\sago\b|\s(?:was\s|being\s)?(?:in|on|at|over)\s(?:\d|the\s\d|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|spring|summer|autumn|winter|mon|tue|wed|thu|fri|sat|sun|early|late|last)\w*)|\s(?:19|20)\d\d\b|\slast\s|\syesterday\b))",
    re.I,
)
"""The last of several is over: "last migraine three months ago"."""
_DAY_AFTER: Final = re.compile(
    r"\b(?:POD|post-?op\sday|postoperative\sday)\s?#?\d+,?\s(?:after\s|following\s|from\s|post\s|s/p\s|of\s|status\spost\s|out\sfrom\s)?|"
    r"\bday\s#?\d+\s(?:after|following|post|s/p|from)\s",
    re.I,
)
"""How long after an operation: "POD 3 laparotomy"."""
_FIRST_NOW: Final = re.compile(
    r"(?P<cue>(?:\b(?:presented|came\sin|arrived|had|was|were|found)\s)?\b(?:initially|at\sfirst|originally)\b(?:\s(?:presented|presenting|had|was|were|with|found))*)(?=[^.]{3,80}[;,]\s(?:but\s|and\s)?(?:he\sis\s|she\sis\s|is\s)?now\b(?!\swith))",
    re.I,
)
"""What there was at first, before "now": "presented initially with confusion; now orientated"."""
_WELL_SINCE: Final = re.compile(
    r"[,;–-]\s(?=[^.;]*?\b(?:well|fine|dry|none|nil|comfortable|settled|normal|asymptomatic|better|clear|afebrile|apyrexial|free|alert|orientated|oriented|ok|okay|sound|back|himself|herself|more)\b)(?P<cue>(?:but\s|and\s|then\s)?(?:(?:he|she|they|it|is|was|has|been|feels|feeling|now|completely|entirely|quite|perfectly|absolutely|all|fully|totally|very|since|remained|remains|stayed|otherwise)\s){0,4}"
    r"(?:well|fine|dry|none|nil|comfortable|settled|normal|asymptomatic|better|clear|afebrile|apyrexial|(?:symptom|pain|seizure|fit|attack)[-\s]free|alert|orientated|oriented|ok|okay|sound|back\sto\s(?:normal|baseline|work|school)|(?:him|her)self(?:\sagain)?|no\smore|none\sthereafter)"
    r"\s(?:today|now|since|currently|at\spresent|this\s(?:morning|am|afternoon|evening|time)|at\sreview|on\sreview|on\sarrival|when\sseen|thereafter|afterwards|after\sthat|from\sthen\son|ever\ssince|again)\b)",
    re.I,
)
"""How well somebody is since: "incontinence overnight, dry today"."""
_BORN: Final = re.compile(
    r"\bborn\s(?:at|by|via|pre-?term|preterm|prematurely|early|premature|vaginally|after|in)\b(?:\s(?:\d+(?:\+\d)?\s?(?:/40|weeks?|wks?)?(?:\sgestation)?|term))?(?:[^.;]{0,30};)?",
    re.I,
)
COURSES: Final[tuple[CuePattern | WordPattern, ...]] = (
    word_pattern(f"{_GONE_WORDS} recurred recur returned return back", _IT_ENDED, CueKind("sentence-after", HISTORY)),
    word_pattern(
        "resolved ceased settled stopped discontinued removed healed cleared gone withdrawn completed",
        _DASH_ENDED,
        CueKind("clause-after", HISTORY),
    ),
    word_pattern("out", _DEVICE_OUT, CueKind("doubt-after", _HISTORICAL)),
    word_pattern("needed required necessary used given continued", _NEEDED_FOR, CueKind("doubt-after", _HISTORICAL)),
    word_pattern("before until", _BEFORE_TREATMENT, CueKind("clause-after", _HISTORICAL)),
    word_pattern("did", _DID_HAVE, CueKind("doubt-before", _HISTORICAL)),
    word_pattern("prior before until", _BEFORE_WHICH, CueKind("clause-before", HISTORY)),
    word_pattern("where", _WHERE_THERE_WAS, CueKind("clause-before", _HISTORICAL)),
    word_pattern(
        "persist persists remain remains continue continues back there stays",
        _STILL_NOT,
        CueKind("doubt-after", _HISTORICAL),
    ),
    word_pattern("so thus", _SO_DID, CueKind("doubt-before", _HISTORICAL)),
    word_pattern("too well likewise", _DID_TOO, CueKind("doubt-after", _HISTORICAL)),
    word_pattern("over", _OVER, CueKind("doubt-after", _HISTORICAL)),
    word_pattern("free clear rid", _FREE_OF_WHAT, CueKind("doubt-before", _HISTORICAL)),
    word_pattern("since", _NOT_TAKEN_SINCE, CueKind("doubt-before", _HISTORICAL)),
    word_pattern(
        "complicated followed marred delayed ended spoilt spoiled", _LAST_COMPLICATED, CueKind("doubt-after", HISTORY)
    ),
    word_pattern("on out down along removed further", _YEARS_FROM, CueKind("next-before", _HISTORICAL)),
    word_pattern("like than remember remembers recall recalls", _LIKE_WHEN, CueKind("doubt-before", _HISTORICAL)),
    word_pattern(
        "received given got administered had needed required transfused loaded placed",
        _GIVEN_THERE,
        CueKind("doubt-before", TAKEN),
    ),
    word_pattern("last latest recent", _LAST_ONE, CueKind("next-before", _HISTORICAL)),
    word_pattern("pod day", _DAY_AFTER, CueKind("next-before", TAKEN)),
    word_pattern("initially first originally", _FIRST_NOW, CueKind("doubt-before", _HISTORICAL)),
    word_pattern(
        "today now since currently present this review arrival seen thereafter afterwards that on ever again",
        _WELL_SINCE,
        CueKind("sentence-after", HISTORY),
    ),
    word_pattern("born", _BORN, CueKind("clause-before", HISTORY)),
    word_pattern("underwent", _DONE_TODAY, CueKind("skip")),
    CuePattern(("19", "20"), _YEAR_LIST, CueKind("clause-before", HISTORY)),
    CuePattern(("19", "20"), _YEAR_BEFORE, CueKind("next-before", HISTORY)),
)
