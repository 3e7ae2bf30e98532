"""`medley bench search` and `medley bench deadline`: how fast a search is, and how much memory it takes.

What is measured runs in a fresh process, so that neither the building of the index nor the alternative counts as
memory of a search.
"""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from evaluation.baselines.prepared import plain_tokens
from evaluation.index import Fill, home, opened
from evaluation.stages import ACCESS
from evaluation.suites import scifact
from evaluation.task import Task
from mappings.analysis.passages import passages, windows
from mappings.errors import MedleyError, Unavailable
from search.bootstrap import Medley
from search.query import Query
from search.settings import Settings, read
from search.storage import State

Report = dict[str, Any]
Answer = Callable[[str], Any]
WARM_UP: Final = 20
ALTERNATIVE_QUERIES: Final = 60
DEADLINE_MS: Final = 100
DEADLINE_CANDIDATES: Final = 100
DEPTH: Final = 100


def search(settings: Settings, fill: Fill) -> Report:
    """SciFact's claims over its abstracts and the 39k distractors, window 100, encoding included, no reranking.

    The alternative, in the same run: rank-bm25 and a numpy dot product over all vectors, fused the same way.
    """
    task = _prepared(settings, fill)
    ours = _measured_apart("search", task.corpus.name, settings)
    alternative = _measured_apart("alternative", task.corpus.name, settings)
    ratios = {
        "p50_ratio": alternative["p50_ms"] / ours["p50_ms"],
        "p95_ratio": alternative["p95_ms"] / ours["p95_ms"],
        "memory_ratio": alternative["pss_mb"] / ours["pss_mb"],
    }
    return _report("search", ours | {f"alternative_{name}": value for name, value in alternative.items()} | ratios)


def deadline(settings: Settings, fill: Fill) -> Report:
    """The same collection with a reranking deadline of 100 ms on 100 candidates."""
    task = _prepared(settings, fill)
    settings = replace(settings, candidates=DEADLINE_CANDIDATES)
    return _report("deadline", _measured_apart("deadline", task.corpus.name, settings))


def _prepared(settings: Settings, fill: Fill) -> Task:
    task = scifact.task(settings, distractors=True)
    opened(task.corpus, replace(settings, opensearch=""), fill)
    return task


def _report(name: str, figures: dict[str, float]) -> Report:
    return {"bench": name, "machine": machine(), "figures": {key: round(value, 4) for key, value in figures.items()}}


def machine() -> dict[str, Any]:
    """Processor, cores and Python of this machine."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {"processor": _processor(), "cores": cores, "python": platform.python_version()}


def _processor() -> str:
    try:
        found = re.search(r"model name\s*: (.+)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    except OSError:
        found = None
    return found[1] if found else platform.processor() or platform.machine()


def memory() -> dict[str, float]:
    """Resident and proportional memory of this process in MB; empty where the system does not tell."""
    try:
        lines = Path("/proc/self/smaps_rollup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return {}
    sizes = {line.split(":")[0]: int(line.split()[1]) for line in lines if line.endswith(" kB")}
    return {"rss_mb": sizes["Rss"] / 1024, "pss_mb": sizes["Pss"] / 1024, "anonymous_mb": sizes["Anonymous"] / 1024}


def _measured_apart(mode: str, collection: str, settings: Settings) -> dict[str, float]:
    """The figures of a fresh process. Raises `Unavailable` with what it said when it fails."""
    known = {
        f"MEDLEY_{name.upper()}": str(value) for name, value in settings.as_json().items() if value not in (None, "")
    }
    child = subprocess.run(  # noqa: S603 - our own interpreter and module
        [sys.executable, "-m", "evaluation.bench.search", mode, collection],
        env=os.environ | known | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        check=False,
    )
    if child.returncode:
        raise Unavailable(f"the measured process failed: {child.stderr.strip()[-500:]}", field=mode)
    figures: dict[str, float] = json.loads(child.stdout)
    return figures


def timed(answer: Answer, queries: Sequence[str]) -> tuple[list[float], list[Any]]:
    """(milliseconds, answers) of each query, one after the other."""
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


def _search(medley: Medley, name: str, warm: Sequence[str], queries: Sequence[str]) -> dict[str, float]:
    def answer(text: str) -> Any:
        return medley.search(Query(name, ACCESS, text, rerank=False))

    timed(answer, warm)
    times, answers = timed(answer, queries)
    encoding = [item.timings_ms.get("encode", 0.0) for item in answers]
    return percentiles(times) | memory() | {"encode_p50_ms": float(np.median(encoding))}


def _deadline(medley: Medley, name: str, warm: Sequence[str], queries: Sequence[str]) -> dict[str, float]:
    def answer(text: str) -> Any:
        return medley.search(Query(name, ACCESS, text, deadline_ms=DEADLINE_MS))

    timed(answer, warm)
    times, answers = timed(answer, queries)
    return (
        percentiles(times)
        | memory()
        | {
            "partial_share": float(np.mean([item.reranked.is_partial for item in answers])),
            "marked_share": float(
                np.mean([bool(item.degraded) for item in answers if item.reranked.is_partial] or [True])
            ),
            "reranked_mean": float(np.mean([item.reranked.scored for item in answers])),
            "candidates": float(max(item.reranked.candidates for item in answers)),
        }
    )


def _alternative(medley: Medley, name: str, warm: Sequence[str], queries: Sequence[str]) -> dict[str, float]:
    answer = brute_force(medley, name)
    timed(answer, warm[:3])
    times, _ = timed(answer, queries[:ALTERNATIVE_QUERIES])
    return percentiles(times) | memory()


def brute_force(medley: Medley, name: str) -> Answer:
    """rank-bm25 over all texts, a numpy dot product over all vectors (the best of a text's windows), their min-max sum."""
    from rank_bm25 import BM25Okapi

    words = medley.engine.resolve(name).windows
    texts, read = [], []
    for passage in _passages(medley, name):
        texts.append(passage.model_text)
        read.append(windows(passage, words))
    (encoder,) = medley.models.encoders(medley.collections.get(name)).values()
    vectors = encoder.encode_passages([text for own in read for text in own])
    starts = np.cumsum([0, *map(len, read)])[:-1]
    lexical = BM25Okapi([plain_tokens(text) for text in texts])
    del texts, read

    def answer(query: str) -> Any:
        words = lexical.get_scores(plain_tokens(query))
        dense = np.maximum.reduceat(vectors @ encoder.encode_queries([query])[0], starts)
        fused = _unit(words) + _unit(dense)
        best = np.argpartition(-fused, DEPTH)[:DEPTH]
        return best[np.argsort(-fused[best])]

    return answer


def _unit(scores: Any) -> Any:
    low, high = scores.min(), scores.max()
    return (scores - low) / ((high - low) or 1.0)


def _passages(medley: Medley, name: str) -> Iterable[Any]:
    store, collection = medley.collections.store(name), medley.collections.get(name)
    index = medley.engine.resolve(name).index
    names = [record.id for record in store.states(index, State.INDEXED, 2**62)]
    for start in range(0, len(names), 500):
        for stored in store.latest(names[start : start + 500]).values():
            if stored.document is not None:
                yield from passages(stored.document, stored.version, collection)


MODES: Final = {"search": _search, "alternative": _alternative, "deadline": _deadline}


def main(mode: str, collection: str) -> int:
    """The measured process: figures as JSON on the standard output."""
    settings = read()
    claims = [question.text for question in scifact.task(settings).questions]
    train = [question.text for question in scifact.task(settings, split="train").questions]
    medley = Medley.open(home(settings))
    json.dump(MODES[mode](medley, collection, train[:WARM_UP], claims), sys.stdout)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:3]))
    except MedleyError as problem:
        sys.exit(problem.message)
