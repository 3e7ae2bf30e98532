"""The CSV of a cohort: one line for each sentence, and nothing that a spreadsheet would run."""

import csv
import io
from datetime import date

import pytest
from made_cohort import export, patient, said

from search.cohorts.definition import CohortCriterion
from search.query import Range, Terms
from web.citations.citation import INVENTED
from web.exports.evidence_table import EVIDENCE_COLUMNS, as_evidence_table

HEAD = ["patient", "date", "type", "criterion", "standing", "assertion", "document", "sentence", "note"]


def rows(patients, wanted):
    return list(csv.reader(io.StringIO("".join(as_evidence_table(iter(patients), wanted)))))


def test_every_sentence_is_a_line_and_what_nobody_mentions_has_one_too():
    wanted = export(CohortCriterion("pneumonia", "pneumonia"), CohortCriterion("fever", "fever", "ruled-out"))
    patients = [
        patient(
            "p1",
            ("met", said("Pneumonia of the left lung.", "Pneumonia", "pneumonia")),
            ("met", said("No fever,\nno chills.", "fever", "fever", "ruled-out", date=None, document="n2")),
        ),
        patient("p2", ("ruled-out", said("No pneumonia.", "pneumonia", "pneumonia", "ruled-out")), ("not-mentioned",)),
    ]
    assert rows(patients, wanted) == [
        HEAD,
        *(
            ["p1", "2024-05-06", "Radiology", "pneumonia", "met", "present", "n1", "Pneumonia of the left lung.", ""],
            ["p1", "", "Radiology", "ruled-out: fever", "met", "ruled-out", "n2", "No fever, no chills.", ""],
            ["p2", "2024-05-06", "Radiology", "pneumonia", "ruled-out", "ruled-out", "n1", "No pneumonia.", ""],
            ["p2", "", "", "ruled-out: fever", "not-mentioned", "", "", "", ""],
        ),
    ]


def test_an_export_of_nobody_is_its_header():
    assert rows([], export()) == [HEAD] == [list(EVIDENCE_COLUMNS)]


@pytest.mark.parametrize(
    "lead", ["=", "+", "-", "@", "\t=", "\r=", "\n=", "  =", " \n\t-", "\u00a0@", "\uff1d", "\ufeff=", "\u200b ="]
)
def test_no_cell_is_a_formula(lead):
    bad = f"{lead}HYPERLINK(1)"
    found = said(f"{bad} pneumonia", "pneumonia", "pneumonia", document=bad.strip(), type=bad)
    table = rows([patient(bad, ("met", found))], export(CohortCriterion(bad, "pneumonia")))
    cells = [cell for cell in table[1] if "HYPERLINK" in cell]
    assert len(cells) == 5
    assert {cell[0] for cell in cells} == {"'"}


def test_a_criterion_is_written_with_all_that_it_asks_for():
    criterion = CohortCriterion(
        "", "breast-cancer", "family", "", (Terms("type", ("Radiology", "Discharge")), Range("age", 18, None)),
        date(2020, 1, 1), date(2021, 1, 1), 30, 1,
    )  # fmt: skip
    wanted = export(criterion, CohortCriterion(words="night sweats"))
    named = [wanted.named(item) for item in wanted.definition.criteria]
    assert named == [
        "family: breast cancer, type Radiology or Discharge, age 18.., since 2020-01-01, until 2021-01-01, "
        "within 30 days of criterion 2",
        "night sweats",
    ]


def test_invented_documents_are_said_to_be():
    table = rows([patient("p1", ("not-mentioned",))], export(invented=True))
    assert table[1][-1] == INVENTED


def test_patients_are_written_one_by_one():
    taken = []

    def endless():
        while True:
            taken.append(1)
            yield patient("p1", ("not-mentioned",))

    pieces = as_evidence_table(endless(), export())
    next(pieces), next(pieces)
    assert len(taken) == 1
