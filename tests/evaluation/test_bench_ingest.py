"""The benches of ingestion, whole, on small collections."""

from __future__ import annotations

from dataclasses import replace

import pytest
from test_bench_search import settings  # noqa: F401 - a fixture

from evaluation.bench import ingest as bench_ingest
from evaluation.bench.intake import bench_intake
from evaluation.bench.words import bench_words
from mappings.errors import InvalidInput


def test_words_alone_say_where_the_time_goes(settings, monkeypatch):  # noqa: F811
    report = bench_words(settings)
    figures = report["figures"]
    assert (report["bench"], figures["documents"]) == ("words", 130.0)
    shares = {name: value for name, value in figures.items() if name.startswith("share_")}
    assert set(shares) == {f"share_{name}" for name in ("accept", "read", "analyse", "write", "commit", "record")}
    assert sum(shares.values()) == pytest.approx(1, abs=0.001)
    assert figures["documents_per_second"] > 0


def test_ingestion_into_a_cluster_needs_one(settings):  # noqa: F811
    with pytest.raises(InvalidInput, match="MEDLEY_OPENSEARCH"):
        bench_ingest.bench_ingest(settings)


@pytest.mark.slow
def test_intake_tells_the_memory_of_a_worker(settings):  # noqa: F811
    report = bench_intake(settings, size=300_000, indexed=20)
    figures = report["figures"]
    assert (figures["indexed"], figures["documents"] > 100) == (20.0, True)
    assert 0 < figures["start_mb"] <= figures["read_1_of_4_mb"] <= figures["read_4_of_4_mb"] <= figures["indexed_mb"]


@pytest.mark.slow
@pytest.mark.torch
@pytest.mark.opensearch
def test_ingestion_beside_a_plain_loop(settings, node, monkeypatch):  # noqa: F811
    pytest.importorskip("sentence_transformers")
    monkeypatch.setattr(bench_ingest, "ROUNDS", 1)
    monkeypatch.setattr(bench_ingest, "DOCUMENTS", 30)
    figures = bench_ingest.bench_ingest(replace(settings, encoder="", opensearch=node.url))["figures"]
    assert figures["documents"] == 30.0
    assert 0 < figures["encoder_busy"] <= 1
    assert figures["tokens_per_second"] > 0
    assert figures["speed_ratio"] > 0
