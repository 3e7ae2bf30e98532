"""What is measured is what is served: evaluation and the product give the same answers, hit by hit and score by score."""

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from evaluation import stages
from evaluation.corpus.index import open_corpus
from evaluation.run import open_session
from evaluation.task import CANDIDATE_FIELD, Corpus, Question, Task
from mappings.documents import Document
from mappings.errors import Unavailable
from mappings.formats.registry import read
from search.bootstrap import Medley
from search.pipeline.rerank import rerank
from search.pipeline.retrieve import Retrieved
from search.pipeline.services import Trace
from search.query import Query
from search.ranking.candidates import Candidate
from search.settings import Settings
from workers.indexing.indexer import Indexer
from workers.indexing.ingest import ingest

DEMO = Path(__file__).parents[2] / "web" / "demo" / "abstracts.jsonl"
QUESTIONS = (
    "does vitamin D prevent falls in older adults",
    "aspirin in healthy seniors",
    "screen time and sleep of children",
    "statin therapy after a stroke",
    "covid vaccine protection over time",
)


@pytest.fixture(scope="module")
def demo(tmp_path_factory) -> Medley:
    """The demo abstracts, indexed by the shipped encoder, with the shipped rerankers."""
    medley = Medley.open(Settings(home=tmp_path_factory.mktemp("home")))
    collection = medley.collections.create("abstracts")
    medley.collections.store("abstracts").put(
        [item for item in read(DEMO, "jsonl", collection) if isinstance(item, Document)]
    )
    list(ingest(Indexer.of(medley, "abstracts")))
    return medley


def task(**more) -> Task:
    questions = tuple(Question(str(number), text) for number, text in enumerate(QUESTIONS))
    judgements = {item.id: {} for item in questions}
    return Task("demo", Corpus("abstracts", "abstracts", lambda: ()), questions, judgements, ("RR",), **more)


def first_of_each_document(candidates: list[Candidate]) -> list[tuple[str, str, float]]:
    best: dict[str, Candidate] = {}
    for item in candidates:
        best.setdefault(item.document, item)
    return [(item.document, item.passage, item.score) for item in best.values()]


def answers(medley: Medley, query: Query) -> list[tuple[str, str, float]]:
    """The hits of page one, whose size decides what the last stage reads, and those of the result window after it."""
    first = medley.search(query)
    rest = medley.search(replace(query, size=90, cursor=first.cursor))
    assert (first.degraded, first.partial, rest.degraded) == ((), (), ())
    return [(hit.document, hit.passage, hit.score) for hit in (*first.hits, *rest.hits)]


def retrieved_and_reranked(session: stages.Session, question: Question) -> tuple[Retrieved, list[Candidate]]:
    retrieved = stages.retrieve_question(session, question)
    return retrieved, list(rerank(stages.query_for(session, question), retrieved, session.services, Trace()).candidates)


@pytest.mark.slow
def test_evaluation_measures_what_a_search_answers(demo: Medley) -> None:
    session = open_session(demo, task(), rerank=True)
    runs = stages.run_task(session)
    for question in session.task.questions:
        retrieved, reranked = retrieved_and_reranked(session, question)
        query = Query("abstracts", stages.ACCESS, question.text, deadline_ms=0)
        fused, full = answers(demo, replace(query, rerank=False)), answers(demo, query)
        for candidates, shown in ((list(retrieved.candidates), fused), (reranked, full)):
            expected = first_of_each_document(candidates)[: len(shown)]
            assert [item[:2] for item in expected] == [item[:2] for item in shown]
            assert [item[2] for item in expected] == pytest.approx([item[2] for item in shown], abs=1e-5)
        assert runs["fused"][question.id][: len(fused)] == [document for document, _, _ in fused]
        assert runs["reranked"][question.id][: len(full)] == [document for document, _, _ in full]


@pytest.mark.slow
def test_a_degraded_answer_is_not_measured(demo: Medley) -> None:
    broken = replace(demo, services=replace(demo.services, encoder=lambda _: None))
    session = stages.Session(broken, task(), None)
    with pytest.raises(Unavailable, match="a degraded answer cannot be measured: no encoder for 'dense'"):
        stages.run_task(session)


@pytest.mark.slow
def test_a_candidate_protocol_is_a_filter_of_the_query(demo: Medley) -> None:
    session = stages.Session(demo, task(candidates=5), None)
    query = stages.query_for(session, session.task.questions[0])
    (chosen,) = query.filters
    assert (chosen.name, len(chosen.values)) == (CANDIDATE_FIELD, 5)


def test_whoever_opens_a_corpus_while_it_is_built_waits_for_it(tmp_path: Path) -> None:
    collection = Medley.open(Settings(home=tmp_path / "other")).collections.create("abstracts")
    demo = [item for item in read(DEMO, "jsonl", collection) if isinstance(item, Document)]
    settings, asked, others = Settings(home=tmp_path / "home", encoder="hashing-256"), [], []

    def documents() -> list[Document]:
        asked.append(len(asked))
        if len(asked) == 2:  # the first asks to compare, the second to build
            others.append(pool.submit(open_corpus, corpus, settings))
            time.sleep(0.5)
        return demo

    corpus = Corpus("built", "abstracts", documents)
    with ThreadPoolExecutor(1) as pool:
        opened = [open_corpus(corpus, settings), *(other.result() for other in others)]
    assert [medley.engine.meta("built-1").documents for medley in opened] == [len(demo)] * 2
    assert len(asked) == 3, "the second one only compares"
