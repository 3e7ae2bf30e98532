"""The leg `discourse`, on every engine: a passage scores by its sentences, each read in the whole document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from backends import ENCODERS, EVERYBODY, Backend, axis
from discourse_model import write_discourse_model

from encoders.discourse.encoder import DiscourseEncoder
from encoders.discourse.reading import MOST_SENTENCES
from encoders.hashing import HashingEncoder
from mappings.collection import DISCOURSE
from mappings.documents import Access, FieldValue, Passage
from mappings.errors import ModelError
from search.protocols import IndexEntry, IndexMeta, LegsAnswer, LegsRequest
from search.query import LexicalQuery, Range
from workers.indexing.batches import DocumentBatch
from workers.indexing.encoding import BatchEncoder

DENSE = HashingEncoder(8)
WINDOW_WORDS = 6
ARTICLES = {
    "asthma": ("Asthma is cough in the dust. Patients have wheeze. Give rest.", "Give the inhaler. Rest is treatment.", "Dust."),
    "gout": ("Gout is joint pain of the urate.", "Allopurinol is treatment. Give allopurinol by the joint. Rest is in the history."),
    "migraine": ("Triptan.",),
}  # fmt: skip
QUERIES = (("asthma", "treatment"), ("gout", ""), ("", "causes of the joint pain"), ("unheard", "of"))


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> DiscourseEncoder:
    folder = tmp_path_factory.mktemp("models") / "by-words"
    write_discourse_model(folder)
    return DiscourseEncoder.open(folder, threads=1)


def bare(name: str, texts: Sequence[str], label: str = "public", fields: Mapping[str, FieldValue] | None = None, version: int = 1) -> IndexEntry:  # fmt: skip
    passages = tuple(Passage(name, version, number, name, "", text) for number, text in enumerate(texts))
    return IndexEntry(name, version, frozenset({label}), fields or {}, passages, {})


def encoded(model: DiscourseEncoder, entries: Sequence[IndexEntry]) -> tuple[IndexEntry, ...]:
    batch = BatchEncoder({"dense": DENSE, DISCOURSE: model}, WINDOW_WORDS).encode(DocumentBatch(tuple(entries)))
    assert not batch.failed
    return batch.entries


def indexed(backend: Backend, model: DiscourseEncoder, entries: Sequence[IndexEntry]) -> IndexMeta:
    made = backend.engine.create(backend.collection.name, {**ENCODERS, DISCOURSE: (model.fingerprint, model.dimension)})
    backend.write(made.index, entries)
    return backend.engine.meta(made.index)


def leg(backend: Backend, index: str, vector: Any, access: Access = EVERYBODY, **rest: Any) -> dict[str, float]:
    answer = ask(backend, index, vector, access, **rest)
    assert [item.score for item in answer.rankings[DISCOURSE]] == sorted(
        (item.score for item in answer.rankings[DISCOURSE]), reverse=True
    )
    return {item.passage: item.score for item in answer.rankings[DISCOURSE]}


def ask(backend: Backend, index: str, vector: Any, access: Access = EVERYBODY, **rest: Any) -> LegsAnswer:
    return backend.engine.legs(LegsRequest(index, LexicalQuery(()), {DISCOURSE: vector}, access, 50, **rest))


def test_a_passage_scores_the_mean_over_its_sentences_of_the_cosine_with_the_query(backend, model):
    entries = encoded(model, [bare(name, texts) for name, texts in ARTICLES.items()])
    assert max(len(entry.rows) and max(entry.rows) for entry in entries) > 1  # passages of several windows
    index = indexed(backend, model, entries).index
    for slots in QUERIES:
        query = model.encode_query(*slots)
        expected = {}
        for name, texts in ARTICLES.items():
            (read,) = model.encode_documents([texts])
            cosines = read.vectors @ query / np.linalg.norm(read.vectors, axis=1)
            for number in range(len(texts)):
                own = [cosine for cosine, passage in zip(cosines, read.read.passages, strict=True) if passage == number]
                expected[f"{name}@1#{number}"] = float(np.mean(own))
        assert leg(backend, index, query) == pytest.approx(expected, abs=1e-3)


def test_a_document_is_read_as_a_whole(backend, model):
    same = "Give the inhaler. Rest is treatment."
    entries = encoded(model, [bare("one", ("Asthma is by dust.", same)), bare("other", ("Gout is by urate.", same))])
    found = leg(backend, indexed(backend, model, entries).index, model.encode_query("asthma", "treatment"))
    assert found["one@1#1"] > found["other@1#1"] + 0.05


def test_what_was_not_read_never_ranks(backend, model):
    long = [" ".join(f"Rest is treatment of gout {number}." for number in range(MOST_SENTENCES - 1)), "Gout. Rest is treatment.", "Rest is treatment of gout."]  # fmt: skip
    entries = encoded(model, [bare("long", long), bare("empty", ("", "Gout.", " ")), bare("none", ("",))])
    meta = indexed(backend, model, entries)
    found = leg(backend, meta.index, model.encode_query("gout", "treatment"))
    assert set(found) == {"long@1#0", "long@1#1", "empty@1#1"}  # of the second passage, the first sentence was read
    assert (meta.by_words, meta.passages, meta.documents) == (0, 7, 3)


def test_access_and_filters_apply_in_the_leg(backend, model):
    entries = encoded(model, [
        bare("open", ("Gout is by urate.",), fields={"year": 2001.0}),
        bare("late", ("Gout is by urate.",), fields={"year": 2004.0}),
        bare("closed", ("Gout is by urate.",), label="ward-a", fields={"year": 2001.0}),
    ])  # fmt: skip
    index, query = indexed(backend, model, entries).index, model.encode_query("gout", "causes")
    public, ward = Access("reader", frozenset({"public"})), Access("ward", frozenset({"ward-a"}))
    assert set(leg(backend, index, query, public)) == {"open@1#0", "late@1#0"}
    assert set(leg(backend, index, query, ward)) == {"closed@1#0"}
    assert set(leg(backend, index, query, public, filters=(Range("year", high=2002),))) == {"open@1#0"}
    assert set(leg(backend, index, query, withheld=("open", "closed"))) == {"late@1#0"}
    assert leg(backend, index, query, Access("nobody", frozenset())) == {}


def test_documents_found_by_their_words_have_no_part_in_it_until_they_are_written_again(backend, model):
    (first, second) = encoded(model, [bare("first", ("Gout.",)), bare("second", ("Gout. Rest.",))])
    meta = indexed(backend, model, [first, replace(second, vectors={}, windows=())])
    query = model.encode_query("gout", "")
    assert (set(leg(backend, meta.index, query)), meta.by_words) == ({"first@1#0"}, 1)
    backend.write(meta.index, [second])
    assert set(leg(backend, meta.index, query)) == {"first@1#0", "second@1#0"}


def test_an_index_of_discourse_vectors_alone(backend, model):
    (entry,) = BatchEncoder({DISCOURSE: model}).encode(DocumentBatch((bare("gout", ("Gout.", "", "Rest.")),))).entries
    made = backend.engine.create(backend.collection.name, {DISCOURSE: (model.fingerprint, model.dimension)})
    backend.write(made.index, [entry, bare("words", ("Gout.",))])
    assert set(leg(backend, made.index, model.encode_query("gout", ""))) == {"gout@1#0", "gout@1#2"}
    assert backend.engine.meta(made.index).by_words == 1


def test_the_vectors_that_an_index_holds(backend, model):
    (entry,) = encoded(model, [bare("asthma", ARTICLES["asthma"])])
    index = indexed(backend, model, [entry]).index
    held = backend.engine.vectors(index, entry.passages)
    for name in ("dense", DISCOURSE):
        stacked = np.concatenate([held[passage.id][name] for passage in entry.passages])
        assert stacked == pytest.approx(entry.vectors[name], abs=1e-3)


@pytest.mark.parametrize("spoilt", ["left out", "of one row a passage", "not a number"])
def test_an_entry_with_vectors_that_do_not_fit_is_refused(backend, model, spoilt):
    (entry,) = encoded(model, [bare("asthma", ARTICLES["asthma"])])
    whole = entry.vectors[DISCOURSE]
    vectors = {
        "left out": {},
        "of one row a passage": {DISCOURSE: whole[: len(entry.passages)]},
        "not a number": {DISCOURSE: np.full_like(whole, np.nan)},
    }[spoilt]
    with pytest.raises(ModelError, match=DISCOURSE):
        indexed(backend, model, [replace(entry, vectors={"dense": entry.vectors["dense"], **vectors})])


def test_a_query_of_another_width_is_refused(backend, model):
    index = indexed(backend, model, encoded(model, [bare("gout", ("Gout.",))])).index
    with pytest.raises(ModelError, match=DISCOURSE):
        ask(backend, index, axis(0))
