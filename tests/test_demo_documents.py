"""The demo collections are what their README says: valid, varied, labelled, and judged on documents that exist."""

import json
import re
from collections import Counter, defaultdict
from datetime import date
from itertools import combinations
from pathlib import Path

import pytest

from mappings.analysis.abbreviations import defined
from mappings.analysis.words import terms
from mappings.collection import load
from mappings.documents import Document
from mappings.formats.registry import read

DEMO = Path(__file__).parents[1] / "web" / "demo"
NEGATION = re.compile(r"\b(?:no|not|without|denies|neither|negative for)\b", re.IGNORECASE)
UNCERTAINTY = re.compile(r"cannot be excluded|difficult to exclude|probably|possible|likely|suspected", re.IGNORECASE)
NOTE_ABBREVIATIONS = ("SOB", "HTN", "CHF", "s/p", "c/o", "DVT", "NKDA", "LOC")
NOTE_TYPES = {
    "Emergency note",
    "Discharge summary",
    "Operative note",
    "Radiology report",
    "Consultation",
    "Progress note",
}


def _documents(name: str) -> dict[str, Document]:
    items = list(read(DEMO / f"{name}.jsonl", "jsonl", load(name)))
    assert [item for item in items if not isinstance(item, Document)] == []
    return {item.id: item for item in items if isinstance(item, Document)}


def _text(document: Document) -> str:
    return " ".join([document.title, *(f"{section.heading} {section.text}" for section in document.sections)])


DOCUMENTS = {name: _documents(name) for name in ("abstracts", "notes")}
QUERIES = json.loads((DEMO / "queries.json").read_text(encoding="utf-8"))
EVERY = [document for documents in DOCUMENTS.values() for document in documents.values()]


@pytest.mark.parametrize("name", ["abstracts", "notes"])
def test_every_record_is_valid_and_no_id_is_used_twice(name):
    lines = (DEMO / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(DOCUMENTS[name]) == len(lines) >= 60
    assert all(re.fullmatch(rf"demo-{name[0]}\d{{3}}", identifier) for identifier in DOCUMENTS[name])


@pytest.mark.parametrize(("name", "low", "high"), [("abstracts", 120, 260), ("notes", 80, 350)])
def test_texts_are_as_long_as_real_ones(name, low, high):
    lengths = {
        document.id: len(" ".join(f"{part.heading} {part.text}" for part in document.sections).split())
        for document in DOCUMENTS[name].values()
    }
    assert {key: size for key, size in lengths.items() if not low <= size <= high} == {}


def test_every_field_of_the_records_is_known_to_its_collection():
    own = {"id", "title", "text", "sections", "labels"}
    for name in DOCUMENTS:
        lines = (DEMO / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
        assert {key for line in lines for key in json.loads(line)} - own <= set(load(name).fields)


def test_abstracts_are_dated_public_and_mostly_structured():
    abstracts = DOCUMENTS["abstracts"].values()
    assert {document.labels for document in abstracts} == {frozenset({"public"})}
    for document in abstracts:
        published = document.fields["published"]
        assert isinstance(published, date)
        assert document.fields["year"] == published.year
    structured = sum(len(document.sections) >= 3 for document in abstracts)
    assert 0 < len(DOCUMENTS["abstracts"]) - structured < structured
    assert len({document.fields["journal"] for document in abstracts}) >= 10


def test_notes_carry_labels_by_their_specialty():
    for document in DOCUMENTS["notes"].values():
        psychiatric = document.fields["specialty"] == "Psychiatry"
        assert (document.labels == {"clinical-psychiatry"}) == psychiatric, document.id
        assert psychiatric or document.labels in ({"clinical"}, {"clinical", "research"}), document.id
    counts = Counter(document.labels for document in DOCUMENTS["notes"].values())
    assert counts[frozenset({"clinical"})] > len(DOCUMENTS["notes"]) / 2
    assert min(counts[frozenset({"clinical", "research"})], counts[frozenset({"clinical-psychiatry"})]) >= 4


def test_every_patient_has_several_notes_on_several_days():
    by_patient = defaultdict(list)
    for document in DOCUMENTS["notes"].values():
        by_patient[document.fields["patient"]].append(document)
    assert len(by_patient) >= 18
    for patient, notes in by_patient.items():
        assert len(notes) >= 2, patient
        assert len({note.fields["date"] for note in notes}) >= 2, patient
        assert all(str(note.fields["encounter"]).startswith(f"E-{str(patient)[2:]}-") for note in notes), patient


def test_notes_are_of_many_types_and_the_splitter_finds_their_headings():
    assert {document.fields["type"] for document in DOCUMENTS["notes"].values()} >= NOTE_TYPES
    assert [document.id for document in DOCUMENTS["notes"].values() if len(document.sections) < 2] == []
    raw = [json.loads(line) for line in (DEMO / "notes.jsonl").read_text(encoding="utf-8").splitlines()]
    run_together = [record["id"] for record in raw if "\n" not in record["text"]]
    assert len(run_together) >= 5
    assert all(len(DOCUMENTS["notes"][identifier].sections) >= 4 for identifier in run_together)


@pytest.mark.parametrize("name", ["abstracts", "notes"])
def test_most_documents_deny_something(name):
    denying = [document.id for document in DOCUMENTS[name].values() if NEGATION.search(_text(document))]
    assert len(denying) > 0.8 * len(DOCUMENTS[name])


def test_notes_hold_uncertainty_laterality_and_abbreviations():
    texts = [_text(document) for document in DOCUMENTS["notes"].values()]
    assert sum(bool(UNCERTAINTY.search(text)) for text in texts) >= 30
    assert sum(bool(re.search(r"\b(?:left|right|bilateral)", text, re.IGNORECASE)) for text in texts) >= 50
    everything = " ".join(texts)
    assert [short for short in NOTE_ABBREVIATIONS if short not in everything] == []


def test_abstracts_define_their_abbreviations():
    pairs = [defined(section.text) for document in DOCUMENTS["abstracts"].values() for section in document.sections]
    assert {short: long for found in pairs for short, long in found.items()}["CPAP"] == (
        "continuous positive airway pressure"
    )
    assert sum(map(bool, pairs)) >= 60


def test_no_document_is_nearly_another():
    shingles = {document.id: _shingles(_text(document)) for document in EVERY}
    holders = defaultdict(list)
    for identifier, found in shingles.items():
        for shingle in found:
            holders[shingle].append(identifier)
    shared = Counter(pair for holding in holders.values() for pair in combinations(holding, 2))
    sizes = {identifier: len(found) for identifier, found in shingles.items()}
    alike = {pair: count / (sizes[pair[0]] + sizes[pair[1]] - count) for pair, count in shared.items()}
    assert {pair: share for pair, share in alike.items() if share > 0.1} == {}


def _shingles(text: str, size: int = 3) -> set[tuple[str, ...]]:
    words = text.lower().split()
    return {tuple(words[start : start + size]) for start in range(len(words) - size + 1)}


def test_every_query_is_judged_on_documents_that_exist():
    for query in QUERIES:
        assert set(query) in (
            {"kind", "text", "relevant", "try"},
            {"kind", "entity", "aspect", "relevant", "try"},
        )
        assert query["relevant"], query
        assert len(set(query["relevant"])) == len(query["relevant"])
        assert set(query["relevant"]) <= DOCUMENTS[query["kind"]].keys(), query


def test_there_are_enough_queries_and_a_few_to_try_for_each_collection():
    assert len(QUERIES) >= 30
    assert Counter(query["kind"] for query in QUERIES if query["try"]) == {"abstracts": 4, "notes": 5}
    texts = [query.get("text") or f"{query['entity']} | {query['aspect']}" for query in QUERIES]
    assert len(set(texts)) == len(texts)


def test_some_claims_meet_studies_on_both_sides():
    pairs = [query for query in QUERIES if query["kind"] == "abstracts" and len(query["relevant"]) > 1]
    assert len(pairs) >= 8


def test_headlines_are_not_their_studies_titles_over_again():
    for query in (query for query in QUERIES if query["kind"] == "abstracts"):
        title = set(terms(DOCUMENTS["abstracts"][query["relevant"][0]].title))
        words = set(terms(query["text"]))
        assert len(words & title) <= 0.6 * len(words), query["text"]


def test_no_document_names_a_link_or_a_real_record():
    real = re.compile(r"https?://|@|\bdoi\b|\bPMID\b|\bMRN\b", re.IGNORECASE)
    assert [document.id for document in EVERY if real.search(_text(document))] == []
