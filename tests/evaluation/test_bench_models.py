"""The benches of models: what they measure, and what they say when they can't."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from tiny import write_artifact

from encoders.artifact import Reading
from evaluation.bench import encode, rerank
from evaluation.bench.encode import bench_encode
from evaluation.bench.rerank import bench_rerank
from evaluation.bench.shared.workload import passages, run_in_turns, spearman
from mappings.errors import InvalidInput, ModelError, Unavailable
from search.settings import Settings


def test_texts_are_the_same_in_every_run_and_differ_among_themselves() -> None:
    texts = passages(24, seed=3)
    assert texts == passages(24, seed=3) != passages(24, seed=4)
    assert len(set(texts)) == 24
    assert max(map(len, texts)) > 4 * min(map(len, texts))


def test_runs_take_turns() -> None:
    order: list[str] = []
    seconds, answers = run_in_turns({"a": lambda: order.append("a"), "b": lambda: order.append("b") or 7}, rounds=2)
    assert order == ["a", "b", "a", "b", "a", "b"]
    assert answers == {"a": None, "b": 7}
    assert set(seconds) == {"a", "b"}


def test_rank_correlation_by_hand() -> None:
    up = np.array([1, 2, 3], dtype=np.float32)
    assert spearman(up, up * 10) == pytest.approx(1)
    assert spearman(up, -up) == pytest.approx(-1)


def test_a_missing_or_unfit_model_is_named(tmp_path: Path) -> None:
    write_artifact(tmp_path / "tiny-bi")
    with pytest.raises(ModelError, match="there is no model 'nowhere'"):
        bench_rerank(Settings(models=tmp_path, reranker="nowhere"))
    with pytest.raises(InvalidInput, match="measures a cross-encoder; tiny-bi is a bi-encoder"):
        bench_rerank(Settings(models=tmp_path, reranker="tiny-bi"))


def test_without_the_yardstick_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_artifact(tmp_path / "tiny-bi")
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(Unavailable, match=r"needs sentence_transformers: pip install -e '.\[cpu,train,bench\]'"):
        bench_encode(Settings(models=tmp_path, encoder="tiny-bi"))


def small(bench: ModuleType, pairs: Sequence[tuple[str, str]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "TEXTS", 12)
    monkeypatch.setattr(bench, "QUERIES", ("aspirin pain", "fever in heart patients"))
    monkeypatch.setattr(bench, "passages", lambda count, seed: [text for _, text in pairs[seed : seed + count]])


@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_bench_agrees_with_its_yardstick(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sentence_transformers", reason="the bench extra is not installed")
    from tiny_torch import PAIRS, checkpoint

    from encoders.training.export.writer import write_artifact

    card = {"base": "random", "licence": "Apache-2.0"}
    write_artifact(
        checkpoint("Bert", False),
        "bi-encoder",
        tmp_path / "b",
        {"name": "b", **card},
        PAIRS,
        Reading("mean", True, 16, 64),
    )
    write_artifact(checkpoint("Bert", True, 5), "cross-encoder", tmp_path / "c", {"name": "c", **card}, PAIRS, Reading("none", False, 16, 64))  # fmt: skip
    for bench in (encode, rerank):
        small(bench, PAIRS, monkeypatch)
    settings = Settings(models=tmp_path, encoder="b", reranker="c", form="fp32", threads=1)
    for report in (bench_encode(settings), bench_rerank(settings)):
        figures = report["figures"]
        assert json.loads(json.dumps(report)) == report
        # The same weights on both sides: what is left is the order of additions.
        assert figures["spearman"] > 0.999
        assert figures["speed_ratio"] > 0
        assert {"fp32_per_second", "sentence_transformers_per_second", "tokens_mean"} <= set(figures)
        assert report["machine"]["form"] == "fp32"


@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_head_that_the_yardstick_does_not_know_is_compared_with_torch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("sentence_transformers", reason="the bench extra is not installed")
    from tiny_torch import PAIRS, checkpoint

    from encoders.training.architectures.architecture import Architecture
    from encoders.training.architectures.checkpoint import Checkpoint
    from encoders.training.export.writer import write_artifact

    plain, plan = checkpoint("Bert", False), Architecture("cross-encoder", head="interaction")
    model = plan.assemble(plain.model, None, plain.tokenizer)
    card = {"name": "i", "base": "random", "licence": "Apache-2.0"}
    reading = Reading("none", False, 16, 64)
    write_artifact(Checkpoint(model, plain.tokenizer, plan), "cross-encoder", tmp_path / "i", card, PAIRS, reading)
    small(rerank, PAIRS, monkeypatch)
    figures = bench_rerank(Settings(models=tmp_path, reranker="i", form="fp32", threads=1))["figures"]
    assert figures["spearman"] > 0.999
    assert figures["speed_ratio"] > 0
