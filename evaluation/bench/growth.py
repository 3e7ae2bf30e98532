"""`medley bench growth`: `medley bench scale` at growing sizes, the legs apart, for a plot of time and memory by size.

What a size was built for is removed once it is measured.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from typing import Final

from evaluation.bench.scale import bench_scale
from evaluation.bench.shared.figures import Report, bench_report
from evaluation.bench.shared.scaled import place
from search.settings import Settings

LARGEST: Final = 1_000_000
SIZES: Final = (10_000, 30_000, 100_000, 300_000, 1_000_000)
KEPT: Final = (
    "p50_ms", "p95_ms", "bm25_p50_ms", "dense_p50_ms", "encode_p50_ms", "rss_mb", "anonymous_mb", "disk_mb", "recall",
    "build_seconds", "first_ms", "prepare_seconds",
)  # fmt: skip


def bench_growth(settings: Settings, windows: int = LARGEST) -> Report:
    """The figures `NAME_WINDOWS` for each of `SIZES` that is smaller than `windows`, and for `windows`."""
    figures: dict[str, float] = {}
    for size in _sizes(windows):
        found = bench_scale(settings, size)["figures"]
        figures |= {f"{name}_{size}": found[name] for name in KEPT if name in found}
        shutil.rmtree(place(settings, size).home, ignore_errors=True)
    return bench_report("growth", figures)


def _sizes(largest: int) -> Sequence[int]:
    return [*(size for size in SIZES if size < largest), largest]
