from __future__ import annotations

from pathlib import Path

import pytest
from clinical_lexicon import FINDINGS, small_lexicon, write

from mappings.clinical.concepts import ConceptLexicon, ShortForm, load_concepts
from mappings.errors import InvalidInput, NotFound


def test_a_concept_has_names_parents_group_and_abbreviations(tmp_path: Path) -> None:
    concept = small_lexicon(tmp_path).get("pneumonia")
    assert (concept.name, concept.group, concept.parents) == ("pneumonia", "findings", ("lung-disease",))
    assert concept.names == ("pneumonia", "lung infection")
    assert concept.abbreviations == (ShortForm("PNA"),)


def test_ancestors_are_nearest_first(tmp_path: Path) -> None:
    lexicon = small_lexicon(tmp_path)
    assert lexicon.ancestors("lobar-pneumonia") == ("pneumonia", "lung-disease")
    assert lexicon.ancestors("fever") == ()


def test_concepts_are_found_by_name_in_any_case(tmp_path: Path) -> None:
    lexicon = small_lexicon(tmp_path)
    assert lexicon.named("LUNG  infection") == lexicon.get("pneumonia")
    assert lexicon.named("PNA") == lexicon.get("pneumonia")
    assert lexicon.named("MS") is None
    assert lexicon.named("nothing") is None


def test_an_unknown_id_is_not_found(tmp_path: Path) -> None:
    lexicon = small_lexicon(tmp_path)
    for ask in (lexicon.get, lexicon.ancestors):
        with pytest.raises(NotFound, match="there is no concept 'nothing'"):
            ask("nothing")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("fever\tpyrexia", "the id 'fever' is already in"),
        ("pyrexia\tpyrexia\tsymptom\t\t", "the parent 'symptom' of 'pyrexia' does not exist"),
        ("pyrexia\tpyrexia\tpyrexia\t\t", "'pyrexia' is among its own parents' parents"),
        ("pyrexia\tpyrexia\t\tFebrile\t", "the name 'Febrile' also belongs to 'fever'"),
        ("pyrexia\tpyrexia\t\t\tPNA", "the name 'PNA' also belongs to 'pneumonia'"),
        ("pyrexia\tpyrexia\t\thot||warm\t", "'pyrexia' has an empty name"),
        ("pyrexia\t+++\t\t\t", "'pyrexia' has an empty name"),
        ("Pyrexia\tpyrexia\t\t\t", "the id 'Pyrexia' must be lowercase"),
        ("pyrexia", "a row has 2 to 5 columns"),
        ("pyrexia\tpyrexia\t\t\t\tmore", "a row has 2 to 5 columns, separated by tabs; this one has 6"),
    ],
)
def test_a_bad_row_is_named_with_file_and_line(tmp_path: Path, row: str, message: str) -> None:
    own = tmp_path / "own.tsv"
    own.write_text(f"# mine\n{row}\n", encoding="utf-8")
    with pytest.raises(InvalidInput, match=message) as raised:
        load_concepts(own, folder=write(tmp_path / "concepts"))
    assert f"{own}:2" in raised.value.message


def test_a_cycle_over_several_concepts_is_an_error(tmp_path: Path) -> None:
    rows = ("a\ta one\tc\t\t", "b\tb two\ta\t\t", "c\tc three\tb\t\t")
    with pytest.raises(InvalidInput, match="among its own parents' parents"):
        load_concepts(folder=write(tmp_path, rows, ()))


def test_a_file_saved_by_a_spreadsheet_is_read(tmp_path: Path) -> None:
    own = tmp_path / "own.tsv"
    header = "id\tpreferred name\tparents\tsynonyms\tabbreviations"
    own.write_bytes(f"{header}\r\nward-fever\tward fever\tfever\t\t\r\n".encode("utf-8-sig"))
    assert load_concepts(own, folder=write(tmp_path / "concepts")).get("ward-fever").parents == ("fever",)


def test_signs_of_a_name_are_no_patterns(tmp_path: Path) -> None:
    own = tmp_path / "own.tsv"
    own.write_text("signs\tward.*(fever)+[x]?\tfever\ta{1,3}b|C++ sign\t\n", encoding="utf-8")
    lexicon = load_concepts(own, folder=write(tmp_path / "concepts"))
    assert [lexicon.named(name) is not None for name in ("C++ sign", "a{1,3}b", "aab", "ward xx fever")] == [
        True,
        True,
        False,
        False,
    ]


def test_an_own_file_can_have_codes(tmp_path: Path) -> None:
    own = tmp_path / "own.tsv"
    own.write_text(
        "id\tpreferred name\tparents\tsynonyms\tabbreviations\tICD-10\tsnomed ct\n"
        "ward-fever\tward fever\tfever\t\t\tR50.9|R50.8\t386661006\n",
        encoding="utf-8",
    )
    concept = load_concepts(own, folder=write(tmp_path / "concepts")).get("ward-fever")
    assert concept.codes == {"ICD-10": ("R50.9", "R50.8"), "SNOMED CT": ("386661006",)}
    assert (concept.group, concept.parents) == ("own", ("fever",))


def coded(tmp_path: Path, *rows: str) -> ConceptLexicon:
    own = tmp_path / "own.tsv"
    header = "id\tpreferred name\tparents\tsynonyms\tabbreviations\tICD-10\tWikidata"
    own.write_text("\n".join((header, *rows)), encoding="utf-8")
    return load_concepts(own, folder=write(tmp_path / "concepts"))


def test_a_row_with_codes_alone_gives_them_to_a_concept_that_is_there(tmp_path: Path) -> None:
    lexicon = coded(tmp_path, "fever\tfever\t\t\t\tR50|R50.9", "fever\tfever\t-\t\t\tR50.2\tQ38933")
    fever = lexicon.get("fever")
    assert fever.codes == {"ICD-10": ("R50", "R50.9", "R50.2"), "Wikidata": ("Q38933",)}
    assert (fever.group, fever.names) == ("findings", ("fever", "febrile"))
    assert len(lexicon) == len(load_concepts(folder=tmp_path / "concepts"))


@pytest.mark.parametrize("row", ["fever\tfevers\t\t\t\tR50", "fever\tfever\t\tfebris\t\tR50", "fever\tfever\t\t\t\t"])
def test_any_other_row_with_a_known_id_is_an_error(tmp_path: Path, row: str) -> None:
    with pytest.raises(InvalidInput, match="the id 'fever' is already in"):
        coded(tmp_path, row)


def test_a_code_names_its_concept_unless_several_have_it(tmp_path: Path) -> None:
    rows = ("fever\tfever\t\t\t\tR50.9|J18", "pneumonia\tpneumonia\t\t\t\tJ18|J18.9\tQ12192", "odd\tR50.9\t\t\t\tX1")
    lexicon = coded(tmp_path, *rows)
    for text in ("j18.9", "ICD-10:J18.9", " icd-10:j18.9 ", "Q12192", "Wikidata:Q12192"):
        assert lexicon.named(text) is lexicon.coded(text) is lexicon.get("pneumonia")
    for text in ("J18", "ICD-10:J18", "J18.", "Wikidata:J18.9", "", "pneumonia"):
        assert lexicon.coded(text) is None
    assert lexicon.named("R50.9") is lexicon.get("odd")  # a name comes before a code
    assert lexicon.coded("R50.9") is lexicon.get("fever")


@pytest.mark.parametrize(
    "header", ["id\tname", "id\tsynonyms", "id\tpreferred name\tparents\tsynonyms\tabbreviations\tLOINC"]
)
def test_a_header_with_other_columns_is_an_error(tmp_path: Path, header: str) -> None:
    own = tmp_path / "own.tsv"
    own.write_text(f"{header}\nx\tx ray\n", encoding="utf-8")
    with pytest.raises(InvalidInput, match="the columns are id, preferred name"):
        load_concepts(own, folder=write(tmp_path / "concepts"))


def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="cannot be read"):
        load_concepts(tmp_path / "none.tsv", folder=write(tmp_path / "concepts"))


def test_signs_of_regular_expressions_are_plain_text(tmp_path: Path) -> None:
    rows = (*FINDINGS, "odd\tvitamin B(12+)* [deficiency]\t\t.*\u00e9\t")
    assert load_concepts(folder=write(tmp_path, rows)).get("odd").names[1] == ".*\u00e9"


def test_the_shipped_lexicon_has_no_mistake() -> None:
    for concept in load_concepts():
        assert concept.names[0] == concept.name


@pytest.mark.parametrize(
    ("file", "group"),
    [("diagnoses", "diagnoses"), ("diagnoses-heart", "diagnoses"), ("drug-classes", "drug-classes"), ("mine", "mine")],
)
def test_the_group_is_in_the_name_of_the_file(tmp_path: Path, file: str, group: str) -> None:
    own = tmp_path / f"{file}.tsv"
    own.write_text("gout\tgout\n", encoding="utf-8")
    assert load_concepts(own, folder=write(tmp_path / "concepts")).get("gout").group == group
