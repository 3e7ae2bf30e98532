"""What a section asserts of mentions of which its sentences say nothing else: under "Family history" they are relatives'."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from mappings.analysis.headings import normalise_heading
from mappings.clinical.persistence import is_chronic, is_intervention

_FIXED: Final = {
    "family history": "family",
    "past surgical history": "historical",
    "birth history": "historical",
    "allergies": "hypothetical",
}
_PAST: Final = frozenset(["past medical history", "gynecologic history", "psychiatric history"])
_QUESTION: Final = "question"
_WARNING: Final = "warning"
_DIFFERENTIAL: Final = "differential"
_PLANS: Final = "plans"
_FAMILY: Final = re.compile(
    r"\b(?:family|familial|maternal|paternal|parental|mother['’]?s|father['’]?s|donor|sibling|genetic)\b[^:]*\b(?:history|hx|anamnesis|pedigree)\b|"
    r"\b(?:fh|fhx|famhx|fmhx|pedigree|family tree)\b"
)
_OVER: Final = re.compile(
    r"\b(?:resolved|inactive|past|previous|prior|former|old)\s(?:problems?|issues?|diagnos[ei]s|conditions?|illness(?:es)?|"
    r"hospitali[sz]ations?|admissions?|operations?|surger(?:y|ies)|procedures?|medications?|meds|treatments?|injur(?:y|ies))\b|"
    r"\bsurgical (?:history|hx)\b|\b(?:psh|pshx)\b|\boperations\b|\bdiscontinued (?:medications?|meds)\b|\bneonatal history\b"
)
_MEDICAL: Final = re.compile(r"\b(?:pmh|pmhx|medical)\b")
_OPEN: Final = re.compile(
    r"\b(?:differentials?|ddx|considerations?|possibilities|(?:possible|probable|suspected|provisional|working|query|referral) diagnos[ei]s|"
    r"questions?|clinical question|query)\b"
)
_ASKED: Final = re.compile(
    r"\b(?:indication|indications|reason for (?:the )?(?:exam|examination|study|test|procedure|scan))\b"
)
_ADVICE: Final = re.compile(
    r"\b(?:instructions?|precautions|when to call|advice|safety[- ]net\w*|counsel+ing|education|teaching|orders|"
    r"health maintenance|contingenc\w+|guidance|prevention|prophylaxis|screening|red flags|warning signs|return criteria|"
    r"side effects|adverse (?:effects|reactions)|safety plan|crisis plan|action plan|what to watch for|preventive care|"
    r"contraindications|intolerances?|sensitivit(?:y|ies)|drug reactions|adrs?|waiting list|prn|as needed)\b"
)
_PLANNED: Final = re.compile(
    r"\b(?:an(?:a)?esthetic|an(?:a)?esthesia|theatre|operative|surgical|procedur\w+|airway)\splan\b|"
    r"\b(?:planned|proposed|intended|upcoming|scheduled)\s(?:procedures?|operations?|surger(?:y|ies)|investigations?|tests?|treatments?)\b"
)
_RISKS: Final = re.compile(r"\b(?:risks|complications discussed|informed consent|consent)\b")
_ALLERGY: Final = re.compile(r"allerg|anaphyla", re.I)
_COMPLAINT: Final = re.compile(
    r"\b(?:pain|ache|aches|cough|fever|dyspnea|dyspnoea|shortness|sob|wheez\w+|nausea|vomiting|diarrhea|diarrhoea|dizziness|vertigo|syncope|collapse|seizures?|fits?|urination|dysuria|rash|itch\w*|pruritus|constipation|dysphagia|heartburn|dyspepsia|sore throat|hoarseness|epistaxis|melena|melaena|rigors|sweats|malaise|lethargy|tremor|paresthesias?|paraesthesia|incontinence|anemia|anaemia|"
    r"weakness|headache|palpitations|fatigue|hemoptysis|trauma|fall|injury|swelling|chills|weight loss|hypoxia|"
    r"tachycardia|confusion|bleeding|numbness|hematuria|haematuria|haemoptysis|jaundice|tinnitus|lump|cancer|carcinoma|positive ppd)\b",
    re.I,
)


_TOLD: Final = re.compile(
    r"\b(?:symptomatic|known|recurrent|established|proven|confirmed|persistent|refractory|intractable|documented|incarcerated|ruptured|long-?standing|still has(?: an?)?|diagnosed with|"
    r"(?:man|woman|male|female|patient|pt|boy|girl|gentleman|lady|child|infant|old|y/?o|yo|[MF])\s(?:with|w/|who has)(?: an?)?|"
    r"(?:brought in|admitted|seen|presented|presents|presenting|came in|collapsed)\s(?:\w+\s){0,3}?(?:after|with|following|for|because of)(?: an?)?)"
    r"\s(?:[\w-]+\s){0,2}$",
    re.I,
)
"""What precedes a condition that an indication states: "symptomatic gallstones", "woman with pneumonia"."""
_LISTED: Final = re.compile(r"an(?:a)?emia\b", re.I)
"""What lasts if it is listed without a time among past conditions."""
_IMAGES: Final = re.compile(
    r"\b(?:findings|impression|conclusion|radiograph|x-?ray|xr|cxr|ct|mri|film|imaging|radiology|bones?|skeleton|lungs?|chest|comparison|interpretation)\b"
)
_OLD: Final = re.compile(r"\b(?:old|healed|remote|chronic|previous|prior|distant)(?:,?\s[\w/-]+){0,8}\s$", re.I)
_REMAINS: Final = re.compile(r"fracture|deformit|callus|compression|calcifi", re.I)
"""Injuries that leave something to see."""


def section_default(heading: str, called: str, before: str = "") -> str:
    """The assertion of a mention that is called `called` in a section with that heading; `before` precedes it."""
    kind = _kind(heading)
    if not kind:
        return "present"
    if kind == "allergies" and _ALLERGY.search(called):
        return "present"
    if kind in _FIXED:
        return _FIXED[kind]
    if kind == _DIFFERENTIAL:
        return "uncertain"
    if kind in _PAST:
        return "present" if is_chronic(called) or _LISTED.search(called) else "historical"
    if kind == _QUESTION:
        told = _COMPLAINT.search(called) or is_chronic(called) or is_intervention(called) or _TOLD.search(before)
        return "present" if told else "uncertain"
    if kind == _PLANS:
        return "hypothetical" if is_intervention(called) else "present"
    return "hypothetical"


def shows_remains(heading: str, before: str, called: str) -> bool:
    """Whether a report of images tells of an old injury, of which the traces are there to see: "healed rib fracture"."""
    return (
        _REMAINS.search(called) is not None
        and _OLD.search(before) is not None
        and _IMAGES.search(heading.lower()) is not None
    )


@lru_cache(1024)
def _kind(heading: str) -> str:
    """The normalised heading of a section with a default of its own, `_QUESTION`, `_WARNING`, or "" for any other."""
    normalised, plain = normalise_heading(heading), heading.lower()
    if normalised in _FIXED:
        return normalised
    if _FAMILY.search(plain) and normalised not in _PAST:
        return "family history"
    if _OVER.search(plain):
        # "PMH/PSH" has lasting conditions, too.
        return "past medical history" if _MEDICAL.search(plain) else "past surgical history"
    if _OPEN.search(plain):
        return _DIFFERENTIAL
    if normalised in _PAST:
        return normalised
    if _ASKED.search(plain):
        return _QUESTION
    if _PLANNED.search(plain):
        return _PLANS
    return _WARNING if _ADVICE.search(plain) or _RISKS.search(plain) else ""
