"""Searching twice: what the best passages of a first answer add to the vectors of the second."""

import dataclasses
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_collections import abstract, fill

from evaluation import stages
from evaluation.task import Corpus, Question, Task
from mappings.collection import SHIPPED_KINDS
from mappings.documents import Access
from mappings.errors import ModelError
from mappings.stages import Feedback
from search.bootstrap import Medley
from search.memory.cache import Cache
from search.pipeline.search import search
from search.query import Query
from search.ranking.feedback import FEEDBACK_SECONDS, towards
from search.settings import Settings

PUBLIC = Access("reader", frozenset({"public"}))
EVERYTHING = Access("root", frozenset({"*"}))
DOCUMENTS = (
    abstract("cited", "Trial", "Aspirin and ticagrelor after stenting of coronary arteries.", 2020),
    abstract("like it", "Trial", "Ticagrelor after stenting of coronary arteries.", 2020),
    abstract("other", "Trial", "Vitamin supplements prevented few falls among nursing residents.", 2020),
    abstract("secret", "Aspirin", "Aspirin, aspirin and vitamin supplements among nursing residents.", 2020, "closed"),
)


@pytest.fixture
def trials(tmp_path) -> Medley:
    medley = Medley.open(Settings(home=tmp_path, encoder="hashing-256", reranker="none"))
    fill(medley, "abstracts", list(DOCUMENTS))
    return medley


def parts_with(medley: Medley, feedback: Feedback | None, **changes):
    collection = dataclasses.replace(medley.collections.get("abstracts"), feedback=feedback)
    return dataclasses.replace(medley.services, collection=lambda _: collection, **changes)


def asked(access: Access = PUBLIC, **more) -> Query:
    return Query("abstracts", access, "aspirin", **more)


def test_the_best_passage_brings_those_that_are_like_it(trials):
    once, twice = (search(asked(explain=True), parts_with(trials, wanted)) for wanted in (None, Feedback(1, 0.8)))
    assert once.feedback == ()
    assert twice.feedback == ("cited@1#0",)
    assert [hit.document for hit in twice.hits] == ["cited", "like it", "other"]
    before, after = ({hit.document: hit.explain.legs["dense"].score for hit in found.hits} for found in (once, twice))
    assert after["like it"] > before["like it"] + 0.3
    assert "feedback" in twice.timings_ms
    assert (twice.total, twice.degraded) == (once.total, ())
    for hit in twice.hits:
        assert sum(hit.explain.final.values()) == pytest.approx(hit.score)


def test_what_the_caller_may_not_see_moves_nothing(trials, tmp_path):
    without = Medley.open(Settings(home=tmp_path / "without", encoder="hashing-256", reranker="none"))
    fill(without, "abstracts", list(DOCUMENTS[:3]))
    alone, beside = (search(asked(), parts_with(medley, Feedback(2, 0.5))) for medley in (without, trials))
    assert beside.feedback == alone.feedback
    assert [(hit.document, hit.score) for hit in beside.hits] == [(hit.document, hit.score) for hit in alone.hits]
    seen = search(asked(EVERYTHING), parts_with(trials, Feedback(2, 0.5)))
    assert "secret@1#0" in seen.feedback


def test_the_same_question_twice_and_with_other_settings(trials):
    parts = parts_with(trials, Feedback(1, 0.8))
    first, again = search(asked(), parts), search(asked(), parts)
    assert [(hit.document, hit.score) for hit in first.hits] == [(hit.document, hit.score) for hit in again.hits]
    other = search(asked(), dataclasses.replace(parts, collection=parts_with(trials, Feedback(1, 0.2)).collection))
    assert [hit.score for hit in other.hits] != [hit.score for hit in first.hits]
    plain = search(asked(), dataclasses.replace(parts, collection=parts_with(trials, None).collection))
    assert [hit.score for hit in plain.hits] == [hit.score for hit in search(asked(), trials.services).hits]


class Broken:
    """An encoder that reads queries, and no passage."""

    def __init__(self, encoder) -> None:
        self.encoder = encoder

    def encode_queries(self, texts):
        return self.encoder.encode_queries(texts)

    def encode_passages(self, texts):
        raise ModelError("weights.bin was altered", field="weights.bin")


class Mute(Broken):
    """An encoder that reads no query, either."""

    def encode_queries(self, texts):
        raise ModelError("weights.bin was altered", field="weights.bin")


class Forgetful:
    """An engine that can't rank by vectors a second time."""

    def __init__(self, engine) -> None:
        self.engine, self.asked = engine, 0

    def __getattr__(self, name):
        return getattr(self.engine, name)

    def legs(self, request):
        self.asked += 1
        found = self.engine.legs(request)
        return found if self.asked == 1 else dataclasses.replace(found, missing={"dense": "a shard is gone"})


def test_a_failure_leaves_the_first_answer_and_says_so(trials):
    plain = [(hit.document, hit.score) for hit in search(asked(), trials.services).hits]
    broken = parts_with(trials, Feedback(1, 0.8), encoder=lambda name: Broken(trials.services.encoder(name)))
    forgetful = parts_with(trials, Feedback(1, 0.8), engine=Forgetful(trials.engine), answers=Cache(8))
    for parts, reason in ((broken, "weights.bin was altered"), (forgetful, "dense: a shard is gone")):
        found = search(asked(), parts)
        assert found.degraded == (f"feedback failed ({reason}); the results are those of the query without feedback",)
        assert [(hit.document, hit.score) for hit in found.hits] == plain
        assert found.feedback == ()


class Once:
    """Finds an encoder the first time only, as after a model server's restart."""

    def __init__(self, find) -> None:
        self.find, self.asked = find, 0

    def __call__(self, name):
        self.asked += 1
        return self.find(name) if self.asked == 1 else None


class Slow(Broken):
    """An encoder that is told how long it may take."""

    def __init__(self, encoder) -> None:
        super().__init__(encoder)
        self.told = []

    def encode_queries(self, texts):
        time.sleep(0.02)
        return super().encode_queries(texts)

    def encode_passages_within(self, texts, seconds):
        self.told.append(seconds)
        return self.encoder.encode_passages(texts)


def test_an_encoder_that_is_gone_by_then_is_named(trials):
    found = search(asked(), parts_with(trials, Feedback(1, 0.8), encoder=Once(trials.services.encoder)))
    assert found.degraded == (
        "feedback failed (the encoder for 'dense' is no longer available); the results are those of the query without feedback",
    )
    assert [hit.document for hit in found.hits] == [hit.document for hit in search(asked(), trials.services).hits]


def test_without_the_vectors_of_the_query_nothing_is_moved(trials):
    mute = parts_with(trials, Feedback(1, 0.8), encoder=lambda name: Mute(trials.services.encoder(name)))
    found = search(asked(), mute)
    assert found.degraded == (
        "the encoder for 'dense' failed (weights.bin was altered); the leg 'dense' was not searched",
    )
    assert (found.feedback, [hit.document for hit in found.hits]) == ((), ["cited"])


def test_feedback_keeps_to_the_deadline(trials):
    (fingerprint,) = trials.engine.resolve("abstracts").encoders.values()
    slow = Slow(trials.services.encoder(fingerprint))
    parts = parts_with(trials, Feedback(1, 0.8), encoder=lambda _: slow, vectors=Cache(8))
    late = search(asked(deadline_ms=10), parts)
    assert late.degraded == (
        "feedback failed (no time was left before the deadline); the results are those of the query without feedback",
    )
    assert slow.told == []
    assert search(asked(deadline_ms=1500), parts).feedback == ("cited@1#0",)
    assert search(asked(deadline_ms=0), parts).feedback == ("cited@1#0",)
    assert 0 < slow.told[0] < 1.5
    assert slow.told[1] == FEEDBACK_SECONDS


def test_every_page_is_fed_back_by_the_same_passages(many):
    medley = many(60)  # of which a window holds 20 documents
    parts = parts_with(medley, Feedback(5, 0.6))
    fusion = dataclasses.replace(medley.collections.get("abstracts").fusion, normalisation="minmax")
    collection = dataclasses.replace(parts.collection("abstracts"), fusion=fusion)
    parts = dataclasses.replace(parts, collection=lambda _: collection)
    cursor, documents, moved = None, [], set()
    while True:
        page = search(asked(EVERYTHING, size=7, cursor=cursor), parts)
        documents += [hit.document for hit in page.hits]
        moved.add(tuple(page.feedback))
        cursor = page.cursor
        if cursor is None:
            break
    assert len(moved) == 1
    assert len(documents) == len(set(documents)) == 60


def test_words_alone_are_searched_once(trials):
    found = search(asked(), parts_with(trials, Feedback(1, 0.8), encoder=lambda _: None))
    assert found.feedback == ()
    assert [hit.document for hit in found.hits] == ["cited"]


def test_evaluation_ranks_as_a_search_of_such_a_kind_does(tmp_path):
    shipped = (SHIPPED_KINDS / "abstracts.toml").read_text(encoding="utf-8")
    (tmp_path / "abstracts.toml").write_text(f"{shipped}\n[feedback]\npassages = 1\nshare = 0.8\n", encoding="utf-8")
    medley = Medley.open(Settings(home=tmp_path, encoder="hashing-256", reranker="none", collections=tmp_path))
    fill(medley, "abstracts", list(DOCUMENTS))
    corpus = Corpus("abstracts", "abstracts", lambda: ())
    task = Task("own", corpus, (Question("1", "aspirin"),), {"1": {"cited": 1}}, ("RR",), depth=500)
    bench = stages.Session(medley, task, None)
    legs = stages.retrieve_question(bench, task.questions[0])
    order = legs.candidates
    found = medley.search(asked(EVERYTHING))
    assert found.feedback == ("secret@1#0",)
    assert [(item.document, item.score) for item in order] == [(hit.document, hit.score) for hit in found.hits]
    plain = stages.retrieve_question(bench, task.questions[0], feedback=False).candidates
    assert [item.score for item in plain] != [item.score for item in order]


units = st.lists(st.floats(-1, 1, width=32), min_size=3, max_size=3).filter(lambda v: np.linalg.norm(v) > 0.1)


@given(units, st.lists(units, min_size=1, max_size=4), st.floats(0.05, 0.95))
def test_a_moved_vector_is_of_unit_length_and_no_farther_from_what_moved_it(query, passages, share):
    vector, rows = (np.asarray(item, dtype=np.float32) for item in (query, passages))
    vector, rows = vector / np.linalg.norm(vector), rows / np.linalg.norm(rows, axis=1, keepdims=True)
    found = towards(vector, rows, share)
    assert np.linalg.norm(found) == pytest.approx(1, abs=1e-5)
    mean = rows.mean(axis=0)
    assert found @ mean >= vector @ mean - 1e-5


def test_opposites_that_cancel_out_leave_the_query():
    vector = np.asarray([1, 0], dtype=np.float32)
    assert towards(vector, -vector[None], 0.5) is vector
