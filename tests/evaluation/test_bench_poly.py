"""`bench poly` measures stored token vectors, and says which model is lacking."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_poly import poly
from tiny import write_artifact

from evaluation.bench import poly as bench_poly
from mappings.errors import InvalidInput, ModelError
from search.settings import Settings


@pytest.mark.parametrize("codes", ["vector", "tokens"])
def test_both_are_timed_on_the_same_passages(codes: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    poly(tmp_path / "poly", codes=codes)
    monkeypatch.setattr(bench_poly, "passages", lambda count, seed: ["heart pain", "cough"] * (count // 2))
    monkeypatch.setattr(bench_poly, "TEXTS", 4)
    report = bench_poly.bench_poly(Settings(models=tmp_path, reranker="poly", threads=1, form="fp32"))
    figures = report["figures"]
    assert set(figures) == {"speed_ratio", "cross_ms", "poly_ms", "encode_ms", "stored_kb", "candidates"}
    assert figures["speed_ratio"] == pytest.approx(figures["cross_ms"] / figures["poly_ms"], rel=0.2)
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
