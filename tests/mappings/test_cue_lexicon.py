from __future__ import annotations

import pytest

from mappings.analysis.mentions.cues import CueKind, CueLexicon
from mappings.analysis.mentions.screens import Screened

KIND = CueKind("before")
CLASSES = {"size": ("small", "very large")}


def cues_in(phrase: str, text: str) -> list[str]:
    return [text[cue.start : cue.end] for cue in CueLexicon({KIND: [phrase]}, CLASSES).find(text)]


@pytest.mark.parametrize(
    ("phrase", "text", "found"),
    [
        ("no {sign,clear hint} of", "no clear hint of fever", ["no clear hint of"]),
        ("no {sign,clear hint} of", "no hint of fever", []),
        ("no {clear,good}? sign", "no sign, no good sign", ["no sign", "no good sign"]),
        ("no {clear,good}? sign", "no clear good sign", []),
        ("no {clear,good}* sign", "no clear good clear sign", ["no clear good clear sign"]),
        ("no {clear,good}* sign", "no clear good clear good sign", []),
        ("no <size> sign", "no very large sign", ["no very large sign"]),
        ("no <size>? sign", "no sign", ["no sign"]),
        ("not ... seen", "not in any of these seen", ["not in any of these seen"]),
        ("not ... seen", "not in any of all these seen", []),
        ("not ... seen", "not here, seen", []),
        ("likely $", "gout likely", ["likely"]),
        ("likely $", "gout likely, fever", ["likely"]),
        ("likely $", "likely gout", []),
        ("no {clear,clear good} good sign", "no clear good sign", ["no clear good sign"]),
        ("no {clear,good}* good sign", "no clear good sign", ["no clear good sign"]),
        ("no <size> sign", "no very \n large  sign", ["no very \n large  sign"]),
        ("no sign of", "no sign_of, no signs of, No Sign OF it", ["No Sign OF"]),
        ("no {sign,-ve} of", "no -ve of", ["no -ve of"]),
    ],
)
def test_what_a_phrase_matches(phrase: str, text: str, found: list[str]) -> None:
    assert cues_in(phrase, text) == found


def test_find_all_keeps_the_cues_that_overlap() -> None:
    lexicon = CueLexicon({KIND: ["no sign of", "sign of"]}, {})
    assert [(cue.start, cue.end) for cue in lexicon.find("no sign of it")] == [(0, 10)]
    assert sorted((cue.start, cue.end) for cue in lexicon.find_all(Screened.of("no sign of it"))) == [
        (0, 10),
        (3, 10),
    ]
