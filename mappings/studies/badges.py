"""What kind of study a publication reports, and what became of it: badges, from its types and its own words.

A badge that a record's publication types give is sure; where they give no design, the title and the abstract are read for one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Final, Literal, get_args

from mappings.documents import Document, FieldValue

Badge = Literal[
    "retracted", "expression of concern", "retraction notice", "preprint",
    "meta-analysis", "systematic review", "review", "randomised trial", "cohort study", "case-control study",
    "cross-sectional study", "case report", "animals", "cells",
]  # fmt: skip
BADGES: Final[tuple[Badge, ...]] = get_args(Badge)
"""Warnings first, then designs, the strongest first, then what was studied instead of people."""
WARNINGS: Final[tuple[Badge, ...]] = BADGES[:4]
DESIGNS: Final[tuple[Badge, ...]] = BADGES[4:12]

_BY_TYPE: Final[Mapping[str, Badge]] = {
    "retracted publication": "retracted",
    "retraction of publication": "retraction notice",
    "retraction notice": "retraction notice",
    "expression of concern": "expression of concern",
    "preprint": "preprint",
    "meta-analysis": "meta-analysis",
    "network meta-analysis": "meta-analysis",
    "systematic review": "systematic review",
    "review": "review",
    "scoping review": "review",
    "randomized controlled trial": "randomised trial",
    "equivalence trial": "randomised trial",
    "case reports": "case report",
}
_TITLE_WARNINGS: Final[tuple[tuple[Badge, re.Pattern[str]], ...]] = (
    (
        "retracted",
        re.compile(r"^\W*(?:retracted(?: article)?|withdrawn)\b\s*[:\].-]|\[retracted\b|\(retracted\)", re.I),
    ),
    ("retraction notice", re.compile(r"^\W*(?:retraction(?: note| notice)?|notice of retraction)\b\s*[:\].-]", re.I)),
    ("expression of concern", re.compile(r"\b(?:editorial )?expression of concern\b\s*(?:[:\].-]|$)", re.I)),
)
_NOTICES: Final[Mapping[str, Badge]] = {
    "Retraction in": "retracted",
    "Retracted and republished in": "retracted",
    "Retraction of": "retraction notice",
    "Expression of concern in": "expression of concern",
}
"""How the notices of MEDLINE's records begin (`mappings.formats.medline`)."""
_PREPRINT_SERVERS: Final = re.compile(
    r"\b(?:medrxiv|biorxiv|arxiv|ssrn|preprints\.org|research square|chemrxiv|psyarxiv|osf preprints|preprints with the lancet)\b",
    re.IGNORECASE,
)
_PREPRINT_DOI: Final = re.compile(
    r"^10\.(?:1101/(?:\d{4}\.\d{2}\.\d{2}\.|\d{6}$)|21203/rs\.|20944/preprints|2139/ssrn|48550/arxiv|26434/chemrxiv|31234/osf)",
    re.IGNORECASE,
)
_REVIEWED: Final = r"(?:systematic(?:ally)?|umbrella|cochrane)\s(?:and\s\w+\s)?(?:literature\s)?review"
_TITLE_DESIGNS: Final[tuple[tuple[Badge, re.Pattern[str]], ...]] = (
    ("meta-analysis", re.compile(r"\bmeta-?\s?analys[ei]s\b", re.I)),
    ("systematic review", re.compile(rf"\b{_REVIEWED}", re.I)),
    ("review", re.compile(r"(?:\ba|:|\bscoping|\bnarrative|\bliterature|\bcritical)\s+review\b|\breview of (?:the )?literature\b", re.I)),
    ("case report", re.compile(r"\b(?:a )?case (?:report|series)\b|\breport of (?:a|one|two|three) cases?\b", re.I)),
    ("randomised trial", re.compile(r"\brandomi[sz]ed\b(?!\s*,?\s*(?:mendelian|primer|algorithm))|\bRCT\b", re.I)),
    ("case-control study", re.compile(r"\bcase[-\s]control(?:led)?\b", re.I)),
    ("cohort study", re.compile(r"\bcohort\b|\b(?:prospective|longitudinal|follow-up) study\b", re.I)),
    ("cross-sectional study", re.compile(r"\bcross[-\s]sectional\b|\b(?:national|population) survey\b", re.I)),
)  # fmt: skip
_TEXT_DESIGNS: Final[tuple[tuple[Badge, re.Pattern[str]], ...]] = (
    ("meta-analysis", re.compile(r"\b(?:we|to) (?:performed|conducted|did|carried out|perform|conduct) (?:an? )?(?:\w+ ){0,4}meta-?analys[ei]s\b|\b(?:this|our) (?:\w+ )?meta-?analysis\b", re.I)),
    ("systematic review", re.compile(rf"\b(?:we|to|this|our|conducted|performed|undertook) (?:\w+ ){{0,4}}{_REVIEWED}|\bsystematically (?:searched|reviewed)\b", re.I)),
    ("review", re.compile(r"\b(?:this|the present|our) (?:\w+ )?review (?:\w+ ){0,2}(?:summari[sz]|discuss|describ|focus|highlight|outlin|examin|consider|provid|cover|explor|address)|\b(?:here,? |herein,? )?we review\b|\bin this review\b", re.I)),
    ("randomised trial", re.compile(r"\b(?:were|was|are) (?:then |also )?(?:\w+ly )?(?:randomi[sz]ed|randomly (?:assigned|allocated|divided))\b|\brandomi[sz]ed[,\s-]+(?:[\w-]+[,\s]+(?:and )?){0,4}(?:trial|study)\b|\bwe randomly (?:assigned|allocated)\b|\bwe randomi[sz]ed\b", re.I)),
    ("case-control study", re.compile(r"\b(?:nested |matched |population-based |hospital-based )?case[-\s]control (?:study|design|analysis)\b", re.I)),
    ("cohort study", re.compile(r"\b(?:this|a|an|our|in) (?:[\w-]+,? ){0,4}cohort (?:study|analysis|of)\b|\b(?:prospective|retrospective|longitudinal|birth|population-based)(?: [\w-]+)? (?:cohort|follow-up study)\b|\bwere followed(?: up)? (?:for|prospectively|until|over)\b", re.I)),
    ("cross-sectional study", re.compile(r"\bcross[-\s]sectional (?:study|survey|analysis|design|data)\b", re.I)),
    ("case report", re.compile(r"\b(?:we|here,? we) (?:report|describe|present) (?:a|the|an|one) (?:\w+ ){0,3}(?:case|patient)\b|\b\d{1,2}[-\s]year[-\s]old (?:\w+ )?(?:man|woman|boy|girl|male|female|patient)\b", re.I)),
)  # fmt: skip
_STEMS: Final[Mapping[Badge, tuple[str, ...]]] = {
    "meta-analysis": ("analys",),
    "systematic review": ("review", "systematically"),
    "review": ("review",),
    "case report": ("case", "patient", "year"),
    "randomised trial": ("random", "rct"),
    "case-control study": ("control",),
    "cohort study": ("cohort", "follow", "longitudinal", "prospective"),
    "cross-sectional study": ("sectional", "survey"),
}
"""What a text must contain for the patterns of a design to be worth their time."""
_OF_SEVERAL: Final = frozenset({"meta-analysis", "systematic review", "review"})
_ANIMALS: Final = re.compile(
    r"\b(?:mice|mouse|murine|rats?|rabbits?|zebrafish|drosophila|c\. ?elegans|caenorhabditis|macaques?|primates|hamsters?|ferrets?"
    r"|guinea pigs?|piglets?|pigs?|porcine|sheep|ovine|canine|dogs?|xenopus|knockout)\b",
    re.IGNORECASE,
)
_CELLS: Final = re.compile(
    r"\b(?:in[-\s]vitro|cell lines?|cultured (?:\w+ )?cells|hela|hek ?293|organoids?|crystal structures?|cryo-?em)\b",
    re.I,
)
_PEOPLE: Final = re.compile(
    r"\b(?:patients?|participants?|volunteers?|humans?|people|persons|individuals|adults?|children|infants?|women|men|subjects"
    r"|adolescents|respondents|trials?)\b",
    re.IGNORECASE,
)
_MESH_ANIMALS: Final = frozenset({"animals", "mice", "rats"})


def badges_of(document: Document) -> tuple[Badge, ...]:
    """The badges of a publication, in the order of `BADGES`: its warnings, at most one design, and what was studied."""
    types = {value.lower() for value in values_of(document.fields, "type")}
    found: set[Badge] = {badge for name, badge in _BY_TYPE.items() if name in types}
    found |= {badge for badge, pattern in _TITLE_WARNINGS if pattern.search(document.title)}
    found |= {badge for notice in values_of(document.fields, "notices") if (badge := badge_of_notice(notice))}
    if _is_preprint(document.fields):
        found.add("preprint")
    text = " ".join(section.text for section in document.sections)
    designs = found.intersection(DESIGNS) or _design(document.title, text)
    kept = {badge for badge in found if badge in WARNINGS} | set(sorted(designs, key=BADGES.index)[:1])
    if "retracted" in kept:
        kept.discard("retraction notice")
    if not kept & _OF_SEVERAL:
        kept |= _studied(document.fields, document.title, text)
    return tuple(badge for badge in BADGES if badge in kept)


def values_of(fields: Mapping[str, FieldValue], name: str) -> tuple[str, ...]:
    """The values of a keyword field; empty where it has none."""
    value = fields.get(name, ())
    return value if isinstance(value, tuple) else (value,) if isinstance(value, str) else ()


def badge_of_notice(notice: str) -> Badge | None:
    """The badge that a notice of a MEDLINE record is about, if any: an erratum has none."""
    return next((badge for start, badge in _NOTICES.items() if notice.startswith(start)), None)


def _is_preprint(fields: Mapping[str, FieldValue]) -> bool:
    places = (*values_of(fields, "journal"), *values_of(fields, "source"))
    return any(map(_PREPRINT_SERVERS.search, places)) or any(map(_PREPRINT_DOI.match, values_of(fields, "doi")))


def _design(title: str, text: str) -> set[Badge]:
    """The design that the title names, or else the first one of `DESIGNS` that the text says it has."""
    return _first(_TITLE_DESIGNS, title) or _first(_TEXT_DESIGNS, text)


def _first(patterns: Iterable[tuple[Badge, re.Pattern[str]]], text: str) -> set[Badge]:
    lowered = text.lower()
    likely = ((badge, pattern) for badge, pattern in patterns if any(word in lowered for word in _STEMS[badge]))
    return set(islice((badge for badge, pattern in likely if pattern.search(text)), 1))


def _studied(fields: Mapping[str, FieldValue], title: str, text: str) -> set[Badge]:
    """`animals` or `cells` where people were not studied: by MeSH, or else by which of them the words are about."""
    mesh = {value.lower() for value in values_of(fields, "mesh")}
    if mesh:
        return {"animals"} if mesh & _MESH_ANIMALS and "humans" not in mesh else set()
    whole = f"{title}. {text}"
    people, animals, cells = (len(pattern.findall(whole)) for pattern in (_PEOPLE, _ANIMALS, _CELLS))
    if _ANIMALS.search(title) or animals > people:
        return {"animals"} if animals >= max(2, people) else set()
    return {"cells"} if cells and cells > people else set()
