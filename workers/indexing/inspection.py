"""An index compared with its store, its models and its settings: by counts, or document by document."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from mappings.errors import Damaged, MedleyError
from search.engines.administration import Engine
from search.storage import DocumentStore, State
from workers.indexing.indexer import Indexer

_ALL: Final = 2**62
_EXAMPLES: Final = 3
_LISTED: Final = 1_000
"""How many documents that must be sent again are listed."""


@dataclass(frozen=True, slots=True)
class Discrepancy:
    """Something that is not as it should be, with some examples, and the command that repairs it."""

    problem: str
    action: str
    count: int = 1
    examples: tuple[str, ...] = ()

    def __str__(self) -> str:
        first = f" (such as {', '.join(self.examples)})" if self.examples else ""
        return f"{self.problem}{first}: {self.action}"


def verify(indexer: Indexer, index: str) -> list[str]:
    """What is wrong with an index that nobody writes to, in plain words: its counts against the store's records."""
    meta, (documents, passages) = indexer.engine.meta(index), indexer.store.recorded(index)
    problems = []
    if meta.documents != documents:
        problems.append(f"it holds {meta.documents:,} documents, the store recorded {documents:,}")
    if meta.passages != passages:
        problems.append(f"it holds {meta.passages:,} passages, the store recorded {passages:,}")
    return problems


def inspect(indexer: Indexer) -> list[Discrepancy]:
    """Everything that is wrong with the published index of a collection; empty when it is consistent.

    A document that is accepted meanwhile can be reported as pending. Raises `NotFound` before anything was published.
    """
    store, engine, name = indexer.store, indexer.engine, indexer.name
    rebuild = f"run `medley index rebuild {name}`"
    found = [
        Discrepancy(item.problem, item.action, max(1, len(item.ids)), item.ids[:_LISTED]) for item in store.damage()
    ]
    index = engine.published(name) or engine.resolve(name).index
    problems = engine.file_problems(index)
    found += [Discrepancy(f"index {index}{' is damaged' * item.is_damage}: {item.text}", rebuild) for item in problems]
    if any(item.is_damage for item in problems):
        return found  # what it holds can't be relied on
    try:
        return found + _compare(indexer, index, rebuild)
    except Damaged as error:
        return [*found, Discrepancy(error.message, "then verify it again")]


def _compare(indexer: Indexer, index: str, rebuild: str) -> list[Discrepancy]:
    """How an index that can be read differs from its store, models and settings."""
    store, engine, name = indexer.store, indexer.engine, indexer.name
    found = [Discrepancy(f"index {index}: {text}", rebuild) for text in engine.drift(index)]
    try:
        indexer.check_index(engine.meta(index))
    except MedleyError as error:
        found.append(Discrepancy(error.message, rebuild))
    if indexer.token_format not in (None, engine.meta(index).tokens):
        problem = (
            f"index {index} does not store the token vectors of the poly-encoder that reranks: it reads passages again"
        )
        found.append(Discrepancy(problem, rebuild))
    found += [
        Discrepancy(f"{len(names):,} documents {problem}", rebuild, len(names), tuple(names[:_EXAMPLES]))
        for problem, names in _compare_documents(store, engine, index).items()
    ]
    pending = len(store.pending(index, _ALL))
    if pending:
        action = "run `medley ingest` or `medley retry`"
        found.append(Discrepancy(f"{pending:,} documents wait to be indexed", action, pending))
    failed = [record.id for record in store.states(index, State.FAILED, _ALL)]
    if failed:
        action = f"see `medley status -c {name} --failed`, then run `medley retry -c {name}`"
        found.append(Discrepancy(f"{len(failed):,} documents failed", action, len(failed), tuple(failed[:_EXAMPLES])))
    return found


def _compare_documents(store: DocumentStore, engine: Engine, index: str) -> dict[str, list[str]]:
    """Problem -> documents that have it."""
    recorded = {record.id: (record.version, record.passages) for record in store.states(index, State.INDEXED, _ALL)}
    pending = dict(store.pending(index, _ALL))
    problems: dict[str, list[str]] = defaultdict(list)
    seen: set[str] = set()
    for document, version, passages in engine.contents(index):
        problem = _find_problem(document, version, passages, recorded, pending)
        if document in seen and not problem:
            problem = "are in the index in two versions"
        seen.add(document)
        if problem:
            problems[problem].append(document)
    missing = [name for name, (_, passages) in recorded.items() if passages and name not in seen]
    if missing:
        problems["are recorded as indexed but missing"] = missing
    return {problem: _sort_unique(names) for problem, names in sorted(problems.items())}


def _find_problem(
    document: str, version: int, passages: int, recorded: Mapping[str, tuple[int, int]], pending: Mapping[str, int]
) -> str:
    if document in pending:
        return ""  # the newest version is still on its way; until it is indexed an older one is right
    newest, count = recorded.get(document, (0, 0))
    if not count:
        return "are in the index but should not be: they were deleted, failed, or are not in the store"
    if version != newest:
        return "are in the index in a superseded version"
    return "" if passages == count else "lack passages, or have too many"


def _sort_unique(names: Iterable[str]) -> list[str]:
    return sorted(set(names))
