"""One spelling of a word: American for British, and in full for what notes cut short."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

_LEAST: Final = 5
"""Shorter words are left alone."""
_RULES: Final = [
    (re.compile(pattern), spelling)
    for pattern, spelling in (
        (r"(?:oo|[ao])e(?!s?$|ro)", "e"),  # oedema, anaemia, diarrhoea; "vertebrae" and "aerobic" stay
        (r"(?<=tum|col|lab|avi|.od|hum)our", "or"),
        (r"(?<=\w{3})(?<![cv])is(?=(?:e[drs]?|ing|ations?)$)", "iz"),  # hospitalised; "excised" stays beside "excision"
        (r"(?<=ly)s(?=(?:e[drs]?|ing)$)", "z"),  # paralysed
        (r"(?<=[bt])re(?=s?$)", "er"),  # fibre, litre
        (r"sulph", "sulf"),
        (r"leuc(?=[oa])", "leuk"),
        (r"nsell", "nsel"),  # counselling
    )
]
_IN_FULL: Final = {
    "abd": "abdominal",
    "abdo": "abdominal",
    "bilat": "bilateral",
    "ca": "cancer",
    "dz": "disease",
    "fx": "fracture",
    "htn": "hypertension",
    "hx": "history",
    "infxn": "infection",
    "insuff": "insufficiency",
    "lt": "left",
    "mets": "metastasis",
    "pulm": "pulmonary",
    "regurg": "regurgitation",
    "resp": "respiratory",
    "rt": "right",
    "sx": "symptoms",
}


_PREFIXES: Final = ("non", "anti", "post", "pre", "intra", "micro", "hyper", "hypo", "over", "under")
_LEAST_AFTER: Final = 4


def american(word: str) -> str:
    """A word in lowercase, as Americans spell it."""
    if len(word) >= _LEAST:
        for pattern, spelling in _RULES:
            word = pattern.sub(spelling, word)
    return word


def in_full(word: str) -> str:
    """A word in lowercase that is part of a name: "abd" in "abd pain" is abdominal."""
    return _IN_FULL.get(word) or american(word)


def joined_or_apart(words: Sequence[str]) -> Iterator[list[str]]:
    """The same name with a prefix apart from its word, or joined to it: "nonsteroidal", "non-steroidal"."""
    for place, word in enumerate(words):
        small, following = word.lower(), words[place + 1 : place + 2]
        if small in _PREFIXES and following:
            yield [*words[:place], f"{word}{following[0]}", *words[place + 2 :]]
        for prefix in _PREFIXES if small.startswith(_PREFIXES) else ():
            if small.startswith(prefix) and len(word) >= len(prefix) + _LEAST_AFTER:
                yield [*words[:place], word[: len(prefix)], word[len(prefix) :], *words[place + 1 :]]
