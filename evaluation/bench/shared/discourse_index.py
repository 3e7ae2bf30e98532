"""An index of so many passages with drawn vectors, and what a search of it costs with and without the leg `discourse`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from time import perf_counter
from typing import Final

import numpy as np
from numpy.typing import NDArray

from evaluation.bench.shared.workload import passages
from evaluation.stages import ACCESS, DISCOURSE_SHARE, weights_with
from mappings.collection import DISCOURSE
from mappings.documents import Passage
from search.bootstrap import Medley
from search.memory.cache import Cache
from search.pipeline.search import search
from search.pipeline.services import SearchServices
from search.protocols import IndexEntry, Vectors
from search.query import Query

NAME: Final = "bench-discourse"
KIND: Final = "articles"
BATCH: Final = 500
WARM_UP: Final = 10
_ENTITIES: Final = (
    "gout",
    "asthma",
    "stroke",
    "type 2 diabetes",
    "migraine",
    "cystic fibrosis",
    "pneumonia",
    "psoriasis",
)
_ASPECTS: Final = ("treatment", "causes", "symptoms", "prevention", "diagnosis", "outlook", "genetics", "complications")


def fill_index(medley: Medley, documents: int, passages_each: int) -> None:
    """Publish an index of a new collection, with the fields of its kind's encoders and vectors drawn at random."""
    collection = medley.collections.create(NAME, KIND)
    encoders = medley.models.index_encoders(collection)
    sizes = {name: encoder.dimension for name, encoder in encoders.items()}
    identities = {name: (encoder.fingerprint, encoder.dimension) for name, encoder in encoders.items()}
    reader = medley.collections.reader(NAME)
    index = medley.engine.create(NAME, identities, reading=reader.version if reader else "").index
    with medley.engine.writer(index) as writer:
        for start in range(0, documents, BATCH):
            writer.write(list(_entries(range(start, min(documents, start + BATCH)), passages_each, sizes)))
        writer.commit()
    medley.engine.publish(index)


def _entries(numbers: range, passages_each: int, sizes: dict[str, int]) -> Iterator[IndexEntry]:
    draw = np.random.default_rng(numbers.start)
    texts = passages(len(numbers) * passages_each, seed=numbers.start)
    for place, number in enumerate(numbers):
        own = texts[place * passages_each : (place + 1) * passages_each]
        name = f"d{number}"
        split = tuple(Passage(name, 1, ordinal, "", "", text) for ordinal, text in enumerate(own))
        vectors = {field: _drawn(draw, len(own), size, field) for field, size in sizes.items()}
        none = (frozenset[str](),) * len(own)
        yield IndexEntry(name, 1, frozenset({"public"}), {}, split, vectors, asserted=none)


def _drawn(draw: np.random.Generator, rows: int, size: int, field: str) -> Vectors:
    """Unit rows; those of a discourse model are means of such, and shorter."""
    vectors = draw.normal(size=(rows, size)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors * np.float32(0.7) if field == DISCOURSE else vectors


def time_searches(medley: Medley, count: int) -> dict[str, NDArray[np.float64]]:
    """The milliseconds of `count` searches by text that names both slots, in turns `with` and `without` the leg; nothing is cached."""
    services = {"without": _services(medley, 0.0), "with": _services(medley, DISCOURSE_SHARE)}
    texts = passages(count + WARM_UP, seed=1)
    times: dict[str, list[float]] = {name: [] for name in services}
    for number, text in enumerate(texts):
        words = " ".join(text.split()[number % 3 :][:9])
        entity, aspect = _ENTITIES[number % len(_ENTITIES)], _ASPECTS[number // len(_ENTITIES) % len(_ASPECTS)]
        query = Query(NAME, ACCESS, f"{aspect} of {entity}: {words}", rerank=False)
        for name in services if number % 2 else reversed(services):
            started = perf_counter()
            search(query, services[name])
            times[name].append(1000 * (perf_counter() - started))
    return {name: np.asarray(own[WARM_UP:]) for name, own in times.items()}


def _services(medley: Medley, share: float) -> SearchServices:
    collection = medley.collections.get(NAME)
    fusion = replace(collection.fusion, weights=weights_with(collection.fusion.weights, share))
    weighted = replace(collection, fusion=fusion)
    # Without a store: its documents do not exist. Caches of one entry: what one variant computes, the other must, too.
    return replace(medley.services, store=None, collection=lambda _: weighted, vectors=Cache(1), answers=Cache(1))
