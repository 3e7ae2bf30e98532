"""`medley bench scale` on a small collection: what is made by program, and the figures."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner
from test_bench_search import settings  # noqa: F401 - the same small SciFact

from evaluation.bench import growth
from evaluation.bench.growth import bench_growth
from evaluation.bench.scale import bench_scale
from evaluation.bench.shared.scaled import NAME, open_scaled, place
from evaluation.pictures.pictures import has_picture
from evaluation.suites import scifact
from mappings.documents import Access
from search.protocols import LegsRequest
from search.query import LexicalQuery
from web.cli.main import cli

WINDOWS = 400


def test_documents_are_real_ones_first_and_then_mixtures(settings):  # noqa: F811
    task = scifact.task(settings)
    medley, exact = open_scaled(settings, task, WINDOWS)
    meta = medley.engine.resolve(NAME)
    assert (meta.documents, meta.rows) == (WINDOWS, WINDOWS)
    numbers = np.load(exact.parent / "rows.npy")
    rows = np.fromfile(exact, np.float16).reshape(len(numbers), -1).astype(np.float32)
    assert numbers.tolist() == list(range(WINDOWS))
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=2e-3)
    again = (rows[:130] * rows[130:260]).sum(1)  # each mixture beside the document whose vectors it has
    assert 0.9 < again.mean() < 0.97
    everybody = Access("test", frozenset({"*"}))
    found = medley.engine.legs(LegsRequest(meta.index, LexicalQuery(terms=(("drug", 1.0),)), {}, everybody, 1_000))
    assert len(found.rankings["bm25"]) > 200
    before = (exact.stat().st_mtime_ns, open_scaled(settings, task, WINDOWS)[1].stat().st_mtime_ns)
    assert before[0] == before[1]  # built once
    (place(settings, WINDOWS).home / "complete.json").unlink()
    assert open_scaled(settings, task, WINDOWS)[1].stat().st_mtime_ns > before[0]


@pytest.mark.slow
def test_bench_scale_tells_times_memory_and_recall(settings):  # noqa: F811
    figures = bench_scale(settings, WINDOWS)["figures"]
    built = figures["build_seconds"]
    assert {
        "p95_ms",
        "bm25_p50_ms",
        "dense_p50_ms",
        "encode_p50_ms",
        "rss_mb",
        "first_ms",
        "filter_all_p50_ms",
        "filter_tenth_first_ms",
        "filter_one_p95_ms",
        "clients_4_p95_ms",
        "clients_4_per_second",
    } <= figures.keys()
    assert built > 0
    assert bench_scale(settings, WINDOWS)["figures"]["build_seconds"] == built, "it was there already"
    assert (figures["queries"], figures["documents"], figures["windows"]) == (10, WINDOWS, WINDOWS)
    assert figures["recall"] >= 0.98
    assert figures["filter_tenth_recall"] >= 0.98  # of 40 documents: all that pass are among the first hundred
    assert 0 < figures["p50_ms"] <= figures["p95_ms"]
    assert figures["disk_mb"] > 0


@pytest.mark.slow
def test_bench_growth_has_every_size_and_leaves_nothing_behind(settings, monkeypatch):  # noqa: F811
    monkeypatch.setattr(growth, "SIZES", (100, 300, 100_000))
    report = bench_growth(settings, WINDOWS)
    figures = report["figures"]
    assert {name for name in figures if name.startswith("p50_ms_")} == {"p50_ms_100", "p50_ms_300", f"p50_ms_{WINDOWS}"}
    assert all(figures[f"recall_{size}"] >= 0.98 for size in (100, 300, WINDOWS))
    assert figures["build_seconds_100"] > 0
    assert figures["disk_mb_100"] < figures[f"disk_mb_{WINDOWS}"]
    assert not any(place(settings, size).home.exists() for size in (100, 300, WINDOWS))
    assert has_picture(report)


def test_the_option_is_for_this_bench_alone():
    ran = CliRunner().invoke(cli, ["bench", "words", "--windows", "5000", "--json"])
    assert ran.exit_code != 0
    refused = CliRunner().invoke(cli, ["bench", "plugin"]).exception
    assert refused.field in ("MEDLEY_DATA", "MEDLEY_OPENSEARCH")  # whichever is missing first
    assert "--windows is for scale and growth, not for words" in json.dumps([ran.output, str(ran.exception)])
