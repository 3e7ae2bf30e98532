"""The suite `lookups`: short queries made by program, measured by whether the hits hold their words, without judgements."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from evaluation import stages
from evaluation.corpus.index import digest, home, mark, open_corpus
from evaluation.measures import Values
from evaluation.models import describe_models, keep_scores, open_rerankers, reranker_fingerprints
from evaluation.statistics import compare, interval
from evaluation.suite import Progress, Report, Suite, SuiteOptions, command
from evaluation.suites.lookups.corpora import corpora, decided_by, stored, waiting
from evaluation.suites.lookups.coverage import DEPTH, MEASURE, HitGroups, measure
from evaluation.suites.lookups.oracle import WordIndex
from evaluation.suites.lookups.queries import FEW, TYPES, Lookup, make_lookups
from mappings import collection as kinds
from mappings.analysis.lexicon import rows as lexicon_rows
from mappings.collection import Collection
from mappings.errors import InvalidInput
from search.bootstrap import Medley
from search.ranking.cascade import RerankStages
from search.settings import Settings

NAME: Final = "lookups"
QUERIES: Final = 200
"""For each collection."""
ALL: Final = "all"
"""The type of a row over the look-ups of every type."""
VERSION: Final = "lookups-1"
"""Part of a report's identity: it changes when the same documents give other queries or other holders."""
COMPARED: Final = ((stages.RERANKED, stages.FUSED), (stages.FUSED, stages.BM25))


@dataclass(frozen=True, slots=True)
class _Measured:
    """What was measured in one collection: by system, the coverage of each look-up."""

    collection: Collection
    lookups: Sequence[Lookup]
    values: Mapping[str, Values]
    about: Report
    notes: Sequence[str]


class LookupsSuite:
    """The suite over the collection that the options name or, without one, over a corpus of each kind."""

    def run(self, settings: Settings, options: SuiteOptions, progress: Progress | None = None) -> Report:
        """The report in the stable JSON form.

        Raises `NotFound` for an unknown collection or missing data, `InvalidInput` for a collection of which no query
        can be made, `ModelError` for a broken model, `Unavailable` for degraded answers.
        """
        started = time.perf_counter()
        self.require(settings, options)
        opened = _opened(settings, options)
        step = _steps(progress, len(opened) * (options.queries or QUERIES))
        scores = home(settings).home / "scores.sqlite"
        measured = [_measure(open_medley(), name, note, options, scores, step) for name, note, open_medley in opened]
        return {
            "suite": NAME,
            "collection": ", ".join(item.collection.name for item in measured),
            "queries": sum(len(item.lookups) for item in measured),
            "sample": None,
            "rows": [row for item in measured for row in _rows(item, options.variants)],
            "tests": [test for item in measured for test in _tests(item)],
            "published": [],
            "notes": [*(note for item in measured for note in item.notes), *_NOTES],
            "collections": {item.collection.name: item.about for item in measured},
            "command": command(NAME, options),
            "seconds": round(time.perf_counter() - started, 1),
        }

    def require(self, settings: Settings, options: SuiteOptions) -> None:
        """Raise as `run` does where the collection is unknown or one of its rerankers can't be opened."""
        collections = _collections(settings, options)
        if options.rerank:
            for collection in {item.kind: item for item in collections}.values():
                open_rerankers(collection, settings)

    def identify(self, settings: Settings, options: SuiteOptions) -> tuple[str, Any]:
        """The command of the report, and all that decides it: documents, indexes, models, settings and dictionary."""
        decided = [
            [
                str(collection),
                _documents_mark(settings, options, collection),
                reranker_fingerprints(collection, settings) if options.rerank else [],
            ]
            for collection in _collections(settings, options)
        ]
        searched = [settings.window, settings.candidates, settings.form, settings.device]
        return command(NAME, options), [VERSION, decided, searched, lexicon_rows("abbreviations")]


SUITE: Final = Suite(
    NAME, "short look-ups made from the documents themselves", options=("collection",), standalone=LookupsSuite()
)
_NOTES: Final = (
    f"{MEASURE}: of the first {DEPTH} hits the share whose document holds the words, or the recall where fewer than "
    f"{DEPTH} hits can hold them; a hit is a document or, where documents are grouped (notes and reports by patient), a "
    "group, which counts by the document that it shows",
    "what holds a query is read from the stored documents, without the engine: words by their stems, anywhere in the "
    "document; phrases in order, stop words counted; abbreviations as short form or as any of their long forms",
    f"rare words, and titles that are looked up, are those of at most {FEW} documents",
)


def _opened(settings: Settings, options: SuiteOptions) -> list[tuple[str, str, Callable[[], Medley]]]:
    """(collection, what it is, how it is opened): each is indexed only when its turn comes."""
    if options.collection:
        return [(options.collection, "a collection of this home", partial(Medley.open, settings))]
    return [(item.corpus.name, item.note, partial(open_corpus, item.corpus, settings)) for item in corpora(settings)]


def _collections(settings: Settings, options: SuiteOptions) -> list[Collection]:
    if options.collection:
        return [Medley.open(settings).collections.get(options.collection)]
    return [kinds.load(item.corpus.name, item.corpus.kind, settings.collections) for item in corpora(settings)]


def _steps(progress: Progress | None, total: int) -> Callable[[], None]:
    done = 0

    def step() -> None:
        nonlocal done
        done += 1
        if progress:
            progress(done, total)

    return step


def _measure(
    medley: Medley, name: str, note: str, options: SuiteOptions, scores: Path, step: Callable[[], None]
) -> _Measured:
    collection = medley.collections.get(name)
    documents = stored(medley, name)
    behind = waiting(medley, name)
    lookups = make_lookups(WordIndex(documents), collection, options.queries or QUERIES)
    if not lookups:
        raise InvalidInput(
            f"no look-up can be made from the collection {name!r}: its {len(documents):,} documents have stop words only",
            field="collection",
        )
    groups = HitGroups.of(documents, collection)
    found = measure(medley, name, lookups, groups, _rerankers(medley, collection, options, scores), step)
    notes = [f"{name}: {note}; {len(documents):,} documents of the kind {collection.kind}"]
    if len(lookups) < (options.queries or QUERIES):
        notes.append(f"{name}: no more than {len(lookups):,} different look-ups can be made from its documents")
    if behind:
        notes.append(f"{name}: {behind:,} changes are not indexed yet, so a search can't find what they add")
    about = {
        "kind": collection.kind,
        "documents": len(documents),
        "models": describe_models(medley, name, options.rerank),
    }
    values = {system: np.array(coverages) for system, coverages in found.items()}
    return _Measured(collection, lookups, values, about, notes)


def _rerankers(medley: Medley, collection: Collection, options: SuiteOptions, scores: Path) -> RerankStages | None:
    found = medley.models.rerank_stages(collection) if options.rerank else None
    return keep_scores(found, scores) if found else None


def _rows(measured: _Measured, variants: bool) -> list[Report]:
    """For each system a row over all look-ups, and one for each of their types."""
    types = np.array([lookup.type for lookup in measured.lookups])
    chosen = {ALL: np.ones(len(types), dtype=bool)}
    if variants:
        chosen |= {name: types == name for name in TYPES if (types == name).any()}
    return [
        {
            "system": system,
            "kind": measured.collection.kind,
            "type": name,
            "queries": int(which.sum()),
            "measures": {MEASURE: interval(values[which]).as_json()},
        }
        for name, which in chosen.items()
        for system, values in measured.values.items()
    ]


def _tests(measured: _Measured) -> list[Report]:
    pairs = [pair for pair in COMPARED if set(pair) <= measured.values.keys()]
    return [
        _test(f"{measured.collection.kind}: {ours}", theirs, measured.values[ours], measured.values[theirs])
        for ours, theirs in pairs
    ]


def _test(first: str, second: str, ours: Values, theirs: Values) -> Report:
    found = compare(ours, theirs)
    return {
        "system": first,
        "against": second,
        "measure": MEASURE,
        "difference": found.difference.as_json(),
        "p": round(found.p, 5),
    }


def _documents_mark(settings: Settings, options: SuiteOptions, collection: Collection) -> Any:
    if not options.collection:
        corpus = next(item.corpus for item in corpora(settings) if item.corpus.name == collection.name)
        return mark(corpus, home(settings))
    medley = Medley.open(settings)
    documents = sorted(stored(medley, collection.name), key=lambda document: document.id)
    return [digest(documents), waiting(medley, collection.name), decided_by(medley, collection.name)]
