from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest
from backends import Backend
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mappings.documents import Document, Section
from mappings.errors import InvalidInput
from search.storage import Accepted, State, StateRecord, StoreCounts, StoredDocument

INDEX = "abstracts-1"


def document(name: str, text: str = "heart failure", **rest) -> Document:
    return Document(name, rest.pop("title", "A title"), (Section("Aim", text),), frozenset({"public"}), rest)


def settled(
    identifier: str, version: int, state: State = State.INDEXED, passages: int = 1, cause: str = ""
) -> StateRecord:
    return StateRecord(identifier, version, state, passages, cause=cause)


def test_each_change_is_the_next_version_and_the_same_again_is_none(backend: Backend):
    store = backend.store
    first = document("a")
    assert list(store.put([first, document("b"), first])) == [
        Accepted("a", 1, True),
        Accepted("b", 1, True),
        Accepted("a", 1, False),
    ]
    assert list(store.put([document("a", "other text"), first])) == [Accepted("a", 2, True), Accepted("a", 3, True)]


@pytest.mark.parametrize(
    "changed",
    [
        replace(document("a"), title="Another"),
        replace(document("a"), labels=frozenset({"study"})),
        replace(document("a"), fields={"year": 2000.0}),
        replace(document("a"), sections=(Section("Aim", "heart"), Section("", "failure"))),
    ],
    ids=["title", "labels", "fields", "sections"],
)
def test_text_labels_and_fields_are_all_content(backend: Backend, changed):
    backend.store.put([document("a")])
    assert list(backend.store.put([changed])) == [Accepted("a", 2, True)]


def test_a_document_comes_back_as_it_went_in(backend: Backend):
    written = Document(
        "ä/1@2#3",
        "T\u00eftle",
        (Section("", "Erste Zeile.\nZweite \N{GREEK SMALL LETTER ALPHA}"), Section("PLAN:", "x")),
        frozenset({"ward-a", "ward-b"}),
        {"year": 1.5, "journal": ("BMJ", "Lancet"), "published": date(1543, 2, 1), "pmid": "1", "count": 3},
    )
    backend.store.put([written])
    assert backend.store.latest(["ä/1@2#3", "absent"]) == {written.id: StoredDocument(written.id, 1, written)}


def test_a_delete_is_a_version_and_a_revival_the_next_one(backend: Backend):
    store = backend.store
    store.put([document("a")])
    assert list(store.delete(["a", "absent"])) == [Accepted("a", 2, True), Accepted("absent", 0, False)]
    assert list(store.delete(["a"])) == [Accepted("a", 2, False)]
    assert store.latest(["a"]) == {"a": StoredDocument("a", 2, None)}
    assert list(store.put([document("a")])) == [Accepted("a", 3, True)]


def test_a_late_state_of_a_superseded_version_is_refused(backend: Backend):
    store = backend.store
    store.put([document("a"), document("b")])
    store.delete(["a"])
    assert list(store.settle(INDEX, [settled("a", 1), settled("b", 1), settled("absent", 1)])) == [False, True, False]
    assert list(store.pending(INDEX, 10)) == [("a", 2)]


def test_pending_is_per_index_oldest_first_and_bounded(backend: Backend):
    store = backend.store
    store.put([document(name) for name in ("c", "a", "b")])
    assert list(store.pending(INDEX, 2)) == [("c", 1), ("a", 1)]
    store.settle(INDEX, [settled("c", 1), settled("a", 1, State.FAILED, 0, "bad")])
    assert list(store.pending(INDEX, 9)) == [("b", 1)]
    assert list(store.pending("abstracts-2", 9)) == [("c", 1), ("a", 1), ("b", 1)]
    store.put([document("c", "changed")])
    assert list(store.pending(INDEX, 9)) == [("b", 1), ("c", 2)]


def test_an_unsettled_deletion_is_pending_even_where_no_state_says_it_was_indexed(backend: Backend):
    store = backend.store
    store.put([document("a")])
    store.delete(["a"])
    assert list(store.pending(INDEX, 9)) == [("a", 2)]
    store.settle(INDEX, [settled("a", 2, passages=0)])
    assert list(store.pending(INDEX, 9)) == []


def test_failures_are_listed_with_cause_and_attempts_and_can_be_retried(backend: Backend):
    store = backend.store
    store.put([document("a"), document("b")])
    store.settle(INDEX, [settled("a", 1, State.FAILED, 0, "the year is no number"), settled("b", 1)])
    assert list(store.states(INDEX, State.FAILED)) == [StateRecord("a", 1, State.FAILED, 0, 1, "the year is no number")]
    assert store.retry(INDEX) == 1
    assert list(store.pending(INDEX, 9)) == [("a", 1)]
    store.settle(INDEX, [settled("a", 1, State.FAILED, 0, "still none")])
    assert list(store.states(INDEX, State.FAILED)) == [StateRecord("a", 1, State.FAILED, 0, 2, "still none")]
    store.put([document("a", "better")])
    store.settle(INDEX, [settled("a", 2, passages=3)])
    assert list(store.states(INDEX, State.INDEXED)) == [
        StateRecord("a", 2, State.INDEXED, 3, 1),
        StateRecord("b", 1, State.INDEXED, 1, 1),
    ]


def test_counts_keep_tombstones_apart(backend: Backend):
    store = backend.store
    store.put([document(name) for name in "abcd"])
    store.settle(INDEX, [settled("a", 1), settled("b", 1, State.FAILED, 0, "x"), settled("d", 1, passages=2)])
    store.delete(["d"])
    states = {State.RECEIVED: 1, State.INDEXED: 1, State.FAILED: 1}
    assert store.counts(INDEX) == StoreCounts(documents=3, deleted=1, states=states)
    assert store.recorded(INDEX) == (2, 3)
    store.forget(INDEX)
    assert store.recorded(INDEX) == (0, 0)


def test_a_large_document_is_kept_whole(backend: Backend):
    written = document("big", "Ein langer Satz über das Herz. " * 170_000)
    backend.store.put([written])
    assert backend.store.latest(["big"])["big"].document == written


@pytest.mark.parametrize(
    "bad",
    [document("a", "lone \ud800 surrogate"), document("a", year=float("nan")), document("a", count=2**70)],
    ids=["surrogate", "nan", "too large"],
)
def test_what_can_t_be_kept_exactly_is_refused_and_named(backend: Backend, bad):
    with pytest.raises(InvalidInput, match="'a'"):
        backend.store.put([bad])
    assert backend.store.latest(["a", "\ud800"]) == {}
    assert [item.changed for item in backend.store.delete(["\ud800"])] == [False]


operations = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from(("put 1", "put 2", "delete", "settle"))), max_size=25
)


@given(operations)
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_versions_only_grow_and_what_is_newest_is_pending_until_settled(backend, steps):
    store = backend.another_store()
    newest: dict[str, tuple[int, str]] = {}
    done: dict[str, int] = {}
    for name, step in steps:
        version, content = newest.get(name, (0, "delete"))
        if step == "settle":
            assert list(store.settle(INDEX, [settled(name, version)])) == [name in newest]
            if name in newest:
                done[name] = version
        else:
            accepted = store.delete([name])[0] if step == "delete" else store.put([document(name, step)])[0]
            assert accepted == Accepted(name, version + (step != content), step != content)
            if step != content:
                newest[name] = (accepted.version, step)
    pending = {name: version for name, (version, _) in newest.items() if done.get(name) != version}
    assert dict(store.pending(INDEX, 100)) == pending
