"""Cues by pattern of people other than the patient: relatives, those at work and at school, who is meant and who only tells."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import Final

from mappings.analysis.mentions.cue_pattern import CuePattern, WordPattern, word_pattern
from mappings.analysis.mentions.cues import CueKind

_HAS: Final = r"(?:has|have|had|got|gets|is|are|was|were|tested|developed|suffered|caught|came\sdown|came\sout|went\sdown|fell\sill)"
_PLACE: Final = r"(?:day\s?care|nursery|school|class(?:room)?|office|ward|team|dorm(?:itory)?|unit|building|barracks|church|choir|camp|kindergarten|pre-?school|playgroup|care\shome|nursing\shome|household|street|village|workplace|shelter|hostel)"
_AT_PLACE: Final = re.compile(
    r"\b(?:one|two|three|four|five|several|many|some|most|half|a\sfew|a\scouple\sof|other|\d+|an?|another|the)\s(?:other\s|of\sthe\s)?"
    r"(?:kids?|child|children|boys?|girls?|pupils?|students?|bab(?:y|ies)|toddlers?|people|person|staff|workers?|teachers?|residents?|members?|colleagues?|men|man|women|woman)\s"
    rf"(?:in|at|from|on)\s(?:his|her|their|the|my|a|our)\s(?:[\w-]+\s){{0,2}}?{_PLACE}\b(?:\s(?:room|group|mates?|centre|center))?",
    re.I,
)
_WORKMATE: Final = re.compile(
    r"\b(?:(?:an?|the|his|her|their|another|one)\s)?(?:[a-z]+\s)?(?:groomer|cleaner|teacher|worker|minder|sitter|trainer|coach|boss|supervisor|foreman|manager|nurse|cook|chef|waiter|waitress|man|woman|boy|girl|"
    r"kid|child|guy|lady|friend|student|pupil|resident|inmate|customer|client|colleague|secretary|receptionist|instructor|keeper|barber|hairdresser|dresser|therapist|cashier|someone|somebody|people|others)\s"
    rf"(?:at|from|in)\s(?:(?:his|her|the|their)\s)?(?:work|school|nursery|daycare|college|church|camp|gym|office|class|salon|shop|clinic)\s(?={_HAS}\b)",
    re.I,
)
_NEIGHBOR: Final = re.compile(
    r"\b(?:(?:the|an?|another|other)\s)?(?:patient|pt|man|woman|lady|gentleman|person|child|baby|infant|resident|boy|girl|gent|chap)s?\s(?:(?:in|on|from|at|across|of)\s(?:the\s)?"
    r"(?:next|neighbou?ring|adjacent|adjoining|opposite|same|other|far)\s(?:bed|room|bay|cubicle|cot|ward|chair|table|compartment)|opposite(?!\sour)|next\sdoor|alongside|in\sthe\s(?:bed|room|cubicle|cot)\s(?:opposite|beside|next))\b",
    re.I,
)
_NOT_OURS: Final = r",?\snot\sour\s(?:own\s)?(?:patient|man|woman|lady|gentleman|boy|girl|child|baby|driver|pt)\b,?"
_NOT_OUR_PATIENT: Final = re.compile(rf"\b(?:an?|the|his|her|another)\s(?:\w+\s)?\w+{_NOT_OURS}", re.I)
_NOT_OUR_PATIENT_ONLY: Final = re.compile(_NOT_OURS, re.I)
_STRONG_FAMILY: Final = re.compile(
    r"(?P<cue>,)\s(?:an?\s)?(?:strong|positive|significant|extensive|impressive|heavy|notable|remarkable|known)\s(?:family|fam|maternal|paternal)\b",
    re.I,
)
_ISOLATED_FOR: Final = re.compile(
    r"\b(?:on|under|in|with)\s(?:\w+\s)?(?:precautions|isolation|quarantine)\sfor\b|\b(?:isolated|quarantined|barrier[\s-]nursed)\s(?:for|because\sof|with)\b|"
    r"\bunder\s(?:surveillance|follow-?up|review|the\s\w+\s(?:team|clinic))\sfor\b(?!\s(?:possible|any\b|\?))",
    re.I,
)
"""What someone is isolated or followed for is there."""
_TO_SAY: Final = r"(?:rang|rings|called|calls|phoned|texted|wrote|came|emailed)\s(?:(?:us|in|up|back|today|her|him)\s)?to\s(?:say|tell\s(?:her|him|us))\s(?:that\s)?"


def _of_relatives(words: str) -> tuple[CuePattern, ...]:
    whose = r"(?:his|her|their|the)\s+"
    forward, back = CueKind("clause-before", "family"), CueKind("clause-after", "family")
    who = (
        rf"\b(?:(?:with|after|for|by|to|from|of)\s+)?(?:(?:his|her|their|the|a|an|my)\s+)?(?:\w+\s+)?(?:{words}),?\s+(?:whose\b|who\s+(?:is|was|has|had|takes|took|uses|suffers|lives with|died|carries|needed|needs|required|got|received|underwent|developed|wears)\b)"
        r"(?!\s+(?:here|present|at\s+bedside))"
    )
    possessive = (
        r"\b(?:by|to|from|with|of|after|over|about|through|during|for|because\sof|given|despite|following|due\sto|owing\sto|considering)\s+"
        rf"{whose}(?:\w+\s+)?(?:{words})['’]s\b"
    )
    death = (
        rf"(?:\b\w+\s+)?\b{whose}(?:\w+\s+)?(?:{words})['’]s?\s+(?:death|passing|funeral|illness|suicide\sattempt|birthday|wedding|request|"
        r"insistence|house|home|visit|behaviour|behavior|absence|departure|bedside|arms|lap|care|help|support|assistance|advice|presence|concerns?|worries|account|opinion|view|encouragement|company)\b"
    )
    himself = rf"\b(?:{words})\b[^.;]{{0,30}}?,\s(?P<cue>herself|himself|themselves)\b"
    # Whoever told her that he has something is not the patient.
    told = r"\b(?:told|informed)\s(?:her\s(?:that\s)?he|him\s(?:that\s)?she)\s(?:is|was|has|had|tested)\b"
    owner = rf"\b(?:is|are|was|were|be)\s+{whose}(?:{words}|neonate|infant|newborn|f(?:o)?etus|baby|passenger|driver)['’]s?(?=\s*(?:[,.;)]|$)|\s(?:and|but|not|who|rather)\b)"
    return (
        CuePattern((" who ", " whose "), re.compile(who, re.I), forward),
        CuePattern(("'s", "’s"), re.compile(possessive, re.I), forward),
        CuePattern(("'", "’"), re.compile(death, re.I), CueKind("skip", "family")),
        CuePattern((", herself", ", himself", ", themselves"), re.compile(himself, re.I), forward),
        CuePattern(("told h", "informed h"), re.compile(told, re.I), forward),
        CuePattern(("'", "’"), re.compile(owner, re.I), back),
    )


_MOTHER_TOLD: Final = re.compile(
    r"\b(?:mother|mom|mum|wife|sister|daughter|aunt|grandmother|girlfriend)\s(?:was|had\sbeen|has\sbeen)\s(?:told|informed)\s(?:[\w\s]{1,20}?\s)?(?:that\s)?he\b|"
    r"\b(?:father|dad|husband|brother|son|uncle|grandfather|boyfriend)\s(?:was|had\sbeen|has\sbeen)\s(?:told|informed)\s(?:[\w\s]{1,20}?\s)?(?:that\s)?she\b",
    re.I,
)
"""A relative of the other sex was told that the patient has something."""

_SAYS: Final = (
    r"reports?|reported|says?|said|states?|stated|mentions?|mentioned|adds?|added|admits?|tells\s(?:us|me)|told\s(?:us|me)|notes?|noted|noticed|wonders|wondered|thinks|thought|fears|feared|believes|"
    r"is\s(?:worried|concerned|sure|afraid|convinced)|was\s(?:worried|concerned|sure|afraid)|worries|feels|felt|asks|asked|found|finds|saw|describes|described|brought|brings"
)
_TELLERS: Final = (
    (r"daughters?|sons?|children|granddaughter|grandson", r"mother|father|mum|dad|mom|parent|grandmother|grandfather"),
    (r"mother|father|mum|dad|mom|parents", r"son|daughter|child|baby|boy|girl|toddler|little\s\w+"),
    (r"wife|husband|partner|spouse", r"husband|wife|partner|spouse"),
)
"""Who tells of the patient, and what the patient is to them: "daughter wonders if her mother had a stroke"."""


def people_patterns(relatives: Iterable[str]) -> tuple[CuePattern | WordPattern, ...]:
    """The patterns for people other than the patient, who are called by the words `relatives`."""
    words = _by_letter(relatives)
    return (*_of_relatives(words), *_of_others(), *_of_callers(words), *_of_tellers(words))


def _by_letter(words: Iterable[str]) -> str:
    """An expression for any of `words`, the longest first; the first letter tells which are tried, as there are hundreds."""
    ordered = sorted(map(re.escape, words), key=lambda word: (word[0], -len(word), word))
    return "|".join(f"(?={letter})(?:{'|'.join(found)})" for letter, found in groupby(ordered, key=itemgetter(0)))


def _of_others() -> Iterator[WordPattern]:
    forward = CueKind("clause-before", "family")

    def pattern(text: str) -> re.Pattern[str]:
        return re.compile(text, re.I)

    yield word_pattern(
        "day daycare care nursery school preschool class classroom office ward team dorm dormitory unit building barracks church choir camp "
        "kindergarten playgroup household street village workplace shelter hostel",
        _AT_PLACE,
        forward,
    )
    yield word_pattern(
        "work school nursery daycare college church camp gym office class salon shop clinic", _WORKMATE, forward
    )
    yield word_pattern(
        "bed room bay cubicle cot ward chair table compartment opposite door alongside", _NEIGHBOR, forward
    )
    yield word_pattern("our", _NOT_OUR_PATIENT, forward)
    yield word_pattern("our", _NOT_OUR_PATIENT_ONLY, CueKind("skip"))
    yield word_pattern("family fam maternal paternal", _STRONG_FAMILY, CueKind("end"))
    yield word_pattern(
        "precautions isolation quarantine isolated quarantined barrier under", _ISOLATED_FOR, CueKind("keep")
    )
    yield word_pattern(
        "old olds",
        pattern(
            r"\b(?:her|his|their)\s(?:\w+|\d+)[-\s](?:year|month|week|yr|mo|day)[-\s]olds?\b(?=\s(?:has|had|is|was|with|son|daughter|needs|also|came|got|being)\b)"
        ),
        forward,
    )
    yield word_pattern(
        "by through via",
        pattern(r"\bexposed\sto\s(?=[^.;,]{2,30}?\s(?:by|through|via)\s)"),
        CueKind("doubt-before", "family"),
    )


def _of_callers(words: str) -> Iterator[WordPattern]:
    """Who calls, or sits at the bedside, has what is told of "he" where the patient is "she"."""
    forward = CueKind("clause-before", "family")

    def pattern(text: str) -> re.Pattern[str]:
        return re.compile(text, re.I)

    says = pattern(
        rf"\b(?:{words})\s{_TO_SAY}(?:he\s(?:has|is|had|tested)\b(?=[^.]*[;,.]\sshe\b)|she\s(?:has|is|had|tested)\b(?=[^.]*[;,.]\she\b))"
    )
    yield word_pattern("say tell", says, forward)
    yield word_pattern("say tell", says, CueKind("skip"))
    yield word_pattern(
        "mask visitor visitors home leave",
        pattern(
            rf"\b(?:{words})\s(?:is\s)?(?:at|by)\s(?:the\s)?bedside,?\s(?:(?:is|was|also|and|who)\s)*(?=\w+ing\b[^.]{{0,60}}\b(?:mask|visitors?|home|leave)\b)"
        ),
        forward,
    )
    yield word_pattern("told informed", _MOTHER_TOLD, CueKind("skip", "family"))


def _of_tellers(words: str) -> Iterator[WordPattern]:
    """Who of those that tell of the patient has something, too, and whom they call by what the patient is to them."""
    forward = CueKind("clause-before", "family")

    def pattern(text: str) -> re.Pattern[str]:
        return re.compile(text, re.I)

    yield word_pattern(
        "herself himself themselves",
        pattern(
            rf"\b(?:{words})\s(?:also\s|now\s)?(?:reports?|reported|says?|said|states?|stated|mentions?|mentioned|adds?|added|admits?|tells\s(?:us|me)|told\s(?:us|me)|notes?|noted)\s(?:that\s)?"
            r"(?:s?he|they)\s(?:(?:has|is|was|had|have|are|were)\s)?(?:her|him|them)sel(?:f|ves)\s(?:is|was|has|had|have|takes|took|tested|on\b|with\b)?"
        ),
        forward,
    )
    yield word_pattern(
        "too also likewise himself herself same",
        pattern(
            rf"\b(?:{words})\s(?:{_SAYS})\s(?:that\s)?(?:he|she)\s(?:also\s)?(?:had|has|was|suffered|got|went\sthrough|took)\b(?=[^.;]*\b(?:too|also|as\swell|likewise|himself|herself|at\s(?:that|his|her|the\ssame)\sage)\b)"
        ),
        forward,
    )
    yield word_pattern(
        "too also",
        pattern(
            rf"\b(?:{words})\s(?:{_SAYS})\s(?:that\s)?(?:he|she|they)\s(?:too|also)\s(?:is|has|had|takes|sees|was|gets|suffers|uses|attends|needs|comes|have|are|were)\b"
        ),
        forward,
    )
    yield word_pattern(
        "hers own our",
        pattern(
            rf"\b(?:{words})\s(?:rang|rings|phoned|phones|called|attended|seen|texted|emailed|{_SAYS})\b(?:\s(?:with|to\ssay|that|us|me|in|him|her|at|back|today)|:)*"
            r"(?=[^.]{3,100}[;,]\s(?:but\s|and\s)?(?:hers\b|his\s(?:is|own)\b|her\sown\b|our\s(?:pt|patient|lady|man|woman)\b))"
        ),
        forward,
    )
    for teller, patient in _TELLERS:
        told = rf"\b(?:{teller})\s(?:{_SAYS})\b[^.;,]{{0,20}}?\s(?P<cue>(?:(?:about|by|over|that|of)\s)?(?:her|his|their)\s(?:{patient})(?:['’]s)?)\b"
        yield word_pattern("her his their", pattern(told), CueKind("skip", "family"))
