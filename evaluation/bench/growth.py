"""`medley bench growth`: `medley bench scale` at growing sizes, the legs apart, for a plot of time and memory by size.

What a size was built for is removed once it is measured.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Final

from evaluation.bench.scale import bench_scale
from evaluation.bench.shared.figures import Report, bench_report
from evaluation.bench.shared.scaled import place
from search.settings import Settings

LARGEST: Final = 1_000_000
SMALLEST: Final = 10_000
_STEPS: Final = (1.0, 3.0)
KEPT: Final = (
    "p50_ms", "p95_ms", "bm25_p50_ms", "dense_p50_ms", "encode_p50_ms", "rss_mb", "anonymous_mb", "disk_mb", "recall",
    "build_seconds", "first_ms",
)  # fmt: skip


def bench_growth(settings: Settings, windows: int = LARGEST) -> Report:
    """The figures `NAME_WINDOWS` for 10,000, 30,000, 100,000 … windows, and for `windows` at the end."""
    figures: dict[str, float] = {}
    for size in _sizes(windows):
        found = bench_scale(settings, size)["figures"]
        figures |= {f"{name}_{size}": found[name] for name in KEPT if name in found}
        shutil.rmtree(place(settings, size).home, ignore_errors=True)
    return bench_report("growth", figures)


def _sizes(largest: int) -> Iterator[int]:
    decade = float(SMALLEST)
    while decade < largest:
        yield from (size for step in _STEPS if (size := round(step * decade)) < largest)
        decade *= 10
    yield largest
