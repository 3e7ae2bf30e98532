import dataclasses
import time

import numpy as np
import pytest

from encoders.hashing import HashingEncoder
from mappings.documents import Access, Document, Section
from mappings.errors import InvalidInput, ModelError, NotFound
from mappings.stages import Feedback, FirstStage
from search.bootstrap import Medley
from search.memory.cache import Cache
from search.pipeline.search import search
from search.query import Query, Range, Terms
from search.ranking.anytime import AnytimeReranker, Pace, ScoreCache
from search.ranking.cascade import RerankStages
from search.settings import Settings
from workers.indexing.indexer import Indexer
from workers.indexing.ingest import ingest

PUBLIC = Access("reader", frozenset({"public"}))
EVERYTHING = Access("root", frozenset({"*"}))


def query(text: str = "aspirin", **more) -> Query:
    return Query("abstracts", more.pop("access", PUBLIC), text, **more)


class Longest:
    """A reranker that prefers the longer text; takes `seconds` for each."""

    fingerprint = "longest"

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds

    def score(self, query, passages):
        time.sleep(self.seconds * len(passages))
        return np.asarray([len(text) for text in passages], dtype=np.float32)


def with_reranker(medley, reranker, **settings):
    stages = RerankStages(AnytimeReranker(reranker, ScoreCache(), Pace()))
    changed = dataclasses.replace(medley.settings, **settings)
    return dataclasses.replace(medley.services, settings=changed, reranker=lambda _: stages)


def test_the_whole_answer(medley):
    results = medley.search(query("aspirin mortality", size=1, facets=("year",), explain=True))
    (hit,) = results.hits
    assert (hit.document, hit.passage, hit.title) == ("a1", "a1@1#0", "Aspirin after myocardial infarction")
    assert hit.fields == {"year": 2015.0, "source": "test"}
    assert [item.text for item in hit.evidence] == ["Low-dose aspirin lowered mortality after myocardial infarction."]
    assert [item.text[mark.start : mark.end] for item in hit.evidence for mark in item.marks] == [
        "aspirin",
        "mortality",
    ]
    assert [hit.title[mark.start : mark.end] for mark in hit.title_marks] == ["Aspirin"]
    assert hit.text[hit.evidence[0].start : hit.evidence[0].end] == hit.evidence[0].text
    assert hit.explain.matched_terms == ("aspirin", "mortality")
    assert sum(hit.explain.final.values()) == pytest.approx(hit.score)
    assert hit.score == pytest.approx(sum(leg.contribution for leg in hit.explain.legs.values()))
    assert (results.total.value, results.total.relation) == (2, "exact")
    assert [(item.value, item.count) for item in results.facets["year"]] == [("2015", 1), ("2018", 1)]
    assert results.degraded == ()
    assert (results.reranked.scored, results.reranked.candidates) == (0, 0)
    assert results.index == "abstracts-1"
    assert [term for term, _ in results.understood.lexical.terms] == ["asa", "aspirin", "mortal"]
    assert {"understand", "encode", "legs", "fuse", "fetch", "evidence", "total"} <= set(results.timings_ms)


def test_an_abbreviation_finds_its_long_form(medley):
    results = medley.search(query("MI"))
    assert results.hits[0].document == "a1"
    assert ("MI", "myocardial infarction") in results.understood.expansions


def test_filters_hold_in_every_leg(medley):
    results = medley.search(query("aspirin", filters=(Range("year", low=2018), Terms("source", ("test",)))))
    assert "a1" not in {hit.document for hit in results.hits}
    assert results.hits[0].document == "a5"
    assert results.total.value == 1


def test_hits_that_only_vectors_found_are_labelled(medley):
    results = medley.search(query("aspirin"))
    assert {hit.document: hit.lexical for hit in results.hits}["a4"] is False
    assert results.total.value == 2


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            {"filters": (Terms("colour", ("red",)),)},
            "has no field 'colour'; known are authors, badges, doi, issue, journal,",
        ),
        ({"facets": ("colour",)}, "has no field 'colour'"),
        ({"sort": "-colour"}, "cannot be sorted by '-colour'; known are relevance, -"),
        ({"sort": "source"}, "cannot be sorted by 'source'"),
        ({"cursor": "forged"}, "not issued by this service"),
    ],
)
def test_what_the_collection_does_not_have_is_named(medley, more, message):
    with pytest.raises(InvalidInput, match=message):
        medley.search(query(**more))


def test_an_unknown_collection_is_named(medley):
    with pytest.raises(NotFound, match="no collection 'abstract'; did you mean 'abstracts'"):
        medley.search(Query("abstract", PUBLIC, "aspirin"))


def test_sorting_by_a_field(medley):
    results = medley.search(query("adults", sort="-year"))
    years = [hit.fields["year"] for hit in results.hits]
    assert years == sorted(years, reverse=True)


def test_reranking_decides_and_says_so(medley):
    results = search(query("aspirin", explain=True), with_reranker(medley, Longest()))
    assert results.reranked.scored == results.reranked.candidates == 5
    for hit in results.hits:
        assert sum(hit.explain.final.values()) == pytest.approx(hit.score)


def test_a_deadline_leaves_a_partial_answer_that_says_so(many):
    medley = many(60)
    parts = with_reranker(medley, Longest(0.05), candidates=20)
    results = search(query("aspirin", access=EVERYTHING, deadline_ms=800), parts)
    assert 0 < results.reranked.scored < results.reranked.candidates == 20
    read = f"{results.reranked.scored} of 20 passages were read closely"
    assert (results.degraded, results.partial) == ((), (f"ranked by a quick look: {read}",))
    assert len(results.hits) == 10


@pytest.mark.slow
def test_a_later_page_explains_itself_by_the_weight_that_was_left(many):
    parts = with_reranker(many(60), Longest(0.1), candidates=20)
    asked = query("aspirin", access=EVERYTHING, deadline_ms=1500, explain=True, size=2)
    first = search(asked, parts)
    assert 2 < first.reranked.scored < 20
    weight = first.hits[0].explain.reranker.weight
    assert 0 < weight < parts.collection("abstracts").reranking.weight / 2
    (hit, _) = search(dataclasses.replace(asked, cursor=first.cursor), parts).hits
    assert hit.explain.reranker.weight == pytest.approx(weight)
    assert 0 <= hit.explain.reranker.normalised <= 1
    assert sum(hit.explain.final.values()) == pytest.approx(hit.score)


def test_a_broken_reranker_leaves_the_fused_order(medley):
    def broken(_):
        raise ModelError("weights.bin was altered", field="weights.bin")

    fused = [hit.document for hit in medley.search(query("aspirin")).hits]
    results = search(query("aspirin"), dataclasses.replace(medley.services, reranker=broken))
    assert [hit.document for hit in results.hits] == fused
    assert results.degraded == ("the reranker failed (weights.bin was altered); the fused order is shown",)


def test_two_stages_through_the_whole_path_and_without_the_first(medley):
    collection = medley.collections.get("abstracts")
    reranking = dataclasses.replace(collection.reranking, first=FirstStage("small", 2, 0.5))
    two = dataclasses.replace(collection, reranking=reranking)
    anytime = [AnytimeReranker(Longest(), ScoreCache(), Pace()) for _ in range(2)]
    for stages, degraded in (
        (RerankStages(*anytime), ()),
        (RerankStages(anytime[0], missing="weights.bin was altered"), ("the first reranking stage failed (weights.bin was altered); only the last stage ran",)),
    ):  # fmt: skip
        parts = dataclasses.replace(medley.services, reranker=lambda _, found=stages: found, collection=lambda _: two)
        asked = query("aspirin", size=2, explain=True)
        results = search(asked, parts)
        assert (results.degraded, results.partial) == (degraded, ())
        assert results.reranked.scored == results.reranked.candidates == 5
        rest = search(dataclasses.replace(asked, size=3, cursor=results.cursor), parts)
        hits = (*results.hits, *rest.hits)
        named = [hit.explain.reranker.stage for hit in hits]
        assert named == (["last"] * 5 if degraded else ["last"] * 2 + ["first"] * 3)
        for hit in hits:
            assert sum(hit.explain.final.values()) == pytest.approx(hit.score)


def test_a_first_stage_that_can_t_be_loaded_is_named(tmp_path):
    medley = Medley.open(Settings(home=tmp_path))
    collection = medley.collections.create("abstracts")
    first = FirstStage("nowhere", 2, 0.5)
    stages = medley.models.rerank_stages(
        dataclasses.replace(collection, reranking=dataclasses.replace(collection.reranking, first=first))
    )
    assert stages.first is None
    assert stages.missing.startswith("there is no model 'nowhere'")


def test_without_the_index_s_encoder_the_words_are_searched(medley):
    results = search(query("aspirin"), dataclasses.replace(medley.services, encoder=lambda _: None))
    assert {hit.document for hit in results.hits} == {"a1", "a5"}
    assert len(results.degraded) == 1
    assert "the leg 'dense' was not searched" in results.degraded[0]


def index_waiting(medley):
    list(ingest(Indexer.of(medley, "abstracts")))


def pages(medley, asked):
    """Every page of a query, until there is no cursor."""
    found, cursor = [], None
    while True:
        results = medley.search(dataclasses.replace(asked, cursor=cursor))
        found.append(results)
        cursor = results.cursor
        if cursor is None or len(found) > 50:
            return found


def test_pages_repeat_nothing_and_leave_out_nothing(many):
    medley = many(60)
    found = pages(medley, query("aspirin", access=EVERYTHING, size=7))
    documents = [hit.document for results in found for hit in results.hits]
    assert len(documents) == len(set(documents)) == 60
    assert next(results.beyond_window for results in found) is False
    assert found[-1].beyond_window is True


def test_a_page_shows_only_what_the_caller_may_see(many):
    medley = many(60)
    documents = {hit.document for results in pages(medley, query("aspirin", size=9)) for hit in results.hits}
    assert documents == {f"d{number:03}" for number in range(60) if number % 3}


def test_a_cursor_outlives_new_documents_without_repeating(many):
    medley = many(40)
    asked = query("aspirin", access=EVERYTHING, size=5)
    first = medley.search(asked)
    medley.collections.store("abstracts").put(
        [Document("zz", "Late", (Section("", "aspirin " * 9),), frozenset({"public"}))]
    )
    index_waiting(medley)
    second = medley.search(dataclasses.replace(asked, cursor=first.cursor))
    assert not {hit.document for hit in first.hits} & {hit.document for hit in second.hits}
    assert "zz" not in {hit.document for hit in second.hits}


def test_a_later_page_reads_the_old_index_by_its_own_encoder(tmp_path, many):
    medley = many(60)
    asked = query("aspirin", access=EVERYTHING, size=7, explain=True)
    first = medley.search(asked)
    expected = medley.search(dataclasses.replace(asked, cursor=first.cursor))
    # The collection moves to another encoder, and the old index still stands.
    collection = medley.collections.get("abstracts")
    encoders = {"dense": HashingEncoder(128)}
    new = medley.engine.create("abstracts", {"dense": (encoders["dense"].fingerprint, 128)})
    medley.engine.publish(new.index)
    known = {
        encoder.fingerprint: encoder for encoder in (*encoders.values(), *medley.models.encoders(collection).values())
    }
    services = dataclasses.replace(medley.services, encoder=known.get, vectors=Cache(8), answers=Cache(8))
    second = search(dataclasses.replace(asked, cursor=first.cursor), services)
    assert second.index == first.index != new.index
    assert second.degraded == ()
    assert [(hit.document, hit.score, hit.explain) for hit in second.hits] == [
        (hit.document, hit.score, hit.explain) for hit in expected.hits
    ]


class Counting:
    """An engine that counts which texts and fields it was asked for."""

    def __init__(self, engine) -> None:
        self.engine, self.texts, self.fetched_fields = engine, [], []

    def __getattr__(self, name):
        return getattr(self.engine, name)

    def passages(self, index, ids, access):
        self.texts += ids
        return self.engine.passages(index, ids, access)

    def fields(self, index, documents, access):
        self.fetched_fields += documents
        return self.engine.fields(index, documents, access)


def test_every_text_and_field_is_fetched_once_a_search(medley):
    engine = Counting(medley.engine)
    collection = dataclasses.replace(medley.collections.get("abstracts"), feedback=Feedback(3, 0.5))
    services = dataclasses.replace(with_reranker(medley, Longest()), engine=engine, collection=lambda _: collection)
    results = search(query("aspirin", sort="-year", access=EVERYTHING), services)
    assert results.feedback
    assert len(results.hits) == 5
    assert sorted(engine.texts) == sorted(set(engine.texts)) != []
    assert sorted(engine.fetched_fields) == sorted(set(engine.fetched_fields)) != []


def test_a_document_deleted_between_pages_is_not_shown(many):
    medley = many(40)
    asked = query("aspirin", access=EVERYTHING, size=5)
    first, whole = medley.search(asked), medley.search(dataclasses.replace(asked, size=20))
    gone = whole.hits[6].document
    medley.collections.store("abstracts").delete([gone])
    index_waiting(medley)
    second = medley.search(dataclasses.replace(asked, cursor=first.cursor))
    assert gone not in {hit.document for hit in second.hits}
    assert len(second.hits) >= 4


def test_an_explanation_on_a_later_page_adds_up_too(medley):
    parts = with_reranker(medley, Longest())
    first = search(query("aspirin", size=1), parts)
    second = search(query("aspirin", size=2, explain=True, cursor=first.cursor), parts)
    for hit in second.hits:
        assert sum(hit.explain.final.values()) == pytest.approx(hit.score, abs=1e-5)


def test_an_empty_query_is_refused():
    with pytest.raises(InvalidInput, match="the query is empty"):
        query("  ")


def test_a_query_without_access_cannot_be_built():
    with pytest.raises(TypeError, match="needs the Access"):
        Query("abstracts", None, "aspirin")
