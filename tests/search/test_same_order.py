"""The same search asked twice gets the same answer, however fast the machine is at the time."""

import dataclasses
import time

import numpy as np
import pytest

from mappings.documents import Access, Document, Section
from mappings.errors import Unavailable
from mappings.stages import FirstStage
from search.pipeline.results import RerankCoverage
from search.pipeline.search import search
from search.query import Query
from search.ranking.anytime import AnytimeReranker, Pace, ScoreCache
from search.ranking.cascade import RerankStages
from workers.indexing.indexer import Indexer
from workers.indexing.ingest import ingest

EVERYTHING = Access("root", frozenset({"*"}))


class Busy:
    """A reranker on a machine whose load changes: it takes `seconds` for each text, and likes rare letters."""

    def __init__(self, seconds=0.0, fingerprint="busy"):
        self.seconds, self.fingerprint, self.read = seconds, fingerprint, 0

    def score(self, query, passages):
        time.sleep(self.seconds * len(passages))
        self.read += len(passages)
        return np.asarray([hash_of(text) for text in passages], dtype=np.float32)


def hash_of(text):
    return sum(number * ord(letter) for number, letter in enumerate(text, 1)) % 997


class Portal:
    """A Medley over trials of aspirin, reranked in two stages by models whose speed a test sets."""

    def __init__(self, medley):
        self.last, self.first = Busy(), Busy(fingerprint="small")
        collection = medley.collections.get("abstracts")
        reranking = dataclasses.replace(collection.reranking, first=FirstStage("small", 10, 0.5), parts=None)
        changed = dataclasses.replace(collection, reranking=reranking)
        self.stages = RerankStages(self.anytime(self.last), self.anytime(self.first))
        self.medley = medley
        self.services = dataclasses.replace(
            medley.services,
            settings=dataclasses.replace(medley.settings, candidates=20),
            collection=lambda _: changed,
            reranker=lambda _: self.stages,
        )

    @staticmethod
    def anytime(model):
        return AnytimeReranker(model, ScoreCache(), Pace())

    def ask(self, **more):
        more = {"size": 5, "deadline_ms": 400, "explain": True, "access": EVERYTHING} | more
        text = more.pop("text", "aspirin outcome")
        return search(Query("abstracts", more.pop("access"), text, **more), self.services)


@pytest.fixture
def portal(many):
    return Portal(many(40))


def shown(results):
    hits = [(hit.document, hit.score, hit.explain, [item.text for item in hit.evidence]) for hit in results.hits]
    return hits, results.reranked, results.partial


def test_a_permalink_keeps_its_order_when_the_machine_is_idle_again(portal):
    portal.last.seconds = 0.03
    portal.first.seconds = 0.01
    busy = portal.ask()
    assert busy.reranked.is_partial
    portal.last.seconds = portal.first.seconds = 0.0
    assert shown(portal.ask()) == shown(busy)
    assert shown(portal.ask(deadline_ms=60_000)) != shown(busy)
    assert shown(portal.ask()) == shown(busy)


def test_a_permalink_keeps_its_order_when_the_machine_is_busy_later(portal):
    idle = portal.ask(deadline_ms=3_000)
    assert not idle.reranked.is_partial
    assert idle.partial == ()
    portal.last.seconds = portal.first.seconds = 1.0
    portal.stages = RerankStages(portal.anytime(portal.last), portal.anytime(portal.first))  # nothing is read already
    assert shown(portal.ask(deadline_ms=3_000)) == shown(idle)


def test_a_search_that_left_no_time_at_all_is_not_remembered(portal):
    """As when its models were loaded first: the fused order must not stay for good."""
    portal.last.seconds = portal.first.seconds = 1.0
    first = portal.ask(deadline_ms=1)
    assert first.partial == ("ranked by a quick look: none of 20 passages was read closely",)
    portal.last.seconds = portal.first.seconds = 0.0
    portal.ask(deadline_ms=3_000)  # every passage is read already
    assert portal.ask(deadline_ms=1).partial == ()


def test_the_full_ranking_is_another_answer(portal):
    portal.last.seconds = portal.first.seconds = 0.5
    assert portal.ask().partial
    portal.last.seconds = portal.first.seconds = 0.0
    full = portal.ask(deadline_ms=0)
    assert full.partial == ()
    assert (full.reranked.scored, full.reranked.closely, full.reranked.wanted) == (20, 10, 10)


def test_without_a_deadline_the_same_sentences_are_shown_as_with_time_enough(portal):
    def sentences(**more):
        hits = portal.ask(text="aspirin improves the outcome of patients", **more).hits
        return [[item.text for item in hit.evidence] for hit in hits]

    by_model = sentences(deadline_ms=60_000)
    before = portal.last.read
    assert sentences(deadline_ms=0) == by_model
    portal.stages = RerankStages(portal.anytime(portal.last), portal.anytime(portal.first))  # nothing is read already
    assert sentences(deadline_ms=0, size=4) == by_model[:4]
    assert portal.last.read > before + 10  # the passages that are read closely, and then sentences


def test_later_pages_of_the_same_search_are_the_same(portal):
    def second(first):
        return shown(portal.ask(cursor=first.cursor))

    portal.last.seconds = 0.03
    first = portal.ask()
    later = second(first)
    portal.last.seconds = 0.0
    assert second(portal.ask()) == later


def test_what_a_failure_left_out_is_not_remembered(portal):
    works = portal.stages

    class Away(Busy):
        def score(self, query, passages):
            raise Unavailable("no model server answers", field="inference")

    portal.stages = RerankStages(works.last, portal.anytime(Away(fingerprint="small")))
    assert "the first reranking stage failed" in portal.ask(deadline_ms=3_000).degraded[0]
    portal.stages = works
    assert portal.ask(deadline_ms=3_000).degraded == ()


def test_a_change_of_the_index_gives_a_new_order(portal):
    portal.ask(deadline_ms=3_000)
    portal.medley.collections.store("abstracts").put(
        [Document("new", "Aspirin outcome", (Section("", "Aspirin outcome."),), frozenset({"public"}))]
    )
    list(ingest(Indexer.of(portal.medley, "abstracts")))
    assert "new" in {hit.document for hit in portal.ask(deadline_ms=3_000, size=20).hits}


def test_another_caller_shares_nothing(portal):
    reader = Access("reader", frozenset({"public"}))
    everything, public = portal.ask(deadline_ms=3_000, size=20), portal.ask(deadline_ms=3_000, size=20, access=reader)
    assert {hit.document for hit in everything.hits} != {hit.document for hit in public.hits}


@pytest.mark.parametrize(
    ("coverage", "words"),
    [
        (RerankCoverage(34, 50, 34, 50), "34 of 50 passages were read closely"),
        (RerankCoverage(50, 50, 1, 10), "1 of 10 passages was read closely"),
        (RerankCoverage(30, 50, 6, 10), "30 of 50 passages were read, 6 of them closely"),
        (RerankCoverage(1, 50, 0, 1), "1 of 50 passages was read, none of them closely"),
        (RerankCoverage(0, 50, 0, 50), "none of 50 passages was read closely"),
    ],
)
def test_how_far_reranking_came_is_said_in_words(coverage, words):
    assert coverage.is_partial
    assert coverage.in_words == words
