from __future__ import annotations

import time
from pathlib import Path

import pytest
from clinical_lexicon import FINDINGS, small_lexicon, write
from hypothesis import given
from hypothesis import strategies as st

from mappings.clinical.concepts import load_concepts
from mappings.clinical.mentions import ConceptFinder
from mappings.clinical.reading import READING_VERSION, ConceptReader
from mappings.documents import Document, Section


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> ConceptReader:
    return ConceptReader(small_lexicon(tmp_path_factory.mktemp("concepts")))


def found(reader: ConceptReader, text: str, heading: str = "") -> list[tuple[str, str, str]]:
    mentions = reader.read([Section(heading, text)]).mentions
    return [(item.concept, text[item.start : item.end], item.assertion) for item in mentions]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Lobar pneumonias.", [("lobar-pneumonia", "Lobar pneumonias")]),
        ("LOBAR PNEUMONIA", [("lobar-pneumonia", "LOBAR PNEUMONIA")]),
        ("lung\ninfection", [("pneumonia", "lung\ninfection")]),
        ("fluid around the lung", [("pleural-effusion", "fluid around the lung")]),
        ("lung, infection", []),
        ("Fluid in the lung.", []),
        ("Crohn\u2019s disease", [("crohn-disease", "Crohn\u2019s disease")]),
        ("C. difficile colitis", [("c-difficile-infection", "C. difficile")]),
        ("Treated for PNA", [("pneumonia", "PNA")]),
        ("pna", []),
        ("copd", [("copd", "copd")]),
        ("He aids his wife", []),
        ("HE HAS HEARING AIDS", []),
        ("AIDS", []),
        ("He has AIDS.", [("aids", "AIDS")]),
        ("fever/pneumonia", [("fever", "fever"), ("pneumonia", "pneumonia")]),
        ("She is feverish", []),
        ("It is mediastinal.", []),
        ("maxillary sinus", []),
        ("maxillary sinusitis", [("maxillary-sinusitis", "maxillary sinusitis")]),
        ("s", []),
        ("", []),
    ],
)
def test_the_longest_name_is_found(reader: ConceptReader, text: str, expected: list[tuple[str, str]]) -> None:
    assert [item[:2] for item in found(reader, text)] == expected


def test_an_ambiguous_abbreviation_needs_its_context(reader: ConceptReader) -> None:
    assert found(reader, "MS today.") == []
    long = found(reader, "Multiple sclerosis was found. His MS is stable.")
    assert [item[0] for item in long] == ["multiple-sclerosis", "multiple-sclerosis"]
    by_group = found(reader, "Warfarin and MS were given.")
    assert [item[0] for item in by_group] == ["warfarin", "morphine-sulfate"]
    assert [item[0] for item in found(reader, "Fever and MS.")] == ["fever"]


def test_the_long_form_can_be_in_another_section(reader: ConceptReader) -> None:
    sections = [Section("Plan", "MS: stable"), Section("History", "Mitral stenosis.")]
    mentions = reader.read(sections).mentions
    assert [(item.concept, item.section) for item in mentions] == [("mitral-stenosis", 0), ("mitral-stenosis", 1)]


def test_offsets_are_in_the_text_of_the_section(reader: ConceptReader) -> None:
    text = "Stable. No fever or pneumonia today. Effusion."
    mentions = reader.read(Document("1", "note", (Section("", "None."), Section("", text)))).mentions
    assert [text[item.start : item.end] for item in mentions] == ["fever", "pneumonia", "Effusion"]
    assert {item.section for item in mentions} == {1}
    assert text[mentions[0].sentence_start : mentions[0].sentence_end] == "No fever or pneumonia today."
    assert [item.assertion for item in mentions] == ["ruled-out", "ruled-out", "present"]


def test_a_question_mark_before_a_capital_belongs_to_what_follows(reader: ConceptReader) -> None:
    assert found(reader, "? Pneumonia") == [("pneumonia", "Pneumonia", "uncertain")]


def test_the_section_decides_where_the_sentence_says_nothing(reader: ConceptReader) -> None:
    assert found(reader, "Diabetes.", "Family History:")[0][2] == "family"
    assert found(reader, "DM, pneumonia.", "PMH") == [
        ("diabetes", "DM", "present"),
        ("pneumonia", "pneumonia", "historical"),
    ]


def test_the_same_sentence_under_another_heading_is_read_again(reader: ConceptReader) -> None:
    assert found(reader, "Fever.")[0][2] == "present"
    assert found(reader, "Fever.", "Family history")[0][2] == "family"


def test_the_reading_names_its_version(reader: ConceptReader) -> None:
    assert reader.read([]).version == READING_VERSION
    assert reader.read([]).mentions == ()


def test_names_with_the_same_stems_do_not_fail(tmp_path: Path) -> None:
    rows = (*FINDINGS, "x\tpneumonias\t\t\t")
    finder = ConceptFinder(load_concepts(folder=write(tmp_path, rows)))
    assert finder.find("pneumonias")[0].concepts == ("pneumonia",)


@given(st.text(max_size=120))
def test_any_text_is_read(reader: ConceptReader, text: str) -> None:
    last = 0
    for item in reader.read([Section("", text)]).mentions:
        assert last <= item.start < item.end <= len(text)
        assert item.sentence_start <= item.start < item.end <= item.sentence_end
        last = item.end


@pytest.mark.parametrize("part", ["pneumonia ", "lung ", "no fever or ", "MS ", "fluid around the "])
def test_a_sentence_of_20_000_words_takes_linear_time(reader: ConceptReader, part: str) -> None:
    text = part * (20_000 // len(part.split()))
    started = time.process_time()
    reader.read([Section("", text)])
    assert time.process_time() - started < 5


def test_a_decided_abbreviation_is_chronic_by_its_concept(reader: ConceptReader) -> None:
    sections = [Section("Past medical history", "MS."), Section("HPI", "Multiple sclerosis.")]
    assert [item.assertion for item in reader.read(sections).mentions] == ["present", "present"]
