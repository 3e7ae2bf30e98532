"""Runs of self-labelling: documents -> `pairs/entity-aspect.jsonl`, `corpora/entity-aspect-<kind>.jsonl`, `counts.json`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from encoders.labels.counts import Counts, join_counts
from encoders.labels.entity_aspect import TASK, Labelling, corpus_of, labelled, pairs
from encoders.labels.evaluated import evaluated
from encoders.labels.pairs import Pair, Text, write_lines
from encoders.labels.sieve import Sieve
from encoders.labels.sources import SOURCES
from mappings import collection as kinds
from mappings.collection import Collection
from mappings.documents import Document
from mappings.errors import InvalidInput

WHOLE: Final = 1_000_000
"""Words: no passage of a health article is cut, as its judgements are of whole ones."""


def label_data(data: Path, out: Path, labelling: Labelling) -> Counts:
    """Label the training side of the data sets in `data`; the counts, which join those that `out` holds."""
    dropped: Counter[str] = Counter()
    made = []
    for kind, source in SOURCES.items():
        collection = kinds.load(kind)
        whole = replace(collection, max_words=WHOLE) if kind == "articles" else collection
        made.append((whole, source(data, whole, dropped)))
    return _label(made, out, labelling, dropped, data)


def label_documents(
    documents: Iterable[Document], collection: Collection, out: Path, labelling: Labelling, data: Path | None
) -> Counts:
    """Label any documents as their collection cuts them; what `data` evaluates is left out where there is such a folder.

    Raises `InvalidInput` when no passage has both an entity and an aspect.
    """
    counts = _label([(collection, documents)], out, labelling, Counter(), data)
    if not counts["pairs"][TASK]:
        said = ", ".join(f"{number} {name}" for name, number in counts["dropped"].items() if name.startswith(TASK))
        raise InvalidInput(
            f"no passage has both an entity and an aspect ({said or 'there are no passages'})", field="out"
        )
    return counts


def _label(
    sources: Iterable[tuple[Collection, Iterable[Document]]],
    out: Path,
    labelling: Labelling,
    dropped: Counter[str],
    data: Path | None,
) -> Counts:
    sieve = Sieve(evaluated(data) if data else [], dropped)
    corpora: dict[str, int] = {}
    found: list[Pair] = []
    for collection, documents in sources:
        name = f"{TASK}-{collection.kind}"
        passages = list(_admitted(corpus_of(documents, _by_section(collection)), name, sieve))
        corpora[name] = write_lines(out / "corpora" / f"{name}.jsonl", (text for text, _ in passages))
        found += sieve.pairs(pairs(list(labelled(passages, labelling, dropped)), labelling, name))
    written = write_lines(out / "pairs" / f"{TASK}.jsonl", found)
    return join_counts(out, {"pairs": {TASK: written}, "corpora": dict(corpora), "dropped": dict(dropped)})


def _by_section(collection: Collection) -> Collection:
    return replace(collection, granularity="section")


def _admitted(found: Iterable[tuple[Text, str]], name: str, sieve: Sieve) -> Iterator[tuple[Text, str]]:
    groups = dict(found)
    yield from ((text, groups[text]) for text in sieve.corpus(name, groups))
