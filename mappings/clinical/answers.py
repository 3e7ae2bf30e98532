"""Answers beside a mention, as in forms, tables and lists: "fever: none", "Diabetes | yes", "[x] cough", "asthma (mother)"."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from mappings.clinical.cue_rules import classes

_END: Final = r"\s*(?=[.,;|)\]\n\t]|$)"
_MARK: Final = r"\s*(?::|\?\s|[-–](?=(?:nil|none|neg|no|absent|nad)\b)|=|\||\t|\s[-–—]\s|[-–—]\s|\s{2,}|\.{2,})\s*"
_VALUES: Final = (
    (
        "ruled-out",
        r"no|none|neither|neg|negative|absent|nil|nad|denies|denied|never|n|non-?reactive|not\s(?:taking|taken|using|used|given|done|started|needed|required|performed|indicated)|\(-\)|[-–]|"
        r"(?:both|R(?:ight|E)?|L(?:eft|E)?|bilaterally|bilat)\s(?:none|nil|neg(?:ative)?|absent|clear)\b[^.;\n]{0,30}|"
        r"(?:none|nil|not(?!\s(?:known|at\s(?:goal|target)|in\s(?:range|remission|control)|on\s(?:treatment|target|medication)))|never)\s(?:\w+\s)?(?:present|known|recorded|whatsoever|whatever|seen|found|noted|felt|heard|visuali[sz]ed|identified|detected|"
        r"appreciated|observed|reported|elicited|palpable|on|in|at|now|throughout|so\sfar|to\sdate|overnight|today|since\s(?:admission|arrival))\b[^.,;|\n]{0,30}",
    ),
    ("present", r"yes|y|pos|positive|present|reactive|detected|\(\+\)|\++|current|active"),
    (
        "uncertain",
        r"neither\s[^.,;]{3,30}\snor\s\w+|unknown|uncertain|unclear|possible|possibly|suspected|indeterminate|equivocal|inconclusive|unsure|maybe|perhaps|debatable|tbc|\?+|"
        r"not\s(?:clear|known|sure|certain|established|determined)|(?:cannot|can['’]?t|could\snot|couldn['’]t)\s(?:say|tell|recall|remember|be\ssure)\b[^.,;|\n]{0,30}|"
        r"(?:does|do|did)(?:\snot|n['’]t)\s(?:know|remember|recall)\b[^.,;|\n]{0,30}",
    ),
    (
        "historical",
        r"former|past|previous|previously|history|resolved|quit|remote|in remission|ex|discontinued|stopped|completed|ended|corrected|repleted|settled|gone|healed|cured",
    ),
)
_WHEN_OR_WHY: Final = r"(?=\s*\(|\s(?:in|on|by|at|after|due|because|since|following|when|last|\d))"
_AFTER: Final = (
    *((says, re.compile(rf"{_MARK}(?:{values}){_END}", re.I)) for says, values in _VALUES),
    (
        "historical",
        re.compile(
            rf"{_MARK}(?:(?:now|since|fully|was|has been)\s)?(?:resolved|stopped|discontinued|ceased|quit|removed|excised|resected|"
            rf"healed|cured|completed|finished|withdrawn|treated|reversed|outgrown|corrected|repleted|relieved|settled|gone|drained|repaired|eradicated|d/c(?:['’]?d)?|dc['’]?d){_WHEN_OR_WHY}",
            re.I,
        ),
    ),
)
_FURTHER: Final = re.compile(
    r"(?!\s*(?:grade|score|count|stage)\b)\s[^.,;:?\n()]{2,30}:\s(?:no|none|nil|absent|denies|denied|never|negative)(?=\s*(?:[.,;)\n]|$))",
    re.I,
)
"""An answer to what is said more closely: "dizziness on standing: none"."""
_BARE: Final = re.compile(
    r"(?:\s+(?:grade|score|count|stage|use))?:?\s+(?:no|nil|none|nad|neg|absent|denied)(?=\s*(?:[,;)]|\.?\s*$))", re.I
)
"""An answer without a mark: "steroids nil, rash no"."""
_REPLY: Final = (
    r"(?:(?:he|she|they|pt|patient|mum|mother|dad|father|wife|husband|daughter|son|carer|i|we|the\s\w+|apparently|definitely|certainly|"
    r"thankfully|fortunately|absolutely|well|oh)\b,?\s(?:[a-z’']+\s){0,3}?)?"
)
"""What can precede a "no" or "none" in an answer: "the daughter says definitely"."""
_SAID: Final = re.compile(
    rf"[^.,;:?\n]{{0,30}}\?\s*(?:(?:A|Ans|Pt|P)[.:]\s*)?{_REPLY}(?:(?:none|nil|never|nope|nothing|not|no|denies|denied|negative)\b)"
    r"(?!\s(?:sure|certain|say|know|clear|recall|remember|until|today|yet|bad|only|just|unless|always|doubt|longer|change|better|worse))(?:,\s(?:none|not|never|nothing|no)\b)?[^.,;?\n]{0,30}(?=[.,;?!\n]|$)",
    re.I,
)
"""A negative answer to a question: "Any chest pain at night? She says not"."""
_CROSS: Final = re.compile(r"\s?(?:[:=]\s?)?(?:(?P<no>[✗✘☒∅ø])|(?P<yes>[✓✔☑]))")
_TICKS: Final = re.compile(r"[✗✘☒∅✓✔☑☐]")
_ZERO: Final = re.compile(
    r"\s*[:=]?\s+[x×]?\s?0(?:\s?%|/\d+)?(?=\s*[,;)]|\.?\s*$|\.\s|\s(?:since|today|overnight|so far|to date|this|in|on|for|throughout|at|with|when|and|both|now)\b)"
)
_ZERO_BEFORE: Final = re.compile(r"(?:^|[\s,;(])0\s(?:\w+\s)?$")
_REACTION: Final = re.compile(
    r"\s?(?:[-–—:(]|→|->|=)\s?(?:\w+\s){0,2}?(?:rash|hives|urticaria|anaphyla\w+|angio-?o?edema|swelling|itch\w*|wheez\w+|bronchospasm|vomit\w*|"
    r"blisters|nausea|unknown reaction|gi upset|diarrh\w+|cramps|palpitations|swell\w+|collapse|stevens|erythema|intoleran\w+|hallucinat\w+)\b",
    re.I,
)
ANSWER: Final = re.compile(
    r"\s*(?:yes|no|none|nil|never|denies|denied|negative|positive|absent|present)\s*[.;!]?\s*|\s*(?:yes|yep|yeah),\s[^?\n]{0,80}[.!]?\s*|"
    rf"\s*(?:(?:A|Ans|Pt|P)[.:]\s*)?{_REPLY}(?:none|nil|never|nope|nothing|not|no|negative)\b(?:,\s(?:none|not|never|nothing|no)\b)?[^.,;?\n]{{0,30}}[.!]?\s*|\s*A\.\s*|"
    r"\s*(?:then\s|please\s)?(?:phone|ring|call|dial|come|return|attend|go|seek|see|tell|report|stop|contact|let)\b[^?\n]{0,60}[.!]?\s*",
    re.I,
)
"""A sentence that only answers the question before it, or tells what to do then: "No", "She says not", "Come straight in"."""
_NORMAL: Final = re.compile(
    r"\s(?:(?:is|are|was|were|appears?|remains?|seems?|to|be|lies|all|again|overall|also)\s){0,3}(?:within|in)\s(?:the\s)?(?:limits?\sof\snormal|normal\s(?:limits?|range|variation)|range\sof\snormal)\b",
    re.I,
)
_CHANGE: Final = re.compile(
    r"(?:engorge|enlarge|disten|dilat|dilatat|thicken|prominen|congest|cephali|edema|oedema|megaly|hypertroph|elevat|narrow|effusion)\w*",
    re.I,
)
_NEGATIVE: Final = (
    r"(?:\s?[-–—:(=]\s?|\s)(?:(?:is|was|were|are|all|both|came|back|again|rapid|urine|serum|repeat|point-of-care|blood|throat|nasal|stool|the|on)\s){0,3}(?:\w+[\s/]){0,1}?"
    r"(?:%s)(?:\s(?:is|was|were|are|all|both|came|back|tests?|films?|result|x\s?\d)){0,2}\s"
    r"(?:neg|negative|-ve|clear|clean|normal|nad|non-?reactive|not\sdetected|nil|unremarkable)\b"
)
_TESTED: Final = tuple(
    (re.compile(rf"(?<!\w)(?:{condition})(?!\w)", re.I), re.compile(rf"(?=\s?[-–—:(=]){_NEGATIVE % tests}", re.I))
    for condition, tests in (
        (r"pregnan\w+", r"hcg|b-?hcg|beta-?hcg|upt|udt|tests?|stick"),
        (r"PE|\w*\s?embol\w+", r"ctpa|v/?q|d-?dimers?|dimer|cta"),
        (r"DVT|\w*\s?thrombos[ie]s", r"dopplers?|duplex|uss?|d-?dimers?|dimer|scan"),
        (r"ACS|MI|N?STEMI|[\w\s]*infarct\w*", r"trops?|troponins?|hs-?trop\w*|enzymes"),
        (r"UTI|urinary\s\w+\sinfection", r"dip|dipstick|msu|urine|ua|culture"),
        (r"[\w\s]*fracture|#", r"x-?rays?|xr|films?|ct|radiographs?"),
        (r"pneumothorax|pneumonia|consolidation|LRTI", r"cxr|x-?ray|film|ct"),
        (r"SAH|SDH|ICH|stroke|CVA|[\w\s]*ha?emorrhage|bleed", r"ct|cth|mri|lp"),
        (r"c(?:o)?eliac(?:\sdisease)?", r"ttg|serology|antibod\w+|ema|biops\w+"),
        (
            r"covid\S*|flu|influenza(?:\s[ab])?|rsv|[\w\s]*strep\w*(?:\s\w+)?|hiv|hep\w*\s[abce]|syphilis|chlamydia|gonorrh\w+|c\.?\s?diff\w*|mrsa|malaria|tb|tuberculosis|"
            r"measles|mumps|pertussis|norovirus|lyme(?:\sdisease)?|cmv|ebv|glandular\sfever|h\.?\spylori|legionella|trichomonas|herpes|hsv|dengue|gbs|giardia|meningitis",
            r"swabs?|pcr|lft|lateral\sflow|ag|ab|antigen|antibod\w+|serology|tests?|screen|films?|rdts?|naats?|quantiferon|igra|toxin|elisa|rpr|vdrl|smears?|cultures?|ag/ab|"
            r"monospot|stool|dna|csf|lp|biofire",
        ),
    )
)
"""Conditions, and the tests that settle whether they are there: "DVT: doppler negative"."""
_LETTER: Final = re.compile(r":?\s+(?P<letter>[NY])(?=\s*[,;)]|\.?\s*$)")
_NOTE: Final = (
    (
        "historical",
        r"(?:now\s|since\s|fully\s|completely\s|spontaneously\s|has\s|s/p\s)?(?:resolved|healed|recovered|cured|cleared|removed|excised|"
        r"resected|repaired|discontinued|dc['’]?d|d/c['’]?d|stopped|quit|completed|inactive|remote|previous|former|past|"
        r"in remission|treated|status post|s/p)\b",
    ),
    (
        "ruled-out",
        r"(?:negative|neg|absent|excluded|ruled out|denied|denies|none|not (?:present|seen|found|detected|taking))\b",
    ),
    (
        "uncertain",
        r"(?:possible|possibly|poss|probable|probably|prob|susp|doubtful|improbable|suspected|presumed|likely|unlikely|unconfirmed|not confirmed|not excluded|"
        r"uncertain|tentative|questionable|query|working diagnosis|provisional|\?)(?=\s*\))",
    ),
    ("hypothetical", r"(?:planned|scheduled|booked|pending|to be|if needed|prn|as needed)\b"),
)
_NOTES: Final = tuple((says, re.compile(rf"\s?[(\[]\s?{words}", re.I)) for says, words in _NOTE)
"""A note in parentheses: "cystitis (resolved 2015)"."""
_FREE: Final = re.compile(r"-\s?free\b|\s+free(?=\s*(?:[.,;]|$|since\b|now\b|today\b|for\b))", re.I)
_LIKE: Final = re.compile(r"-(?:like|ish|type)\b", re.I)
_NON: Final = re.compile(r"(?<!\w)non-?\s?$", re.I)
_SIGNED: Final = re.compile(r"\s*\((?P<sign>[-–+])(?:ve)?\)|\s?(?P<bare>[-–+])(?:ve)?(?=[,;.\n]|\s*$)")
_BOX: Final = re.compile(r"(?:\[(?P<square>[ xX✓*_]?)\]|(?P<tick>[☐☑☒✓✔✗]))\s*(?:\w+\s+){0,2}$")
_PLUS: Final = re.compile(r"(?:^|[\s,;(])\+\s?$")
_TICKED: Final = frozenset("xX✓*☑☒✔")
_BRACKETED: Final = re.compile(r"\((?P<sign>[-–+])(?:ve)?\)\s?$")
_DASHED: Final = re.compile(r"(?<=[\s/])[-–+](?=[A-Za-z])")
_DASH: Final = re.compile(r"(?<=[^\n][\s/])[-–]$")
_WHOSE: Final = frozenset(
    ["a", "an", "his", "her", "their", "whose", "elderly", "late", "frail", "ailing", "sick", "dying", "severely"]
)
"""What precedes a mention that says what a relative is like."""
_NEAR: Final = 40
_MAY_BE_BEFORE: Final = re.compile(r"[\]☐☑☒✓✔✗)\-–+](?:(?<=[\]☐☑☒✓✔✗])|(?=\s{0,2}\Z))|\b0\s(?:\w+\s)?\Z")
_MAY_BE_AFTER: Final = re.compile(
    r"\s*(?:,\s[a-z-]+\b(?:\s[a-z-]+){0,3}(?:[.;)]|$|\s\d)|[?:=|(\[+\-–—✓✔☑✗✘☒∅ø×]|\.\.)|[^.,;:?\n]{0,30}[?:]|\t|\s(?:\s|[nyf]|grade|score|count|stage|use|absent|denied|[x×]?\s?0)",
    re.I,
)
"""What any answer has beside the mention, to tell at once that a mention has none."""


def answer(sentence: str, start: int, end: int) -> str:
    """The assertion that an answer beside the mention `start:end` gives, or ""."""
    if not (_MAY_BE_BEFORE.search(sentence, max(0, start - _NEAR), start) or _MAY_BE_AFTER.match(sentence, end)):
        return "ruled-out" if _NON.search(sentence, max(0, start - 5), start) else ""
    if marked := _marked_after(sentence, end) or _tested_negative(sentence, start, end):
        return marked
    if box := _BOX.search(sentence, max(0, start - _NEAR), start):
        mark = box["square"] if box["square"] is not None else box["tick"]
        return "present" if mark in _TICKED and mark else "ruled-out"
    if sign := _sign_before(sentence, start):
        return sign
    if _NON.search(sentence, max(0, start - 5), start):
        return "ruled-out"
    following = sentence[end : end + _NEAR]
    if following:
        if _ZERO.match(following) or ("?" in following and _SAID.match(sentence, end)):
            return "ruled-out"
        for says, pattern in _AFTER:
            if pattern.match(following):
                return says
        if _BARE.match(following) or (":" in following and _FURTHER.match(sentence, end)):
            return "ruled-out"
        if _FREE.match(following):
            return "ruled-out"
        if _LIKE.match(following):
            return "uncertain"
        if letter := _LETTER.match(following):
            return "ruled-out" if letter["letter"] == "N" else "present"
        for says, pattern in _NOTES:
            if pattern.match(following):
                return says
        if _relatives().match(following):
            return "family"
        if signed := _SIGNED.match(following):
            return "present" if (signed["sign"] or signed["bare"]) == "+" else "ruled-out"
    if _ZERO_BEFORE.search(sentence, max(0, start - _NEAR), start):
        return "ruled-out"
    return "present" if _PLUS.search(sentence, max(0, start - 4), start) else ""


def _marked_after(sentence: str, end: int) -> str:
    """What a tick or a cross after the mention says, where marks follow what they are about: "cough ✗, fever ✓"."""
    found = _CROSS.match(sentence, end)
    if not found:
        return ""
    first = next(_TICKS.finditer(sentence), found)
    return ("ruled-out" if found["no"] else "present") if sentence[: first.start()].rstrip(" :")[-1:].isalnum() else ""


def _tested_negative(sentence: str, start: int, end: int) -> str:
    """Whether the test for what is mentioned was negative: "DVT: doppler negative"."""
    if sentence[end : end + 2].strip()[:1] not in tuple("-–—:(="):
        return ""
    for condition, result in _TESTED:
        if condition.fullmatch(sentence, start, end):
            return "ruled-out" if result.match(sentence, end) else ""
    return ""


def is_reaction(sentence: str, end: int) -> bool:
    """Whether a reaction is noted after the mention of a drug, which ends at `end`: "aspirin - hives"."""
    return _REACTION.match(sentence, end) is not None


def is_normal(sentence: str, end: int, called: str) -> bool:
    """Whether a change is said to be within what is normal: "vascular engorgement within normal limits"."""
    return _NORMAL.match(sentence, end) is not None and _CHANGE.search(called) is not None


def _sign_before(sentence: str, start: int) -> str:
    """What "(+) cough" and "-cough -wheeze +rash" say; a single dash before a word rules nothing out."""
    if signed := _BRACKETED.search(sentence, max(0, start - 6), start):
        return "present" if signed["sign"] == "+" else "ruled-out"
    several = _DASH.search(sentence, max(0, start - 3), start) and len(_DASHED.findall(sentence)) > 1
    return "ruled-out" if several else ""


def is_of_relative(sentence: str, start: int, end: int) -> bool:
    """Whether the mention `start:end` says what a relative is like or had: "her demented mother", "suicide of a brother"."""
    if sentence.startswith(" of ", end) and _of_whom().match(sentence, end):
        return True
    before = sentence[max(0, start - _NEAR) : start].rpartition(" ")[0].rpartition(" ")[2]
    return before.lower() in _WHOSE and _described().match(sentence, end) is not None


@cache
def _described() -> re.Pattern[str]:
    """A relative right after a mention, of whom nothing is reported: not "the rash her mother noticed"."""
    relative = "|".join(sorted(map(re.escape, classes()["relative"]), key=len, reverse=True))
    says = "|".join(sorted(map(re.escape, classes()["says"]), key=len, reverse=True))
    return re.compile(
        rf"\s+(?:(?:older|younger|late|step|teenage|adult)\s)?(?:{relative})(?!['’\w])(?!\s+(?:{says}|has\s(?:not|seen|noticed))\b)",
        re.I,
    )


@cache
def _of_whom() -> re.Pattern[str]:
    kin = "|".join(map(re.escape, classes()["kin"]))
    relative = "|".join(sorted(map(re.escape, classes()["relative"]), key=len, reverse=True))
    return re.compile(
        rf"\sof\s(?:an?|his|her|their|the|one|two|another)\s(?:(?:{kin})\s)*(?:{relative})(?!['’\w])", re.I
    )


@cache
def _relatives() -> re.Pattern[str]:
    kin = "|".join(map(re.escape, classes()["kin"]))
    relative = "|".join(sorted(map(re.escape, classes()["relative"]), key=len, reverse=True))
    whose = rf"(?:(?:{kin})\s+)*(?:{relative})\b"
    return re.compile(
        rf"\s*(?::|\(|\s[-–—]\s)\s*(?:in\s+)?{whose}|,\s{whose}(?=\s*(?:[.;)]|$|\s(?:aged|age|at)\s\d))", re.I
    )
