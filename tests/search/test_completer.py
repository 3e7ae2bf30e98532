"""Completion over real collections: what is completed, for whom, and what changes with the documents."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mappings.collection import kinds as shipped_kinds
from mappings.documents import Access, Document, Section
from mappings.errors import InvalidInput, NotFound, Unavailable
from search.bootstrap import Medley
from search.completion.completer import Completer
from search.completion.completions import Completion, CompletionRequest
from search.engines.embedded.engine import EmbeddedEngine
from search.pipeline import freshness
from search.settings import Settings
from workers.indexing.indexer import Indexer
from workers.indexing.ingest import ingest
from workers.indexing.rebuild import rebuild

WARD, SECRET = Access("ada", frozenset({"ward"})), Access("eve", frozenset({"secret"}))
EVERYTHING = Access("root", frozenset({"*"}))
NOTES = {
    "n1": ("ward", "Radiology", [("FINDINGS", "Lobar pneumonia. No pleural effusion.")]),
    "n2": ("ward", "Discharge", [("HOSPITAL COURSE", "Pneumonia, given ceftriaxone. Denies fever.")]),
    "n3": ("secret", "Psychiatry", [("MENTAL STATUS EXAM", "Schizophrenia, on clozapine. Pneumonia last year.")]),
}


class CountingEngine(EmbeddedEngine):
    """An engine that notes which fields were counted."""

    def values(self, index, field, access, withheld=()):
        self.counted = [*getattr(self, "counted", []), field]
        return super().values(index, field, access, withheld)


def note(name: str, label: str, kind: str, sections: list[tuple[str, str]]) -> Document:
    parts = tuple(Section(*item) for item in sections)
    return Document(name, name, parts, frozenset({label}), {"type": kind, "patient": "p1"})


def index(medley: Medley, *documents: Document) -> None:
    medley.collections.store("notes").put(documents)
    assert [item.cause for item in ingest(Indexer.of(medley, "notes")) if item.cause] == []


def filled(home: Path) -> Medley:
    medley = Medley.open(Settings(home=home, encoder="hashing-256", reranker="none"))
    medley.collections.create("notes")
    index(medley, *(note(name, *rest) for name, rest in NOTES.items()))
    return medley


@pytest.fixture(scope="module")
def ward(tmp_path_factory) -> Medley:
    """The notes, which no test changes."""
    return filled(tmp_path_factory.mktemp("ward"))


@pytest.fixture
def notes(tmp_path) -> Medley:
    """The notes for one test, which may change them."""
    return filled(tmp_path)


def complete(
    medley: Medley, text: str, access: Access = WARD, slot: str = "entity", limit: int = 10
) -> list[tuple[str, str, int]]:
    found = medley.complete(CompletionRequest("notes", access, text, slot, limit))
    assert found.notes == ()
    return [(item.name, item.matched, item.documents) for item in found.completions]


def test_a_complete_completion(ward):
    found = ward.complete(CompletionRequest("notes", WARD, "pna"))
    assert found.completions == (Completion("pneumonia", "PNA", 2, "pneumonia", "diagnoses"),)


@pytest.mark.parametrize("slot", ["entity", "concept"])
def test_concepts_are_counted_by_document_however_asserted(ward, slot):
    assert complete(ward, "pneumonia", slot=slot) == [
        ("pneumonia", "pneumonia", 2),
        ("lobar pneumonia", "pneumonia of a lobe", 1),
    ]
    assert complete(ward, "pneumonia", EVERYTHING, slot)[0] == ("pneumonia", "pneumonia", 3)
    assert ("pleural effusion", "pleural effusion", 1) in complete(ward, "pleur", slot=slot)
    assert complete(ward, "fevre", slot=slot) == [("fever", "fever", 1)]


def test_wider_concepts_are_completed_by_what_is_stated_of_narrower_ones(ward):
    assert ("cephalosporin", "cephalosporin", 1) in complete(ward, "cephalosp")


def test_aspects_and_fields(ward):
    assert complete(ward, "hosp", slot="aspect") == [("hospital course", "hospital course", 1)]
    assert complete(ward, "radoilogy", slot="type") == [("Radiology", "Radiology", 1)]
    assert complete(ward, "r", slot="type", limit=1) == [("Radiology", "Radiology", 1)]


@pytest.mark.parametrize(
    ("text", "slot"),
    [
        ("schizophrenia", "entity"),
        ("schizo", "entity"),
        ("shizophrenia", "entity"),
        ("clozapine", "concept"),
        ("clozapin", "concept"),
        ("antipsych", "concept"),
        ("mental status", "aspect"),
        ("metnal status", "aspect"),
        ("Psychiatry", "type"),
        ("psyhciatry", "type"),
    ],
)
def test_what_only_hidden_documents_have_is_never_completed(ward, text, slot):
    assert complete(ward, text, WARD, slot) == []
    assert complete(ward, text, SECRET, slot) != []
    assert complete(ward, text, WARD, slot) == []  # nor once somebody else was answered


def test_a_caller_without_labels_gets_nothing(ward):
    assert complete(ward, "pneumonia", Access("nobody", frozenset())) == []


def test_a_new_document_is_completed_and_a_deleted_one_is_not_as_soon_as_it_is_acknowledged(notes):
    assert complete(notes, "warfarin") == []
    index(notes, note("n4", "ward", "Letter", [("PLAN", "Start warfarin.")]))
    assert complete(notes, "warfarin") == [("warfarin", "warfarin", 1)]
    assert complete(notes, "lett", slot="type") == [("Letter", "Letter", 1)]
    store = notes.collections.store("notes")
    store.put([note("n4", "secret", "Letter", [("PLAN", "Start warfarin.")])])  # not yet indexed
    assert complete(notes, "warfarin") == []
    assert complete(notes, "lett", slot="type") == []
    assert complete(notes, "warfarin", SECRET) == []
    assert complete(notes, "warfarin", EVERYTHING) == []
    index(notes)
    assert complete(notes, "warfarin") == []
    assert complete(notes, "warfarin", SECRET) == [("warfarin", "warfarin", 1)]


def test_nothing_is_completed_while_too_many_changes_wait(notes, monkeypatch):
    monkeypatch.setattr(freshness, "MAX_WITHHELD", 0)
    notes.collections.store("notes").put([note("n1", "secret", "Radiology", [("FINDINGS", "Lobar pneumonia.")])])
    found = notes.complete(CompletionRequest("notes", WARD, "lobar"))
    assert found.completions == ()
    assert "wait to be indexed" in found.notes[0]


def test_a_letter_more_costs_no_call_to_the_engine(notes):
    engine = CountingEngine(notes.settings.home, notes.collections.get)
    completer = Completer(replace(notes.services, engine=engine))
    for text in ("p", "pn", "pne", "pnu", "pnuemonia"):
        assert completer.complete(CompletionRequest("notes", WARD, text)).completions or text == "pnu"
    assert engine.counted == ["concepts"]
    completer.complete(CompletionRequest("notes", SECRET, "p"))
    completer.complete(CompletionRequest("notes", WARD, "h", "aspect"))
    index(notes, note("n5", "ward", "Letter", [("PLAN", "Start warfarin.")]))
    completer.complete(CompletionRequest("notes", WARD, "warf"))
    assert engine.counted == ["concepts", "concepts", "aspects", "concepts"]


def test_an_index_that_was_not_read_completes_aspects_and_fields_alone(notes):
    name = notes.engine.create("notes", {"dense": ("x", 4)}).index
    notes.engine.publish(name)
    found = notes.complete(CompletionRequest("notes", WARD, "pneu"))
    assert found.completions == ()
    assert found.notes == (
        "the documents of this index were not read: no concepts are completed, only aspects and fields",
    )
    assert notes.complete(CompletionRequest("notes", WARD, "hosp", "aspect")).notes == ()


def test_an_index_without_the_field_says_so(notes, tmp_path):
    kinds = tmp_path / "kinds"
    kinds.mkdir()
    settings = replace(notes.settings, collections=kinds)
    text = shipped_kinds()["notes"].read_text(encoding="utf-8")
    (kinds / "notes.toml").write_text(text + '\n[fields.ward]\ntype = "keyword"\ntitle = "Ward"\nfacet = true\n')
    found = Medley.open(settings).complete(CompletionRequest("notes", WARD, "seven", "ward"))
    assert found.completions == ()
    assert found.notes == (
        "the index notes-1 does not count ward yet: `medley index rebuild notes` adds what completes them",
    )


def test_an_index_that_is_dropped_meanwhile_is_followed_by_its_successor(notes):
    class Rebuilt(EmbeddedEngine):
        rebuilt = False

        def values(self, index, field, access, withheld=()):
            if not self.rebuilt:
                self.rebuilt = True
                list(rebuild(Indexer.of(notes, "notes"), grace=0.0))
            return super().values(index, field, access, withheld)

    completer = Completer(replace(notes.services, engine=Rebuilt(notes.settings.home, notes.collections.get)))
    found = completer.complete(CompletionRequest("notes", WARD, "lobar"))
    assert [item.name for item in found.completions] == ["lobar pneumonia"]
    assert list(notes.engine.names("notes")) == ["notes-2"]


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"text": ""}, "text"),
        ({"text": " \t\n"}, "text"),
        ({"text": "\x00\x07\ud800"}, "text"),
        ({"text": "a" * 10_000}, "text"),
        ({"text": "a", "limit": 0}, "limit"),
        ({"text": "a", "limit": 21}, "limit"),
        ({"text": "a", "limit": -1}, "limit"),
        ({"text": "a", "slot": "colour"}, "slot"),
        ({"text": "a", "slot": ""}, "slot"),
        ({"text": "a", "slot": "patient"}, "slot"),  # names patients, and is no facet
        ({"text": "a", "slot": "date"}, "slot"),
        ({"text": "a", "slot": "concepts"}, "slot"),
    ],
)
def test_wrong_requests_are_named(ward, given, field):
    with pytest.raises(InvalidInput) as caught:
        ward.complete(CompletionRequest("notes", WARD, **given))
    assert caught.value.field == field


def test_the_error_of_an_unknown_slot_names_the_others(ward):
    with pytest.raises(InvalidInput, match="there are entity, concept, aspect, type, specialty"):
        ward.complete(CompletionRequest("notes", WARD, "a", "colour"))


@pytest.mark.parametrize("text", [".*", "pneu.*", "(", "[", "\\", "pneu\x00", "a" * 500, "🫀", "pneu\ud800", "%_"])
def test_odd_texts_are_answered(ward, text):
    found = complete(ward, text)
    assert found == (complete(ward, "pneu") if text.startswith("pneu") else [])


def test_a_request_needs_an_access():
    with pytest.raises(TypeError):
        CompletionRequest("notes", None, "a")  # type: ignore[arg-type]


def test_no_index_no_collection_and_a_broken_index(notes):
    notes.collections.create("empty", "notes")
    with pytest.raises(NotFound, match="has no index yet"):
        notes.complete(CompletionRequest("empty", WARD, "a"))
    with pytest.raises(NotFound, match="there is no collection"):
        notes.complete(CompletionRequest("absent", WARD, "a"))
    (notes.settings.home / "collections/notes/indexes/notes-1/index.json").write_text("{")
    with pytest.raises(Unavailable):
        Medley.open(notes.settings).complete(CompletionRequest("notes", WARD, "a"))
