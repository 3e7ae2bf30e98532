"""Citations as reference managers read them."""

import csv
import io
from datetime import date

import rispy
from hypothesis import given, settings
from hypothesis import strategies as st

from mappings.documents import Document, Section
from web import citations

TRIAL = Document(
    id="pmid/123",
    title="Statins & 50% of α_1 {trials}",
    sections=(Section("BACKGROUND", "Lines\nbreak."), Section("", "More $.")),
    labels=frozenset({"public"}),
    fields={
        "year": 2015.0,
        "journal": "Heart\\Lung",
        "source": ("a", "b"),
        "pmid": "123",
        "published": date(2015, 3, 1),
    },
)
PLAIN = Document(id="note 7", title="", sections=(Section("", "=cmd()"),), fields={"date": date(2020, 1, 2)})


def cite(*documents):
    return [citations.citation(document, "abstracts") for document in documents]


def test_ris_reads_back():
    first, second = rispy.loads(citations.as_ris(cite(TRIAL, PLAIN)))
    assert first == {
        "type_of_reference": "JOUR",
        "title": "Statins & 50% of α_1 {trials}",
        "journal_name": "Heart\\Lung",
        "year": "2015",
        "abstract": "BACKGROUND: Lines break. More $.",
        "accession_number": "123",
        "name_of_database": "a; b",
        "id": "pmid/123",
    }
    assert second == {
        "type_of_reference": "GEN",
        "year": "2020",
        "abstract": "=cmd()",
        "name_of_database": "abstracts",
        "id": "note 7",
    }


def test_bibtex_is_escaped():
    assert citations.as_bibtex(cite(TRIAL)) == (
        "@article{pmid-123,\n"
        "  title = {{Statins \\& 50\\% of α\\_1 \\{trials\\}}},\n"
        "  journal = {Heart\\textbackslash{}Lung},\n"
        "  year = {2015},\n"
        "  abstract = {BACKGROUND: Lines break. More \\$.},\n"
        "  note = {abstracts: pmid/123},\n"
        "}\n"
    )


def test_bibtex_keys_are_unique():
    documents = [Document(id=name, title="t", sections=()) for name in ("a/1", "a 1", "ä", "心")]
    keys = [
        line.split("{")[1].rstrip(",")
        for line in citations.as_bibtex(cite(*documents)).splitlines()
        if line.startswith("@")
    ]
    assert keys == ["a-1", "a-1-2", "a", "document"]


def test_csv_has_a_line_each_and_runs_nothing():
    rows = list(csv.DictReader(io.StringIO(citations.as_csv(cite(TRIAL, PLAIN)))))
    assert rows[0] == {
        "id": "pmid/123",
        "title": TRIAL.title,
        "year": "2015",
        "journal": "Heart\\Lung",
        "source": "a; b",
        "pmid": "123",
        "doi": "",
        "collection": "abstracts",
        "abstract": "BACKGROUND: Lines break. More $.",
        "note": "",
    }
    assert rows[1]["abstract"] == "'=cmd()"


@given(st.text(min_size=1, max_size=60))
@settings(max_examples=60)
def test_braces_stay_balanced_and_ris_keeps_one_record(title):
    document = Document(id="x", title=f"t {title}", sections=())
    written = citations.as_bibtex(cite(document)).replace("\\{", "").replace("\\}", "")
    assert written.count("{") == written.count("}")
    assert len(rispy.loads(citations.as_ris(cite(document)))) == 1
