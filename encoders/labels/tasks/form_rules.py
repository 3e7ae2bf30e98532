"""Rules that word an abstract in other ways: its title by its rarest words or as a question, its conclusion denied."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

MOST_TERMS: Final = 4
LEAST_TERMS: Final = 3
_WORD: Final = re.compile(r"[^\W\d_]{3,}")

_AUXILIARY: Final = "is|are|was|were|has|have|had|can|could|may|might|must|should|will|would|does|do|did"
_DENIED: Final = re.compile(rf"\b(?:(?P<verb>{_AUXILIARY}) not|(?P<there>there (?:is|are|was|were)) no)\b", re.I)
_OTHER_DENIALS: Final = re.compile(r"\b(?:not?|nor|neither|never|without|cannot|none|lack\w*)\b", re.IGNORECASE)
_LOSING_E: Final = (
    *("attenuat", "caus", "contribut", "decreas", "elevat", "enhanc", "facilitat", "improv", "increas", "induc"),
    *("influenc", "produc", "promot", "provid", "reduc", "revers", "stimulat"),
)
"""Verbs without the e that they end in."""
_WHOLE: Final = ("affect", "boost", "inhibit", "lower", "predict", "prevent", "protect", "support")
_STATED: Final = re.compile(
    rf"\b(?:(?P<auxiliary>{_AUXILIARY})|(?P<how>\w+ly )?(?P<stem>{'|'.join((*_LOSING_E, *_WHOLE))})(?P<ending>es|ed|s))\b",
    re.IGNORECASE,
)
_ASIDE: Final = re.compile(
    r"\b(?:who|which|that|where|when|if|whether|because|although|while|as|of|in|with|by|for|among)"
    r"\s+(?:[\w-]+\s+){0,2}$",
    re.IGNORECASE,
)
"""What stands before a verb in an aside, or before a participle: "patients who were treated", "with reduced doses"."""

_X, _Y = r"(?P<x>[^.:;?]+?)", r"(?P<y>[^.:;?]+?)"
_DRUG: Final = rf"(?!.*\b(?:compar|trial|stud|pattern|trend|chang|review|analys)){_X}"
_EFFECT: Final = (rf"(?:\w+ )?(?:effects?|impact|influence) of {_X} on {_Y}", "Can {x} affect {y}?")
_BENEFIT: Final = (
    rf"(?:efficacy|effectiveness|safety|use|benefits?|role)(?: and \w+)? of {_X} (?P<y>(?:in|for|on) [^.:;?]+?)",
    "Is there a benefit of {x} {y}?",
)
_TITLES: Final = (
    _EFFECT,
    _BENEFIT,
    (
        r"(?:(?:comparison|comparative \w+)(?: of| between)|comparing) (?:the )?"
        rf"(?:(?:safety|efficacy|effectiveness|effects?)(?: and \w+)? of )?{_X} (?:and|with|versus|vs|to) {_Y}",
        "Which is better, {x} or {y}?",
    ),
    (
        rf"(?:associations?|relationships?|correlations?|relations?|links?) (?:between|of) {_X} (?:and|with|to) {_Y}",
        "Is there a connection of {x} and {y}?",
    ),
    (rf"(?:predictors|determinants|risk factors) (?:of|for) {_X}", "What raises the risk of {x}?"),
    (
        rf"(?:prevalence|incidence|frequency|risk) of {_X} (?P<y>(?:in|among|after|during|with) [^.:;?]+?)",
        "How often is there {x} {y}?",
    ),
    (rf"(?:treatment|management) of {_Y} (?:with|by|using) {_X}", "Can {x} be used against {y}?"),
    (rf"{_DRUG} (?:in|for) (?:the )?(?:treatment|management|therapy) of {_Y}", "Can {x} be used against {y}?"),
    (rf"{_DRUG} (?:in|for) (?:the )?prevention of {_Y}", "Can {x} prevent {y}?"),
    (rf"{_X} (?:versus|vs|compared (?:with|to)) {_Y}", "Which is better, {x} or {y}?"),
)
_TITLE_RULES: Final = tuple(
    (re.compile(rf"(?:the |an? )?{shape}(?=[.:;?]| - |$)", re.IGNORECASE), question) for shape, question in _TITLES
)
_WANTED: Final = "|".join(
    f"{stem}(?:{last}|{last}d|ed)" if last else f"{stem}(?:ed)?"
    for stem, last in (
        *(("determin", "e"), ("evaluat", "e"), ("investigat", "e"), ("examin", "e")),
        *(("assess", ""), ("test", ""), ("explor", "e"), ("establish", ""), ("ask", ""), ("know", "")),
    )
)
_OBJECTIVES: Final = ((rf"(?:whether|if) {_X}", "Is it known whether {x}?"), _EFFECT, _BENEFIT)
_OBJECTIVE_RULES: Final = tuple(
    (re.compile(rf"\b(?:{_WANTED}) (?:the )?{shape}(?<!\bvs)(?<!\(i)(?=[.;](?:\s|$))", re.IGNORECASE), question)
    for shape, question in _OBJECTIVES
)
_POINTING: Final = re.compile(r"\b(?:these|those|this|the above)\b", re.IGNORECASE)
"""What a question must not say: nobody who reads it alone knows what is meant."""
_REVIEW: Final = re.compile(
    r"^(?:an? )?(?:(?:systematic|literature|critical)(?: and \w+)? )*(?:reviews?|overview|meta-analysis) of ",
    re.IGNORECASE,
)
_ASKING: Final = re.compile(rf"(?:{_AUXILIARY}|what|why|how|who|when|where|which)\b", re.IGNORECASE)
_LONGEST: Final = 40
"""Words of a question: a longer one is a paragraph without full stops."""


def words(text: str) -> Iterable[str]:
    """The words of at least three letters, in lower case, each once, in their order."""
    return dict.fromkeys(_WORD.findall(text.lower()))


def choose_terms(title: str, frequency: Mapping[str, int]) -> str:
    """The rarest words of a title, in their order; "" for a title with too few words.

    `frequency` is in how many abstracts a word occurs.
    """
    found = list(words(title))
    rarest = sorted(found, key=lambda word: (frequency.get(word, 0), found.index(word)))[:MOST_TERMS]
    return " ".join(word for word in found if word in rarest) if len(rarest) >= LEAST_TERMS else ""


def negate(claim: str) -> str:
    """The claim turned to its opposite at its first verb; "" where no rule finds one, or it denies in another way."""
    denied = _DENIED.search(claim)
    rest = claim if denied is None else claim[: denied.start()] + claim[denied.end() :]
    if _OTHER_DENIALS.search(rest):
        return ""
    if denied:
        return claim[: denied.start()] + (denied["verb"] or denied["there"]) + claim[denied.end() :]
    for verb in _STATED.finditer(claim):
        if not _ASIDE.search(claim[: verb.start()]):
            return claim[: verb.start()] + _deny(verb) + claim[verb.end() :]
    return ""


def _deny(verb: re.Match[str]) -> str:
    if verb["auxiliary"]:
        return f"{verb['auxiliary']} not"
    base = verb["stem"].lower() + ("e" if verb["stem"].lower() in _LOSING_E else "")
    auxiliary = "did" if verb["ending"].lower() == "ed" else "does"
    return f"{auxiliary} not {verb['how'] or ''}{base}"


def ask_title(title: str) -> str:
    """A title as a question; "" for one that has a shape that the rules do not know."""
    return _first((rule.match(title), question) for rule, question in _TITLE_RULES)


def ask_plainly(title: str) -> str:
    """What any title asks: whether it is so, where it states something, otherwise what is known; "" for a question."""
    main = _REVIEW.sub("", re.split(r": | - |\. ", title)[0])
    stated = _DENIED.search(main) or any(not _ASIDE.search(main[: verb.start()]) for verb in _STATED.finditer(main))
    return (
        ""
        if "?" in title or _ASKING.match(main)
        else f"{'Is it true that' if stated else 'What is known about'} {_lower_first(main)}?"
    )


def ask_objective(text: str) -> str:
    """What a text says that it wanted to find, as a question; "" where it says so in no way that the rules know."""
    return _first((rule.search(text), question) for rule, question in _OBJECTIVE_RULES)


def _first(found: Iterable[tuple[re.Match[str] | None, str]]) -> str:
    """The first question whose rule matched, that is no paragraph and that stands alone."""
    for match, question in found:
        if match:
            asked = question.format(**{name: _lower_first(part.strip()) for name, part in match.groupdict().items()})
            if len(asked.split()) <= _LONGEST and not _POINTING.search(asked):
                return asked
    return ""


def _lower_first(part: str) -> str:
    """Without the capital that begins a title; an abbreviation or a name such as pH stays as it is."""
    return part[0].lower() + part[1:] if part[1:2].islower() else part
