"""The benches of `medley bench`, by name.

Their modules are imported only when one runs: the command line lists the names without loading numpy or a model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, Final

from search.settings import Settings

BenchFunction = Callable[..., dict[str, Any]]
"""Settings → report, in the stable form of `medley bench --json`. One has an option of its own."""

BENCHES: Final = (
    "search",
    "deadline",
    "rerank",
    "anytime",
    "encode",
    "inference",
    "words",
    "analyse",
    "intake",
    "cohort",
    "complete",
    "build",
    "claims",
)
"""What `all` runs anywhere, in this order."""
ON_GPU: Final = ("gpu",)
NOT_SHIPPED: Final = ("cascade", "poly", "discourse")
"""Benches of what no shipped kind has: a first stage of reranking, and a model that you train yourself."""
ON_CLUSTER: Final = ("agreement", "fusion", "bulk", "quantised", "swap", "ingest")
"""Benches that need a cluster; `all` runs them too where the settings name one."""
LARGE: Final = ("scale", "growth")
"""Benches that build what takes minutes and gigabytes."""
LONG: Final = ("soak",)
"""Benches that need a Redis and an hour."""
WITH_PEERS: Final = ("peers",)
"""Benches that need other systems: the extra `peers`."""
WITH_ML_COMMONS: Final = ("plugin",)
"""Benches that need a cluster whose nodes have ML Commons."""
KILLING: Final = ("nodes",)
"""Benches that kill the nodes of a cluster on this machine."""
NAMES: Final = (
    *BENCHES, *ON_GPU, *NOT_SHIPPED, *ON_CLUSTER, *LARGE, *LONG, *WITH_PEERS, *WITH_ML_COMMONS, *KILLING,
)  # fmt: skip


def choose_benches(name: str, settings: Settings) -> Sequence[str]:
    """The bench of that name; for `all` every one that this machine can run with what is shipped."""
    if name != "all":
        return [name]
    return [*BENCHES, *(ON_CLUSTER if settings.opensearch else ())]


def load_benches() -> Mapping[str, BenchFunction]:
    """Name → bench, for every name: `bench_search` of `evaluation.bench.search`, and so on."""
    return {name: getattr(import_module(f"evaluation.bench.{name}"), f"bench_{name}") for name in NAMES}
