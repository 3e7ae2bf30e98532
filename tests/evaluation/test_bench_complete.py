"""The bench of completion, in small."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluation.bench.complete import BenchSize, bench_complete
from search.settings import Settings


@pytest.mark.slow
def test_the_whole_report(tmp_path: Path) -> None:
    report = bench_complete(Settings(home=tmp_path), BenchSize(names=300, documents=200, typed=60))
    figures = report["figures"]
    assert report["bench"] == "complete"
    assert set(figures) == {"p50_ms", "p95_ms", "queries", "names", "documents", "first_ms", "found_share"}
    assert 300 <= figures["names"] < 330
    assert (figures["documents"], figures["queries"]) == (200, 60)
    assert 0 < figures["p50_ms"] <= figures["p95_ms"]
    assert figures["found_share"] > 0.5
