"""A collection of any number of windows, made by program: real abstracts and their real vectors, then mixtures of them.

Each further document has the sentences of two real abstracts in turns, as many as the first has, and the vectors of the
first, each moved at random and brought back to unit length. So words, lengths and neighbourhoods are like those of real
texts; what documents say is not. Their years go round a century, and one of them has a source of its own, for filters.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, islice
from pathlib import Path
from typing import Final

import numpy as np

from encoders.pooling import Floats, unit
from evaluation.corpus.index import home, open_corpus
from evaluation.stages import ACCESS
from evaluation.task import Task
from mappings.analysis.passages import passages
from mappings.analysis.sentences import sentences
from mappings.collection import Collection
from mappings.documents import Document, Section
from search.bootstrap import Medley
from search.protocols import IndexEntry
from search.settings import Settings

NAME: Final = "scaled"
MOVED: Final = 0.35
"""The length of the random move of a vector; what was moved has a cosine of about .94 with where it was."""
COMMIT_EVERY: Final = 20_000
BATCH: Final = 500
FIRST_YEAR: Final = 1926
YEARS: Final = 100
ALONE: Final = 77
"""The number of the document whose source is `ALONE_SOURCE`."""
ALONE_SOURCE: Final = "alone"
_ALL: Final = 2**62
_COMPLETE: Final = "complete.json"


@dataclass(frozen=True, slots=True)
class RealText:
    """A real document: its title, its sentences, and the vectors of its windows, shape (windows, d)."""

    title: str
    sentences: tuple[str, ...]
    vectors: Floats


def place(settings: Settings, windows: int) -> Settings:
    """The settings of the home that holds so many windows."""
    return replace(settings, home=home(settings).home / f"scaled-years-{windows}", opensearch="")


def build_seconds(settings: Settings, windows: int) -> float:
    """How long it took to index so many windows with ready vectors; they must be there."""
    return float(_told(place(settings, windows))["seconds"])


def _told(chosen: Settings) -> dict[str, float]:
    """What a home that is complete says of itself; empty for any other."""
    file = chosen.home / _COMPLETE
    return json.loads(file.read_text()) if file.is_file() else {}


def open_scaled(settings: Settings, task: Task, windows: int) -> tuple[Medley, Path]:
    """A Medley whose collection `NAME` has at least so many windows, built if it is not there; and its exact vectors.

    The file has float16 rows in the order of documents; `rows.npy` beside it the document's number of each.
    """
    chosen = place(settings, windows)
    if "seconds" not in _told(chosen):
        real = open_corpus(task.corpus, replace(settings, opensearch=""))
        shutil.rmtree(chosen.home, ignore_errors=True)
        _build(Medley.open(chosen), real, task.corpus.name, windows)
    return Medley.open(chosen), chosen.home / "exact.f16"


def _build(medley: Medley, real: Medley, name: str, windows: int) -> None:
    collection = medley.collections.create(NAME, "abstracts")
    (fingerprint,) = real.engine.resolve(name).encoders.values()
    texts = list(_read(real, name))
    dimension = texts[0].vectors.shape[1]
    index = medley.engine.create(NAME, {"dense": (fingerprint, dimension)}).index
    home_folder, numbers = medley.settings.home, []
    made, started = _entries(texts, windows, collection), time.perf_counter()
    with medley.engine.writer(index) as writer, (home_folder / "exact.f16").open("wb") as exact:
        waiting = documents = 0
        while batch := list(islice(made, BATCH)):
            writer.write(batch)
            for entry in batch:
                exact.write(entry.vectors["dense"].astype(np.float16).tobytes())
                numbers.append(np.full(len(entry.vectors["dense"]), documents, np.int32))
                documents += 1
            waiting += len(batch)
            if waiting >= COMMIT_EVERY:
                writer.commit()
                waiting = 0
        writer.commit()
    medley.engine.publish(index)
    np.save(home_folder / "rows.npy", np.concatenate(numbers))
    told = {"documents": documents, "windows": sum(map(len, numbers)), "seconds": time.perf_counter() - started}
    (home_folder / _COMPLETE).write_text(json.dumps(told))


def _read(medley: Medley, name: str) -> Iterator[RealText]:
    """The documents as the index has them, in the order of their ids: nothing is read or encoded again."""
    engine, index = medley.engine, medley.engine.resolve(name).index
    held = sorted(engine.contents(index))
    for start in range(0, len(held), BATCH):
        ids = [
            f"{document}@{version}#{ordinal}"
            for document, version, count in held[start : start + BATCH]
            for ordinal in range(count)
        ]
        found = engine.passages(index, ids, ACCESS)
        rows = engine.vectors(index, [*found.values()])
        parts = [found[one] for one in ids if one in rows]
        for _, own in groupby(parts, key=lambda item: item.document):
            document = [*own]
            vectors = np.concatenate([rows[passage.id]["dense"] for passage in document])
            told = tuple(sentence for passage in document for sentence in _sentences(passage.text))
            yield RealText(document[0].title, told, vectors.astype(np.float32))


def _sentences(text: str) -> Iterator[str]:
    return (text[span.start : span.end] for span in sentences(text))


def _entries(texts: Sequence[RealText], windows: int, collection: Collection) -> Iterator[IndexEntry]:
    """The documents, until they have so many windows: all real ones, then mixtures; the same in every run."""
    draw, number, made = np.random.default_rng(0), 0, 0
    while made < windows:
        first = texts[number % len(texts)]
        told, vectors = first.sentences, first.vectors
        if number >= len(texts):
            other = texts[int(draw.integers(len(texts)))].sentences
            told = tuple(one for pair in zip(first.sentences, other, strict=False) for one in pair)[: len(told)] or told
            moved = draw.normal(0, MOVED / np.sqrt(vectors.shape[1]), vectors.shape)
            vectors = unit(vectors + moved.astype(np.float32))
        yield _entry(number, first.title, told, vectors, collection)
        number, made = number + 1, made + len(vectors)


def _entry(number: int, title: str, told: Sequence[str], vectors: Floats, collection: Collection) -> IndexEntry:
    document = Document(f"d{number:08}", title, (Section("", " ".join(told)),), frozenset(["public"]))
    whole = passages(document, 1, replace(collection, max_words=_ALL))
    fields = {"year": FIRST_YEAR + number % YEARS, "source": ALONE_SOURCE if number == ALONE else "others"}
    return IndexEntry(document.id, 1, document.labels, fields, whole[:1], {"dense": vectors}, (len(vectors),))
