from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from test_bench_cascade import FIRST, kinds
from test_bench_search import settings  # noqa: F401 - the same small SciFact

from evaluation.bench import anytime as bench_anytime
from mappings.errors import InvalidInput
from search.settings import Settings


@pytest.mark.slow
def test_the_whole_report(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    monkeypatch.setattr(bench_anytime, "DEADLINES", (1, 60_000))
    settings = replace(settings, reranker="", collections=kinds(tmp_path / "kinds", FIRST))
    report = bench_anytime.bench_anytime(settings)
    figures = report["figures"]
    assert (report["bench"], figures["queries"]) == ("anytime", 10)
    each = {"nDCG@10", "p50_ms", "p95_ms", "reranked"}
    wanted = {f"{name}_{way}" for name in each for way in ("fused", "1", "60000", "none")}
    assert figures.keys() - {"share_kept_1", "share_kept_60000"} == {"queries"} | wanted
    # In a millisecond nothing is read, in a minute all are.
    assert (figures["reranked_fused"], figures["reranked_1"]) == (0, 0)
    assert figures["reranked_60000"] == figures["reranked_none"] > 0
    assert figures["nDCG@10_1"] == figures["nDCG@10_fused"]
    assert figures["nDCG@10_60000"] == figures["nDCG@10_none"]


def test_without_a_reranker_there_is_nothing_to_cut_short(settings: Settings) -> None:  # noqa: F811
    with pytest.raises(InvalidInput, match="nothing is reranked"):
        bench_anytime.bench_anytime(settings)
