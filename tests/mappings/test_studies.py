"""Badges, sample sizes and works of publications: from their records' types, and from their own words."""

from __future__ import annotations

import pytest

from mappings import collection as kinds
from mappings.documents import Document, FieldValue, Section
from mappings.studies.badges import BADGES, badges_of
from mappings.studies.description import study_fields, with_study_fields, work_of
from mappings.studies.sample_size import sample_size

PLAIN = "Otters were counted. Numbers rose."


def document(title: str = "Otters", text: str = PLAIN, **fields: FieldValue) -> Document:
    return Document("1", title, (Section("", text),), fields=fields)


@pytest.mark.parametrize(
    ("title", "text", "badges"),
    [
        ("RETRACTED: Seaweed cures colds", PLAIN, ("retracted",)),
        ("Seaweed cures colds [Retracted by Smith A]", PLAIN, ("retracted",)),
        ("Withdrawn: seaweed and colds", PLAIN, ("retracted",)),
        ("Retraction: seaweed cures colds", PLAIN, ("retraction notice",)),
        ("Expression of Concern: seaweed and colds", PLAIN, ("expression of concern",)),
        ("Retraction of the gingiva after surgery", PLAIN, ()),
        ("Head retraction reflexes in the elderly", PLAIN, ()),
        ("Seaweed for colds: a randomised, double-blind trial", PLAIN, ("randomised trial",)),
        ("Seaweed for colds: a meta-analysis of randomized trials", PLAIN, ("meta-analysis",)),
        ("Seaweed for colds: a systematic review", PLAIN, ("systematic review",)),
        ("Seaweed and colds in a birth cohort", PLAIN, ("cohort study",)),
        ("Seaweed", "Eighty adults were randomly assigned to seaweed or a placebo.", ("randomised trial",)),
        ("Seaweed", "In this prospective cohort study, 300 women kept diaries.", ("cohort study",)),
        ("Seaweed", "A US-based, multisite cohort study of 343 patients was done.", ("cohort study",)),
        ("Seaweed", "This cross-sectional survey asked 90 students.", ("cross-sectional study",)),
        ("Seaweed", "Cases and controls were matched in a case-control study.", ("case-control study",)),
        ("Seaweed", "We report the case of a 34-year-old woman with a rash.", ("case report",)),
        ("Seaweed", "In this review we discuss what seaweed does to patients.", ("review",)),
        ("Seaweed", "We conducted a systematic review of ten databases.", ("systematic review",)),
        ("Seaweed", "No randomised trial has looked at it. We asked cooks.", ("randomised trial",)),
        ("Seaweed protects mice from colds", "Mice ate seaweed. The mice thrived.", ("animals",)),
        ("Seaweed in patients", "Patients ate it; mice had not. Patients, and patients again.", ()),
        ("Seaweed extract in vitro", "Cell lines were cultured.", ("cells",)),
        ("Seaweed", PLAIN, ()),
    ],
)  # fmt: skip
def test_badges_are_read_from_title_and_text(title: str, text: str, badges: tuple[str, ...]) -> None:
    assert badges_of(document(title, text)) == badges


@pytest.mark.parametrize(
    ("fields", "badges"),
    [
        ({"type": ("Journal Article", "Randomized Controlled Trial")}, ("randomised trial",)),
        ({"type": "Retracted Publication"}, ("retracted",)),
        ({"type": ("Meta-Analysis", "Systematic Review", "Review")}, ("meta-analysis",)),
        ({"notices": ("Erratum in: J Otter. 2020", "Retraction in: J Otter. 2021")}, ("retracted",)),
        ({"notices": "Expression of concern in: J Otter. 2021"}, ("expression of concern",)),
        ({"journal": "medRxiv : the preprint server for health sciences"}, ("preprint",)),
        ({"doi": "10.1101/2020.05.05.20091900"}, ("preprint",)),
        ({"doi": "10.1101/gad.1234567"}, ()),
        ({"mesh": ("Animals", "Otters")}, ("animals",)),
        ({"mesh": ("Animals", "Humans")}, ()),
    ],
)
def test_badges_are_taken_from_what_a_record_says_of_itself(
    fields: dict[str, FieldValue], badges: tuple[str, ...]
) -> None:
    assert badges_of(document(**fields)) == badges


def test_warnings_stand_before_designs_and_there_is_one_design() -> None:
    found = badges_of(document("RETRACTED: a randomised trial in a cohort", type="Preprint"))
    assert found == ("retracted", "preprint", "randomised trial")
    assert list(found) == sorted(found, key=BADGES.index)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("A total of 1,234 adults were included; 600 women answered.", 1234),
        ("We enrolled 96 032 patients in 12 countries.", 96032),
        ("Of 290 randomised participants, 142 received seaweed.", 290),
        ("Twenty-seven children ate seaweed.", 27),
        ("The groups (n = 41 and n = 44) were alike.", 44),
        ("In 2011 patients paid more. We asked 60 of them.", None),
        ("Colds strike 3 million adults each year. We studied 18 men.", 18),
        ("One in 20 adults has a cold.", None),
        ("It lasted 12 weeks at 37.5 degrees.", None),
        ("", None),
        ("9" * 40 + " patients were enrolled.", None),
    ],
)
def test_the_sample_is_the_largest_number_of_people_that_took_part(text: str, size: int | None) -> None:
    assert sample_size(text) == size


def test_a_preprint_and_its_publication_are_one_work() -> None:
    assert work_of("Seaweed cures the common cold.") == work_of("RETRACTED: Seaweed cures the Common Cold")
    assert work_of("Letter to the editor") is None
    assert work_of("") is None


def test_a_kind_with_studies_adds_its_fields_and_a_records_own_values_stay() -> None:
    abstracts, notes = kinds.load("abstracts"), kinds.load("notes")
    trial = document(
        "Seaweed for the common cold: a randomised trial", "We enrolled 80 adults.", badges=("cohort study",)
    )
    assert with_study_fields(trial, abstracts) == {
        "badges": ("cohort study",),
        "sample_size": 80.0,
    }
    assert with_study_fields(trial, notes) == {"badges": ("cohort study",)}
    assert study_fields(document()) == {}


def test_a_hostile_text_is_read_in_time() -> None:
    text = "12 a a a a a a " * 20_000 + "randomised " * 20_000 + "case " * 20_000
    assert badges_of(document("x" * 100_000, text)) is not None
    sample_size(text)
