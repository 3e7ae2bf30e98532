"""Documents that are written without vectors first: their words find them, and vectors only when they are written again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from backends import Backend, Draft, axis

from mappings.errors import ModelError
from search.protocols import IndexEntry


def by_words(draft: Draft) -> IndexEntry:
    return replace(draft.entry(), vectors={}, windows=())


def ids(ranking) -> list[str]:
    return [item.passage for item in ranking]


def test_a_document_without_vectors_is_found_by_its_words_alone(backend: Backend):
    late, early = Draft("late", ["heart", "lung"]), Draft("early", ["heart"], vectors=[-axis(0)])
    meta = backend.index([early.entry(), by_words(late)])
    assert (meta.by_words, meta.documents, meta.passages) == (1, 2, 3)
    answer = backend.ask(meta.index, "heart", axis(0))
    assert sorted(ids(answer.rankings["bm25"])) == ["early@1#0", "late@1#0"]
    assert ids(answer.rankings["dense"]) == ["early@1#0"]  # although it points the other way
    assert answer.total.value == 2


def test_written_again_with_vectors_it_is_found_by_both_and_once(backend: Backend):
    draft = Draft("late", ["heart", "lung"], vectors=[axis(0), axis(1), axis(2)], windows=(1, 2))
    meta = backend.index([by_words(draft)])
    backend.write(meta.index, [draft.entry()])
    now = backend.engine.meta(meta.index)
    assert (now.by_words, now.documents, now.passages, now.rows) == (0, 1, 2, 3)
    answer = backend.ask(meta.index, "heart", axis(2))
    assert (ids(answer.rankings["bm25"]), ids(answer.rankings["dense"])[0]) == (["late@1#0"], "late@1#1")
    assert list(backend.engine.contents(meta.index)) == [("late", 1, 2)]


def test_it_has_no_vectors_that_another_index_could_take(backend: Backend):
    late, early = Draft("late", ["heart"]), Draft("early", ["heart"])
    meta = backend.index([early.entry(), by_words(late)])
    passages = [*late.entry().passages, *early.entry().passages]
    assert list(backend.engine.vectors(meta.index, passages)) == ["early@1#0"]


def test_many_without_vectors_displace_none_that_has_one(backend: Backend):
    drafts = [Draft(f"w{number:03}", ["heart"]) for number in range(300)]
    far = Draft("far", ["lung"], vectors=[-axis(0)])
    meta = backend.index([*map(by_words, drafts), far.entry()])
    assert ids(backend.ask(meta.index, "heart", axis(0)).rankings["dense"]) == ["far@1#0"]


def test_vectors_of_some_fields_only_are_refused(backend: Backend):
    meta = backend.index([Draft("a", ["heart"]).entry()])
    entry = replace(Draft("b", ["heart"]).entry(), vectors={"other": np.stack([axis(0)])})
    with backend.engine.writer(meta.index) as writer, pytest.raises(ModelError, match="has only other vectors"):
        writer.write([entry])
