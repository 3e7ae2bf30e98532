from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mappings.analysis.headings import level, normalise_heading, tidy
from mappings.analysis.lexicon import rows
from mappings.analysis.sections import split_abstract, split_note
from mappings.documents import Document, Section


def note(text: str) -> list[tuple[str, str]]:
    return [(section.heading, section.text) for section in split_note(text)]


def abstract(text: str) -> list[tuple[str, str]]:
    return [(section.heading, section.text) for section in split_abstract(text)]


@pytest.mark.parametrize(
    ("heading", "expected"),
    [
        ("hpi", "history of present illness"),
        ("PRESENT ILLNESS", "history of present illness"),
        ("History of Present Illness:", "history of present illness"),
        ("GENHX", "history of present illness"),
        ("Allergies ", "allergies"),
        ("2. FAM/SOCHX", "family and social history"),
        ("A&P", "assessment and plan"),
        ("PREOPERATIVE DIAGNOSIS (ES)", "preoperative diagnosis"),
        ("Procedure(s) (planned)", "procedure"),
        ("CONCLUSIONS AND RELEVANCE", "conclusion"),
        ("Main outcome measures", "methods"),
        ("**Impression**", "impression"),
        ("other_history", "past medical history"),
        ("Something  Else:", "something else"),
        ("", ""),
    ],
)
def test_headings_have_one_name(heading: str, expected: str) -> None:
    assert normalise_heading(heading) == expected


def test_a_canonical_name_stands_for_itself() -> None:
    for canonical, kind, variants in rows("headings"):
        assert normalise_heading(canonical) == canonical
        assert kind in {"section", "part", "abstract"}
        assert all(normalise_heading(variant) == canonical for variant in variants.split("|")), canonical


def test_parts_are_no_sections() -> None:
    assert (level("HEENT"), level("PLAN"), level("Trial registration"), level("x")) == (
        "part",
        "section",
        "abstract",
        None,
    )


def test_tidy() -> None:
    assert [tidy(heading) for heading in ("MAIN RESULTS:", "HPI", "Methods/Design", " x_y ")] == [
        "Main results",
        "HPI",
        "Methods/Design",
        "x y",
    ]


def test_headings_run_together_in_one_line() -> None:
    text = (
        "SUBJECTIVE:,  This 23-year-old presents.,MEDICATIONS: ,  Her only one is X.,ALLERGIES:,  None. ,"
        "OBJECTIVE:,Vitals:  Weight was 130, BP: 124/78.,HEENT:  Her throat was red.,Lungs:  Clear.,ASSESSMENT:,  Rhinitis."
    )
    assert note(text) == [
        ("SUBJECTIVE", "This 23-year-old presents."),
        ("MEDICATIONS", "Her only one is X."),
        ("ALLERGIES", "None."),
        ("OBJECTIVE", "Vitals:  Weight was 130, BP: 124/78.,HEENT:  Her throat was red.,Lungs:  Clear."),
        ("ASSESSMENT", "Rhinitis."),
    ]


def test_headings_on_lines_of_their_own() -> None:
    text = "CHEST, TWO VIEWS\n\nIndication: cough\nFINDINGS\nLungs are clear.\nImpression:\n1. Normal.\n"
    assert note(text) == [
        ("", "CHEST, TWO VIEWS"),
        ("Indication", "cough"),
        ("FINDINGS", "Lungs are clear."),
        ("Impression", "1. Normal."),
    ]


def test_markdown_headings() -> None:
    assert note("**Assessment**\nStable.\n## Plan\nRest.") == [("Assessment", "Stable."), ("Plan", "Rest.")]


@pytest.mark.parametrize(
    "text",
    [
        "BP: 120/80, HR: 72, WBC: 5.2. TROPONIN: 0.3.",
        "She said the plan: rest and fluids, was fine.",
        "He was seen by Dr. X: no change.",
        "The PATIENT WAS TOLD: rest.",
        "Seen at 10:30 with EKG: normal.",
        "No headings here at all.",
    ],
)
def test_false_headings(text: str) -> None:
    assert note(text) == [("", text)]


def test_unknown_headings_in_capitals_count() -> None:
    text = "CORONARY ANGIOGRAM RESULTS: Normal.\nTOURNIQUET PRESSURE: 250 mmHg.\nXYZ: no."
    assert note(text) == [("CORONARY ANGIOGRAM RESULTS", "Normal.\nTOURNIQUET PRESSURE: 250 mmHg.\nXYZ: no.")]


def test_a_numbered_list_after_a_heading_is_no_value() -> None:
    assert note("SOMETHING NEW:,1.  One.,2.  Two.") == [("SOMETHING NEW", "1.  One.,2.  Two.")]


def test_a_heading_may_end_a_sentence_in_the_same_line() -> None:
    assert note("Stable today. Plan: continue. Follow-up: 2 weeks") == [
        ("", "Stable today."),
        ("Plan", "continue."),
        ("Follow-up", "2 weeks"),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("BACKGROUND: One. METHODS: Two.", [("BACKGROUND", "One."), ("METHODS", "Two.")]),
        ("Lead. Results: Two.\nConclusions : Three.", [("", "Lead."), ("Results", "Two."), ("Conclusions", "Three.")]),
        ("OBJECTIVE To see. DESIGN A trial. \n RESULTS It did.", [("OBJECTIVE", "To see."), ("DESIGN", "A trial."), ("RESULTS", "It did.")]),
        ("DESIGN, SETTING, AND PARTICIPANTS: A trial.", [("DESIGN, SETTING, AND PARTICIPANTS", "A trial.")]),
        ("RESULTS of the trial were fine. DESIGN matters.", [("", "RESULTS of the trial were fine. DESIGN matters.")]),
        ("We had one aim: to win. The results: none.", [("", "We had one aim: to win. The results: none.")]),
        ("Plain text.", [("", "Plain text.")]),
    ],
)  # fmt: skip
def test_abstracts(text: str, expected: list[tuple[str, str]]) -> None:
    assert abstract(text) == expected


@given(st.text(alphabet=st.sampled_from("AaPLN1:,.\n -"), max_size=200) | st.text())
@settings(max_examples=200, deadline=None)
def test_splitting_loses_only_colons_and_commas_at_the_edges(text: str) -> None:
    for split in (note, abstract):
        kept = "".join(heading + body for heading, body in split(text))
        loose = str.maketrans("", "", ":,*#=_ \t\r\n")
        assert "".join(kept.translate(loose).split()) == "".join(text.translate(loose).split())


@pytest.mark.parametrize("unit", ["A ", "A:", "AAAAA: ", ",", "PLAN:,", "a", "A", "\n", " ", "ABC\n", "A-"])
def test_long_texts_take_linear_time(unit: str) -> None:
    started = time.process_time()
    split_note(unit * (100_000 // len(unit)))
    split_abstract(unit * (100_000 // len(unit)))
    assert time.process_time() - started < 5


def test_an_abstract_is_read_again_from_its_labelled_text():
    sections = (
        Section("BACKGROUND", "Little is known."),
        Section("METHODS AND RESULTS", "We asked 40 people; none fell."),
        Section("CONCLUSIONS", "Nobody falls."),
    )
    text = Document("d", "Falls", sections).labelled_text
    assert text.startswith("BACKGROUND: Little is known.\n\nMETHODS AND RESULTS: We asked")
    assert tuple(split_abstract(text)) == sections
    assert Document("d", "", (Section("", "Two parts."), Section("", "No labels."))).labelled_text == (
        "Two parts.\n\nNo labels."
    )
