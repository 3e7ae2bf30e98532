"""Queries are encoded when the engine asks for their vectors, and only then."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from encoders.hashing import HashingEncoder
from mappings.documents import Access
from mappings.errors import ModelError
from search.engines.embedded import snapshot
from search.memory.cache import Cache
from search.pipeline.search import search
from search.query import Query
from search.understanding.query_vectors import LaterVectors

ACCESS = Access("root", frozenset({"*"}))
ASKED = Query("abstracts", ACCESS, "aspirin mortality", rerank=False)


class Counting:
    """The encoder of the index, counting its texts; it fails as often as it is told to."""

    def __init__(self, own: HashingEncoder, failures: int = 0) -> None:
        self.own, self.failures, self.texts = own, failures, []

    def __getattr__(self, name):
        return getattr(self.own, name)

    def encode_queries(self, texts):
        self.texts += texts
        if self.failures:
            self.failures -= 1
            raise ModelError("out of memory")
        return self.own.encode_queries(texts)


def counted(medley, failures=0):
    (own,) = medley.models.encoders(medley.collections.get("abstracts")).values()
    encoder = Counting(own, failures)
    # A cache of one vector: what is remembered below is the answer.
    return encoder, replace(
        medley.services, encoder=lambda fingerprint: encoder, answers=Cache(8), vectors=Cache(1), store=None
    )


def test_vectors_are_computed_once_when_the_first_is_asked_for():
    asked = []
    later = LaterVectors(lambda: asked.append(1) or {"dense": np.ones(2), "title": np.zeros(2)})
    assert not asked
    assert [*later] == ["dense", "title"]
    assert (len(later), later["dense"].tolist(), "other" in later, asked) == (2, [1, 1], False, [1])


def test_an_answer_that_is_remembered_needs_no_encoder(medley):
    encoder, services = counted(medley)
    first, other = search(ASKED, services), search(replace(ASKED, text="statins"), services)
    assert encoder.texts == ["aspirin mortality", "statins"]
    again = search(ASKED, services)
    assert encoder.texts == ["aspirin mortality", "statins"]
    assert again.hits == first.hits != other.hits
    assert {"encode", "legs"} <= again.timings_ms.keys()


def test_an_answer_without_a_failed_encoder_is_not_remembered(medley):
    encoder, services = counted(medley, failures=1)
    failed, well = search(ASKED, services), search(ASKED, services)
    assert failed.degraded == ("the encoder for 'dense' failed (out of memory); the leg 'dense' was not searched",)
    assert well.degraded == ()
    assert len(encoder.texts) == 2
    assert search(ASKED, services).hits == well.hits
    assert len(encoder.texts) == 2


@pytest.mark.parametrize("least", [0, 1_000_000])
def test_words_beside_encoding_answer_the_same(medley, monkeypatch, least):
    expected = medley.search(ASKED)
    monkeypatch.setattr(snapshot, "_BESIDE_FROM", least)
    _, services = counted(medley)
    found = search(ASKED, services)
    assert (found.hits, found.total, found.facets) == (expected.hits, expected.total, expected.facets)
