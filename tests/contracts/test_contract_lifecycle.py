from __future__ import annotations

import threading

import numpy as np
import pytest
from backends import ENCODERS, EVERYBODY, Backend, Draft, axis, random_drafts

from mappings.errors import Conflict, InvalidInput, ModelError, NotFound


def documents(backend: Backend, index: str, words: str = "heart"):
    answer = backend.ask(index, words, axis(0), documents=1000)
    legs = {name: sorted(item.passage for item in leg) for name, leg in answer.rankings.items()}
    assert legs["bm25"] == legs["dense"]
    return legs["bm25"], answer.total.value


def test_nothing_is_visible_before_the_commit(backend: Backend):
    meta = backend.index([Draft("a", ["heart"]).entry()])
    with backend.engine.writer(meta.index) as writer:
        writer.write([Draft("b", ["heart"]).entry()])
        writer.remove(["a"])
        assert documents(backend, meta.index) == (["a@1#0"], 1)
        writer.commit()
        assert documents(backend, meta.index) == (["b@1#0"], 1)


def test_uncommitted_writes_are_discarded(backend: Backend):
    meta = backend.index([Draft("a", ["heart"]).entry()])
    with backend.engine.writer(meta.index) as writer:
        writer.write([Draft("b", ["heart"]).entry()])
    with backend.engine.writer(meta.index) as writer:
        writer.commit()
    assert documents(backend, meta.index) == (["a@1#0"], 1)


def test_a_document_is_replaced_whole(backend: Backend):
    meta = backend.index([Draft("a", ["heart one", "heart two", "heart three"]).entry(), Draft("b", ["heart"]).entry()])
    backend.write(meta.index, [Draft("a", ["heart four"], version=2, fields={"journal": "BMJ"}).entry()])
    assert documents(backend, meta.index) == (["a@2#0", "b@1#0"], 2)
    assert backend.engine.passages(meta.index, ["a@1#0", "a@1#2"], EVERYBODY) == {}
    assert backend.engine.fields(meta.index, ["a"], EVERYBODY) == {"a": {"journal": "BMJ"}}
    now = backend.engine.meta(meta.index)
    assert (now.documents, now.passages) == (2, 2)
    assert now.commit > meta.commit


def test_the_last_of_several_versions_in_one_commit_wins(backend: Backend):
    meta = backend.index([Draft("a", ["heart"], version=version).entry() for version in (1, 2, 3)])
    assert documents(backend, meta.index) == (["a@3#0"], 1)


def test_writing_the_same_version_again_duplicates_nothing(backend: Backend):
    entry = Draft("a", ["heart", "heart"]).entry()
    meta = backend.index([entry])
    backend.write(meta.index, [entry])
    assert documents(backend, meta.index) == (["a@1#0", "a@1#1"], 1)


def test_a_removed_document_is_gone_and_can_be_added_again(backend: Backend):
    meta = backend.index([Draft("a", ["heart"]).entry(), Draft("b", ["heart"]).entry()])
    backend.write(meta.index, [], removed=["a", "absent"])
    assert documents(backend, meta.index) == (["b@1#0"], 1)
    assert backend.engine.passages(meta.index, ["a@1#0"], EVERYBODY) == {}
    backend.write(meta.index, [Draft("a", ["heart"], version=3).entry()])
    assert documents(backend, meta.index) == (["a@3#0", "b@1#0"], 2)


def test_a_document_without_passages_is_only_a_removal(backend: Backend):
    meta = backend.index([Draft("a", ["heart"]).entry()])
    empty = Draft("a", ["x"], version=2).entry()
    empty = type(empty)("a", 2, empty.labels, {}, (), {"dense": np.empty((0, 8), np.float32)})
    backend.write(meta.index, [empty])
    assert documents(backend, meta.index) == ([], 0)


@pytest.mark.parametrize(
    ("fields", "vectors", "error"),
    [
        ({"year": "recent"}, None, InvalidInput),
        ({"year": float("nan")}, None, InvalidInput),
        ({"journal": 3.0}, None, InvalidInput),
        ({"journal": "x" * 70_000}, None, InvalidInput),
        ({"published": "2020-01-01"}, None, InvalidInput),
        ({}, [np.full(8, np.nan)], ModelError),
        ({}, [np.ones(5)], ModelError),
    ],
    ids=["text for number", "nan", "number for text", "long keyword", "text for date", "nan vector", "other dimension"],
)
def test_an_invalid_entry_does_not_affect_others(backend: Backend, fields, vectors, error):
    meta = backend.index([])
    good = [Draft(name, ["heart"]).entry() for name in "ab"]
    with backend.engine.writer(meta.index) as writer:
        writer.write(good[:1])
        with pytest.raises(error):
            writer.write([good[1], Draft("bad", ["heart"], fields=fields, vectors=vectors).entry()])
        writer.write(good[1:])
        writer.commit()
    assert documents(backend, meta.index) == (["a@1#0", "b@1#0"], 2)


def test_a_second_writer_is_a_conflict(backend: Backend):
    meta = backend.index([])
    with (
        backend.engine.writer(meta.index),
        pytest.raises(Conflict, match=meta.index),
        backend.engine.writer(meta.index),
    ):
        pass
    with backend.engine.writer(meta.index):
        pass


def test_a_second_writer_can_wait(backend: Backend):
    meta = backend.index([])
    with backend.engine.writer(meta.index) as writer:
        writer.write([Draft("a", ["heart"]).entry()])
        errors: list[Exception] = []
        thread = threading.Thread(target=lambda: _write_waiting(backend, meta.index, errors))
        thread.start()
        writer.commit()
    thread.join()
    assert errors == []
    assert documents(backend, meta.index) == (["a@1#0", "b@1#0"], 2)


def _write_waiting(backend: Backend, index: str, errors: list[Exception]) -> None:
    try:
        with backend.engine.writer(index, wait=20.0) as writer:
            writer.write([Draft("b", ["heart"]).entry()])
            writer.commit()
    except Exception as error:
        errors.append(error)


def test_a_new_generation_is_listed_but_not_searched_before_it_is_published(backend: Backend):
    first = backend.index([Draft("a", ["heart"]).entry()])
    second = backend.index([Draft("b", ["heart"]).entry()], publish=False)
    assert backend.engine.resolve("abstracts").index == first.index
    assert [(meta.index, published) for meta, published in backend.engine.list("abstracts")] == [
        (first.index, True),
        (second.index, False),
    ]
    backend.engine.publish(second.index)
    assert backend.engine.resolve("abstracts") == backend.engine.meta(second.index)
    assert [published for _, published in backend.engine.list()] == [False, True]


def test_an_index_describes_itself(backend: Backend):
    meta = backend.index([Draft("a", ["heart", "lung"]).entry()])
    assert (meta.index, meta.collection, meta.generation) == ("abstracts-1", "abstracts", 1)
    assert dict(meta.encoders) == {"dense": ENCODERS["dense"][0]}
    assert (meta.documents, meta.passages) == (1, 2)


def test_an_index_keeps_its_own_meta_while_another_is_published(backend: Backend):
    first = backend.index([Draft("a", ["heart"]).entry()])
    second = backend.engine.create("abstracts", {"dense": ("another-fingerprint", 8)})
    backend.write(second.index, [Draft("a", ["heart"], version=2).entry(), Draft("b", ["lung", "fever"]).entry()])
    assert backend.engine.meta(second.index).documents == 2  # not published yet
    backend.engine.publish(second.index)
    assert dict(backend.engine.resolve("abstracts").encoders) == {"dense": "another-fingerprint"}
    old = backend.engine.meta(first.index)
    assert (dict(old.encoders), old.commit) == ({"dense": ENCODERS["dense"][0]}, first.commit)
    assert old == first
    backend.write(first.index, [Draft("c", ["heart"]).entry()])
    assert backend.engine.meta(first.index).commit > first.commit
    assert backend.engine.meta(second.index) == backend.engine.resolve("abstracts")
    backend.engine.drop(first.index)
    with pytest.raises(NotFound, match=first.index):
        backend.engine.meta(first.index)
    assert backend.engine.meta(second.index).documents == 2


def test_of_several_first_indexes_one_is_published_and_stays(backend: Backend):
    indexes = [backend.index([], publish=False).index for _ in range(4)]
    threads = [threading.Thread(target=backend.engine.publish, args=(index, True)) for index in indexes]
    seen = set()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
        seen.add(backend.engine.published("abstracts"))
    assert len(seen - {None}) == 1
    backend.engine.publish(next(index for index in indexes if index not in seen), first=True)
    assert {backend.engine.published("abstracts")} == seen - {None}


def test_the_published_index_cant_be_dropped_nor_can_one_being_written(backend: Backend):
    first = backend.index([Draft("a", ["heart"]).entry()])
    second = backend.index([], publish=False)
    with pytest.raises(Conflict, match="published"):
        backend.engine.drop(first.index)
    with backend.engine.writer(second.index), pytest.raises(Conflict):
        backend.engine.drop(second.index)
    backend.engine.drop(second.index)
    with pytest.raises(NotFound):
        backend.engine.meta(second.index)
    with pytest.raises(NotFound):
        backend.engine.drop(second.index)
    assert documents(backend, first.index) == (["a@1#0"], 1)


def test_a_dropped_generations_number_is_never_used_again(backend: Backend):
    backend.index([])
    dropped = backend.index([], publish=False)
    backend.engine.drop(dropped.index)
    assert backend.index([], publish=False).generation == 3


@pytest.mark.parametrize("name", ["unheard-of", "nothing"])
def test_a_collection_without_an_index_is_not_found(backend: Backend, name):
    with pytest.raises(NotFound, match=name):
        backend.engine.resolve(name)


def test_publishing_a_missing_index_is_not_found(backend: Backend):
    first = backend.index([Draft("a", ["heart"]).entry()])
    with pytest.raises(NotFound):
        backend.engine.publish("abstracts-77")
    assert backend.engine.resolve("abstracts").index == first.index


def test_answers_are_whole_while_documents_are_replaced(backend: Backend):
    """Every document alternates between two texts: an answer with both, or with two versions, would be torn."""
    names = [f"d{number}" for number in range(8)]

    def version(number: int):
        return [Draft(name, [("heart", "lung")[number % 2]] * 2, version=number).entry() for name in names]

    meta = backend.index(version(1))
    stop = threading.Event()
    torn: list[object] = []
    reader = threading.Thread(target=lambda: _watch(backend, meta.index, stop, torn))
    reader.start()
    for number in range(2, 8):
        backend.write(meta.index, version(number))
    stop.set()
    reader.join()
    assert torn == []


def _watch(backend: Backend, index: str, stop: threading.Event, torn: list[object]) -> None:
    while not stop.is_set():
        try:
            answer = backend.ask(index, "heart lung", axis(0), documents=100)
        except Exception as error:
            torn.append(error)
            return
        for leg in answer.rankings.values():
            versions = {item.passage.rpartition("@")[2].partition("#")[0] for item in leg}
            if len(leg) != 16 or len(versions) != 1:
                torn.append(leg)
        if answer.total.value != 8:
            torn.append(answer.total)


def test_collections_are_independent(backend: Backend):
    mine = backend.index([Draft("a", ["heart"]).entry()])
    other = backend.engine.create("another", ENCODERS)
    backend.write(other.index, [Draft("b", ["heart"]).entry()])
    backend.engine.publish(other.index)
    assert backend.engine.resolve("another").index == other.index
    assert documents(backend, mine.index) == (["a@1#0"], 1)
    assert [meta.collection for meta, _ in backend.engine.list()] == ["abstracts", "another"]


def test_many_commits_and_replacements_give_the_same_answer_as_one(backend: Backend):
    drafts = random_drafts(seed=3, count=40)
    once = backend.index([draft.entry() for draft in drafts])
    many = backend.engine.create("abstracts", ENCODERS)
    with backend.engine.writer(many.index) as writer:
        for start in range(0, 40, 8):
            writer.write([draft.entry() for draft in drafts[start : start + 8]])
            writer.commit()
        writer.remove([draft.id for draft in drafts[::3]])
        writer.commit()
        writer.write([draft.entry() for draft in drafts[::3]])
        writer.commit()
    for words in ("heart", "lung fever", "aspirin trial placebo"):
        one, other = (
            backend.ask(index, words, axis(2), documents=100, facets=("journal", "year"))
            for index in (once.index, many.index)
        )
        assert {item.passage for item in one.rankings["bm25"]} == {item.passage for item in other.rankings["bm25"]}
        assert list(one.rankings["dense"]) == list(other.rankings["dense"])
        assert (one.total, one.facets) == (other.total, other.facets)
