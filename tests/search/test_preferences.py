"""Short texts that are nothing but names of concepts, and how they are read."""

from __future__ import annotations

import pytest

from mappings.clinical.reading import shipped_reader
from mappings.documents import Access
from search.query import Query
from search.understanding.preferences import about_patients
from search.understanding.understand import Understanding, understand

READER = shipped_reader()
EVERYBODY = Access("u", frozenset({"*"}))

PREFERRED = {
    "SOB": ("dyspnea", "present"),
    "sob": ("dyspnea", "present"),
    "pneumothorax": ("pneumothorax", "present"),
    "PE": ("pulmonary-embolism", "present"),
    "small effusion": ("effusion", "present"),
    "left hip fracture": ("hip-fracture", "present"),
    "on home oxygen": ("oxygen-therapy", "present"),
    "penicillin allergy": ("penicillin-allergy", "present"),
    "former smoker": ("former-smoker", "present"),
    "patients with pneumonia": ("pneumonia", "present"),
    "patients on warfarin": ("warfarin", "present"),
    "hypertension family history": ("hypertension", "family"),
    "breast cancer family history": ("breast-cancer", "family"),
    "gout, FHx": ("gout", "family"),
}
REQUIRED = {
    "AF on warfarin": [("atrial-fibrillation", "present"), ("warfarin", "present")],
    "COPD on home oxygen": [("chronic-obstructive-pulmonary-disease", "present"), ("oxygen-therapy", "present")],
    "acute renal failure on dialysis": [("acute-kidney-injury", "present"), ("renal-replacement-therapy", "present")],
    "diabetes and hypertension": [("diabetes-mellitus", "present"), ("hypertension", "present")],
    "hypertension, diabetes": [("hypertension", "present"), ("diabetes-mellitus", "present")],
    "hip fracture after fall": [("hip-fracture", "present"), ("falls", "present")],
    "diabetes without neuropathy": [("diabetes-mellitus", "present"), ("peripheral-neuropathy", "not-present")],
    "patients with pneumonia without effusion": [("pneumonia", "present"), ("effusion", "not-present")],
}
NEITHER = [
    "pneumonia treatment",  # a section is asked for
    "pneumonia x-ray",
    "asthma medications",
    "pneumonia or effusion",
    "MRI brain family history",  # of whoever was examined
    "rule out PE",
    "possible pneumonia",
    "chest pain radiating to left arm",
    "lisinopril cough",  # one may cause the other
    "SAD",  # the word "sad" is another concept than the abbreviation
    "MS",
    "metformin",  # the bare name of a drug or an examination is looked up as a word
    "colonoscopy",
    "creatinine",
    "tonsillectomy & adenoidectomy",  # the title of a note
    "frobnication",
    "",
]


def read(text: str, reads_text: bool = True, **slots) -> Understanding:
    return understand(
        Query("notes", EVERYBODY, **{"text": text or " ", "entity": "" if text else "x"} | slots),
        {},
        READER,
        reads_text,
    )


def asked(found: Understanding) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    criteria, preferences = (
        [(item.concept, item.assertion) for item in items] for items in (found.criteria, found.preferences)
    )
    return criteria, preferences


@pytest.mark.parametrize(("text", "expected"), PREFERRED.items())
def test_one_name_is_a_preference(text, expected):
    assert asked(read(text)) == ([], [expected])


@pytest.mark.parametrize(("text", "expected"), REQUIRED.items())
def test_several_joined_names_are_criteria(text, expected):
    assert asked(read(text)) == (expected, [])


@pytest.mark.parametrize("text", NEITHER)
def test_any_other_text_is_searched_by_its_words(text):
    assert asked(read(text)) == ([], [])


def test_the_family_history_of_several_diseases_is_a_section_too():
    expected = [("diabetes-mellitus", "family"), ("hypertension", "family")]
    assert asked(read("diabetes and hypertension family history")) == ([], expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("patients with pneumonia", "pneumonia"),
        ("Find all pts on warfarin", "warfarin"),
        ("those who have gout", "gout"),
        ("headache in patients with migraine", "headache in patients with migraine"),
        ("patients with", "patients with"),
        ("", ""),
    ],
)
def test_only_the_opening_words_say_that_patients_are_sought(text, expected):
    assert about_patients(text) == expected


def test_a_preference_filters_nothing_and_lets_what_asserts_it_score():
    found = read("pneumothorax")
    assert (found.filters, found.lexical.everything) == ((), False)
    assert [(name, value) for name, value, _ in found.lexical.keywords] == [
        ("proves", "pneumothorax|present"),
        ("proves", "pneumothorax|found"),
        ("proves", "pneumothorax|uncertain"),
    ]
    assert [item.typed for item in found.asked] == ["pneumothorax"]
    assert found.proven == found.preferences


@pytest.mark.parametrize(
    "more",
    [{"plain": True}, {"reads_text": False}, {"entity": "asthma"}, {"having": ("fever",)}, {"lacking": ("fever",)}],
)
def test_plain_words_slots_and_other_kinds_have_no_preference(more):
    assert read("pneumothorax", **more).preferences == ()


def test_the_same_text_has_the_same_understanding_as_a_key():
    assert hash(read("SOB")) == hash(read("SOB"))
