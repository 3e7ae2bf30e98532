from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from test_bench_search import settings  # noqa: F401 - the same small SciFact

from evaluation.bench.cascade import bench_cascade
from evaluation.corpus import index
from mappings.errors import InvalidInput, ModelError
from search.bootstrap import Medley
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
    report = bench_cascade(replace(settings, reranker="", collections=kinds(tmp_path / "kinds", FIRST)))
    figures = report["figures"]
    assert (report["bench"], report["machine"]["first"]) == ("cascade", "medley-crossencoder")
    assert figures.keys() == {
        "cascade_nDCG@10", "full_nDCG@10", "difference", "difference_low", "difference_high", "queries", "candidates",
        "keep", "cascade_p50_ms", "full_p50_ms", "speed_ratio", "timed_queries",
    }  # fmt: skip
    assert (figures["queries"], figures["candidates"], figures["keep"], figures["timed_queries"]) == (10, 20, 5, 9)
    assert figures["difference"] == pytest.approx(figures["cascade_nDCG@10"] - figures["full_nDCG@10"], abs=2e-4)
    assert figures["difference_low"] <= figures["difference"] <= figures["difference_high"]


@pytest.fixture
def no_indexing(monkeypatch: pytest.MonkeyPatch) -> None:
    def index_all(medley: Medley, name: str) -> None:
        raise AssertionError("nothing is indexed before both stages are known to exist")

    monkeypatch.setattr(index, "index_all", index_all)


@pytest.mark.usefixtures("no_indexing")
@pytest.mark.parametrize(
    ("old", "new", "error", "message"),
    [
        ("first =", "# first =", InvalidInput, r"reranked in one stage: `rerank\.first`"),
        ('first = { model = "medley-c', 'first = { model = "no-c', ModelError, "the first of .* no model 'no-crossencoder'"),
        ('model = "medley-crossencoder"\nc', 'model = "nope"\nc', ModelError, "no model 'nope'"),
    ],
)  # fmt: skip
def test_a_lacking_stage_is_named_before_anything_is_indexed(
    settings: Settings,  # noqa: F811
    tmp_path: Path,
    old: str,
    new: str,
    error: type[Exception],
    message: str,
) -> None:
    folder = kinds(tmp_path / "kinds", FIRST.replace(old, new))
    with pytest.raises(error, match=message):
        bench_cascade(replace(settings, reranker="", collections=folder))


@pytest.mark.usefixtures("no_indexing")
@pytest.mark.parametrize("name", ["none", "medley-crossencoder"])
def test_a_reranker_of_the_settings_is_to_be_unset(settings: Settings, name: str) -> None:  # noqa: F811
    with pytest.raises(InvalidInput, match=rf"MEDLEY_RERANKER \({name}\) replaces both stages .* unset it"):
        bench_cascade(replace(settings, reranker=name))
