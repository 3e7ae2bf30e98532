"""Token vectors of passages: stored as they were written, seen by whoever sees the passage, and gone with it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from backends import COLLECTION, ENCODERS, EVERYBODY, Backend, Draft, axis

from encoders.tokens.format import TokenFormat
from mappings.documents import Access
from mappings.errors import ModelError
from search.protocols import IndexEntry, IndexMeta

FORMAT = TokenFormat("f" * 64, 8, "mean-8x2-0123456789ab")


def create(backend: Backend, *entries: IndexEntry, tokens: TokenFormat | None = FORMAT) -> IndexMeta:
    meta = backend.engine.create(backend.collection.name, ENCODERS, tokens=tokens)
    backend.write(meta.index, entries)
    backend.engine.publish(meta.index)
    return backend.engine.meta(meta.index)


def entry(draft: Draft, *tokens: bytes) -> IndexEntry:
    return replace(draft.entry(), tokens=tokens)


def read(backend: Backend, meta: IndexMeta, *ids: str, access: Access = EVERYBODY) -> dict[str, bytes]:
    return dict(backend.engine.tokens(meta.index, ids, access))


def test_they_come_back_as_they_were_written(backend: Backend):
    windows = Draft("a", ["heart", "lung"], vectors=[axis(0), axis(1), axis(2)], windows=(1, 2))
    large = bytes(range(256)) * 31
    meta = create(backend, entry(windows, b"\0first\xff", large), entry(Draft("b", ["fever"]), b"b"))
    assert meta.tokens == FORMAT
    ids = ("a@1#0", "a@1#1", "b@1#0")
    assert read(backend, meta, *ids) == dict(zip(ids, (b"\0first\xff", large, b"b"), strict=True))
    assert read(backend, meta, "a@1#1", "nothing@1#0") == {"a@1#1": large}
    assert read(backend, meta) == {}
    assert backend.ask(meta.index, "heart", axis(0)).rankings["bm25"][0].passage == "a@1#0"


def test_passages_without_any_have_none(backend: Backend):
    by_words = replace(Draft("late", ["heart"]).entry(), vectors={})
    meta = create(backend, by_words, entry(Draft("b", ["fever", "cough"]), b"", b"x"), Draft("c", ["lung"]).entry())
    assert read(backend, meta, "late@1#0", "b@1#0", "b@1#1", "c@1#0") == {"b@1#1": b"x"}
    backend.write(meta.index, [entry(Draft("late", ["heart"]), b"now")])
    assert read(backend, meta, "late@1#0", "b@1#1") == {"late@1#0": b"now", "b@1#1": b"x"}


def test_an_index_that_stores_none_takes_none(backend: Backend):
    meta = create(backend, entry(Draft("a", ["heart"]), b"x"), tokens=None)
    assert meta.tokens is None
    assert read(backend, meta, "a@1#0") == {}


def test_only_those_of_visible_passages_are_found(backend: Backend):
    closed, none = Draft("w", ["heart"], labels=frozenset({"ward-a"})), Draft("n", ["heart"], labels=frozenset())
    meta = create(backend, entry(closed, b"w"), entry(none, b"n"), entry(Draft("p", ["heart"]), b"p"))
    ids = ("w@1#0", "n@1#0", "p@1#0")
    assert read(backend, meta, *ids, access=Access("x", frozenset({"public"}))) == {"p@1#0": b"p"}
    assert read(backend, meta, *ids, access=Access("x", frozenset({"ward-a"}))) == {"w@1#0": b"w"}
    assert read(backend, meta, *ids) == {"w@1#0": b"w", "p@1#0": b"p"}


def test_a_removed_or_replaced_document_has_none(backend: Backend):
    meta = create(backend, entry(Draft("a", ["heart"]), b"a"), entry(Draft("b", ["lung"]), b"b"))
    backend.write(meta.index, [entry(Draft("a", ["heart", "fever"], version=2), b"", b"a2")], removed=["b"])
    assert read(backend, meta, "a@1#0", "a@2#0", "a@2#1", "b@1#0") == {"a@2#1": b"a2"}


def test_a_writer_that_fails_leaves_none(backend: Backend):
    meta = create(backend, entry(Draft("a", ["heart"]), b"a"))
    with backend.engine.writer(meta.index) as writer:
        writer.write([entry(Draft("b", ["lung"]), b"gone")])
    backend.write(meta.index, [entry(Draft("c", ["cough"]), b"c")])
    assert read(backend, meta, "a@1#0", "b@1#0", "c@1#0") == {"a@1#0": b"a", "c@1#0": b"c"}


def test_those_of_some_passages_only_are_refused(backend: Backend):
    meta = create(backend)
    with (
        backend.engine.writer(meta.index) as writer,
        pytest.raises(ModelError, match="has token vectors of 1 passages"),
    ):
        writer.write([entry(Draft("a", ["heart", "lung"]), b"a")])


def test_the_index_is_what_its_collection_wants_and_is_whole(backend: Backend):
    meta = create(backend, entry(Draft("a", ["heart"]), b"a"))
    assert list(backend.engine.drift(meta.index)) == []
    assert list(backend.engine.file_problems(meta.index)) == []
    assert COLLECTION.name == meta.collection


def test_another_index_can_take_vectors_from_it(backend: Backend):
    draft = Draft("a", ["heart"], vectors=[axis(3)])
    meta = create(backend, entry(draft, b"a" * 5000))
    found = backend.engine.vectors(meta.index, draft.entry().passages)
    assert found["a@1#0"]["dense"].shape == (1, 8)
