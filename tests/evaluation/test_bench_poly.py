"""`bench poly` measures stored token vectors, and says which model is lacking."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_poly import poly
from tiny import write_artifact

from evaluation.bench import poly as bench_poly
from evaluation.pictures.latency import describe_latency, draw_latency
from evaluation.pictures.pictures import has_picture
from evaluation.reporting.reports import bench_section
from mappings.errors import InvalidInput, ModelError
from search.settings import Settings


@pytest.mark.parametrize("codes", ["vector", "tokens"])
def test_both_are_timed_on_the_same_passages(codes: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    poly(tmp_path / "poly", codes=codes)
    monkeypatch.setattr(bench_poly, "passages", lambda count, seed: ["heart pain of the lung", "cough"] * (count // 2))
    monkeypatch.setattr(bench_poly, "TEXTS", 4)
    monkeypatch.setattr(bench_poly, "COUNTS", (2, 8))
    report = bench_poly.bench_poly(Settings(models=tmp_path, reranker="poly", threads=1, form="fp32"))
    figures = report["figures"]
    curve = {f"{name}_ms_{count}" for name in ("bi", "poly", "cross") for count in (2, 8)}
    assert curve | {"speed_ratio", "cross_ms", "poly_ms", "encode_ms", "stored_kb", "candidates"} <= set(figures)
    assert figures["speed_ratio"] == pytest.approx(figures["cross_ms_8"] / figures["poly_ms_8"], rel=0.2)
    assert figures["cross_ms_2"] < figures["cross_ms_8"]
    assert figures["spearman_half"] == pytest.approx(1.0)
    assert figures["spearman_8_bits"] > 0.9
    sizes = [
        figures[f"kb_{name}"] for name in ("mean_half_basis_2_bits", "mean_basis_2_bits", "4_bits", "8_bits", "half")
    ]
    assert sizes[2:] == sorted(sizes[2:])
    assert sizes[0] < sizes[1]
    assert has_picture(report)
    assert "8 passages" in describe_latency(report)
    assert figures["candidates"] == 4
    assert report["machine"]["beside"] == "medley-crossencoder"
    assert report["bench"] == "poly"


def test_a_model_of_another_kind_or_none_is_named(tmp_path: Path) -> None:
    write_artifact(tmp_path / "bi")
    with pytest.raises(InvalidInput, match="measures a poly-encoder; bi is a bi-encoder"):
        bench_poly.bench_poly(Settings(models=tmp_path, reranker="bi"))
    right = "train it by `medley train medley-polyencoder`, export it, and name it by MEDLEY_RERANKER"
    for name in ("", "mine"):
        with pytest.raises(ModelError, match=f"there is no poly-encoder '{name or 'medley-polyencoder'}'.*{right}"):
            bench_poly.bench_poly(Settings(models=tmp_path, reranker=name))


def test_the_picture_has_a_line_for_each_model() -> None:
    figures = {
        f"{name}_ms_{count}": float(count * speed)
        for name, speed in (("bi", 0.5), ("poly", 1), ("cross", 50))
        for count in (16, 2048)
    }
    report = {"bench": "poly", "machine": {}, "figures": figures}
    drawn = draw_latency(report)
    assert all(text in drawn for text in ("cross-encoder", "poly-encoder, stored", "2,048"))
    assert "cross-encoder: 16 passages 800 ms, 2,048 passages 102400 ms" in describe_latency(report)
    assert "![curve](x.svg)" in bench_section(report, "![curve](x.svg)").splitlines()
    assert not has_picture({**report, "figures": {"poly_ms_16": 1.0, "cross_ms": 2.0}})
    assert not has_picture({**report, "bench": "rerank"})
