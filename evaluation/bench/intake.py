"""`medley bench intake`: one file of a gigabyte through a worker, and how much memory that took.

A process of its own reads the file into an embedded store as the queue's parse task does, then indexes the first
thousands of its documents with the collection's encoder; it tells the highest memory it ever held after each step.
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
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, Final

from evaluation.bench.models import SENTENCES
from evaluation.bench.search import machine
from mappings.documents import Deletion, Document
from mappings.formats.registry import read
from search import settings as settings_of
from search.bootstrap import Medley
from search.settings import Settings
from workers.delivery import Delivery
from workers.indexing.indexer import Indexer
from workers.indexing.ingest import ingest

Report = dict[str, Any]
NAME: Final = "abstracts"
BYTES: Final = 1_000_000_000
INDEXED: Final = 1_500
_READ: Final = 500
_PARTS: Final = 4
_SHARE: Final = 0.9
"""About what of a line is text."""


def bench_intake(settings: Settings, size: int = BYTES, indexed: int = INDEXED) -> Report:
    """Megabytes that the worker's process held at most, at the quarters of the file and after indexing."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "in.jsonl"
        with file.open("w", encoding="utf-8") as out:
            out.writelines(_lines(size))
        home = replace(settings, home=Path(folder) / "home", opensearch="", redis="").home
        environment = os.environ | {"MEDLEY_HOME": str(home), "MEDLEY_OPENSEARCH": "", "MEDLEY_REDIS": ""}
        environment["PYTHONPATH"] = str(Path(__file__).parents[2])
        command = [sys.executable, "-m", "evaluation.bench.intake", str(file), str(indexed)]
        ran = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)  # noqa: S603
    figures = {"bytes": float(size), **json.loads(ran.stdout)}
    return {
        "bench": "intake",
        "machine": machine(),
        "figures": {key: round(value, 2) for key, value in figures.items()},
    }


def _lines(size: int) -> Iterator[str]:
    """Documents of unlike lengths as JSON Lines, about `size` bytes of them; the same in every run."""
    draw, written, number = random.Random(0), 0, 0  # noqa: S311 - a fixed sequence is what is wanted
    while written < size:
        text = " ".join(draw.choices(SENTENCES, k=draw.randint(3, 30)))
        line = json.dumps({"id": f"d{number}", "title": f"Report {number}", "text": text, "labels": ["public"]}) + "\n"
        written, number = written + len(line), number + 1
        yield line


def main(file: Path, indexed: int) -> None:
    """The worker's part; its figures as JSON."""
    medley = Medley.open(settings_of.read())
    collection = medley.collections.create(NAME)
    size, figures = file.stat().st_size, {"start_mb": _highest()}
    delivery = Delivery(medley.collections.store(NAME), NAME)
    records, passed, quarter = read(file, "jsonl", collection), 0, 1
    started = time.perf_counter()
    while batch := [item for item in islice(records, _READ) if isinstance(item, Document | Deletion)]:
        delivery.accept(batch)
        passed += sum(_length(item) for item in batch)
        while quarter <= _PARTS and passed >= size * quarter * _SHARE / _PARTS:
            figures[f"read_{quarter}_of_{_PARTS}_mb"] = _highest()
            quarter += 1
    seconds = time.perf_counter() - started
    delivery.finish()
    figures |= {
        "read_mb": _highest(),
        "documents": float(delivery.job.accepted),
        "read_per_second": delivery.job.accepted / seconds,
    }
    names = [name for name, _ in medley.collections.store(NAME).pending("", indexed)]
    for _ in ingest(Indexer.of(medley, NAME), names):
        pass
    json.dump(figures | {"indexed": float(len(names)), "indexed_mb": _highest()}, sys.stdout)


def _length(item: Document | Deletion) -> int:
    return sum(len(part.text) for part in item.sections) if isinstance(item, Document) else 0


def _highest() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
