"""`medley bench intake`: one file of a gigabyte through a worker, and how much memory that took.

A process of its own reads the file into an embedded store as the queue's parse task does, then indexes the first
thousands of its documents with the collection's encoder; it prints its peak memory after each step.
"""

from __future__ import annotations

import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final

from evaluation.bench.shared.figures import Report, bench_report
from evaluation.bench.shared.ingestion import NAME
from evaluation.bench.shared.workload import SENTENCES
from mappings.collection import Collection
from mappings.documents import Deletion, Document
from mappings.formats.registry import read
from search import settings as settings_of
from search.bootstrap import Medley
from search.settings import Settings
from workers.delivery import Delivery
from workers.indexing.indexer import Indexer
from workers.indexing.ingest import ingest

BYTES: Final = 1_000_000_000
INDEXED: Final = 1_500
_READ: Final = 500
_PARTS: Final = 4
_SHARE: Final = 0.9
"""Roughly how much of a line is text."""


def bench_intake(settings: Settings, size: int = BYTES, indexed: int = INDEXED) -> Report:
    """Peak megabytes of the worker's process at the quarters of the file and after indexing."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "in.jsonl"
        with file.open("w", encoding="utf-8") as out:
            out.writelines(_lines(size))
        home = str(Path(folder) / "home")
        environment = os.environ | {"MEDLEY_HOME": home, "MEDLEY_OPENSEARCH": "", "MEDLEY_REDIS": ""}
        environment["PYTHONPATH"] = str(Path(__file__).parents[2])
        command = [sys.executable, "-m", __name__, str(file), str(indexed)]
        ran = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)  # noqa: S603
    return bench_report("intake", {"bytes": float(size), **json.loads(ran.stdout)}, digits=2)


def _lines(size: int) -> Iterator[str]:
    """Documents of different lengths as JSON Lines, about `size` bytes of them; the same in every run."""
    draw, written, number = random.Random(0), 0, 0  # noqa: S311 - a fixed sequence is what is wanted
    while written < size:
        text = " ".join(draw.choices(SENTENCES, k=draw.randint(3, 30)))
        line = json.dumps({"id": f"d{number}", "title": f"Report {number}", "text": text, "labels": ["public"]}) + "\n"
        written, number = written + len(line), number + 1
        yield line


def main(file: Path, indexed: int) -> None:
    """The worker's process: print its figures as JSON."""
    medley = Medley.open(settings_of.read())
    collection = medley.collections.create(NAME)
    figures = _read_file(medley, collection, file)
    store = medley.collections.store(NAME)
    names = [name for name, _ in store.pending("", indexed)]
    for _ in ingest(Indexer.of(medley, NAME), names):
        pass
    json.dump(figures | {"indexed": float(len(names)), "indexed_mb": _peak()}, sys.stdout)


def _read_file(medley: Medley, collection: Collection, file: Path) -> dict[str, Any]:
    """Accept the documents of the file; the memory at its quarters and the documents per second."""
    size, figures = file.stat().st_size, {"start_mb": _peak()}
    delivery = Delivery(medley.collections.store(NAME), NAME)
    records, passed, quarter = read(file, "jsonl", collection), 0, 1
    started = time.perf_counter()
    while batch := [item for item in islice(records, _READ) if isinstance(item, Document | Deletion)]:
        delivery.accept(batch)
        passed += sum(_length(item) for item in batch)
        while quarter <= _PARTS and passed >= size * quarter * _SHARE / _PARTS:
            figures[f"read_{quarter}_of_{_PARTS}_mb"] = _peak()
            quarter += 1
    seconds = time.perf_counter() - started
    delivery.finish()
    accepted = delivery.job.accepted
    return figures | {"read_mb": _peak(), "documents": float(accepted), "read_per_second": accepted / seconds}


def _length(item: Document | Deletion) -> int:
    return sum(len(part.text) for part in item.sections) if isinstance(item, Document) else 0


def _peak() -> float:
    """Megabytes that this process held at most so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
