"""Labels documents with entities and aspects: `pairs/entity-aspect.jsonl`, `corpora/entity-aspect-<kind>.jsonl`, `counts.json`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from encoders.labels.counts import Counts, join_counts
from encoders.labels.evaluated import read_judged_data
from encoders.labels.pairs import Pair, Text, write_lines
from encoders.labels.sieve import Sieve
from encoders.labels.sources import SOURCES
from encoders.labels.tasks.entity_aspect import TASK, Labelling, cut_passages, label_passages, make_pairs
from mappings import collection as kinds
from mappings.collection import Collection
from mappings.documents import Document
from mappings.errors import InvalidInput

WHOLE: Final = 1_000_000
"""Words: passages of health articles are never cut, since whole ones are judged."""


def label_data(data: Path, out: Path, labelling: Labelling) -> Counts:
    """Label the training split of the data sets in `data`; return the counts, which join those in `out`."""
    dropped: Counter[str] = Counter()
    sources = []
    for kind, source in SOURCES.items():
        collection = kinds.load(kind)
        whole = replace(collection, max_words=WHOLE) if kind == "articles" else collection
        sources.append((whole, source(data, whole, dropped)))
    return _label(sources, out, labelling, dropped, data)


def label_documents(
    documents: Iterable[Document], collection: Collection, out: Path, labelling: Labelling, data: Path | None
) -> Counts:
    """Label any documents, cut as their collection cuts them; without those that evaluation judges, where `data` is given.

    Raises `InvalidInput` if no passage has both an entity and an aspect.
    """
    counts = _label([(collection, documents)], out, labelling, Counter(), data)
    if not counts["pairs"][TASK]:
        counted = ", ".join(f"{number} {name}" for name, number in counts["dropped"].items() if name.startswith(TASK))
        raise InvalidInput(
            f"no passage has both an entity and an aspect ({counted or 'there are no passages'})", field="out"
        )
    return counts


def _label(
    sources: Iterable[tuple[Collection, Iterable[Document]]],
    out: Path,
    labelling: Labelling,
    dropped: Counter[str],
    data: Path | None,
) -> Counts:
    sieve = Sieve(read_judged_data(data) if data else [], dropped)
    corpora: dict[str, int] = {}
    found: list[Pair] = []
    for collection, documents in sources:
        name = f"{TASK}-{collection.kind}"
        passages = list(_filter(cut_passages(documents, _by_section(collection)), name, sieve))
        alone = (replace(text, before=(), after=()) for text, _ in passages)
        corpora[name] = write_lines(out / "corpora" / f"{name}.jsonl", alone)
        labelled = list(label_passages(passages, labelling, dropped))
        found += sieve.filter_pairs(make_pairs(labelled, labelling, name))
    written = write_lines(out / "pairs" / f"{TASK}.jsonl", found)
    return join_counts(out, {"pairs": {TASK: written}, "corpora": dict(corpora), "dropped": dict(dropped)})


def _by_section(collection: Collection) -> Collection:
    return replace(collection, granularity="section")


def _filter(found: Iterable[tuple[Text, str]], name: str, sieve: Sieve) -> Iterator[tuple[Text, str]]:
    groups = dict(found)
    yield from ((text, groups[text]) for text in sieve.filter_corpus(name, groups))
