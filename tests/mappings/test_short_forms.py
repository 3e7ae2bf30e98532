from __future__ import annotations

from pathlib import Path

import pytest

from mappings.analysis.mentions.denied import denied
from mappings.analysis.mentions.short_forms import Sense, ShortForms, load_senses, shipped_senses
from mappings.clinical.concepts import shipped_concepts
from mappings.clinical.reading import shipped_reader
from mappings.documents import Section
from mappings.errors import InvalidInput

USUAL = "PE\tpulmonary-embolism\tusual\t-\tNo [[PE]]."


def read(*texts: str, heading: str = "") -> list[tuple[str, str]]:
    mentions = shipped_reader().read([Section(heading, text) for text in texts]).mentions
    return [(item.concept, item.assertion) for item in mentions]


def table(folder: Path, *rows: str) -> Path:
    path = folder / "short.tsv"
    path.write_text("\n".join(("# Written for tests.", *rows)), encoding="utf-8")
    return path


@pytest.mark.parametrize("sense", shipped_senses(), ids=lambda sense: f"{sense.forms[0]}-{sense.concepts}")
def test_each_example_has_its_sense(sense: Sense) -> None:
    before, form, after = sense.example.replace("]]", "[[").split("[[")
    found = ShortForms(shipped_senses(), shipped_concepts()).sense(
        f"{before}{form}{after}", len(before), len(before + form), ""
    )
    assert found is not None
    assert found.concepts == sense.concepts


def test_the_senses_are_of_ambiguous_short_forms_of_known_concepts() -> None:
    concepts = shipped_concepts()
    sure = {item.text for concept in concepts for item in concept.abbreviations if not item.ambiguous}
    assert all(concept in concepts for sense in shipped_senses() for concept in sense.concepts)
    assert not sure & {form for sense in shipped_senses() for form in sense.forms}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Concern for CVA.", [("stroke", "uncertain")]),
        ("No PE.", [("pulmonary-embolism", "ruled-out")]),
        ("PE exam was normal.", []),
        ("Partner on HD at home.", [("hemodialysis", "family")]),
        ("HD#3, doing well.", []),
        ("CP in a 46 y/o man.", [("chest-pain", "present")]),
        ("CP angles are sharp.", []),
        ("A child with CP.", [("cerebral-palsy", "present")]),
        ("Family hx of premature MI.", [("myocardial-infarction", "family")]),
        ("AF, day 8.", [("atrial-fibrillation", "present")]),
        ("98% on RA.", []),
        ("RA on methotrexate.", [("rheumatoid-arthritis", "present"), ("methotrexate", "present")]),
        ("20/40 OD.", []),
        ("Brother died of lung ca.", [("lung-cancer", "family")]),
        ("CA 19-9 was sent.", [("ca-19-9", "present")]),
        ("D&V for two days.", [("diarrhea", "present"), ("vomiting", "present")]),
        ("Denies F/C.", [("fever", "ruled-out"), ("chills", "ruled-out")]),
        ("It was 37 F. C was not asked.", []),
        ("No N/V.", [("nausea-and-vomiting", "ruled-out")]),
    ],
)
def test_the_words_around_a_short_form_tell_its_sense(text: str, expected: list[tuple[str, str]]) -> None:
    assert read(text) == expected


def test_a_sense_that_is_told_comes_before_the_long_form_and_the_long_form_before_the_usual_sense() -> None:
    assert read("Cerebral palsy. CP today.") == [("cerebral-palsy", "present")] * 2
    assert read("Cerebral palsy. CP angles are sharp.") == [("cerebral-palsy", "present")]
    assert read("Chest pain. A child with CP.") == [("chest-pain", "present"), ("cerebral-palsy", "present")]


def test_a_heading_can_tell_a_sense() -> None:
    assert read("ASA 3.", heading="Anesthesia") == []
    assert read("ASA daily.", heading="Medications") == [("aspirin", "present")]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("PE without DVT", [("pulmonary-embolism", "present"), ("deep-vein-thrombosis", "ruled-out")]),
        ("AF on warfarin", [("atrial-fibrillation", "present"), ("warfarin", "present")]),
        ("CP no SOB", [("chest-pain", "present"), ("dyspnea", "ruled-out")]),
        ("afebrile", [("afebrile", "present")]),
        ("seen in the ED", []),
    ],
)
def test_queries_have_no_context_but_their_words(query: str, expected: list[tuple[str, str]]) -> None:
    assert [(item.concept, item.assertion) for item in shipped_reader().read_alone(query)] == expected


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        (["PE\tpulmonary-embolism\tusual\t-"], ":2: a row has 5 columns"),
        (["PE\t-\toften\t-\t[[PE]]"], ":2: a sense is `usual`, or"),
        (["PE\t-\ttold\t-\t[[PE]]"], ":2: a sense is `usual`, or"),
        (["PE\t-\ttold\ttube|\t[[PE]]"], ":2: a short form, a concept or a neighbour is empty"),
        (["|PE\t-\tusual\t-\t[[PE]]"], ":2: a short form, a concept or a neighbour is empty"),
        (["N/V\tnausea|vomiting|fever\tusual\t-\t[[N/V]]"], ":2: a short form of several concepts"),
        (["PE\t-\tusual\t-\tPE"], ":2: the example"),
        ([USUAL, "PE\t-\tusual\t-\t[[PE]]"], ":3: 'PE' already has a usual sense in "),
    ],
)
def test_errors_name_file_and_line(tmp_path: Path, rows: list[str], problem: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        load_senses(table(tmp_path, *rows))
    assert problem in str(caught.value)
    assert "short.tsv" in str(caught.value)


def test_senses_of_unknown_concepts_are_left_out(tmp_path: Path) -> None:
    senses = load_senses(table(tmp_path, USUAL))
    assert ShortForms(senses, ()).sense("No PE.", 3, 5, "") is None
    assert ShortForms(senses, ("pulmonary-embolism",)).sense("No PEs.", 3, 6, "") == senses[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Afebrile since admission.", [("afebrile", "present"), ("fever", "ruled-out")]),
        ("He is a nonsmoker.", [("never-smoker", "present"), ("smoking", "ruled-out")]),
        ("Afebrile seizure.", [("seizure", "present")]),
        ("If he is afebrile, he can go.", [("afebrile", "hypothetical")]),
        ("He was not afebrile.", [("afebrile", "ruled-out")]),
        ("Nobody afebrile was seen; his mother was febrile.", [("afebrile", "ruled-out"), ("fever", "family")]),
    ],
)
def test_what_a_name_rules_out(text: str, expected: list[tuple[str, str]]) -> None:
    assert read(text) == expected


def test_what_is_denied_is_known() -> None:
    concepts = shipped_concepts()
    assert all(item in concepts for concept, others in denied().items() for item in (concept, *others))
