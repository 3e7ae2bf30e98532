"""Whole commands as a bench runs them: a process of its own, with settings of its own, on SciFact's abstracts as a file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from evaluation.bench.shared.ingestion import NAME
from mappings.datasets.scifact import SentenceAbstract
from mappings.errors import Unavailable
from search.settings import Settings

MEASURE: Final = Path(__file__).parents[1] / "systems" / "measure.py"
THREADS: Final = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MEDLEY_THREADS")
OFFLINE: Final[Mapping[str, str]] = {"HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": ""}
"""For other systems: they read a model from a folder, on the CPU."""
ELSEWHERE: Final = ("opensearch", "redis", "inference", "collections", "lexicons")
"""Settings that would index somewhere else, or something else."""
POLL_SECONDS: Final = 0.1


def write_abstracts(abstracts: Iterable[SentenceAbstract], file: Path) -> Path:
    """The abstracts as the format `scifact`."""
    records = ({"doc_id": item.id, "title": item.title, "abstract": item.sentences} for item in abstracts)
    return write_lines(records, file)


def write_texts(texts: Iterable[tuple[str, str]], file: Path) -> Path:
    """(id, text) of documents or queries, as other systems read them."""
    return write_lines(({"id": identifier, "text": text} for identifier, text in texts), file)


def write_lines(records: Iterable[Mapping[str, object]], file: Path) -> Path:
    """The records as JSON lines."""
    with file.open("w", encoding="utf-8") as lines:
        lines.writelines(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    return file


def plain_text(abstract: SentenceAbstract) -> str:
    """Title and sentences of an abstract as one text, which is what other systems index."""
    return " ".join((abstract.title, *abstract.sentences))


def own_settings(settings: Settings, home: Path, threads: int) -> Settings:
    """The settings of an ingestion: the embedded engine in a new home, and models in the process that indexes."""
    plain = {name: getattr(Settings(), name) for name in ELSEWHERE}
    models = settings.models.resolve() if settings.models else None  # the process runs in another folder
    return replace(settings, home=home, models=models, threads=threads, **plain)


def environment_of(settings: Settings) -> dict[str, str]:
    """What passes the settings on to a process of ours."""
    return {f"MEDLEY_{name.upper()}": "" if value is None else str(value) for name, value in settings.as_json().items()}


def ingest_command(file: Path) -> list[str]:
    """What makes abstracts of the format `scifact` searchable, and prints its report as JSON."""
    return ["-m", "web.cli", "ingest", str(file), "--collection", NAME, "--format", "scifact", "--json"]


def run_ours(
    arguments: Sequence[str], known: Mapping[str, str], folder: Path, look: Callable[[], None] = lambda: None
) -> str:
    """What a Python process prints that has our packages; `look` is called over and over meanwhile.

    Raises `Unavailable` when it fails.
    """
    paths = os.pathsep.join(filter(None, (os.path.abspath(path) for path in sys.path)))
    return _run([sys.executable, *arguments], os.environ | known | {"PYTHONPATH": paths}, folder, look)


def run_measured(python: str, arguments: Sequence[str], threads: int, folder: Path) -> str:
    """What `systems/measure.py` prints under an interpreter that sees its own packages only.

    Raises `Unavailable` when it fails.
    """
    known = {**OFFLINE, **dict.fromkeys(THREADS, str(threads))}
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return _run([python, str(MEASURE), *arguments], inherited | known, folder, lambda: None)


def _run(command: Sequence[str], environment: Mapping[str, str], folder: Path, look: Callable[[], None]) -> str:
    with (
        (folder / "output").open("w+", encoding="utf-8") as output,
        (folder / "errors").open("w+", encoding="utf-8") as errors,
        subprocess.Popen(  # noqa: S603 - an interpreter, and our own modules
            command,
            env=environment,
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
            said = (errors.read().strip() or output.read().strip() or f"exit status {child.returncode}")[-500:]
            raise Unavailable(f"the measured process failed: {said}", field=command[1])
        return output.read()
