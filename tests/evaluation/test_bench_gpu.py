"""The bench on a GPU: what it counts and says without one, and the whole of it on a processor at a tiny size."""

from __future__ import annotations

import json
import sys
from types import SimpleNamespace

import pytest

from encoders.devices import CUDA
from encoders.onnx import ort
from evaluation.bench import gpu as bench_gpu
from evaluation.bench.gpu import BERT_BASE, GpuSizes, mixed_lengths, products, work
from mappings.errors import Unavailable
from search.settings import Settings

TINY = GpuSizes(
    passages=10, tokens=48, shortest=8, layers=2, width=128, vocabulary=1200, matrix=64, rounds=1, budgets=(96,)
)
no_gpu = pytest.mark.skipif(CUDA in ort.get_available_providers(), reason="this machine has a GPU")


def test_operations_by_hand() -> None:
    assert products(2, 3, 4) == 48
    # One text of 2 tokens, width 4: query, key and value 192; queries with keys and weights with values 32 each;
    # then, for each token, the output weights 32 and the feed-forward ones 128 each.
    assert work([2], layers=1, width=4) == 192 + 64 + 2 * (32 + 256)
    assert work([2], layers=1, width=4, first_only=True) == 192 + 64 + (32 + 256)
    assert work([2, 2], layers=3, width=4) == 6 * work([2], layers=1, width=4)


def test_the_task_is_198_tera_operations() -> None:
    lengths = [BERT_BASE.tokens] * BERT_BASE.passages
    assert work(lengths, BERT_BASE.layers, BERT_BASE.width) == pytest.approx(197.9e12, rel=1e-3)
    assert work(lengths, BERT_BASE.layers, BERT_BASE.width, first_only=True) == pytest.approx(186.8e12, rel=1e-3)


def test_mixed_lengths_are_the_same_in_every_run() -> None:
    lengths = mixed_lengths(BERT_BASE)
    assert lengths == mixed_lengths(BERT_BASE)
    assert (min(lengths), max(lengths), len(lengths)) == (BERT_BASE.shortest, BERT_BASE.tokens, BERT_BASE.passages)


@no_gpu
def test_without_a_gpu_one_message_says_what_is_needed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from web.cli.main import main

    monkeypatch.setattr(sys, "argv", ["medley", "bench", "gpu", "--json"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "needs an NVIDIA GPU" in json.loads(printed.err)["error"]["message"]
    with pytest.raises(Unavailable, match=r"pip install -e '.\[gpu,train\]' 'onnxruntime-gpu\[cuda,cudnn\]'"):
        bench_gpu.bench_gpu(Settings())


def test_without_torch_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    for name in [name for name in sys.modules if name.startswith("encoders.training")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr("encoders.training", raising=False)
    with pytest.raises(Unavailable, match="needs torch: pip install"):
        bench_gpu.bench_gpu(Settings(device="cpu"), TINY)


@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("form", ["", "fp16"])
def test_the_whole_bench_on_a_processor(form: str) -> None:
    report = bench_gpu.bench_gpu(Settings(form=form, device="cpu"), TINY)
    figures = report["figures"]
    assert json.loads(json.dumps(report)) == report
    assert report["machine"]["form"] == (form or "fp32")
    # The same weights on both sides: what is left is the order of additions, and half precision's rounding.
    assert min(figures["spearman"], figures["mixed_spearman"]) > 0.98
    assert figures["tokens_mean"] == 48 > figures["mixed_tokens_mean"] > 8
    assert {"seconds", "tflops", "share", "matmul_tflops", "torch_seconds", "speed_ratio", "mixed_seconds", "mixed_torch_seconds", "mixed_speed_ratio", "seconds_batch_96", "seconds_lengths", "mixed_seconds_lengths"} <= set(figures)  # fmt: skip
    assert min(figures.values()) > 0


def test_a_torch_without_a_gpu_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_gpu.ort, "get_available_providers", lambda: [CUDA])
    monkeypatch.setattr(bench_gpu, "load_yardstick", lambda: SimpleNamespace(has_gpu=lambda: False))
    with pytest.raises(Unavailable, match="torch finds none"):
        bench_gpu.bench_gpu(Settings())
