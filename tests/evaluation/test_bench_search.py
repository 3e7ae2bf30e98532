"""The benches of a search: their figures, and a whole run in fresh processes on a small collection."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evaluation.bench.deadline import bench_deadline
from evaluation.bench.search import bench_search
from evaluation.bench.shared.apart import measure_apart
from evaluation.bench.shared.figures import memory, percentiles
from mappings.errors import InvalidInput, Unavailable
from search.settings import Settings


def write(data: Path, name: str, records: Iterable[dict[str, Any]]) -> None:
    path = data / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, records)).encode()))


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """SciFact in small: 130 abstracts of which ten are cited, a pool of five."""
    data = tmp_path / "data"
    abstracts = [
        {"doc_id": number, "title": f"Drug {number}", "abstract": [f"Drug {number} helps."]} for number in range(130)
    ]
    claims = [
        {"id": number, "claim": f"Drug {number} helps", "evidence": {}, "cited_doc_ids": [number]}
        for number in range(10)
    ]
    pool = [
        {"doc_id": f"p{number}", "title": f"Pool {number}", "sections": [{"label": "", "text": "Heart."}]}
        for number in range(5)
    ]
    write(data, "scifact/corpus.jsonl.gz", abstracts)
    write(data, "scifact/claims_dev.jsonl.gz", claims)
    write(data, "scifact/claims_train.jsonl.gz", claims[:3])
    write(data, "abstracts/abstracts.jsonl.gz", pool)
    return replace(Settings(), data=data, home=tmp_path / "home", encoder="hashing-256", reranker="none")


@pytest.mark.slow
def test_bench_search_prints_times_memory_and_ratios(settings: Settings) -> None:
    pytest.importorskip("rank_bm25")
    report = bench_search(settings)
    assert report["bench"] == "search"
    assert report["machine"]["cores"] >= 1
    figures = report["figures"]
    assert {
        "p50_ms",
        "p95_ms",
        "pss_mb",
        "rss_mb",
        "p50_ratio",
        "p95_ratio",
        "memory_ratio",
        "alternative_p50_ms",
    } <= figures.keys()
    assert figures["queries"] == figures["alternative_queries"] == 10
    assert 0 < figures["p50_ms"] <= figures["p95_ms"]
    assert figures["p50_ratio"] == pytest.approx(figures["alternative_p50_ms"] / figures["p50_ms"], rel=0.01, abs=1e-4)


@pytest.mark.slow
def test_bench_deadline_tells_times_and_shares(settings: Settings) -> None:
    figures = bench_deadline(settings)["figures"]
    assert figures["queries"] == 10
    # There is no reranker here, so nothing is scored and nothing is partial.
    assert (figures["reranked_mean"], figures["partial_share"], figures["marked_share"]) == (0, 0, 1)
    assert 0 < figures["p50_ms"] <= figures["p95_ms"]


def test_a_failing_child_says_why(settings: Settings) -> None:
    with pytest.raises(Unavailable, match="the measured process failed: there is no collection"):
        measure_apart("evaluation.bench.search", "search", "nothing", settings)


def test_without_data_the_bench_says_what_to_set(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="set MEDLEY_DATA"):
        bench_search(replace(Settings(), home=tmp_path))


def test_percentiles_and_memory() -> None:
    assert percentiles([float(value) for value in range(101)]) == {
        "p50_ms": 50,
        "p95_ms": 95,
        "queries": 101,
    }
    sizes = memory()
    assert not sizes or 0 < sizes["anonymous_mb"] <= sizes["rss_mb"]
    assert not sizes or sizes["pss_mb"] <= sizes["rss_mb"]
