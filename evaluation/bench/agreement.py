"""`medley bench agreement`: how alike the answers of the OpenSearch engine and the embedded one are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from evaluation.bench.shared.cluster import DEPTH, TOP, EncodedQuestion, encode_questions, open_on_cluster
from evaluation.bench.shared.figures import Report, bench_report
from evaluation.corpus.index import open_corpus
from evaluation.measures import parse, per_query
from evaluation.suites import scifact
from evaluation.task import Task
from search.bootstrap import Medley
from search.ranking.fusion import fuse
from search.settings import Settings

Ranked = tuple[list[str], list[str]]
"""The passages of the BM25 leg, and the documents of the fused ranking."""


def bench_agreement(settings: Settings) -> Report:
    """SciFact's claims over its abstracts and the 39k distractors, on both engines. Raises `InvalidInput` without a cluster."""
    task = scifact.task(settings, distractors=True)
    cluster = open_on_cluster(task, settings)
    embedded = open_corpus(task.corpus, replace(settings, opensearch=""))
    questions = encode_questions(embedded, task)
    one, other = (_rank(medley, task.corpus.name, questions) for medley in (embedded, cluster))
    same = [first[0] == second[0] for first, second in zip(one, other, strict=True)]
    overlap = [len(set(first[1][:TOP]) & set(second[1][:TOP])) / TOP for first, second in zip(one, other, strict=True)]
    scores = [_measure(task, questions, found) for found in (one, other)]
    figures = {
        "queries": float(len(questions)),
        "bm25_same_top100": float(np.mean(same)),
        "fused_overlap_top10": float(np.mean(overlap)),
        "embedded_nDCG@10": scores[0],
        "opensearch_nDCG@10": scores[1],
        "nDCG@10_difference": abs(scores[0] - scores[1]),
    }
    return bench_report("agreement", figures)


def _rank(medley: Medley, name: str, questions: Sequence[EncodedQuestion]) -> list[Ranked]:
    index, fusion = medley.engine.resolve(name).index, medley.collections.get(name).fusion
    found = []
    for item in questions:
        rankings = medley.engine.legs(item.request(index)).rankings
        words = [scored.passage for scored in rankings["bm25"]][:DEPTH]
        found.append((words, list(dict.fromkeys(item.document for item in fuse(rankings, fusion)))))
    return found


def _measure(task: Task, questions: Sequence[EncodedQuestion], found: Sequence[Ranked]) -> float:
    run = {item.id: documents[:DEPTH] for item, (_, documents) in zip(questions, found, strict=True)}
    measure = parse("nDCG@10")
    return float(per_query([measure], task.judgements, run)[measure].mean())
