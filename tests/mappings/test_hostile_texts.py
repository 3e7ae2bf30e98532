"""Texts that no note should be, but some are: read without an error, each mention at its place."""

from __future__ import annotations

import pytest

from mappings.clinical.reading import shipped_reader
from mappings.documents import Section

READER = shipped_reader()
TEXTS = {
    "a sentence of twenty thousand words": "no pneumonia and the patient denies " * 3_334,
    "a list after one cue": "No " + ", ".join(["fever", "cough", "chest pain"] * 2_000),
    "no spaces": "pneumonia" * 5_000,
    "capitals": "NO PNEUMONIA. PATIENT HAS FEVER AND CHILLS. " * 200,
    "noise of recognition": "N0 pneum0nia. P1eural effus1on , n o  p n e u m o t h o r a x . " * 100,
    "masked words": "XXXX pneumonia XXXX. No XXXX effusion. " * 100,
    "a table": "Finding\tPresent\nPneumonia\tno\nEffusion\tyes\n" * 100,
    "mojibake": "No pneumonia â€” patientâ€™s fever Ã©dema. " * 100,
    "question marks": "?" * 20_000 + " pneumonia",
    "brackets": "(" * 5_000 + "no pneumonia" + ")" * 5_000,
    "colons": "Fever: " * 3_000,
    "conditions": "if fever, " * 2_000,
    "control characters": "No\u00a0pneumonia\u2028fever\u202eno effusion\u0000 cough " * 100,
    "nothing": "",
}


@pytest.mark.parametrize("name", TEXTS)
def test_every_mention_is_at_its_place(name):
    text = TEXTS[name]
    mentions = READER.read([Section("", text)]).mentions
    assert list(mentions) == sorted(mentions, key=lambda item: item.start)
    for item in mentions:
        assert 0 <= item.sentence_start <= item.start < item.end <= item.sentence_end <= len(text)
        assert text[item.start : item.end].strip()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("capitals", {("pneumonia", "ruled-out"), ("fever", "present"), ("chills", "present")}),
        ("masked words", {("pneumonia", "present"), ("effusion", "ruled-out")}),
        ("a table", {("pneumonia", "ruled-out"), ("effusion", "present")}),
        ("conditions", {("fever", "hypothetical")}),
    ],
)
def test_what_can_be_understood_is(name, expected):
    mentions = READER.read([Section("", TEXTS[name])]).mentions
    assert {(item.concept, item.assertion) for item in mentions} == expected
