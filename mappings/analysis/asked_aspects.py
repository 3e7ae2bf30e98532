"""The aspects of a condition that a title names, or that a question asks for: treatment, prevalence, causes."""

from __future__ import annotations

import re
from typing import Final

_ASPECTS: Final = re.compile(
    r"\b(?:clinical (?:features|presentation|manifestations|characteristics)|symptoms|signs and symptoms|phenotype|"
    r"treatment|therapy|management|surgery|prevention|screening|diagnosis|diagnostic (?:accuracy|criteria|tests?)|"
    r"differential diagnosis|prognosis|prognostic factors|survival|mortality|outcomes?|complications|"
    r"epidemiology|prevalence|incidence|frequency|burden|risk factors|predictors|susceptibility|"
    r"causes?|a?etiology|pathogenesis|pathophysiology|mechanisms?|genetics|genes?|mutations?|inheritance|"
    r"classification|staging|stages|overview|review|future directions|research|quality of life)\b",
    re.IGNORECASE,
)
_VERBS: Final = (
    (re.compile(r"\b(?:treat|treated|treats|effective (?:for|against|in))\b", re.IGNORECASE), "treatment"),
    (re.compile(r"\b(?:diagnosed|detected|diagnose)\b", re.IGNORECASE), "diagnosis"),
    (re.compile(r"\b(?:caused by|cause of|causes)\b", re.IGNORECASE), "causes"),
    (re.compile(r"\b(?:inherited|mutated|gene is|genes are)\b", re.IGNORECASE), "genetics"),
    (re.compile(r"^(?:what is|what are|describe|define)\b", re.IGNORECASE), "overview"),
)
"""How a question asks for an aspect that it does not name."""


def name_aspects(text: str) -> str:
    """The first two aspects that a title or a question names, joined by "and"; "" for none."""
    aspects = list(dict.fromkeys(found.group().lower() for found in _ASPECTS.finditer(text)))
    return " and ".join(aspects[:2])


def find_asked_aspect(question: str) -> str:
    """The aspect that a question asks for by a verb, without naming it; "" for none."""
    return next((aspect for pattern, aspect in _VERBS if pattern.search(question)), "")
