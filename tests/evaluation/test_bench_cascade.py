from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from test_bench_search import fill, settings  # noqa: F401 - the same small SciFact

from mappings.errors import InvalidInput
from search.bench_cascade import bench_cascade
from search.settings import Settings

FIRST = """
[rerank]
model = "medley-crossencoder"
candidates = 20
deadline_ms = 500
weight = 0.5
first = { model = "medley-crossencoder", keep = 5, weight = 0.5 }
"""


def kinds(folder: Path, rerank: str) -> Path:
    """A folder with the kind `abstracts` as it is shipped, but for its reranking."""
    shipped = (Path(__file__).parents[2] / "mappings/collections/abstracts.toml").read_text(encoding="utf-8")
    folder.mkdir()
    (folder / "abstracts.toml").write_text(shipped[: shipped.index("[rerank]")] + rerank, encoding="utf-8")
    return folder


@pytest.mark.slow
def test_the_whole_report(settings: Settings, tmp_path: Path) -> None:  # noqa: F811
    report = bench_cascade(replace(settings, reranker="", collections=kinds(tmp_path / "kinds", FIRST)), fill)
    figures = report["figures"]
    assert (report["bench"], report["machine"]["first"]) == ("cascade", "medley-crossencoder")
    assert figures.keys() == {
        "cascade_nDCG@10", "full_nDCG@10", "difference", "difference_low", "difference_high", "queries", "candidates",
        "keep", "cascade_p50_ms", "full_p50_ms", "speed_ratio", "timed_queries",
    }  # fmt: skip
    assert (figures["queries"], figures["candidates"], figures["keep"], figures["timed_queries"]) == (10, 20, 5, 9)
    assert figures["difference"] == pytest.approx(figures["cascade_nDCG@10"] - figures["full_nDCG@10"], abs=2e-4)
    assert figures["difference_low"] <= figures["difference"] <= figures["difference_high"]


def test_one_stage_is_refused(settings: Settings, tmp_path: Path) -> None:  # noqa: F811
    alone = FIRST.replace("first =", "# first =")
    with pytest.raises(InvalidInput, match="reranked in one stage"):
        bench_cascade(replace(settings, reranker="", collections=kinds(tmp_path / "kinds", alone)), fill)
