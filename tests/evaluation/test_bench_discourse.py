"""`bench discourse` times a discourse model on documents, and says where it comes from if there is none."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch")

from encoders.training.runs.discourse import train_discourse
from evaluation.bench import discourse as bench
from mappings.errors import ModelError
from search.settings import Settings
from tests.training.discourse_corpora import RECIPE, write_articles, write_words

pytestmark = [pytest.mark.torch, pytest.mark.slow]


def test_both_read_the_same_passages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_articles(tmp_path)
    write_words(tmp_path / "words.npz")
    recipe = replace(RECIPE, words=str(tmp_path / "words.npz"), epochs=1, name_epochs=1)
    train_discourse(recipe, tmp_path, tmp_path / "run")
    monkeypatch.setattr(bench, "DOCUMENTS", 2)
    monkeypatch.setattr(bench, "INDEXED", 61)
    monkeypatch.setattr(bench, "SEARCHES", 3)
    report = bench.bench_discourse(Settings(discourse=str(tmp_path / "run" / "model"), threads=1))
    figures = report["figures"]
    assert set(figures) == {
        *("speed_ratio", "sentences_per_second", "sentences_per_document"),
        *("leg_ms", "search_p50_ms", "p50_ratio", "passages"),
    }
    assert figures["passages"] == 60
    assert figures["search_p50_ms"] * (1 - figures["p50_ratio"]) == pytest.approx(figures.pop("leg_ms"), abs=0.05)
    assert figures["sentences_per_document"] == pytest.approx(6 * 6.75, abs=8)
    assert min(figures.values()) > 0
    assert (report["bench"], report["machine"]["model"]) == ("discourse", "small")


def test_without_a_model_it_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="medley train cdv-fasttext"):
        bench.bench_discourse(Settings())
    with pytest.raises(ModelError, match="no discourse model"):
        bench.bench_discourse(Settings(discourse=str(tmp_path)))
