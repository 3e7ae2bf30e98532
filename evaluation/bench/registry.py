"""The benches of `medley bench`, by name.

Their modules are imported only when one runs: the command line lists the names without loading numpy or a model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from search.settings import Settings

BenchFunction = Callable[[Settings], dict[str, Any]]
"""Settings → report, in the stable form of `medley bench --json`."""

BENCHES: Final = (
    "search",
    "deadline",
    "rerank",
    "cascade",
    "anytime",
    "encode",
    "inference",
    "words",
    "analyse",
    "intake",
    "cohort",
    "complete",
)
"""What `all` runs anywhere, in this order."""
ON_GPU: Final = ("gpu",)
NOT_SHIPPED: Final = ("poly",)
"""Benches of a model that you train yourself; none is shipped."""
ON_CLUSTER: Final = ("agreement", "fusion", "bulk", "swap", "ingest")
"""Benches that need a cluster; `all` runs them too where the settings name one."""
NAMES: Final = (*BENCHES, *ON_GPU, *NOT_SHIPPED, *ON_CLUSTER)


def choose_benches(name: str, settings: Settings) -> Sequence[str]:
    """The bench of that name; for `all` every one that this machine can run with what is shipped."""
    if name != "all":
        return [name]
    return [*BENCHES, *(ON_CLUSTER if settings.opensearch else ())]


def load_benches() -> Mapping[str, BenchFunction]:
    """Name → bench, for every name."""
    from evaluation.bench.agreement import bench_agreement
    from evaluation.bench.analyse import bench_analyse
    from evaluation.bench.anytime import bench_anytime
    from evaluation.bench.bulk import bench_bulk
    from evaluation.bench.cascade import bench_cascade
    from evaluation.bench.cohort import bench_cohort
    from evaluation.bench.complete import bench_complete
    from evaluation.bench.deadline import bench_deadline
    from evaluation.bench.encode import bench_encode
    from evaluation.bench.fusion import bench_fusion
    from evaluation.bench.gpu import bench_gpu
    from evaluation.bench.inference import bench_inference
    from evaluation.bench.ingest import bench_ingest
    from evaluation.bench.intake import bench_intake
    from evaluation.bench.poly import bench_poly
    from evaluation.bench.rerank import bench_rerank
    from evaluation.bench.search import bench_search
    from evaluation.bench.swap import bench_swap
    from evaluation.bench.words import bench_words

    return {
        "search": bench_search,
        "deadline": bench_deadline,
        "rerank": bench_rerank,
        "cascade": bench_cascade,
        "anytime": bench_anytime,
        "encode": bench_encode,
        "inference": bench_inference,
        "words": bench_words,
        "analyse": bench_analyse,
        "intake": bench_intake,
        "cohort": bench_cohort,
        "complete": bench_complete,
        "gpu": bench_gpu,
        "poly": bench_poly,
        "agreement": bench_agreement,
        "fusion": bench_fusion,
        "bulk": bench_bulk,
        "swap": bench_swap,
        "ingest": bench_ingest,
    }
