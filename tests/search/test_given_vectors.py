"""Searches of every document, and searches by vectors that the caller brings."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from small_collections import abstract, fill

from mappings.documents import Access
from mappings.errors import InvalidInput
from mappings.stages import Feedback
from search.bootstrap import Medley
from search.pipeline.search import search
from search.query import Query, QueryVector, Range
from search.settings import Settings
from search.understanding.filters import as_json, parse
from search.understanding.query_vectors import vectors_key

PUBLIC = Access("reader", frozenset({"public"}))
TEXTS = {
    "a1": "Aspirin lowered mortality after infarction.",
    "a2": "Metformin lowered weight in adults.",
    "a3": "Statins lowered cholesterol.",
}


@pytest.fixture(scope="module")
def medley(tmp_path_factory: pytest.TempPathFactory) -> Medley:
    made = Medley.open(
        Settings(home=Path(tmp_path_factory.mktemp("given")), encoder="hashing-256", reranker="none", stance="none")
    )
    documents = [abstract(name, f"Study {name}", text, 2010 + i) for i, (name, text) in enumerate(TEXTS.items())]
    fill(made, "abstracts", [*documents, abstract("hidden", "Secret", "Aspirin.", 2013, "secret")])
    return made


def query(text: str = "", **more) -> Query:
    return Query("abstracts", PUBLIC, text, rerank=False, **more)


def vector_of(medley: Medley, text: str) -> QueryVector:
    fingerprint = medley.engine.resolve("abstracts").encoders["dense"]
    encoder = medley.services.encoder(fingerprint)
    assert encoder is not None
    return QueryVector("dense", fingerprint, tuple(encoder.encode_queries([text])[0].tolist()))


def found(medley: Medley, asked: Query) -> list[str]:
    return [hit.document for hit in medley.search(asked).hits]


def test_everything_has_every_visible_document_in_order_of_its_id(medley):
    results = medley.search(query(everything=True, facets=("year",)))
    assert [hit.document for hit in results.hits] == ["a1", "a2", "a3"]
    assert (results.total.value, results.total.relation) == (3, "exact")
    assert {(item.value, item.count) for item in results.facets["year"]} == {("2010", 1), ("2011", 1), ("2012", 1)}
    assert found(medley, query(everything=True, filters=(Range("year", 2011.0),))) == ["a2", "a3"]


def test_a_text_only_orders_everything(medley):
    results = medley.search(query("metformin", everything=True))
    assert results.hits[0].document == "a2"
    assert {hit.document for hit in results.hits} == set(TEXTS)
    assert results.total.value == 3


def test_without_anything_a_query_is_still_empty():
    with pytest.raises(InvalidInput, match="the query is empty"):
        query()


def test_a_vector_finds_what_is_near_it_whatever_its_length(medley):
    given = vector_of(medley, "metformin weight")
    results = medley.search(query(vectors=(given,), explain=True))
    assert results.hits[0].document == "a2"
    assert not results.hits[0].lexical
    assert set(results.hits[0].explain.legs) == {"dense"}
    assert results.total.value == 0
    longer = given._replace(values=tuple(1e200 * value for value in given.values))
    assert found(medley, query(vectors=(longer,))) == [hit.document for hit in results.hits]
    assert "hidden" not in {hit.document for hit in results.hits}


def test_a_vector_takes_the_place_of_that_of_the_text(medley):
    given = vector_of(medley, "metformin weight")
    calls: list[str] = []

    def counting(fingerprint):
        calls.append(fingerprint)
        return medley.services.encoder(fingerprint)

    services = dataclasses.replace(medley.services, encoder=counting)
    results = search(query("aspirin", vectors=(given,), explain=True), services)
    assert calls == []
    dense = {hit.document: hit.explain.legs["dense"].rank for hit in results.hits}
    assert dense["a2"] == 1
    plain = search(query("aspirin", explain=True), services)
    assert {hit.document: hit.explain.legs["dense"].rank for hit in plain.hits}["a1"] == 1


def test_answers_to_other_vectors_are_not_remembered(medley):
    for text, expected in (("aspirin infarction", "a1"), ("statins cholesterol", "a3"), ("aspirin infarction", "a1")):
        assert found(medley, query(vectors=(vector_of(medley, text),)))[0] == expected


def test_feedback_does_not_move_a_given_vector(medley):
    collection = dataclasses.replace(medley.collections.get("abstracts"), feedback=Feedback(2, 0.5))
    services = dataclasses.replace(medley.services, collection=lambda _: collection)
    assert search(query("aspirin"), services).feedback
    assert search(query("aspirin", vectors=(vector_of(medley, "statins"),)), services).feedback == ()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"name": "title"}, "has no vectors 'title'; it has dense"),
        ({"name": "discourse"}, "has no vectors 'discourse'"),
        ({"encoder": "0" * 64}, "the given one is of '0000"),
        ({"encoder": ""}, "the given one is of ''"),
        ({"values": ()}, "not all of them 0"),
        ({"values": (0.0,) * 256}, "not all of them 0"),
        ({"values": (float("nan"),) * 256}, "finite"),
        ({"values": (float("inf"),) * 256}, "finite"),
        ({"values": (1.0,) * 255}, r"has shape (255,); the index expects (256,)"),
    ],
)
def test_vectors_that_do_not_fit_are_refused(medley, change, said):
    with pytest.raises(InvalidInput) as refused:
        medley.search(query(vectors=(vector_of(medley, "aspirin")._replace(**change),)))
    assert refused.value.field == "vectors"
    assert said in refused.value.message


def test_filters_that_a_form_can_say_are_written_as_it_does(medley):
    collection = medley.collections.get("abstracts")
    written = {"journal": ["Heart"], "year": {"gte": 2015.0}}
    assert as_json(parse(written, collection)) == written
    twice = (*parse({"year": {"gte": 2015}}, collection), *parse({"year": {"lte": 2020}}, collection))
    assert as_json(twice) == [{"field": "year", "gte": 2015.0}, {"field": "year", "lte": 2020.0}]


def test_vectors_of_two_fields_are_not_taken_for_each_other() -> None:
    one, other = np.eye(2, dtype=np.float32)
    key = vectors_key({"dense": one, "title": other})
    assert key == vectors_key({"title": other, "dense": one})
    assert key != vectors_key({"title": one, "dense": other})
    assert vectors_key({"dense": one}) != vectors_key({"title": one})
