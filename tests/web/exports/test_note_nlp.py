"""Rows of NOTE_NLP: the columns, types and lengths of OMOP's Common Data Model 5.4."""

import csv
import io
import re

import pytest
from made_cohort import DAY, export, lexicon_of, patient, said

from mappings.clinical.cue_rules import ASSERTIONS
from web.exports.note_nlp import as_note_nlp, snippet

# name: (required, is a whole number, most characters)
SPECIFIED = {
    "note_nlp_id": (True, True, None),
    "note_id": (True, True, None),
    "section_concept_id": (False, True, None),
    "snippet": (False, False, 250),
    "offset": (False, False, 50),
    "lexical_variant": (True, False, 250),
    "note_nlp_concept_id": (False, True, None),
    "note_nlp_source_concept_id": (False, True, None),
    "nlp_system": (False, False, 250),
    "nlp_date": (True, False, 10),
    "nlp_datetime": (False, False, 19),
    "term_exists": (False, False, 1),
    "term_temporal": (False, False, 50),
    "term_modifiers": (False, False, 2000),
}


def read(patients, wanted):
    table = list(csv.DictReader(io.StringIO("".join(as_note_nlp(iter(patients), wanted)))))
    for row in table:
        assert list(row) == list(SPECIFIED)
        for name, (required, whole, length) in SPECIFIED.items():
            assert row[name] or not required, name
            assert not whole or (re.fullmatch(r"\d{1,10}", row[name]) and int(row[name]) < 2**31), name
            assert length is None or len(row[name]) <= length, name
    return table


def one(item, wanted):
    (row,) = read([patient("p1", ("met", item))], wanted)
    return row


def test_a_row_as_the_model_specifies_it(tmp_path):
    codes = ("C1", "233604007|1", "J18.9", "", "255848")
    lexicon = lexicon_of(tmp_path, ("pneumonia", "pneumonia", "", "", "", *codes))
    row = one(said("Right pneumonia, new.", "pneumonia", "pneumonia", document="77"), export(lexicon=lexicon))
    assert row == {
        "note_nlp_id": "1",
        "note_id": "77",
        "section_concept_id": "0",
        "snippet": "Right pneumonia, new.",
        "offset": "",
        "lexical_variant": "pneumonia",
        "note_nlp_concept_id": "255848",
        "note_nlp_source_concept_id": "0",
        "nlp_system": "Medley 1",
        "nlp_date": DAY.isoformat(),
        "nlp_datetime": "",
        "term_exists": "Y",
        "term_temporal": "present",
        "term_modifiers": "negation=false,subject=patient,uncertain=false,conditional=false,history=false,document=77,"
        "patient=p1,concept=pneumonia,UMLS=C1,SNOMED CT=233604007,SNOMED CT=1,ICD-10=J18.9,"
        "passage_number=0,passage_offset=16",
    }


@pytest.mark.parametrize(
    ("assertion", "exists", "temporal", "modifier"),
    [
        ("present", "Y", "present", "negation=false,subject=patient,uncertain=false,conditional=false,history=false"),
        ("ruled-out", "N", "present", "negation=true,subject=patient,uncertain=false,conditional=false,history=false"),
        ("uncertain", "N", "present", "negation=false,subject=patient,uncertain=true,conditional=false,history=false"),
        (
            "hypothetical",
            "N",
            "present",
            "negation=false,subject=patient,uncertain=false,conditional=true,history=false",
        ),
        ("historical", "Y", "past", "negation=false,subject=patient,uncertain=false,conditional=false,history=true"),
        ("family", "N", "present", "negation=false,subject=family,uncertain=false,conditional=false,history=false"),
    ],
)
def test_what_is_asserted_is_told_by_flag_time_and_modifiers(assertion, exists, temporal, modifier):
    row = one(said("Pneumonia.", "Pneumonia", "pneumonia", assertion), export())
    assert (row["term_exists"], row["term_temporal"]) == (exists, temporal)
    assert row["term_modifiers"].startswith(f"{modifier},document=n1,patient=p1,concept=pneumonia")


def test_every_assertion_has_a_row():
    assert set(ASSERTIONS) == {"present", "ruled-out", "uncertain", "hypothetical", "historical", "family"}


@pytest.mark.parametrize("name", ["n1", "0", "007", "2147483648", "12345678901", "-5", "1.0", "\u0663"])
def test_an_id_that_no_note_of_omop_can_have_is_in_the_modifiers_only(name):
    row = one(said("Pneumonia.", "Pneumonia", "pneumonia", document=name), export())
    assert row["note_id"] == "0"
    assert "document=" in row["term_modifiers"]


def test_the_largest_id_is_kept():
    assert one(said("Pneumonia.", "Pneumonia", "pneumonia", document="2147483647"), export())["note_id"] == "2147483647"


def test_separators_in_an_id_do_not_make_another_modifier():
    row = one(said("Pneumonia.", "Pneumonia", "pneumonia", document="a,negation=true"), export())
    assert "document=a%2Cnegation%3Dtrue," in row["term_modifiers"]
    assert row["term_modifiers"].count("negation=true") == 0


def test_long_texts_are_cut_around_the_mention():
    text = "x" * 400 + " pneumonia " + "y" * 400
    row = one(said(text, "pneumonia", "pneumonia", document="d" * 500), export())
    assert len(row["snippet"]) == 250
    assert 100 < row["snippet"].index("pneumonia") < 140
    whole = said("p" * 300, "p" * 300, "pneumonia")
    assert one(whole, export())["lexical_variant"] == "p" * 250
    assert snippet(whole) == "p" * 250
    assert snippet(said("pneumonia " + "y" * 400, "pneumonia", "pneumonia")).startswith("pneumonia y")
    assert snippet(said("y" * 400 + " pneumonia", "pneumonia", "pneumonia")).endswith("y pneumonia")


def test_a_mention_is_one_row_however_many_criteria_it_speaks_of():
    found = said("Pneumonia.", "Pneumonia", "pneumonia")
    other = said("Pneumonia and fever.", "fever", "fever")
    patients = [patient("p1", ("met", found), ("met", found, other), ("not-mentioned",)), patient("p2", ("met", other))]
    table = read(patients, export())
    assert [(row["note_nlp_id"], row["lexical_variant"]) for row in table] == [
        ("1", "Pneumonia"),
        ("2", "fever"),
        ("3", "fever"),
    ]


@pytest.mark.parametrize("lead", ["=", "+", "-", "@", "\t=", "\r\n-", " \n@ +"])
def test_no_snippet_is_a_formula(lead):
    row = one(said(f"{lead} HYPERLINK pneumonia", "pneumonia", "pneumonia"), export())
    assert row["snippet"] == "HYPERLINK pneumonia"
    assert one(said("=x", "=x", "pneumonia"), export())["lexical_variant"] == "'=x"


def test_words_alone_are_no_term_and_a_concept_that_left_the_lexicon_keeps_its_id():
    words = said("Night sweats.", "Night sweats", "")
    gone = said("Old thing.", "thing", "gone-concept")
    (row,) = read([patient("p1", ("met", words, gone))], export(invented=True))
    assert "concept=gone-concept,invented=true," in row["term_modifiers"]
