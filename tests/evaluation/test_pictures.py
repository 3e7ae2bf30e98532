"""The picture of `transfer`: what it shows, that its bytes stay the same, and the page that shows it."""

from __future__ import annotations

import builtins
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from evaluation.pictures import pictures
from evaluation.pictures.gains import draw_gains
from evaluation.pictures.growth import describe_growth, draw_growth
from evaluation.pictures.reliability import describe_reliability, draw_reliability
from evaluation.reporting.page import write_page

SVG = "{http://www.w3.org/2000/svg}"


def estimate(value: float) -> dict[str, float]:
    return {"value": value, "low": value - 0.02, "high": value + 0.03}


def gains(system: str, mean: float, **each: float) -> dict[str, Any]:
    return {"system": system, "measures": {"gain": estimate(mean)} | {name: estimate(v) for name, v in each.items()}}


REPORT = {
    "suite": "transfer",
    "collection": "",
    "queries": 12,
    "sample": None,
    "rows": [
        {"system": "simple", "measures": {"otters": estimate(0.6), "beavers": estimate(0.5)}},
        gains("bm25", -0.04, otters=-0.05, beavers=-0.03),
        gains("reranked", 0.045, otters=0.06, beavers=0.03),
    ],
    "tests": [],
    "notes": [],
    "published": [],
    "command": "medley evaluate transfer",
    "ancestry": [{"model": "medley-biencoder (beavers)", "state": "overlap", "sentence": "seen"}],
}


@pytest.fixture
def page(tmp_path: Path) -> str:
    (tmp_path / "results").mkdir()
    (tmp_path / "results/transfer.json").write_text(json.dumps(REPORT))
    write_page(tmp_path / "results", tmp_path / "results.md")
    return (tmp_path / "results.md").read_text()


def texts(svg: str) -> list[str]:
    return ["".join(item.itertext()).strip() for item in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def test_each_data_set_and_stage_is_named_in_text() -> None:
    pytest.importorskip("matplotlib")
    shown = texts(draw_gains(REPORT))
    assert {"mean", "otters", "bm25", "reranked"} <= set(shown)
    assert "simple" not in shown
    assert any("seen, not counted" in text for text in shown)
    assert "gain in nDCG@10 over the simple system, with 95 % intervals" in shown


def test_the_same_figures_give_the_same_bytes_without_a_date() -> None:
    pytest.importorskip("matplotlib")
    first, second = draw_gains(REPORT), draw_gains(json.loads(json.dumps(REPORT)))
    assert first == second
    assert "<dc:date>" not in first
    assert "fill: #ffffff" in first  # a ground of its own: readable on a dark page


def test_the_page_shows_it_and_says_in_words_what_it_shows(page: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    told = "reranked: mean +0.045, otters +0.060, beavers +0.030"
    line = f"![Gain in nDCG@10 over the simple system, with 95 % intervals. {told}](results/transfer.svg)"
    assert f"`medley evaluate transfer`\n\n{line}\n\n| system |" in page
    assert (tmp_path / "results/transfer.svg").read_text() == draw_gains(REPORT)


def test_without_the_library_the_page_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def refuse(name: str, *rest: Any, **more: Any) -> Any:
        if name.partition(".")[0] == "matplotlib":
            raise ImportError(f"No module named {name!r}", name="matplotlib")
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", refuse)
    line = pictures.write_picture(REPORT, tmp_path / "new.svg", "new.svg")
    assert line == "There is no picture of these figures: matplotlib is not installed (`pip install -e '.[eval]'`)."
    assert not (tmp_path / "new.svg").exists()


def test_a_stage_that_lacks_a_data_set_and_an_interval_beside_its_mean_are_drawn() -> None:
    pytest.importorskip("matplotlib")
    lone = {"value": 0.1, "low": 0.1000001, "high": 0.0999999}
    rows = [gains("bm25", 0.1, otters=0.1), gains("dense", 0.1, otters=0.1, beavers=0.2)]
    rows[0]["measures"]["otters"] = lone
    assert {"otters", "bm25", "dense"} <= set(texts(draw_gains(REPORT | {"rows": rows})))


def test_other_reports_have_none() -> None:
    assert pictures.has_picture(REPORT)
    assert not pictures.has_picture(REPORT | {"suite": "lay"})
    assert not pictures.has_picture(REPORT | {"rows": REPORT["rows"][:1]})  # type: ignore[index]
    assert not pictures.has_picture({"bench": "build", "figures": {}})


NOTHING_HERE = {
    "suite": "nothing-here",
    "rows": [],
    "reliability": [{"mean": 0.12, "share": 0.1, "count": 30}, {"mean": 0.83, "share": 0.9, "count": 10}],
}


def test_reliability_is_drawn_and_told() -> None:
    assert pictures.has_picture(NOTHING_HERE)
    assert not pictures.has_picture(NOTHING_HERE | {"reliability": []})
    shown = draw_reliability(NOTHING_HERE)
    assert shown == draw_reliability(json.loads(json.dumps(NOTHING_HERE)))
    assert "probability that the page answers, as told" in texts(shown)
    assert describe_reliability(NOTHING_HERE).endswith("0.12: 0.10 of 30, 0.83: 0.90 of 10")


GROWTH = {
    "bench": "growth",
    "machine": {},
    "figures": {
        f"{name}_{size}": factor * size**0.5
        for size in (10_000, 100_000, 1_000_000)
        for name, factor in (
            ("p50_ms", 0.05),
            ("dense_p50_ms", 0.03),
            ("bm25_p50_ms", 0.01),
            ("rss_mb", 1.5),
            ("disk_mb", 3.0),
        )
    },
}


def test_growth_is_drawn_by_number_of_windows():
    assert pictures.has_picture(GROWTH)
    assert not pictures.has_picture(GROWTH | {"figures": {"p50_ms_10000": 5.0}})  # one size is no growth
    root = ElementTree.fromstring(draw_growth(GROWTH))
    texts = {"".join(item.itertext()).strip() for item in root.iter(f"{SVG}text")}
    assert {"a search", "vectors", "words", "resident", "on disk", "windows", "megabytes"} <= texts
    assert draw_growth(GROWTH) == draw_growth(GROWTH)
    told = describe_growth(GROWTH)
    assert "a search in milliseconds by windows: 10,000: 5, 100,000: 16, 1,000,000: 50" in told
    assert "on disk in megabytes by windows: 10,000: 300, 100,000: 949, 1,000,000: 3,000" in told
