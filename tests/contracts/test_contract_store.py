from __future__ import annotations

import time
from dataclasses import replace
from datetime import date
from itertools import count

import pytest
from backends import Backend
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mappings.documents import Deletion, Document, Section
from mappings.errors import InvalidInput
from search.storage import Accepted, Job, State, StateRecord, StoreCounts, StoredDocument

INDEX = "abstracts-1"


def document(name: str, text: str = "heart failure", **rest) -> Document:
    return Document(name, rest.pop("title", "A title"), (Section("Aim", text),), frozenset({"public"}), rest)


def settled(
    identifier: str, version: int, state: State = State.INDEXED, passages: int = 1, cause: str = ""
) -> StateRecord:
    return StateRecord(identifier, version, state, passages, cause=cause)


def test_each_change_is_the_next_version_and_equal_content_is_none(backend: Backend):
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


def test_a_document_is_stored_exactly(backend: Backend):
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


def test_a_late_state_of_a_superseded_version_is_rejected(backend: Backend):
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
    store.settle(INDEX, [settled("a", 1, State.FAILED, 0, "the year is not a number"), settled("b", 1)])
    assert list(store.states(INDEX, State.FAILED)) == [
        StateRecord("a", 1, State.FAILED, 0, 1, "the year is not a number")
    ]
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


def test_tombstones_are_counted_apart(backend: Backend):
    store = backend.store
    store.put([document(name) for name in "abcd"])
    store.settle(INDEX, [settled("a", 1), settled("b", 1, State.FAILED, 0, "x"), settled("d", 1, passages=2)])
    store.delete(["d"])
    states = {State.RECEIVED: 1, State.INDEXED: 1, State.FAILED: 1}
    assert store.counts(INDEX) == StoreCounts(documents=3, deleted=1, states=states, pending_deletes=1)
    assert store.recorded(INDEX) == (2, 3)
    store.forget(INDEX)
    assert store.recorded(INDEX) == (0, 0)


def test_a_large_document_is_stored_whole(backend: Backend):
    written = document("big", "Ein langer Satz über das Herz. " * 170_000)
    backend.store.put([written])
    assert backend.store.latest(["big"])["big"].document == written


@pytest.mark.parametrize(
    "bad",
    [document("a", "lone \ud800 surrogate"), document("a", year=float("nan")), document("a", count=2**70)],
    ids=["surrogate", "nan", "too large"],
)
def test_a_document_that_cant_be_stored_exactly_is_rejected_and_named(backend: Backend, bad):
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


RUNS = count()


def copy(source: int | None, text: str = "heart failure") -> Document:
    return replace(document("a", text), source_version=source)


def test_a_late_older_copy_never_replaces_a_newer_one(backend: Backend):
    store = backend.store
    assert list(store.put([copy(5, "five"), copy(3, "three"), copy(5, "five again"), copy(7, "seven")])) == [
        Accepted("a", 1, True),
        Accepted("a", 1, False, stale=True),
        Accepted("a", 2, True),
        Accepted("a", 3, True),
    ]
    assert list(store.put([copy(6, "six")])) == [Accepted("a", 3, False, stale=True)]
    assert list(store.put([copy(None, "unsaid")])) == [Accepted("a", 4, True)]
    assert list(store.put([copy(6, "six")])) == [Accepted("a", 4, False, stale=True)]
    assert store.latest(["a"])["a"].document == replace(copy(None, "unsaid"))


def test_equal_content_with_a_newer_source_version_makes_older_copies_stale(backend: Backend):
    store = backend.store
    store.put([copy(1)])
    assert list(store.put([copy(9)])) == [Accepted("a", 1, False)]
    assert list(store.put([copy(4, "older")])) == [Accepted("a", 1, False, stale=True)]
    assert store.pending(INDEX, 9) == [("a", 1)]


def test_a_late_copy_does_not_revive_a_deleted_document(backend: Backend):
    store = backend.store
    assert list(store.put([copy(2), Deletion("a", 4), copy(3, "late")])) == [
        Accepted("a", 1, True),
        Accepted("a", 2, True),
        Accepted("a", 2, False, stale=True),
    ]
    assert list(store.put([Deletion("a", 3), Deletion("a", 8)])) == [
        Accepted("a", 2, False, stale=True),
        Accepted("a", 2, False),
    ]
    assert list(store.put([copy(8, "back")])) == [Accepted("a", 3, True)]


def test_a_deletion_that_arrives_before_its_document_is_remembered(backend: Backend):
    store = backend.store
    assert list(store.put([Deletion("b", 4), Deletion("c")])) == [Accepted("b", 1, True), Accepted("c", 0, False)]
    assert list(store.put([replace(document("b"), source_version=2)])) == [Accepted("b", 1, False, stale=True)]
    assert store.latest(["b", "c"]) == {"b": StoredDocument("b", 1, None)}


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from("xy"), st.integers(0, 4), st.booleans()), max_size=10))
def test_the_newest_source_version_wins(backend: Backend, changes):
    run = f"{next(RUNS)}."  # examples share a store
    made = [
        Deletion(f"{run}{name}", source)
        if gone
        else replace(document(f"{run}{name}", f"{source}"), source_version=source)
        for name, source, gone in changes
    ]
    for change in made:
        backend.store.put([change])
    expected: dict[str, Document | Deletion] = {}
    for change in made:
        if change.id not in expected or change.source_version >= expected[change.id].source_version:
            expected[change.id] = change
    found = backend.store.latest(list(expected))
    assert {name: item.document and item.document.sections[0].text for name, item in found.items()} == {
        name: None if isinstance(change, Deletion) else change.sections[0].text for name, change in expected.items()
    }


def test_documents_are_counted_by_job(backend: Backend):
    store = backend.store
    store.put([document("a"), document("b"), document("c")], "first")
    store.put([document("b", "changed"), document("c"), Deletion("a")], "second")
    store.settle(INDEX, [settled("b", 2), settled("c", 1, State.FAILED, 0, "no words")])
    assert store.counts(INDEX, "first") == StoreCounts(1, 0, {State.FAILED: 1})
    assert store.counts(INDEX, "second") == StoreCounts(1, 1, {State.INDEXED: 1}, pending_deletes=1)
    assert store.counts(INDEX).waiting == 1
    assert store.counts(INDEX, "unknown") == StoreCounts(0, 0, {})
    assert [record.id for record in store.states(INDEX, State.FAILED, job="first")] == ["c"]
    assert store.states(INDEX, State.FAILED, job="second") == []
    assert [record.id for record in store.states(INDEX, State.INDEXED, job="second")] == ["b"]
    assert [record.id for record in store.states(INDEX, State.RECEIVED, job="second")] == ["a"]


def test_a_job_is_returned_as_last_saved(backend: Backend):
    store = backend.store
    assert store.job("abstracts.1") is None
    store.keep_job(Job("abstracts.1", 1.5))
    store.keep_job(Job("abstracts.1", 1.5, 9.25, accepted=3, rejected=1))
    assert store.job("abstracts.1") == Job("abstracts.1", 1.5, 9.25, accepted=3, rejected=1)
    store.keep_job(Job("abstracts.1", 1.5, 9.25, broken=True))
    assert store.job("abstracts.1") == Job("abstracts.1", 1.5, 9.25, broken=True)


def test_the_oldest_pending_change_has_a_time(backend: Backend):
    store, before = backend.store, time.time()
    assert store.oldest(INDEX) is None
    store.put([document("a")])
    between = time.time()
    store.put([document("b")])
    assert before - 0.001 <= store.oldest(INDEX) <= between + 0.001
    store.settle(INDEX, [settled("a", 1)])
    assert between - 0.001 <= store.oldest(INDEX) <= time.time() + 0.001
    store.settle(INDEX, [settled("b", 1)])
    assert store.oldest(INDEX) is None


def test_pending_changes_can_be_restricted_to_some_documents(backend: Backend):
    store = backend.store
    store.put([document(name) for name in "abcd"])
    store.delete(["b"])
    store.settle(INDEX, [settled("c", 1)])
    assert store.pending(INDEX, 9, ["b", "c", "a", "unknown"]) == [("a", 1), ("b", 2)]
    assert store.pending(INDEX, 1, {"a", "b", "d"}) == [("a", 1)]
    assert store.pending(INDEX, 9, []) == []
