"""`medley bench complete`: how fast a letter more is completed, over a lexicon of 10,000 names and 40,000 documents.

The documents are made up, from names of the lexicon; the texts that are typed are beginnings of names, some of them mistyped.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from evaluation.bench.shared.figures import Report, bench_report, percentiles, time_each
from evaluation.bench.shared.ingestion import NAME
from mappings.clinical.concepts import ConceptLexicon, load_concepts
from mappings.clinical.placing import wider_keys
from mappings.clinical.reading import ConceptReader
from mappings.documents import Access, Passage, PassageMention
from search.bootstrap import Medley
from search.completion.completer import Completer
from search.completion.completions import CompletionRequest, Completions
from search.engines.embedded.engine import EmbeddedEngine
from search.protocols import IndexEntry
from search.settings import Settings

NAMES: Final = 10_000
DOCUMENTS: Final = 40_000
MENTIONED: Final = 20
COMMITTED: Final = 10_000
TYPED: Final = 2_000
WARM_UP: Final = 50
MISTYPED: Final = 0.3
CALLER: Final = Access("reader", frozenset({"even"}))
"""Sees every other document."""


@dataclass(frozen=True, slots=True)
class BenchSize:
    """How many names, documents and typed texts a run has."""

    names: int = NAMES
    documents: int = DOCUMENTS
    typed: int = TYPED


def bench_complete(settings: Settings, size: BenchSize | None = None) -> Report:
    """Completions of concepts for a caller who sees half of the documents, one after the other, in one process.

    `first_ms` is the first one after a commit, which counts the documents; `p95_ms` is of those that follow.
    """
    chosen, rng = size or BenchSize(), random.Random(7)  # noqa: S311 - a drawn sample, not a secret
    with tempfile.TemporaryDirectory() as folder:
        lexicon = _lexicon(Path(folder), chosen.names)
        with _completer(Path(folder) / "home", lexicon, chosen.documents, rng) as completer:

            def answer(text: str) -> Completions:
                return completer.complete(CompletionRequest(NAME, CALLER, text, "concept"))

            started = time.perf_counter()
            answer("metfromin")
            first = 1000 * (time.perf_counter() - started)
            typed = _typed(lexicon, chosen.typed + WARM_UP, rng)
            time_each(answer, typed[:WARM_UP])
            times, answers = time_each(answer, typed[WARM_UP:])
    found = sum(bool(item.completions) for item in answers) / len(answers)
    names = float(sum(len(item.names) + len(item.abbreviations) for item in lexicon))
    figures = {"names": names, "documents": float(chosen.documents), "first_ms": first, "found_share": found}
    return bench_report("complete", percentiles(times) | figures)


def _lexicon(folder: Path, names: int) -> ConceptLexicon:
    """As many concepts of the shipped lexicon as have so many names and abbreviations together."""
    shipped, kept, count = load_concepts(), [], 0
    for item in sorted(shipped, key=lambda item: item.id):
        if count >= names:
            break
        kept.append(item)
        count += len(item.names) + len(item.abbreviations)
    rows = (
        (item.id, item.name, "", "|".join(item.names[1:]), "|".join(f"{short.text}{'?' * short.ambiguous}" for short in item.abbreviations))
        for item in kept
    )  # fmt: skip
    (folder / "concepts").mkdir()
    (folder / "concepts" / "diagnoses.tsv").write_text("\n".join(map("\t".join, rows)), encoding="utf-8")
    return load_concepts(folder=folder / "concepts")


@contextmanager
def _completer(home: Path, lexicon: ConceptLexicon, documents: int, rng: random.Random) -> Iterator[Completer]:
    """What completes over an index of made-up documents, which mention concepts, the first ones of the lexicon most often."""
    medley = Medley.open(Settings(home=home, encoder="hashing-256", reranker="none"))
    collection = replace(medley.collections.create(NAME), vectors={}, window_words=0)
    engine, reader = EmbeddedEngine(home, lambda name: collection), ConceptReader(lexicon)
    index = engine.create(NAME, {}, reading=reader.version).index
    concepts = [item.id for item in lexicon]
    with engine.writer(index) as writer:
        for start in range(0, documents, COMMITTED):
            end = min(start + COMMITTED, documents)
            writer.write([_entry(number, concepts, lexicon, rng) for number in range(start, end)])
            writer.commit()
    engine.publish(index)
    yield Completer(replace(medley.services, engine=engine, reader=lambda collection: reader))
    medley.close()


def _entry(number: int, concepts: Sequence[str], lexicon: ConceptLexicon, rng: random.Random) -> IndexEntry:
    chosen = {concepts[int(len(concepts) * rng.random() ** 2)] for _ in range(MENTIONED)}
    mentions = tuple(PassageMention(item, rng.choice(("present", "ruled-out")), 0, 1, 0, 1) for item in sorted(chosen))
    keys = {key for item in mentions for key in wider_keys(lexicon, item.concept, item.assertion)}
    text = f"Note {number}."
    passage = Passage(f"d{number}", 1, 0, "", "Findings", text, mentions=mentions)
    label = frozenset({"even" if number % 2 == 0 else "odd"})
    return IndexEntry(f"d{number}", 1, label, {}, (passage,), {}, asserted=(frozenset(keys),))


def _typed(lexicon: ConceptLexicon, count: int, rng: random.Random) -> list[str]:
    """Beginnings of names, of any length; of some, two neighbouring letters are swapped."""
    names = [name for item in lexicon for name in item.names]
    typed = []
    for _ in range(count):
        name = rng.choice(names)
        text = list(name[: rng.randint(1, len(name))])
        if len(text) > 2 and rng.random() < MISTYPED:
            place = rng.randrange(len(text) - 1)
            text[place], text[place + 1] = text[place + 1], text[place]
        typed.append("".join(text).strip() or name)
    return typed
