"""Codes of UMLS, ICD-10 or Wikidata in the slots of a query: they stand for the concepts of the user's lexicon."""

from __future__ import annotations

import pytest

from mappings.bundles import TermBundle
from mappings.documents import Access, Document, Section
from search.bootstrap import Medley
from search.completion.completer import Completer
from search.completion.completions import CompletionRequest
from search.pipeline.search import search
from search.query import Query
from search.settings import Settings
from search.understanding.slots import read_slots
from search.understanding.understand import Understanding, understand
from workers.indexing.indexer import Indexer
from workers.indexing.ingest import ingest

EVERYBODY = Access("u", frozenset({"*"}))
ROWS = (
    "id\tpreferred name\tparents\tsynonyms\tabbreviations\tICD-10\tUMLS\tWikidata",
    "pulmonary-embolism\tpulmonary embolism\t\t\t\tI26.9\tC0034065\tQ220570",
    "gout\tgout\t\t\t\tM10",
)
NOTES = {
    "n1": "Pulmonary embolism of both sides. Heparin was begun.",
    "n2": "No pulmonary embolism. Gout of the left foot.",
    "n3": "Gout of the right foot, treated with colchicine.",
}


@pytest.fixture(scope="module")
def medley(tmp_path_factory: pytest.TempPathFactory) -> Medley:
    folder = tmp_path_factory.mktemp("coded")
    (folder / "lexicons").mkdir()
    (folder / "lexicons/codes.tsv").write_text("\n".join(ROWS), encoding="utf-8")
    settings = Settings(home=folder / "home", encoder="hashing-256", reranker="none", lexicons=folder / "lexicons")
    medley = Medley.open(settings)
    medley.collections.create("notes")
    made = [_note(name, text) for name, text in NOTES.items()]
    medley.collections.store("notes").put(made)
    assert [item.cause for item in ingest(Indexer.of(medley, "notes")) if item.cause] == []
    return medley


def _note(name: str, text: str) -> Document:
    fields = {"type": "Radiology", "patient": name}
    return Document(name, name, (Section("FINDINGS", text),), frozenset({"ward"}), fields)


def read(medley: Medley, **slots: object) -> Understanding:
    reader = medley.collections.reader("notes")
    return understand(Query("notes", EVERYBODY, **slots), {}, reader)  # type: ignore[arg-type]


@pytest.mark.parametrize("code", ["I26.9", "i26.9", "ICD-10:I26.9", "C0034065", "Q220570", " Wikidata:Q220570 "])
def test_a_code_as_the_entity_is_searched_as_its_name(medley: Medley, code: str) -> None:
    found = read(medley, entity=code, aspect="treatment")
    named = read(medley, entity="pulmonary embolism", aspect="treatment")
    assert (found.lexical, found.model_text) == (named.lexical, named.model_text)
    assert found.notes == (f"“{code.strip()}” is a code of pulmonary embolism", *named.notes)


def test_what_is_no_code_or_more_than_one_is_searched_as_typed(medley: Medley) -> None:
    for text in ("I26", "I26.9 treatment", "ICD-9:I26.9"):
        found = read(medley, entity=text)
        assert (found.model_text, found.notes) == (text, ())


def test_a_document_is_asked_by_the_name_of_a_code(medley: Medley) -> None:
    reader = medley.collections.reader("notes")
    query = Query("notes", EVERYBODY, entity="M10", aspect="causes")
    assert read_slots(query, "", reader) == ("gout", "causes")
    assert read_slots(query, "", None) == ("M10", "causes")


@pytest.mark.parametrize(
    ("slots", "found"),
    [
        ({"having": ("I26.9",)}, {"n1"}),
        ({"having": ("ruled-out:ICD-10:I26.9",)}, {"n2"}),
        ({"having": ("M10",), "lacking": ("C0034065",)}, {"n2", "n3"}),
        ({"having": ("M10",), "lacking": ("C0034065",), "absence": "ruled-out"}, {"n2"}),
        ({"having": ("bundle:clots",), "bundles": (("clots", TermBundle("1", "clots", ("Q220570",))),)}, {"n1"}),
    ],
)
def test_codes_are_criteria(medley: Medley, slots: dict, found: set[str]) -> None:
    results = search(Query("notes", EVERYBODY, rerank=False, **slots), medley.services)
    assert {hit.document for hit in results.hits} == found


def test_the_words_of_a_criterion_are_those_of_its_name(medley: Medley) -> None:
    coded, named = read(medley, having=("ruled-out:I26.9",)), read(medley, having=("ruled-out:pulmonary embolism",))
    assert (coded.lexical, coded.model_text) == (named.lexical, named.model_text)
    assert [item.typed for item in coded.criteria] == ["I26.9"]


def test_a_code_is_completed_to_its_concept(medley: Medley) -> None:
    found = Completer(medley.services).complete(CompletionRequest("notes", EVERYBODY, "I26")).completions
    assert [(item.name, item.concept) for item in found] == [("pulmonary embolism", "pulmonary-embolism")]
