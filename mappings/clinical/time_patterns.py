"""Cues that are times: "three years ago", "at age 12", "in the spring of 2014", "during a previous admission", "tomorrow".

A past time makes what its clause mentions history, unless the clause says that it began then ("cough since last winter",
"started two weeks ago") or that it is still so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from mappings.analysis.mentions.cues import Cue
from mappings.analysis.mentions.pattern_words import Alternatives

HISTORY: Final = "history"
"""What a cue says that makes a mention historical unless it is a chronic condition."""
PLANNED: Final = "planned"
"""What a cue says that makes a procedure or a drug hypothetical, and states nothing of conditions."""
CONSIDERED: Final = "considered"
"""What a cue says that makes a procedure or a drug hypothetical, and a condition uncertain."""
TAKEN: Final = "taken"
"""What a cue says that makes a drug or a procedure historical."""

_YEAR_NUMBER: Final = r"(?:19[3-9]\d|20[0-4]\d)"
_COUNT: Final = (
    r"(?:\d+(?:\.\d+)?|a|an|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|(?:twenty|thirty|forty|fifty|sixty)(?:-\w+)?|"
    r"several|many|few|couple(?:\sof)?|some)"
)
_AGE: Final = r"(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen|twenty|thirty|forty)"
_MONTH_NAME: Final = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?|"
    r"Nov(?:ember)?|Dec(?:ember)?)\b\.?"
)
_SEASON: Final = r"(?:spring|summer|autumn|fall|winter|christmas|easter)"
_WHOSE: Final = r"(?:(?:his|her|their|my|the|a|an|this|that)\s)?"
_EARLIER: Final = r"(?:(?:previous|prior|last|earlier|first|second|third|past|other|former|preceding|recent|index)\s)"
_STAY: Final = (
    r"(?:pregnanc(?:y|ies)|admissions?|hospitali[sz]ations?|stays?|visits?|deliver(?:y|ies)|births?|gestations?|"
    r"presentations?|encounters?|reviews?|appointments?|check-?ups?|consultations?|attendances?|episodes?|illness|marriage|labou?rs?|confinements?|relationship|posting|tour|trip|holiday|attempts?|attacks?|job|establishment|shift|cycles?|deployment)"
)
_LIFE: Final = (
    r"(?:early\slife|earlier\slife|childhood|infancy|adolescence|youth|boyhood|girlhood|puberty|early adulthood|young adulthood|adulthood|"
    r"primary school|high school|college|university|the (?:army|navy|military|service|war|past)|utero|HS)"
)
_YOUNG: Final = (
    r"(?:(?:young(?:er)?|small|little|very young)\s)?(?:child|kid|baby|infant|toddler|newborn|neonate|boy|girl|teen(?:ager)?|"
    r"adolescent|youth|youngster|student|schoolboy|schoolgirl|lad|lass|schoolchild|undergraduate|young (?:man|woman|adult)|(?:younger|young) (?:man|woman))"
)
_DECADE: Final = (
    r"(?:(?:early|mid|late)[-\s])?(?:teens|twenties|thirties|forties|fifties|sixties|seventies|eighties|nineties|"
    r"(?:19|20)?\d0['’]?s)"
)
_TIMES: Final = "|".join(
    (
        rf"(?:{_COUNT}[-\s])?(?:or\s{_COUNT}\s)?(?:more\s)?(?:years?|yrs?|decades?|months?|mos?|mths?|weeks?|wks?|nights?|{_SEASON}s?|seasons?)\s(?:ago|back|earlier|previously|before\s(?:the|this|her|his)\s\w+)\b",
        r"\d+\s?(?:/12|/52|y|yr|yrs|mo|wks?)\sago\b",
        r"(?:long|ages|some\stime|a\slong\stime|a\swhile|way)\s(?:ago|back)\b",
        rf"(?:when|while)\s(?:he|she|they|i)\swas\s(?:(?:about|only|around)\s)?(?:an?\s)?(?:\d{{1,2}}\b|{_YOUNG}|in\s{_LIFE}|young(?:er)?|pregnant|little|small)",
        rf"(?:at|from|around)\s(?:the\s)?ages?\s(?:of\s)?(?:\d{{1,2}}|{_COUNT})\b",
        rf"(?:age|aged)\s(?:of\s)?(?:\d{{1,2}}|{_AGE})\b",
        rf"as\san?\s{_YOUNG}\b",
        rf"(?:in|during)\s(?:early\s|late\s)?{_WHOSE}{_LIFE}\b",
        rf"in\s(?:his|her|their|my|the)\s{_DECADE}(?!\w)",
        rf"(?:in|during|with|on|at|from|after)\s(?:one\sof\s)?{_WHOSE}{_EARLIER}(?:\w+\s)?{_STAY}\b",
        r"(?:in|during|with)\s(?:her|the)\s(?:first|second|third|last)\strimester\b",
        rf"(?:in|during|at|on|from|with)\s(?:the|his|her)\s(?:{_MONTH_NAME}|{_SEASON}|{_YEAR_NUMBER})\s(?:{_YEAR_NUMBER}\s)?{_STAY}\b",
        rf"{_EARLIER}{_STAY}\b(?=\s*[.,;)]|$)",
        r"when\s(?:his|her|the|their)\s(?:(?:first|second|third|fourth|last|youngest|oldest|eldest|other)\s)?(?:child|son|daughter|baby|twins|boy|girl)\s(?:was|were)\sborn\b",
        r"(?:with|after|in|during)\sG[0-9]\b(?!\s?P)",
        r"(?:with|after|in|during)\s(?:the|her)\s(?:first|second|third|last|previous)\s(?:one|baby|child|labou?r)\b",
        r"(?:with|during)\s(?:cycles?|rounds?|courses?)\s(?:#\s?)?(?:\d|one|two|three|four)\b",
        r"before\s(?:this|the\s(?:current|present)|her\s(?:current|present))\s(?:(?:ongoing|current|present|twin)\s){0,2}(?:pregnancy|gestation|one|baby|child)\b",
        r"(?:at|over|around)\s(?:the\s)?(?:christmas|xmas|easter|new\syear|half[-\s]?term|thanksgiving|whitsun|bank\sholiday(?:\sweekend)?)(?=\s|[.,;)]|$)",
        r"over\s(?:the\s)?(?:holidays?|winter|summer)(?=\s|[.,;)]|$)",
        rf"(?:in|around|circa|back\sin|during|by)\s(?:(?:early|late|mid|the\s\w+\sof|{_MONTH_NAME}|{_SEASON}|the)[-\s](?:of\s)?){{0,2}}{_YEAR_NUMBER}(?:s\b|(?!\w))",
        rf"(?:on\s)?(?:\d{{1,2}}(?:st|nd|rd|th)?\s)?{_MONTH_NAME}\s(?:\d{{1,2}}(?:st|nd|rd|th)?,?\s)?{_YEAR_NUMBER}\b",
        rf"(?:in|back\sin)\s(?:early\s|late\s)?{_MONTH_NAME}(?=\s|[.,;)]|$)",
        rf"(?:last|the\sprevious|the\sfollowing|the\spast|the\syear\sbefore|the\sother|earlier\sthis)\s(?:year|{_SEASON}|season|term|month|week(?:end)?|{_MONTH_NAME})(?=\s*[.,;)]|\s(?!or\b)\w|$)",
        rf"one\s(?:{_SEASON}|weekend)(?=\s*[.,;)]|\s(?!or\b)\w|$)",
        rf"the\s(?:(?:year|month|week|night|day)\sbefore(?:\slast)?|(?:{_SEASON}|season|term)\sbefore(?:\slast)?)\b",
        r"(?:earlier|early)\sin\s(?:the|this|her|his)\s(?:\w+\s)?(?:year|course|admission|stay|pregnancy|life|month|week|shift|evening|night|day|afternoon|morning|illness|season|summer|winter|spring|autumn)\b",
        r"(?:in|at)\s(?:the\s)?(?:\w+\s)?(?:past|birth)(?=\s*[.,;)]|$|\s(?:but|and|for|with|after|treated)\b)",
        r"at\s(?:that|the)\s(?:time|point)\b|back\sthen\b|in\sthose\sdays\b|in\searlier\syears\b|in\sformer\s(?:years|times)\b",
        rf"(?:before|prior\sto|until|till|up\sto|up\suntil)\s(?:the|his|her|that)?\s?(?:{_YEAR_NUMBER}|menopause|retirement|marriage|transplant|transplantation)\b",
        rf"(?<=[a-z]\s){_YEAR_NUMBER}\s?(?:-|–|to)\s?{_YEAR_NUMBER}\b",
        rf"(?:^|(?<=[.;]\s)){_WHOSE}{_EARLIER}{_STAY}\b",
        rf"after\s{_WHOSE}(?:first|second|third|last|previous|youngest|oldest)\s(?:child|baby|delivery|pregnancy|birth|son|daughter)\b",
        rf"(?:most\srecently|the\slast|latest|the\slast\sone|last\sone)\s(?:was\s)?(?:in\s)?{_YEAR_NUMBER}\b",
        r"(?:between|from)\s(?:the\s)?ages?\s(?:of\s)?\w+\s(?:and|to|until|till)\s\w+\b",
        rf"that\s(?:night|evening|morning|afternoon|week|month|year|{_SEASON})\b",
        rf"as\s(?:recently|late|early|long\sago)\sas\s(?:{_MONTH_NAME}\s)?{_YEAR_NUMBER}\b",
        r"up\sto\s(?:the\s)?age\s(?:of\s)?\d{1,2}\b",
        r"from\swhich\s(?:he|she|they)\s(?:has\s|had\s)?(?:fully\s|completely\s)?(?:recovered|made\sa\sfull)\b",
    )
)
_PAST_TIME: Final = re.compile(r"\b(?=[\da-jl-pr-uwy])" rf"(?:{_TIMES})", re.IGNORECASE)
_ROUGHLY: Final = re.compile(
    r"\b(?:(?:more\sthan|well\sover|over|about|nearly|almost|some|around|at\sleast|both|all|each)\s){1,2}$",
    re.IGNORECASE,
)
"""What precedes a time of some length: "both more than ten years back"."""
_IN_YEAR: Final = re.compile(rf"(?:in|around|circa)\b.*{_YEAR_NUMBER}", re.IGNORECASE)
_DONE_THEN: Final = re.compile(
    r"(?:ed|had|was|seen|surgery|operation|admission|hospitali[sz]ation|stay|treatment)\s$", re.IGNORECASE
)
"""What precedes a time that what follows it shares: "hospitalized in May with sepsis"."""
_FOR_WHAT: Final = re.compile(
    r"\s(?:for|with|because\sof|due\sto)\s(?!a\sfew\b|\d|two\b|three\b|\w+\s(?:days?|weeks?|months?|years?)\b)", re.I
)
"""What follows a time and tells what was then: "ventilated at birth for apnea"."""
_BEGAN: Final = re.compile(
    r"\b(?:start(?:s|ed|ing)?|beg[au]n|beginning|onset|commenced|every|starting|"
    r"noticed|discovered|compared|(?<!more\s)than|worse(?:ned|ning)?|unchanged|stable|dating|dates|present|ongoing|continu\w+|persist\w+|"
    r"ununited|united|unhealed|healing|visible|doubled|halved|tripled|raised|lowered|reduced|cut|adjusted|titrated|up-?titrated|changed|first\s(?:noted|seen|noticed|diagnosed|appeared|detected)|diagnosed|dx|dxd|dx'd|established|known|increas\w+|decreas\w+|improv\w+)\s(?:\w+\s){0,2}$|\b(?:since|from|until|till|over|within|for|to)\s(?:(?:about|around|at|the|a)\s)?$|\b(?:since|began|begun|onset)\b[^,;.]{0,60}$|"
    r"\b(?:cpap|bipap|peep|o2|oxygen|flow|pressures?|infusion|drip|placed\son|sats?|spo2|hr|rate|bp|temp|weight|bmi|ef|levels?|scored?|rated|stands|running|set|glucose|sugars?|saturating|fitted|implanted|inserted|sited|formed|created|"
    r"put\sin)\s(?:\w+\s){0,2}$",
    re.IGNORECASE,
)
_WAS_THERE: Final = re.compile(
    r"\b(?:was|were)\s(?:already\s|clearly\s)?(?:there|present|evident|noticeable|established|around)\b", re.IGNORECASE
)
"""What was there before something else, to which it is not due: "the tremor was there two years before the drug"."""
_FUTURE: Final = re.compile(
    rf"\b(?:tomorrow|tonight|later\s(?:today|this\s(?:week|month|year))|next\s(?:week|month|year|visit|appointment|"
    rf"{_SEASON}|monday|tuesday|wednesday|thursday|friday|saturday|sunday|available)|in\s(?:the\s)?(?:morning|am|a\.m\.|pm|"
    rf"afternoon|evening)\b(?=\s*[.,;)]|$)|in\s(?:(?:about|approximately)\s)?{_COUNT}(?:\s?(?:-|to|–)\s?{_COUNT})?\s?(?:hours?|hrs?|days?|weeks?|wks?|"
    rf"months?|mos?|years?|yrs?)\b(?!\s(?:ago|old))|in\s\d+(?:-\d+)?/(?:7|12|52)|within\s(?:the\snext\s)?{_COUNT}\s(?:days?|weeks?|months?)|at\s(?:follow[-\s]?up|the\snext\svisit)|"
    r"on\s(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday)(?:\smorning)?(?=\s*[.,;)]|$)|prior\sto\sdischarge|"
    r"before\s(?:discharge|she\sgoes|he\sgoes)|once(?=\s)(?!\s(?:a|an|daily|weekly|nightly|monthly|yearly|every|each|per|in|more|again|or|only|before|during|had|took|was)\b)|to\sOR\b|when\s(?:stable|able|tolerated|available|fit)|once\s(?:stable|able|available|fit))",
    re.IGNORECASE,
)


SINCE_NOW: Final = re.compile(
    r"\s(?:\w+\s){0,3}since\s(?:this\b|today\b|yesterday\b|last\snight\b|overnight\b|(?:mon|tues|wednes|thurs|fri|satur|sun)day\b)",
    re.I,
)
"""What has gone on from a time that is hardly over: "breathless since this morning, asthma as a child, none since"."""
_STILL: Final = re.compile(
    r",?\s(?:\w+\s){0,2}(?:has|have|is|are|remains?|continues|takes|still|began|started|noticed)\b(?!\s(?:had|been))",
    re.IGNORECASE,
)


def is_beginning(sentence: str, start: int, end: int) -> bool:
    """Whether something only began, or is so now, at the time `start:end`: "started at four", "At 14 weeks she has a rash"."""
    still = start == 0 and _STILL.match(sentence, end)
    if " before " in sentence[start:end] and _WAS_THERE.search(sentence, max(0, start - 40), start):
        return True
    return bool(still or _BEGAN.search(sentence, max(0, start - 70), start))


PAST: Final = Alternatives(_PAST_TIME)
FUTURE: Final = Alternatives(_FUTURE)


def past_times(sentence: str, possible: Sequence[int]) -> Iterator[Cue]:
    """The past times of a sentence, as cues; those at which something only began are none.

    No other alternatives of `PAST` than those with the numbers `possible` can match; so with those of `FUTURE` below.
    """
    for match in PAST.finditer(sentence, possible):
        roughly = _ROUGHLY.search(sentence, max(0, match.start() - 20), match.start())
        start, end = roughly.start() if roughly else match.start(), match.end()
        if not is_beginning(sentence, start, end):
            both = (
                _FOR_WHAT.match(sentence, end)
                or _IN_YEAR.match(match[0])
                or _DONE_THEN.search(sentence, max(0, start - 30), start)
            )
            yield Cue(start, end, "clause-either" if both else "clause-after", HISTORY)


def future_times(sentence: str, possible: Sequence[int]) -> Iterator[Cue]:
    """The times to come of a sentence, as cues about the procedures and drugs in their clause."""
    for match in FUTURE.finditer(sentence, possible):
        yield Cue(*match.span(), "clause-either", PLANNED)
