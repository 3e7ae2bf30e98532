"""A dossier as RIS, BibTeX, CSV, JSON and ClaimReview."""

import csv
import io
import json

import pytest
import rispy

from mappings.dossiers.parse import parse_dossier
from mappings.errors import InvalidInput
from search.kept.items import KeptItem
from web.citations.citation import INVENTED
from web.dossiers.exports import DOSSIER_FORMATS, EVIDENCE_TABLE_COLUMNS, dossier_format
from web.dossiers.use_cases import OpenDossier

CITED = {"authors": ["Otter, Ann", "The Group"], "journal": "Brain", "year": "2018", "doi": "10.1000/x", "pmid": "7"}
TRIAL = {"number": 1, "collection": "abstracts", "document": "pm/2", "title": "Aspirin", "quote": "It helped."}
TRIAL |= {"stance": "supports", "probability": 0.931, "note": "Small.", "citation": CITED, "labels": ["public"]}
COPY = {name: value for name, value in TRIAL.items() if name != "note"}
COPY |= {"collection": "articles", "document": "pmc/9", "quote": "=It helped.", "number": 2}
INVENTED_TRIAL = {
    "number": 3,
    "collection": "demo",
    "document": "d1",
    "title": "Otters",
    "quote": "No.",
    "invented": True,
}
WITHHELD = {"number": 4, "withheld": True}
CONTENT = {
    "claims": [
        {
            "number": 1,
            "text": "Aspirin prevents strokes",
            "verdict": "mostly true",
            "notes": "@notes\nmore",
            "source": "https://news.example/1",
            "evidence": [TRIAL],
        },
        {"number": 2, "text": "阿司匹林", "verdict": "unrated", "evidence": [COPY, INVENTED_TRIAL, WITHHELD]},
        {"number": 3, "text": "=HYPERLINK(1)", "verdict": "unproven", "evidence": []},
    ],
    "history": [{"at": "2026-03-01T09:30:00+00:00", "by": "ada", "what": "created the dossier"}],
}
MOMENT = 1_772_357_400_000_000


@pytest.fixture
def opened():
    item = KeptItem("0" * 16, "ada", "dossier", "Week 12", CONTENT, "", frozenset(), 4, MOMENT, MOMENT)
    return OpenDossier(item, parse_dossier(CONTENT), True)


def written(opened, name):
    return DOSSIER_FORMATS[name].write(opened)


def test_ris_has_a_study_once_with_a_note_for_each_claim(opened):
    assert rispy.loads(written(opened, "ris")) == [
        {
            "type_of_reference": "JOUR",
            "authors": ["Otter, Ann", "The Group"],
            "title": "Aspirin",
            "alternate_title3": "Brain",
            "journal_name": "Brain",
            "year": "2018",
            "doi": "10.1000/x",
            "accession_number": "7",
            "urls": ["https://pubmed.ncbi.nlm.nih.gov/7/"],
            "name_of_database": "abstracts",
            "id": "pm/2",
            "notes": [
                "Claim: Aspirin prevents strokes (verdict: mostly true). Quote: It helped. Note: Small.",
                "Claim: 阿司匹林 (verdict: unrated). Quote: =It helped.",
            ],
        },
        {
            "type_of_reference": "GEN",
            "title": "Otters",
            "name_of_database": "demo",
            "id": "d1",
            "notes": [INVENTED, "Claim: 阿司匹林 (verdict: unrated). Quote: No."],
        },
    ]


def test_bibtex_has_each_study_once(opened):
    text = written(opened, "bibtex")
    assert text.count("@article{pm-2,") == 1
    assert text.count("@misc{d1,") == 1
    assert "Claim: Aspirin prevents strokes (verdict: mostly true)" in text


def test_csv_has_a_line_for_each_piece_of_evidence_and_no_formula(opened):
    rows = list(csv.DictReader(io.StringIO(written(opened, "csv"))))
    empty = dict.fromkeys(EVIDENCE_TABLE_COLUMNS, "")
    study = {"authors": "Otter, Ann; The Group", "journal": "Brain", "year": "2018", "doi": "10.1000/x", "pmid": "7"}
    reading = {"stance": "supports", "probability": "0.93", "title": "Aspirin"}
    first = {"claim": "Aspirin prevents strokes", "verdict": "mostly true", "notes": "'@notes more"}
    second = empty | {"claim": "阿司匹林", "verdict": "unrated"}
    assert rows == [
        empty
        | first
        | study
        | reading
        | {"source": "https://news.example/1", "quote": "It helped.", "evidence_note": "Small."}
        | {"collection": "abstracts", "document": "pm/2"},
        second | study | reading | {"quote": "'=It helped.", "collection": "articles", "document": "pmc/9"},
        second | {"title": "Otters", "quote": "No.", "collection": "demo", "document": "d1", "remark": INVENTED},
        empty | {"claim": "'=HYPERLINK(1)", "verdict": "unproven"},
    ]


def test_json_is_the_whole_dossier(opened):
    assert json.loads(written(opened, "json")) == {
        "id": "0" * 16,
        "name": "Week 12",
        "owner": "ada",
        "revision": 4,
        "created": "2026-03-01T09:30:00.000+00:00",
        "changed": "2026-03-01T09:30:00.000+00:00",
        **CONTENT,
    }


def test_claim_reviews_are_of_the_claims_with_a_verdict(opened):
    assert json.loads(written(opened, "claimreview")) == {
        "@context": "https://schema.org",
        "@graph": [
            {
                "@type": "ClaimReview",
                "claimReviewed": "Aspirin prevents strokes",
                "datePublished": "2026-03-01",
                "author": {"@type": "Person", "name": "ada"},
                "reviewRating": {"@type": "Rating", "alternateName": "mostly true"},
                "itemReviewed": {
                    "@type": "Claim",
                    "text": "Aspirin prevents strokes",
                    "appearance": {"@type": "CreativeWork", "url": "https://news.example/1"},
                },
                "reviewBody": "@notes\nmore",
                "citation": [
                    {
                        "@type": "ScholarlyArticle",
                        "name": "Aspirin",
                        "author": [{"@type": "Person", "name": "Otter, Ann"}, {"@type": "Person", "name": "The Group"}],
                        "datePublished": "2018",
                        "isPartOf": {"@type": "Periodical", "name": "Brain"},
                        "url": "https://pubmed.ncbi.nlm.nih.gov/7/",
                        "identifier": [
                            {"@type": "PropertyValue", "propertyID": "doi", "value": "10.1000/x"},
                            {"@type": "PropertyValue", "propertyID": "pmid", "value": "7"},
                        ],
                    }
                ],
            },
            {
                "@type": "ClaimReview",
                "claimReviewed": "=HYPERLINK(1)",
                "datePublished": "2026-03-01",
                "author": {"@type": "Person", "name": "ada"},
                "reviewRating": {"@type": "Rating", "alternateName": "unproven"},
                "itemReviewed": {"@type": "Claim", "text": "=HYPERLINK(1)"},
            },
        ],
    }


def test_json_that_is_pasted_into_a_page_closes_no_script(opened):
    claim = parse_dossier({"claims": [{"number": 1, "text": "</script><b>", "verdict": "false", "evidence": []}]})
    assert "</script>" not in written(OpenDossier(opened.item, claim, True), "claimreview")


def test_a_format_is_known():
    with pytest.raises(InvalidInput, match="known are ris, bibtex, csv, json, claimreview"):
        dossier_format("")


def test_no_text_of_a_program_begins_a_line_of_ris(opened):
    evidence = {"number": 1, "quote": "Q\nTY  - BOOK", "citation": {"journal": "J\nER  - ", "authors": ["A\nTY  - X"]}}
    evidence |= {"collection": "a\nTY  - BOOK", "document": "d\nER  - ", "title": "T\nTY  - BOOK", "note": "N\nER  - "}
    claim = {"number": 1, "text": "C\nTY  - BOOK", "evidence": [evidence]}
    text = written(OpenDossier(opened.item, parse_dossier({"claims": [claim]}), True), "ris")
    assert len(rispy.loads(text)) == 1
    assert sum(line.startswith(("TY", "ER")) for line in text.splitlines()) == 2
