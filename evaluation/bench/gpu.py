"""`medley bench gpu`: a cross-encoder of BERT-base's size on this project's runtime and in torch, on one GPU.

Both run the same random weights, because speed does not depend on them, on the same tokens, sorted by length into batches
of the same size, in turns; a figure is the median over the rounds. Tokenising is not included. Torch runs in half
precision with SDPA. Every passage has the full length in the main figures; in those named `mixed` lengths vary.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from encoders.artifact import HALF, Artifact
from encoders.devices import CUDA
from encoders.onnx import ort
from encoders.runtime import CrossEncoder
from evaluation.bench.shared.figures import Report, bench_report
from evaluation.bench.shared.reference import load_yardstick
from evaluation.bench.shared.workload import run_in_turns, spearman
from mappings.errors import Unavailable
from search.settings import Settings

INNER: Final = 4
"""How many times as wide as the model its feed-forward layers are."""
INSTALL: Final = "pip install -e '.[gpu,train]' 'onnxruntime-gpu[cuda,cudnn]', without onnxruntime beside it"


@dataclass(frozen=True, slots=True)
class GpuSizes:
    """How much work, and the size of the model. Mixed lengths are drawn evenly from `shortest` to `tokens`."""

    passages: int = 2048
    tokens: int = 512
    shortest: int = 64
    layers: int = 12
    width: int = 768
    vocabulary: int = 30_522
    matrix: int = 8192
    rounds: int = 5
    budgets: tuple[int, ...] = (8_192, 16_384, 65_536)
    """Batch sizes in tokens that are tried beside the runtime's own."""


BERT_BASE: Final = GpuSizes()
SMALL: Final = GpuSizes(
    passages=64, tokens=128, shortest=16, layers=4, width=256, matrix=512, rounds=2, budgets=(1_024, 4_096)
)
"""What takes a processor 24 seconds."""


def bench_gpu(settings: Settings, sizes: GpuSizes | None = None) -> Report:
    """Seconds, TFLOP/s, their `share` of a plain product's, and `speed_ratio` to torch. Raises `Unavailable` without a GPU.

    With `MEDLEY_DEVICE=cpu` the same code runs on the processor, in single precision and at a small size.
    """
    device = "cpu" if settings.device == "cpu" else "cuda"
    sizes = sizes or (SMALL if device == "cpu" else BERT_BASE)
    yardstick = _yardstick(device)
    with tempfile.TemporaryDirectory() as folder:
        size = (sizes.layers, sizes.width, sizes.tokens, sizes.vocabulary)
        artifact: Artifact = yardstick.cross_encoder(*size, Path(folder) / "model")
        form = settings.form or (HALF if device == "cuda" else "fp32")
        ours, theirs = CrossEncoder(artifact, None, form, device), yardstick.Torch(artifact, device)
        make = partial(yardstick.random_tokens, vocabulary=sizes.vocabulary)
        even, mixed = make([sizes.tokens] * sizes.passages), make(mixed_lengths(sizes))
        figures = _compared(ours, theirs, even, sizes)
        figures |= {f"mixed_{name}": value for name, value in _compared(ours, theirs, mixed, sizes).items()}
        figures |= _otherwise(ours, even, mixed, sizes)
    plain = products(sizes.matrix, sizes.matrix, sizes.matrix) / yardstick.matmul_seconds(
        device, sizes.matrix, sizes.rounds
    )
    figures |= {"matmul_tflops": plain / 1e12, "share": figures["tflops"] * 1e12 / plain}
    about = {**yardstick.about(device), "form": ours.form, "onnxruntime": ort.__version__}
    return bench_report("gpu", figures, about, digits=6)


def products(rows: int, inner: int, columns: int) -> int:
    """Floating-point operations of one matrix product: a multiplication and an addition each."""
    return 2 * rows * inner * columns


def work(lengths: Sequence[int], layers: int, width: int, first_only: bool = False) -> int:
    """Operations of the matrix products of a BERT over texts of these lengths, padding not counted.

    A layer multiplies each token with query, key, value and output weights and two feed-forward ones, and each text's
    queries with its keys, then the weights with its values. `first_only`: after its attention the last layer goes on
    with one token per text, as the fp16 form does. Embeddings and the head of a score are left out: under a thousandth.
    """
    tokens, squares = sum(lengths), sum(length * length for length in lengths)
    attention = products(tokens, width, 3 * width) + 2 * products(squares, width, 1)
    after = products(1, width, width) + 2 * products(1, width, INNER * width)
    whole = tokens * (layers - 1 if first_only else layers)
    return layers * attention + after * (whole + (len(lengths) if first_only else 0))


def mixed_lengths(sizes: GpuSizes) -> list[int]:
    """The same in every run."""
    draw = random.Random(0)  # noqa: S311 - a fixed sequence is what is wanted
    return [draw.randint(sizes.shortest, sizes.tokens) for _ in range(sizes.passages)]


def _compared(ours: CrossEncoder, theirs: Any, tokens: Sequence[Any], sizes: GpuSizes) -> dict[str, float]:
    """Seconds and TFLOP/s of both, and whether their scores agree."""
    budget = ours.model.budget
    runs = {"ours": partial(ours.logits, tokens), "torch": partial(theirs.logits, tokens, budget)}
    seconds, answers = run_in_turns(runs, sizes.rounds)
    lengths = [len(item) for item in tokens]
    done = work(lengths, sizes.layers, sizes.width, first_only=ours.form == HALF)
    return {
        "seconds": seconds["ours"],
        "tflops": done / seconds["ours"] / 1e12,
        "torch_seconds": seconds["torch"],
        "torch_tflops": work(lengths, sizes.layers, sizes.width) / seconds["torch"] / 1e12,
        "speed_ratio": seconds["torch"] / seconds["ours"],
        "spearman": spearman(answers["ours"], answers["torch"]),
        "tokens_mean": sum(lengths) / len(lengths),
        "batch_tokens": float(budget),
    }


def _otherwise(ours: CrossEncoder, even: Sequence[Any], mixed: Sequence[Any], sizes: GpuSizes) -> dict[str, float]:
    """Seconds with the other mask and with other sizes of batch: whether the runtime's own are right for this GPU."""
    model, own = ours.model, ours.model.budget
    ways = {"seconds_lengths": (even, False, own), "mixed_seconds_lengths": (mixed, False, own)}
    ways |= {f"seconds_batch_{budget}": (even, True, budget) for budget in sizes.budgets}
    figures: dict[str, float] = {}
    for name, (tokens, starts, budget) in ways.items():
        model.starts, model.budget = starts, budget
        figures |= run_in_turns({name: partial(ours.logits, tokens)}, sizes.rounds)[0]
    model.starts, model.budget = True, own
    return figures


def _yardstick(device: str) -> Any:
    """The module that makes the model and runs torch. Raises `Unavailable` that names what is missing."""
    available = ort.get_available_providers()
    if device == "cuda" and CUDA not in available:
        raise Unavailable(
            f"this bench needs an NVIDIA GPU, and ONNX Runtime here runs on {', '.join(available)}: on a machine with one, {INSTALL}",
            field="device",
        )
    try:
        found = load_yardstick()
    except ImportError as error:
        raise Unavailable(
            f"this bench compares with torch and needs {error.name}: {INSTALL}", field="device"
        ) from error
    if device == "cuda" and not found.has_gpu():
        raise Unavailable(
            "this bench needs an NVIDIA GPU, and torch finds none: is its CUDA build installed, and the driver?",
            field="device",
        )
    return found
