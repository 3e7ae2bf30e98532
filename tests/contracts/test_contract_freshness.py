"""What a store says about replaced versions, and that an engine leaves out the documents that it names."""

from __future__ import annotations

import pytest
from backends import Backend, axis, random_drafts

from mappings.documents import Document, Section
from search.storage import State, StateRecord

OLD, NEW = "abstracts-1", "abstracts-2"


def document(name: str, text: str, label: str = "public") -> Document:
    return Document(name, "", (Section("", text),), frozenset({label}), {})


def index_all(store, index: str) -> None:
    """Settle all that is pending, as an indexer does."""
    store.settle(index, [StateRecord(name, version, State.INDEXED, 1) for name, version in store.pending(index, 1000)])


def test_the_newest_versions_are_those_of_documents_that_exist(backend: Backend):
    store = backend.store
    store.put([document("a", "one"), document("b", "one"), document("c", "one")])
    store.put([document("a", "two")])
    store.delete(["b"])
    assert store.newest(["a", "b", "c", "absent"]) == {"a": 2, "c": 1}
    assert store.newest([]) == {}


def test_a_first_version_supersedes_nothing(backend: Backend):
    backend.store.put([document("a", "one")])
    assert backend.store.superseded(OLD, 10) == []


@pytest.mark.parametrize("change", ["replaced", "relabelled", "deleted"])
def test_a_change_supersedes_until_it_is_indexed(backend: Backend, change):
    store = backend.store
    store.put([document("a", "one"), document("b", "one")])
    index_all(store, OLD)
    if change == "deleted":
        store.delete(["a"])
    else:
        store.put([document("a", "one" if change == "relabelled" else "two", "psych")])
    assert store.superseded(OLD, 10) == ["a"]
    index_all(store, OLD)
    assert store.superseded(OLD, 10) == []


def test_a_change_before_the_first_was_recorded_supersedes_too(backend: Backend):
    """A kill between an index's commit and the state record leaves the first version in the index, without a record."""
    backend.store.put([document("a", "one")])
    backend.store.delete(["a"])
    assert backend.store.superseded(OLD, 10) == ["a"]


def test_what_one_index_has_processed_another_can_still_hold(backend: Backend):
    store = backend.store
    store.put([document("a", "one")])
    index_all(store, OLD)
    index_all(store, NEW)
    store.put([document("a", "two")])
    index_all(store, NEW)
    assert (store.superseded(OLD, 10), store.superseded(NEW, 10)) == (["a"], [])
    index_all(store, OLD)
    assert store.superseded(OLD, 10) == []


def test_a_dropped_index_holds_nothing_any_more(backend: Backend):
    store = backend.store
    store.put([document("a", "one")])
    index_all(store, OLD)
    store.put([document("a", "two")])
    index_all(store, NEW)
    store.forget(OLD)
    assert store.superseded(NEW, 10) == []


def test_the_number_of_superseded_documents_is_bounded(backend: Backend):
    names = [f"d{number}" for number in range(8)]
    backend.store.put([document(name, "one") for name in names])
    index_all(backend.store, OLD)
    backend.store.delete(names)
    assert len(backend.store.superseded(OLD, 5)) == 5
    assert sorted(backend.store.superseded(OLD, 100)) == names


def test_withheld_documents_are_in_no_ranking_total_or_facet(backend: Backend):
    drafts = random_drafts(seed=3, count=30)
    index = backend.index([draft.entry() for draft in drafts]).index
    whole = backend.ask(index, "heart", axis(0), documents=100, facets=("year",))
    chosen = {item.document for item in list(whole.rankings["bm25"])[:3] + list(whole.rankings["dense"])[:3]}
    rest = backend.ask(index, "heart", axis(0), documents=100, facets=("year",), withheld=tuple(sorted(chosen)))
    for leg in ("bm25", "dense"):
        kept = [item for item in whole.rankings[leg] if item.document not in chosen]
        assert [item.passage for item in rest.rankings[leg]] == [item.passage for item in kept]
    lexical = {item.document for item in whole.rankings["bm25"]}
    assert rest.total.value == whole.total.value - len(chosen & lexical)
    assert sum(item.count for item in rest.facets["year"]) < sum(item.count for item in whole.facets["year"])


def test_withholding_everything_and_the_unknown(backend: Backend):
    drafts = random_drafts(seed=4, count=5)
    index = backend.index([draft.entry() for draft in drafts]).index
    nothing = backend.ask(index, "heart", axis(0), withheld=tuple(draft.id for draft in drafts))
    assert (list(nothing.rankings["bm25"]), list(nothing.rankings["dense"]), nothing.total.value) == ([], [], 0)
    same = backend.ask(index, "heart", axis(0), withheld=("absent", "\ud800"))
    assert same == backend.ask(index, "heart", axis(0))
