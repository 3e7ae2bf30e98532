"""What every bench reports: the machine it ran on, times and memory, in the stable form of `medley bench --json`."""

from __future__ import annotations

import os
import platform
import re
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from evaluation.bench.systems.measure import read_memory

Report = dict[str, Any]


def bench_report(
    name: str, figures: Mapping[str, float], about: Mapping[str, Any] | None = None, digits: int = 4
) -> Report:
    """The report of the bench `name`; `about` adds to the machine what else decides the figures, such as the model."""
    rounded = {key: round(value, digits) for key, value in figures.items()}
    return {"bench": name, "machine": {**machine(), **(about or {})}, "figures": rounded}


def machine() -> dict[str, Any]:
    """Processor, cores and Python version of this machine."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {"processor": _processor(), "cores": cores, "python": platform.python_version()}


def _processor() -> str:
    try:
        found = re.search(r"model name\s*: (.+)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    except OSError:
        found = None
    return found[1] if found else platform.processor() or platform.machine()


def memory() -> dict[str, float]:
    """Resident and proportional memory of this process in MB; empty where the system does not report it."""
    return read_memory("self")


def time_each(answer: Callable[[str], Any], queries: Sequence[str]) -> tuple[list[float], list[Any]]:
    """(milliseconds, answers) of the queries, one after the other."""
    times, answers = [], []
    for query in queries:
        started = time.perf_counter()
        answers.append(answer(query))
        times.append(1000 * (time.perf_counter() - started))
    return times, answers


def percentiles(times: Sequence[float]) -> dict[str, float]:
    """`p50_ms`, `p95_ms` and the number of queries."""
    p50, p95 = np.percentile(times, (50, 95))
    return {"p50_ms": float(p50), "p95_ms": float(p95), "queries": float(len(times))}
