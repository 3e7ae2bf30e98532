from __future__ import annotations

import pytest

from mappings.analysis.mentions.spelling import american, in_full, joined_or_apart
from mappings.clinical.reading import shipped_reader


@pytest.mark.parametrize(
    ("british", "expected"),
    [
        ("oedema", "edema"),
        ("anaemia", "anemia"),
        ("diarrhoea", "diarrhea"),
        ("haemodialysis", "hemodialysis"),
        ("gynaecological", "gynecological"),
        ("gastrooesophageal", american("gastroesophageal")),
        ("tumours", "tumors"),
        ("behavioural", "behavioral"),
        ("hospitalised", "hospitalized"),
        ("paralysed", "paralyzed"),
        ("litres", "liters"),
        ("sulphate", "sulfate"),
        ("leucocytosis", "leukocytosis"),
    ],
)
def test_british_words_become_american(british: str, expected: str) -> None:
    assert american(british) == expected


@pytest.mark.parametrize(
    "word",
    ["vertebrae", "anaerobic", "toes", "shoes", "echoes", "four", "excised", "disease", "pressure", "noise", "rises"],
)
def test_other_words_stay(word: str) -> None:
    assert american(word) == word


def test_words_cut_short_are_in_full_inside_names_only() -> None:
    assert (in_full("abd"), american("abd")) == ("abdominal", "abd")


def test_a_prefix_is_joined_or_apart() -> None:
    assert list(joined_or_apart(["non", "steroidal", "drug"])) == [["nonsteroidal", "drug"]]
    assert list(joined_or_apart(["drug", "nonsteroidal"])) == [["drug", "non", "steroidal"]]
    assert list(joined_or_apart(["none", "non"])) == []


@pytest.mark.parametrize(
    ("text", "concept"),
    [
        ("Abd pain overnight", "abdominal-pain"),
        ("abdo pain", "abdominal-pain"),
        ("resp failure", "respiratory-failure"),
        ("R hip fx", "hip-fracture"),
        ("lung ca", "lung-cancer"),
        ("Haematemesis", "hematemesis"),
        ("oesophageal varices", "esophageal-varices"),
        ("Non-steroidal anti-inflammatories", "nsaid"),
        ("right-sided pleural effusion", "pleural-effusion"),
    ],
)
def test_names_are_found_as_notes_spell_them(text: str, concept: str) -> None:
    assert [item.concept for item in shipped_reader().read_alone(text)] == [concept]
