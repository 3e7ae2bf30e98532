"""Suites through the product's own path: store, ingestion, embedded engine, fusion, reranking, report."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from evaluation import stages
from evaluation.baselines import papers
from evaluation.corpus import index
from evaluation.corpus.index import open_corpus
from evaluation.corpus.indexing import index_all
from evaluation.reporting import reports
from evaluation.rows import rows_and_tests
from evaluation.run import run_suite
from evaluation.score_cache import KeptScores
from evaluation.suite import SuiteOptions, command
from evaluation.suites import beir
from evaluation.task import CANDIDATE_FIELD, Question, Task
from mappings.analysis.words import terms
from mappings.collection import SHIPPED_KINDS
from mappings.errors import InvalidInput, MedleyError, ModelError, NotFound
from search.bootstrap import Medley
from search.pipeline.search import search
from search.protocols import Vectors
from search.query import Query, Ranking, Scored
from search.ranking.anytime import AnytimeReranker, Pace, ScoreCache
from search.ranking.cascade import RerankStages
from search.settings import Settings

pytest.importorskip("ir_measures")
pytest.importorskip("rank_bm25")

WORDS = (
    "heart",
    "lung",
    "kidney",
    "liver",
    "brain",
    "asthma",
    "gout",
    "sepsis",
    "statin",
    "aspirin",
    "trial",
    "cohort",
    "dose",
)


class Overlap:
    """A reranker that counts shared terms."""

    fingerprint = "overlap"

    def __init__(self) -> None:
        self.calls = 0

    def score(self, query: str, passages: Sequence[str]) -> Vectors:
        self.calls += 1
        wanted = set(terms(query))
        return np.array([len(wanted & set(terms(text))) for text in passages], dtype=np.float32)


def folder(path: Path, documents: int = 30, seed: int = 1) -> Path:
    """A BEIR folder of random words; a query is four words of the document that answers it."""
    source = random.Random(seed)
    texts = [[source.choice(WORDS) for _ in range(source.randint(6, 30))] for _ in range(documents)]
    (path / "qrels").mkdir(parents=True)
    corpus = [{"_id": f"d{number}", "title": "", "text": " ".join(text)} for number, text in enumerate(texts)]
    queries = [{"_id": f"q{number}", "text": " ".join(source.sample(texts[number], 4))} for number in range(8)]
    (path / "corpus.jsonl").write_text("\n".join(map(json.dumps, corpus)))
    (path / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)))
    (path / "qrels" / "test.tsv").write_text("".join(f"q{number}\td{number}\t1\n" for number in range(8)))
    return path


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return replace(Settings(), home=tmp_path / "home", encoder="hashing-256", reranker="none")


def test_a_suite_runs_and_reports_in_the_stable_form(tmp_path: Path, settings: Settings) -> None:
    report = run_suite("beir", SuiteOptions(folder=folder(tmp_path / "mine")), settings)
    assert json.loads(json.dumps(report)) == report
    assert [row["system"] for row in report["rows"]] == ["bm25", "dense", "fused"]
    assert [*report["rows"][0]["measures"]] == list(beir.MEASURES)
    for row in report["rows"]:
        for estimate in row["measures"].values():
            assert 0 <= estimate["low"] <= estimate["value"] <= estimate["high"] <= 1
    assert [(test["system"], test["against"], test["measure"]) for test in report["tests"]] == [
        ("fused", "bm25", "nDCG@10"),
        ("fused", "dense", "nDCG@10"),
    ]
    assert (report["suite"], report["collection"], report["queries"], report["sample"]) == (
        "beir",
        "abstracts",
        8,
        None,
    )
    assert report["command"] == "medley evaluate beir mine"
    assert report["published"] == []
    assert report["models"]["reranker"] is None
    assert report["models"]["forms"] == {}  # hashing has no form


def test_a_sample_is_named_and_the_index_is_used_again(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled = Counter[str]()

    def counting(medley: Medley, name: str) -> None:
        filled[name] += 1
        index_all(medley, name)

    monkeypatch.setattr(index, "index_all", counting)
    mine = folder(tmp_path / "mine")
    options = SuiteOptions(folder=mine, queries=3)
    first = run_suite("beir", options, settings)
    again = run_suite("beir", options, settings)
    assert first["sample"] == {"queries": 3, "of": 8, "fixed": True}
    assert first["command"] == "medley evaluate beir mine --queries 3"
    assert first | {"seconds": 0} == again | {"seconds": 0}
    assert list(filled.values()) == [1]
    (mine / "corpus.jsonl").write_text((mine / "corpus.jsonl").read_text() + '\n{"_id": "new", "text": "heart"}')
    run_suite("beir", options, settings)
    assert list(filled.values()) == [2]


def test_a_reranker_that_is_not_there_is_named_before_anything_is_indexed(tmp_path: Path, settings: Settings) -> None:
    lacking, options = replace(settings, reranker="nope"), SuiteOptions(folder=folder(tmp_path / "mine"))
    with pytest.raises(ModelError, match="there is no model 'nope'"):
        run_suite("beir", options, lacking)
    assert not lacking.home.exists()
    assert run_suite("beir", replace(options, rerank=False), lacking)["models"]["reranker"] is None


def test_two_kinds_that_share_an_index_are_measured_each_by_its_own_weights(tmp_path: Path, settings: Settings) -> None:
    shipped = (SHIPPED_KINDS / "abstracts.toml").read_text(encoding="utf-8")
    (tmp_path / "kinds").mkdir()
    for name, more in (("plain", ""), ("letters", "\n[feedback]\npassages = 5\nshare = 0.8\n")):
        (tmp_path / "kinds" / f"{name}.toml").write_text(shipped + more, encoding="utf-8")
    settings = replace(settings, collections=tmp_path / "kinds")
    own = folder(tmp_path / "own")
    found = {}
    for name in ("letters", "plain", "letters"):
        report = run_suite("beir", SuiteOptions(folder=own, kind=name, variants=False), settings)
        rows = {row["system"]: row["measures"]["nDCG@10"]["value"] for row in report["rows"]}
        assert found.setdefault(name, rows) == rows
        assert report["models"].get("feedback") == ({"passages": 5, "share": 0.8} if name == "letters" else None)
        assert ("searched twice" in reports.markdown(report)) == (name == "letters")
    assert found["plain"]["bm25"] == found["letters"]["bm25"]
    assert found["plain"]["dense"] != found["letters"]["dense"]
    assert found["plain"]["fused"] != found["letters"]["fused"]


def task_of(path: Path) -> Task:
    return beir.task(folder(path))


def bench_of(task: Task, settings: Settings, rerankers: RerankStages | None = None) -> stages.Session:
    return stages.Session(open_corpus(task.corpus, settings), task, rerankers)


def test_the_stages_are_the_products_own_answers(tmp_path: Path, settings: Settings) -> None:
    rerankers = RerankStages(AnytimeReranker(Overlap(), ScoreCache(), Pace()))
    bench = bench_of(task_of(tmp_path / "mine"), settings, rerankers)
    runs = stages.run_task(bench)
    parts = replace(bench.medley.services, reranker=lambda collection: rerankers)
    for question in bench.task.questions:
        for system, rerank in (("fused", False), ("reranked", True)):
            query = Query(bench.task.corpus.name, stages.ACCESS, question.text, size=100, rerank=rerank, deadline_ms=0)
            answered = [hit.document for hit in search(query, parts).hits]
            assert runs[system][question.id][: len(answered)] == answered


def test_the_lexical_leg_agrees_with_an_independent_bm25(tmp_path: Path, settings: Settings) -> None:
    from rank_bm25 import BM25Okapi

    bench = bench_of(task_of(tmp_path / "mine"), settings)
    documents = list(bench.task.corpus.documents())
    names = [item.id for item in documents]
    # Lucene's constants; its idf adds 1 inside the logarithm, which is one factor for a query of one word.
    other = BM25Okapi([terms(item.sections[0].text) for item in documents], k1=1.2, b=0.75)
    for word in WORDS:
        scores = dict(zip(names, other.get_scores(terms(word)), strict=True))
        found = stages.retrieve_question(bench, Question("q", word)).answer.rankings["bm25"]
        positive = [item.score for item in found]  # rounded to four places by the engine
        expected = [abs(scores[item.document]) for item in found]
        assert {item.document for item in found} == {name for name, score in scores.items() if score}
        assert np.allclose(np.array(positive) / positive[0], np.array(expected) / expected[0], atol=3e-4)


def ranking(*documents: str) -> Ranking:
    return Ranking(Scored(f"{name}@1#0", name, 1.0 - number / 100) for number, name in enumerate(documents))


@pytest.mark.parametrize(
    ("grades", "expected"),
    [
        ({"a": 1}, {"a", "b", "c"}),
        ({"z": 1}, {"a", "b", "z"}),
        ({"z": 1, "c": 1}, {"a", "c", "z"}),
        ({"y": 1, "z": 1, "c": 1, "a": 0}, {"c", "y", "z"}),
        ({"a": 0}, {"a", "b", "c"}),
    ],
)
def test_a_missed_answer_takes_the_place_of_the_lowest_false_candidate(
    grades: dict[str, int], expected: set[str]
) -> None:
    assert stages.candidates(ranking("a", "b", "c", "d", "e"), grades, 3) == expected


def test_the_protocol_ranks_its_candidates_only(tmp_path: Path, settings: Settings) -> None:
    plain = task_of(tmp_path / "mine")
    documents = [replace(item, fields={CANDIDATE_FIELD: item.id}) for item in plain.corpus.documents()]
    corpus = replace(plain.corpus, documents=lambda: documents)
    task = replace(plain, corpus=corpus, candidates=5, reference=True)
    runs = stages.run_task(bench_of(task, settings))
    chosen = {query: frozenset(keys) for query, keys in runs["dense"].items()}
    assert {len(ids) for ids in chosen.values()} == {5}
    for run in (runs | papers.rank(task, chosen)).values():
        for query, keys in run.items():
            assert set(keys) <= chosen[query]
            assert len(set(keys)) == len(keys)
    assert all(task.judgements[query].keys() <= ids for query, ids in chosen.items())


def test_kept_scores_are_the_same_and_asked_for_once(tmp_path: Path) -> None:
    reranker = Overlap()
    texts = ["heart trial", "lung", "heart trial", "gout"]
    expected = reranker.score("heart trial", texts)
    first = KeptScores(reranker, tmp_path / "scores.sqlite")
    assert np.array_equal(first.score("heart trial", texts), expected)
    first.close()
    later = KeptScores(reranker, tmp_path / "scores.sqlite")
    calls = reranker.calls
    assert np.array_equal(later.score("heart trial", texts), expected)
    assert reranker.calls == calls
    later.score("another query", texts)
    assert reranker.calls == calls + 1
    later.close()
    reranker.form = "int8"  # two forms of one model do not agree to the bit
    formed = KeptScores(reranker, tmp_path / "scores.sqlite")
    formed.score("heart trial", texts)
    assert formed.form == "int8"
    assert reranker.calls == calls + 2
    formed.close()


def test_the_reranked_order_is_held_against_the_best_lexical_one(tmp_path: Path, settings: Settings) -> None:
    task = replace(task_of(tmp_path / "mine"), reference=True, measures=("nDCG@10",))
    runs = {
        "reranked": {query: [*grades] for query, grades in task.judgements.items()},
        "BM25+†": {query: ["other", *grades] for query, grades in task.judgements.items()},
    }
    _, tests = rows_and_tests(task, runs, task.judgements, "titled")
    assert tests == [
        {
            "system": "reranked, titled",
            "against": "BM25+†, titled",
            "measure": "RR",
            "difference": {"value": 0.5, "low": 0.5, "high": 0.5},
            "p": tests[0]["p"],
            "closes": {"value": 1.0, "low": 1.0, "high": 1.0},
        }
    ]
    assert tests[0]["p"] < 0.05
    assert rows_and_tests(task, {"reranked": runs["reranked"]}, task.judgements, "")[1] == []


def test_up_to_four_trained_systems_are_compared_with_one_another(tmp_path: Path, settings: Settings) -> None:
    task = task_of(tmp_path / "mine")
    right = {query: [*grades] for query, grades in task.judgements.items()}
    runs = {"fused": right, "baseline dense": right} | dict.fromkeys(("poly", "cross", "bi", "far"), right)
    _, tests = rows_and_tests(task, runs, task.judgements, "")
    assert [(test["system"], test["against"]) for test in tests] == [
        *(("poly", other) for other in ("cross", "bi", "far")),
        *(("cross", other) for other in ("bi", "far")),
        ("bi", "far"),
    ]
    assert rows_and_tests(task, runs | {"fifth": right}, task.judgements, "")[1] == []


def test_trained_systems_are_compared_with_the_words_that_found_their_candidates(
    tmp_path: Path, settings: Settings
) -> None:
    task = task_of(tmp_path / "mine")
    right = {query: [*grades] for query, grades in task.judgements.items()}
    runs = dict.fromkeys(("bm25", "BM25+†", "cdv", "har"), right)
    for like_published, lexical in ((replace(task, leads=True), "bm25"), (replace(task, listed=3), "BM25+†")):
        _, tests = rows_and_tests(like_published, runs, task.judgements, "")
        assert [(test["system"], test["against"]) for test in tests] == [
            *(("cdv", "har"), ("cdv", lexical), ("har", lexical))
        ]


def test_a_deeper_ranking_leaves_what_a_search_fuses_as_it_is(tmp_path: Path, settings: Settings) -> None:
    shallow = replace(settings, window=5)
    task = task_of(tmp_path / "mine")
    plain = stages.run_task(bench_of(task, shallow))
    deep = stages.run_task(bench_of(replace(task, depth=20), shallow))
    assert deep["fused"] == plain["fused"]
    for leg in ("bm25", "dense"):
        assert max(map(len, plain[leg].values())) == 5
        assert max(map(len, deep[leg].values())) == 20
        assert all(deep[leg][query][:5] == keys for query, keys in plain[leg].items())


def test_abstracts_are_read_in_part_in_a_corpus_of_their_own(tmp_path: Path, settings: Settings) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    sections = [{"label": "Background", "text": "heart trial"}, {"label": "Methods", "text": "gout gout gout"}]
    (mine / "abstracts.jsonl").write_text(
        json.dumps({"id": "a", "sections": sections}) + "\n" + json.dumps({"id": "b", "text": "gout"})
    )
    (mine / "headlines.jsonl").write_text(json.dumps({"id": "h", "headline": "gout", "abstracts": ["a"]}))
    options = SuiteOptions(folder=mine)
    whole = run_suite("claims", options, settings)
    read = run_suite("claims", replace(options, reading="A"), settings)
    assert [row["system"] for row in whole["rows"]] == ["TF-IDF", "BM25", "BM25+", "BM25+†", "bm25", "dense", "fused"]
    assert [row["system"] for row in read["rows"]] == ["bm25, reading A", "dense, reading A", "fused, reading A"]
    assert whole["rows"][4]["measures"]["Success@20"]["value"] == 1.0
    assert read["rows"][0]["measures"]["Success@20"]["value"] == 0.0
    assert read["command"] == "medley evaluate claims mine --reading A"


def test_wrong_options_are_named(settings: Settings) -> None:
    with pytest.raises(NotFound, match="there is no suite 'nope'; there are scifact, check-covid, medquad"):
        run_suite("nope", SuiteOptions(), settings)
    with pytest.raises(InvalidInput, match="evaluate beir needs a folder"):
        run_suite("beir", SuiteOptions(), settings)
    with pytest.raises(InvalidInput, match="queries is 0"):
        SuiteOptions(queries=0)
    with pytest.raises(InvalidInput, match="reading is 'C'; it is one of whole, A, B"):
        SuiteOptions(reading="C")  # type: ignore[arg-type]
    wrong = {
        "--reading is for scifact, check-covid, claims, not for press": SuiteOptions(reading="A"),
        "--folds is for radiology, not for press": SuiteOptions(folds=Path("models")),
        "--baseline is for medquad, radiology, polarity, not for press": SuiteOptions(baseline="minilm"),
        "--full is for medquad, not for press": SuiteOptions(full=True),
        "--distractors is for scifact, check-covid, lay, not for press": SuiteOptions(distractors=True),
        "a folder is for claims, beir, not for press": SuiteOptions(folder=Path("mine")),
        "--split is for claims, beir, not for press": SuiteOptions(split="dev"),
        "--kind is for beir, not for press": SuiteOptions(kind="notes"),
        "--year is for experts, not for press": SuiteOptions(year=9),
    }
    for message, options in wrong.items():
        with pytest.raises(InvalidInput, match=message):
            run_suite("press", options, settings)
    with pytest.raises(MedleyError, match="set MEDLEY_DATA"):
        run_suite("scifact", SuiteOptions(), settings)


@pytest.mark.parametrize(
    ("suite", "options", "expected"),
    [
        ("scifact", SuiteOptions(distractors=True), "medley evaluate scifact --distractors"),
        ("medquad", SuiteOptions(queries=500, variants=False), "medley evaluate medquad --queries 500 --no-variants"),
        ("medquad", SuiteOptions(full=True, rerank=False), "medley evaluate medquad --full --no-rerank"),
        ("experts", SuiteOptions(queries=50, year=9), "medley evaluate experts --queries 50 --year 9"),
        ("beir", SuiteOptions(folder=Path("/x/mine"), split="dev"), "medley evaluate beir mine --split dev"),
        ("beir", SuiteOptions(folder=Path("/x/mine"), kind="letters"), "medley evaluate beir mine --kind letters"),
    ],
)
def test_the_command_that_prints_a_report_is_named(suite: str, options: SuiteOptions, expected: str) -> None:
    assert command(suite, options) == expected
