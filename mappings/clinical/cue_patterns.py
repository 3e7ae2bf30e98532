"""Cues that are no fixed phrases: times, "polyp v. stone", examinations and their purpose, double negation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from mappings.analysis.mentions.cue_pattern import CuePattern, WordPattern
from mappings.analysis.mentions.cues import SILENT, Cue, CueKind
from mappings.analysis.mentions.pattern_words import PatternWords
from mappings.analysis.mentions.screens import Screened
from mappings.clinical.patterns.course import COURSES
from mappings.clinical.patterns.denials import DENIALS
from mappings.clinical.patterns.doubts import DOUBTS
from mappings.clinical.patterns.endings import ENDINGS
from mappings.clinical.patterns.forecasts import FORECASTS
from mappings.clinical.patterns.lasting import LASTING
from mappings.clinical.patterns.people import people_patterns
from mappings.clinical.patterns.prospects import PROSPECTS
from mappings.clinical.time_patterns import FUTURE, HISTORY, PAST, TAKEN, future_times, past_times

_YEAR_NUMBER: Final = r"(?:19[3-9]\d|20[0-4]\d)"
_YEAR_OF: Final = re.compile(
    rf"(?<=[A-Za-z)\d]\s)\(?{_YEAR_NUMBER}\)?(?=\s+(?:for|with|w/|due to|after|complicated)(?!\w))", re.I
)
_NO_YEAR_OF: Final = re.compile(r"\b(?:since|from|until|to|of)\s$", re.I)
_VERSUS: Final = re.compile(r"(?<=\w\s)v\.?(?=\s[A-Za-z]{3})|(?<=[A-Za-z]{3}\s)>{1,3}(?=\s[A-Za-z]{3})")
_TAKES: Final = re.compile(
    r"[,;]\s*(?:(?:and|is|was|now|currently|still|all|both|on)\s+){0,3}on\s(?!and off\b|exam|\w+day\b)|"
    r"\band\s+(?:is\s+|now\s+)?on\s",
    re.I,
)
_NOT_WITHOUT: Final = re.compile(
    r"\b(?:cannot|can['’]?t|could not|couldn['’]t|unable to|not able to|never|does not|doesn['’]t|did not|didn['’]t|has not had|hasn['’]t had|have not had|haven['’]t had|had not had|hadn['’]t had)\b"
    r"[^,.;:]{1,60}?\b(?P<cue>(?:without|w/o)\s)(?!difficulty)",
    re.I,
)
_EXAMINATION: Final = (
    r"(?:CTPA|CTA|CT|CAT scan|MRI|MRA|MRCP|MR|PET|x-?rays?|XR|CXR|KUB|films?|radiographs?|ultrasound|ultrasonography|US|USS|"
    r"sono(?:gram)?|doppler|duplex|scans?|echo(?:cardiogram)?|TTE|TEE|EKG|ECG|EEG|EMG|holter|stress test|angiogra(?:m|phy)|"
    r"venogram|mammogra(?:m|phy)|biops(?:y|ies)|colonoscopy|endoscopy|EGD|bronchoscopy|cystoscopy|laparoscopy|LP|"
    r"lumbar puncture|aspirat(?:e|ion)|swabs?|smears?|cultures?|serolog(?:y|ies)|titers?|d-?dimer|troponins?|labs?|"
    r"blood(?:s|work)?|tests?|testing|panel|screen|level|urinalysis|UA|work-?up|studies|study|imaging|investigations?|"
    r"monitoring|ordered|obtain(?:ed)?|sent|requested|arranged|booked|referred|referral|admit(?:ted)?|get|check(?:ed)?)"
)
_EXAMINED_FOR: Final = re.compile(
    rf"(?<!\w){_EXAMINATION}\b(?:\s(?:of|the|chest|abdomen|abdo|pelvis|head|brain|neck|spine|scan|w/|with|without|contrast|"
    r"today|tomorrow|stat|urgently|urgent|now|(?!not\b|cannot|does|doesn|did|do\b|enough|fails?|failed|unable|negative|normal|could|can\b|insufficient|and\b)\w+)){0,4}?\s(?:is\s|was\s|pending\s)?(?:to\s(?:help\s|further\s)?|for\s)?"
    r"(?:r/o|rule\s?-?out|exclude|confirm(?:\sor\s\w+)?|look\sfor|see\sif|assess\sfor|evaluate\sfor|check\sfor)(?!\w)",
    re.I,
)
"""An examination and its purpose: "CT head r/o bleed"; without one, "r/o" leaves a condition open."""
_MARKER: Final = re.compile(
    r"\b(?:[A-Z][A-Z0-9]+|[A-Z]+[0-9]+|[A-Z][a-z]?\d*)(?:[-/ ][A-Z0-9]+)?[\s-](?:negative|neg|null)\b"
    r"(?=\s(?!for|on|in|at|x\d|and|but|by|so|today|again|with|as|to|since|per|twice|throughout|per)[a-z])"
)
"""A result that describes the condition after it: "EGFR negative adenocarcinoma"."""
_TOOK: Final = re.compile(
    r"\b(?:took|was on|were on|used|had|received|tried|got|was given|needed|required|was needing|had been on|was taking|was treated with)\b"
    r"(?=[^.;:]{2,60}\b(?:for\s(?:about\s|nearly\s|almost\s)?(?:\d+|a|an|one|two|three|four|five|six|several|many|some)\s(?:\w+\s)?"
    r"(?:nights?|days?|weeks?|months?|years?|courses?|cycles?)|until|till|from\s(?:19|20)\d\d)\b(?!\s(?:now|today|the present)))",
    re.I,
)
"""What was taken for a time and is taken no longer."""
_UNTIL_KNOWN: Final = re.compile(
    r"\b(?:until|till|once|when|as soon as|after|unless|if)\s+(?=[^.;,]{1,60}\b(?:is|are|has been|have been|gets|comes|come|turns out|"
    r"be)\s(?:\w+\s)?(?:ruled out|excluded|confirmed|available|back|known|proven|proved|established|positive|negative|stable|"
    r"complete|done|ready|found|diagnosed|clear|resolved|safe|due|met)\b)",
    re.I,
)
_PRN_FOR: Final = re.compile(
    r"\b(?:prn|as needed|when needed|as required|if needed|on demand)\s(?:[\w.%/-]+\s){1,6}?for\b", re.I
)
_WHEN: Final = re.compile(
    r"(?:(?<=^)|(?<=[.;:]\s)|(?<=,\s))(?:when|once|whenever|as soon as)\b(?=[^.;,]{1,50}\b(?:clears|resolves|settles|improves|heals|recurs|"
    r"occurs|happens|starts|arises|develops|returns|worsens|persists|comes on|strikes|stops|subsides|begins|goes|falls|rises|"
    r"reaches|drops)\b)",
    re.I,
)

_USED_TO: Final = re.compile(
    r"(?<!\bbe\s)(?<!\bis\s)(?<!\bget\s)(?<!\bgot\s)(?<!\bare\s)(?<!\bwas\s)(?<!\bwere\s)(?<!\bbeen\s)(?<!\bbecome\s)(?<!\bnot\s)"
    r"used\sto\s(?!it\b|the\b|this\b|that\b|his\b|her\b|having\b|being\b|treat\b|prevent\b|relieve\b|control\b)\w+(?:\s(?:from|with|of|for|on))?(?=\s)",
    re.I,
)
"""What was a habit: "used to hear voices"; not what one is used to, or what is used to treat."""
_FREE_SINCE: Final = re.compile(
    r"\b(?:free|clear|rid)\s(?:of|from)\s(?=[^.;,]{2,50}?\s(?:since\s(?:19|20|childhood|infancy|school|his\steens|her\steens|adolescence)|for\s(?:the\s(?:last|past)\s)?(?:\w+\s)?(?:years|months|decades)|"
    r"these\s(?:last|past|\w+\s(?:years|months)))\b)",
    re.I,
)
_NO_MORE: Final = re.compile(r"(?<=\w)\sno\smore(?=\s*(?:[.;,)]|$))", re.I)
_TAKEN_OUT: Final = re.compile(
    r"\b(?:(?:came|come|fell|fallen|is|was|were|been|now|has\sbeen)\s)?(?:pulled|out|removed|withdrawn|explanted|retrieved|extracted|drained|reversed|taken\s(?:out|down)|stopped|came\sout)\s"
    r"(?:yesterday\b|last\snight\b|overnight\b|(?=\d|POD|post-?op|day\s\d|@|prior\sto|before\s|(?:this|in the|on the)\s(?:morning|evening|night)|(?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)\b))",
    re.I,
)
_THEN_WHEN: Final = re.compile(
    r"\b(?:(?:19[3-9]|20[0-4])\d|ago|childhood|infancy|school|teens|last\s(?:year|spring|summer|autumn|winter))\b"
    r"(?P<cue>,?\s(?:when|where|after)\s(?:he|she|they|i)\s(?:was|were|had|got|came|presented|developed|sustained|suffered|underwent|caught|spent))\b",
    re.I,
)
"""A past time and what happened then: "known to us from 2010, when he was admitted with pancreatitis"."""
_SINCE_OVER: Final = re.compile(
    r"(?P<cue>,\s(?:(?:then|and|was|now|since|later|all|both|but|soon|long|fully|completely|spontaneously)\s){0,2}(?:stopped|discontinued|ceased|removed|resolved|settled|cleared|clear|gone|healed|treated|"
    r"corrected|drained|excised|united|reversed|reverted|repleted|completed|finished|abandoned|withdrawn|operated|resected|fixed|normali[sz]ed|recovered|lapsed))"
    r"(?=\s*(?:[.;,)]|$)|\s(?:in|on|at|by|after|within|with|following|since|before|when|last|\d|without|overnight|spontaneously|completely|fully|to\s(?:sinus|sr|nsr|normal|baseline)))",
    re.I,
)
"""How a part ends that tells of the past: "tamoxifen for five years, stopped 2019"."""
_OVER_HINTS: Final = (
    "stopped",
    "discontinued",
    "ceased",
    "removed",
    "resolved",
    "settled",
    " clear",
    " gone",
    "healed",
    "treated",
    "corrected",
    "drained",
    "excised",
    "united",
    "reversed",
    "reverted",
    "repleted",
    "completed",
    "finished",
    "abandoned",
    "withdrawn",
    "operated",
    "resected",
    "fixed",
    "normali",
    "recovered",
    "lapsed",
)
_SWITCHED_TO: Final = re.compile(
    r"\b(?:switched|changed|converted|swapped|rotated|moved|transitioned|stepped)\s(?:over\s)?from\s(?:\S+\s){1,4}?(?P<cue>(?:over\s)?to\s)",
    re.I,
)
_BUT_NOW: Final = re.compile(
    r"(?:,|\band|\bbut)\s(?:is\s|has\s|are\s|was\s)?now\s(?:also\s|has\s|have\s|gets\s|with\s|is\s|a\s)?(?!no\b|none\b|not\b|nil\b|without|off\b|clear|"
    r"free\b|well\b|resol|settl|gone\b|better\b|stop|heal|remov|dis|norm|asympt|in\sremission|negative|"
    r"thriving|(?:\w+\s){0,2}(?:resolved|settled|gone|healed|removed|stopped|discontinued|clear|normal))(?=[a-z(])",
    re.I,
)
"""A change: "never wheezed before, now breathless"."""

_PATTERNS: Final = (
    CuePattern(("used to",), _USED_TO, CueKind("doubt-before", "historical")),
    CuePattern(("free ", "clear ", "rid of"), _FREE_SINCE, CueKind("doubt-before", "historical")),
    CuePattern((" no more",), _NO_MORE, CueKind("doubt-after", "historical")),
    CuePattern(
        (
            "pulled ",
            "out ",
            "removed ",
            "withdrawn ",
            "anted ",
            "retrieved ",
            "extracted ",
            "drained ",
            "rsed ",
            "stopped ",
        ),
        _TAKEN_OUT,
        CueKind("doubt-after", "historical"),
    ),
    CuePattern((" when ", " where ", " after "), _THEN_WHEN, CueKind("clause-before", "historical")),
    CuePattern((" now ",), _BUT_NOW, CueKind("end")),
    CuePattern((" from ",), _SWITCHED_TO, CueKind("end")),
    CuePattern(_OVER_HINTS, _SINCE_OVER, CueKind("clause-after", HISTORY)),
    CuePattern(("prn", "needed", "required", "demand"), _PRN_FOR, CueKind("doubt-before", "hypothetical")),
    CuePattern(("when", "once", "as soon as"), _WHEN, CueKind("clause-before", "hypothetical")),
    CuePattern((" neg", "-neg", "null"), _MARKER, CueKind("skip")),
    CuePattern((" for ", "until", "till", "from "), _TOOK, CueKind("doubt-before", TAKEN)),
    CuePattern(
        ("until", "till", "once", "when", "as soon as", "after", "unless", "if "),
        _UNTIL_KNOWN,
        CueKind("clause-before", "hypothetical"),
    ),
    CuePattern(
        ("r/o", "rule", "exclude", "confirm", "look for", "see if", "assess for", "evaluate for", "check for"),
        _EXAMINED_FOR,
        CueKind("doubt-before", "hypothetical"),
    ),
    CuePattern((" v ", " v. ", " >"), _VERSUS, CueKind("either", "uncertain")),
    CuePattern((" on ",), _TAKES, CueKind("end")),
    CuePattern(("without", "w/o"), _NOT_WITHOUT, CueKind("pseudo")),
)


def _years_of(screened: Screened) -> Iterator[Cue]:
    """Years that are times of what is beside them: "stroke 2015 with weakness"."""
    sentence = screened.sentence
    for match in _YEAR_OF.finditer(sentence):
        if not _NO_YEAR_OF.search(sentence, max(0, match.start() - 8), match.start()):
            yield Cue(*match.span(), "clause-either", HISTORY)


class CuePatterns:
    """Finds cues by patterns. `relatives`: the words for people other than the patient."""

    def __init__(self, relatives: Iterable[str]) -> None:
        patterns: list[CuePattern | WordPattern] = [
            *_PATTERNS,
            *people_patterns(relatives),
            *PROSPECTS,
            *DOUBTS,
            *DENIALS,
            *FORECASTS,
            *COURSES,
            *ENDINGS,
            *LASTING,
        ]
        self._finders = (*(item.find for item in patterns), _years_of)
        self._silent = frozenset(number for number, item in enumerate(patterns) if item.kind.kind in SILENT)
        single = (*(item.pattern.pattern for item in patterns), _YEAR_OF.pattern)
        self.expressions: Final = (*single, *PAST.each, *FUTURE.each)
        """All that is looked for, numbered as `PatternWords` tells what is possible."""
        self._words = PatternWords(self.expressions)

    def possible(self, screened: Screened) -> Sequence[int]:
        """The numbers of those patterns that may match in a sentence."""
        return self._words.possible(screened.text, screened.said)

    def find(self, screened: Screened, possible: Sequence[int]) -> Iterator[Cue]:
        """The cues of a sentence that state something, in no order; they can overlap."""
        sentence, past = screened.sentence, len(self._finders)
        future = past + len(PAST.each)
        for number in possible:
            if number < past and number not in self._silent:
                yield from self._finders[number](screened)
        if times := [number - past for number in possible if past <= number < future]:
            yield from past_times(sentence, times)
        if times := [number - future for number in possible if number >= future]:
            yield from future_times(sentence, times)

    def find_silent(self, screened: Screened, possible: Sequence[int]) -> Iterator[Cue]:
        """The cues of a sentence that only delimit others, as `find` gives those that state something."""
        for number in self._silent.intersection(possible):
            yield from self._finders[number](screened)
