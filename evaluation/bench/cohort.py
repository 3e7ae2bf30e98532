"""`medley bench cohort`: how long a cohort of three criteria takes over 100,000 made notes of 20,000 patients.

The counts are those of a plain loop over the same notes, or the bench fails. A cluster's node compiles its code while it
answers its first thousands of searches, so the first cohorts are timed apart (`fresh`), and the others after further ones.
"""

from __future__ import annotations

import gc
import random
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any, Final

from evaluation.bench.shared.figures import Report, bench_report, percentiles
from mappings.analysis.words import terms
from mappings.collection import Collection, load
from mappings.documents import Access, FieldValue, Passage, PassageMention
from mappings.errors import MedleyError
from mappings.fields import ASSERTED
from search.document_criteria import DocumentCriterion
from search.engines.administration import Engine
from search.engines.embedded.engine import EmbeddedEngine
from search.engines.opened import open_engines
from search.engines.opensearch.engine import OpenSearchEngine
from search.protocols import IndexEntry, PatientsAnswer, PatientsRequest
from search.query import Filter, Range, Terms
from search.settings import Settings

NOTES: Final = 100_000
PATIENTS: Final = 20_000
QUERIES: Final = 40
WARM_UP: Final = 1_500
"""Cohorts that are asked first; the first `QUERIES` of them are the `fresh` ones."""

_BATCH: Final = 5_000
_COLLECTION: Final = "bench-cohort"
_ACCESS: Final = Access("bench", frozenset({"clinical"}))
_FIRST_DAY: Final = date(2015, 1, 1)
_DAYS: Final = 3_000
_CONCEPTS: Final = tuple(f"concept-{number}" for number in range(60))
_ASSERTIONS: Final = ("present", "present", "present", "ruled-out", "uncertain", "historical")
_WORDS: Final = (
    "oxygen",
    "saturation",
    "ambulating",
    "tolerating",
    "afebrile",
    "wound",
    "drain",
    "discharge",
    "family",
)
_DECISIVE: Final = ("-Xmx", "-XX:TieredStopAtLevel", "-XX:+UseSerialGC", "-XX:+UseG1GC")
_SHARES: Final = tuple(1 / (4 + number) for number in range(len(_CONCEPTS)))
"""Concept n is in this share of the notes: from a quarter of them down to one in sixty."""


@dataclass(frozen=True, slots=True)
class MadeNote:
    """A note of the bench: what it asserts, its words and its date."""

    number: int
    patient: str
    day: date
    keys: frozenset[str]
    words: tuple[str, ...]
    stems: frozenset[str]

    def entry(self) -> IndexEntry:
        """The note as the index takes it, without vectors."""
        said = (key.partition("|") for key in sorted(self.keys))
        mentions = tuple(PassageMention(concept, assertion, 0, 1, 0, 1) for concept, _, assertion in said)
        name = f"note-{self.number}"
        passage = Passage(name, 1, 0, "Progress note", "", " ".join(self.words), mentions=mentions)
        fields: dict[str, FieldValue] = {"patient": self.patient, "date": self.day, "type": "Progress note"}
        return IndexEntry(name, 1, _ACCESS.labels, fields, (passage,), {}, asserted=(self.keys,))


@dataclass(frozen=True, slots=True)
class Cohorts:
    """The cohorts of the bench: those asked before, those that are measured, and their counts."""

    before: Sequence[PatientsRequest]
    measured: Sequence[PatientsRequest]
    expected: Sequence[tuple[int, ...]]


@contextmanager
def _frozen() -> Iterator[None]:
    """No collection of garbage goes through what is there already: a gateway does not hold the notes of the bench."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def bench_cohort(settings: Settings, notes: int = NOTES, queries: int = QUERIES, warm_up: int = WARM_UP) -> Report:
    """Milliseconds of cohorts on the embedded engine, and on a cluster where the settings name one.

    Each is asked for the first time, so that nothing of it is kept. Raises `MedleyError` for a count that is wrong.
    """
    made = list(make_notes(notes))
    measured = make_requests(queries)
    # By other assertions, so that no criterion is asked twice.
    before = make_requests(warm_up, 2, "ruled-out")
    asked = Cohorts(before, measured, [count_patients(made, item) for item in measured])
    kind = load(_COLLECTION, "notes")
    figures: dict[str, float] = {"notes": float(notes)}
    about: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        engine = EmbeddedEngine(Path(folder), lambda name: kind)
        (Path(folder) / "collections" / _COLLECTION).mkdir(parents=True)
        figures |= _measured("embedded", engine, kind, made, asked)
    if settings.opensearch:
        cluster = open_engines(settings, lambda name: kind).engine
        figures |= _measured("opensearch", cluster, kind, made, asked)
        about = _nodes(cluster)
    return bench_report("cohort", figures, about, digits=2)


def make_notes(count: int) -> Iterator[MadeNote]:
    """Notes of a fifth as many patients, the same in every run."""
    draw = random.Random(0)  # noqa: S311 - a fixed sequence is what is wanted
    for number in range(count):
        said = [name for name, share in zip(_CONCEPTS, _SHARES, strict=True) if draw.random() < share]
        keys = frozenset(f"{name}|{draw.choice(_ASSERTIONS)}" for name in said)
        patient = f"P{draw.randrange(max(1, count * PATIENTS // NOTES)):07}"
        day = _FIRST_DAY + timedelta(days=draw.randrange(_DAYS))
        words = tuple(draw.sample(_WORDS, 3))
        yield MadeNote(number, patient, day, keys, words, frozenset(term for word in words for term in terms(word)))


def make_requests(count: int, seed: int = 1, assertion: str = "present") -> list[PatientsRequest]:
    """Different cohorts of three criteria: a finding and a period with words, without another finding."""
    draw = random.Random(seed)  # noqa: S311 - a fixed sequence is what is wanted
    found = []
    for _ in range(count):
        one, two, three = draw.sample(_CONCEPTS, 3)
        since = _FIRST_DAY + timedelta(days=draw.randrange(_DAYS))
        dated = (Terms(ASSERTED, (f"{two}|{draw.choice(_ASSERTIONS)}",)), Range("date", since))
        wanted = ((tuple(terms(draw.choice(_WORDS))),),)
        found.append(
            PatientsRequest(
                index="",
                group_by="patient",
                access=_ACCESS,
                all=(DocumentCriterion((Terms(ASSERTED, (f"{one}|{assertion}",)),)), DocumentCriterion(dated, wanted)),
                none=(DocumentCriterion((Terms(ASSERTED, (f"{three}|{assertion}",)),)),),
                date="date",
            )
        )
    return found


def count_patients(notes: Sequence[MadeNote], request: PatientsRequest) -> tuple[int, ...]:
    """The total and the count of each criterion, by a plain loop over the notes."""
    met: list[set[str]] = [set() for _ in request.criteria]
    for note in notes:
        for own, item in zip(met, request.criteria, strict=True):
            if _meets(note, item):
                own.add(note.patient)
    one, two, barred = met
    return (len((one & two) - barred), *map(len, met))


def _meets(note: MadeNote, item: DocumentCriterion) -> bool:
    if any(note.stems.isdisjoint(word for phrase in forms for word in phrase) for forms in item.wanted):
        return False
    return all(_passes(note, one) for one in item.filters)


def _passes(note: MadeNote, one: Filter) -> bool:
    if isinstance(one, Range):
        return isinstance(one.low, date) and note.day >= one.low
    return not note.keys.isdisjoint(one.values)


def _measured(
    name: str, engine: Engine, kind: Collection, notes: Sequence[MadeNote], asked: Cohorts
) -> Mapping[str, float]:
    """The figures of one engine, which the notes are indexed by for the bench alone."""
    index = engine.create(kind.name, {}).index
    try:
        for start in range(0, len(notes), _BATCH):
            with engine.writer(index) as writer:
                writer.write([note.entry() for note in notes[start : start + _BATCH]])
                writer.commit()
        with _frozen():
            timed = _timed(name, engine, index, asked)
        return {f"{name}_{key}": value for key, value in timed.items()}
    finally:
        engine.drop(index)


def _timed(name: str, engine: Engine, index: str, asked: Cohorts) -> dict[str, float]:
    first, _ = _answered(engine, PatientsRequest(index, "patient", _ACCESS))
    before = [_answered(engine, replace(request, index=index))[0] for request in asked.before]
    fresh = percentiles(before[: len(asked.measured)])
    times = []
    for request, counts in zip(asked.measured, asked.expected, strict=True):
        milliseconds, answer = _answered(engine, replace(request, index=index))
        times.append(milliseconds)
        if (answer.total, *answer.counts) != counts:
            raise MedleyError(f"{name}: {(answer.total, *answer.counts)} patients, and {counts} by a plain loop")
    own = {"first_ms": first, "fresh_p50_ms": fresh["p50_ms"], "fresh_p95_ms": fresh["p95_ms"]}
    return {**own, **percentiles(times)}


def _answered(engine: Engine, request: PatientsRequest) -> tuple[float, PatientsAnswer]:
    started = time.perf_counter()
    answer = engine.patients(request)
    return 1000 * (time.perf_counter() - started), answer


def _nodes(engine: Engine) -> dict[str, str]:
    """What the nodes of a cluster run, which decides the figures: the version, the heap, and how code is compiled."""
    if not isinstance(engine, OpenSearchEngine):
        return {}
    with suppress(MedleyError):  # an account that may search need not be allowed to ask this
        nodes = engine.cluster.read("GET", "/_nodes/jvm")["nodes"].values()
        return {"opensearch": "; ".join(sorted({_node(node) for node in nodes}))}
    return {}


def _node(node: Mapping[str, Any]) -> str:
    options = [item for item in node["jvm"]["input_arguments"] if item.startswith(_DECISIVE)]
    return " ".join((node["version"], *options))
