"""`medley bench cohort`: how long a cohort of three criteria takes over 100,000 made notes of 20,000 patients.

The counts are those of a plain loop over the same notes, or the bench fails.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from pathlib import Path
from typing import Final

from evaluation.bench.shared.figures import Report, bench_report, percentiles
from mappings.analysis.words import terms
from mappings.collection import Collection, load
from mappings.documents import Access, FieldValue, Passage, PassageMention
from mappings.errors import MedleyError
from mappings.fields import ASSERTED
from search.engines.administration import Engine
from search.engines.embedded.engine import EmbeddedEngine
from search.engines.opened import open_engines
from search.protocols import IndexEntry, PatientsRequest
from search.query import DocumentCriterion, Filter, Range, Terms
from search.settings import Settings

NOTES: Final = 100_000
PATIENTS: Final = 20_000
QUERIES: Final = 40
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


def bench_cohort(settings: Settings, notes: int = NOTES, queries: int = QUERIES) -> Report:
    """Milliseconds of cohorts on the embedded engine, and on a cluster where the settings name one.

    Each is asked for the first time, so that nothing of it is kept. Raises `MedleyError` for a count that is wrong.
    """
    made = list(make_notes(notes))
    asked = make_requests(queries)
    expected = [count_patients(made, item) for item in asked]
    kind = load(_COLLECTION, "notes")
    figures: dict[str, float] = {"notes": float(notes)}
    with tempfile.TemporaryDirectory() as folder:
        engine = EmbeddedEngine(Path(folder), lambda name: kind)
        (Path(folder) / "collections" / _COLLECTION).mkdir(parents=True)
        figures |= _measured("embedded", engine, kind, made, asked, expected)
    if settings.opensearch:
        figures |= _measured(
            "opensearch", open_engines(settings, lambda name: kind).engine, kind, made, asked, expected
        )
    return bench_report("cohort", figures, digits=2)


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


def make_requests(count: int) -> list[PatientsRequest]:
    """Different cohorts of three criteria: a finding and a period with words, without another finding."""
    draw = random.Random(1)  # noqa: S311 - a fixed sequence is what is wanted
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
                all=(DocumentCriterion((Terms(ASSERTED, (f"{one}|present",)),)), DocumentCriterion(dated, wanted)),
                none=(DocumentCriterion((Terms(ASSERTED, (f"{three}|present",)),)),),
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
    name: str,
    engine: Engine,
    kind: Collection,
    notes: Sequence[MadeNote],
    asked: Sequence[PatientsRequest],
    expected: Sequence[tuple[int, ...]],
) -> Mapping[str, float]:
    """The figures of one engine, which the notes are indexed by for the bench alone."""
    index = engine.create(kind.name, {}).index
    try:
        for start in range(0, len(notes), _BATCH):
            with engine.writer(index) as writer:
                writer.write([note.entry() for note in notes[start : start + _BATCH]])
                writer.commit()
        return {f"{name}_{key}": value for key, value in _timed(name, engine, index, asked, expected).items()}
    finally:
        engine.drop(index)


def _timed(
    name: str,
    engine: Engine,
    index: str,
    asked: Sequence[PatientsRequest],
    expected: Sequence[tuple[int, ...]],
) -> dict[str, float]:
    started = time.perf_counter()
    engine.patients(PatientsRequest(index, "patient", _ACCESS))
    first = 1000 * (time.perf_counter() - started)
    times = []
    for request, counts in zip(asked, expected, strict=True):
        started = time.perf_counter()
        answer = engine.patients(replace(request, index=index))
        times.append(1000 * (time.perf_counter() - started))
        if (answer.total, *answer.counts) != counts:
            raise MedleyError(f"{name}: {(answer.total, *answer.counts)} patients, and {counts} by a plain loop")
    return {"first_ms": first, **percentiles(times)}
