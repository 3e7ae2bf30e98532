"""`medley index verify`: an index compared with its store, its models and its settings, document by document."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from mappings.collection import Collection
from mappings.errors import MedleyError
from search.protocols import Encoder, Engine
from search.storage import DocumentStore, State
from workers.indexing.ingest import check_index

_ALL: Final = 2**62
_NAMED: Final = 3


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is not as it should be, with up to three examples, and the command that mends it."""

    problem: str
    action: str
    count: int = 1
    examples: tuple[str, ...] = ()

    def __str__(self) -> str:
        first = f" (such as {', '.join(self.examples)})" if self.examples else ""
        return f"{self.problem}{first}: {self.action}"


def inspect(
    store: DocumentStore, engine: Engine, encoders: Mapping[str, Encoder], collection: Collection
) -> list[Finding]:
    """Everything that is wrong with the published index of a collection; nothing when it is whole.

    A document that was accepted while this runs may be told as waiting. Raises `NotFound` before anything was published.
    """
    index = engine.resolve(collection.name).index
    rebuild = f"run `medley index rebuild {collection.name}`"
    found = [Finding(f"index {index}: {text}", rebuild) for text in engine.drift(index)]
    try:
        check_index(engine.meta(index), encoders)
    except MedleyError as error:
        found.append(Finding(error.message, rebuild))
    found += [
        Finding(f"{len(names):,} documents {problem}", rebuild, len(names), tuple(names[:_NAMED]))
        for problem, names in _compared(store, engine, index).items()
    ]
    waiting = [name for name, _ in store.pending(index, _ALL)]
    failed = [record.id for record in store.states(index, State.FAILED, _ALL)]
    if waiting:
        found.append(
            Finding(
                f"{len(waiting):,} documents wait to be indexed", "run `medley ingest` or `medley retry`", len(waiting)
            )
        )
    if failed:
        action = f"see `medley status -c {collection.name} --failed`, then run `medley retry -c {collection.name}`"
        found.append(Finding(f"{len(failed):,} documents failed", action, len(failed), tuple(failed[:_NAMED])))
    return found


def _compared(store: DocumentStore, engine: Engine, index: str) -> dict[str, list[str]]:
    """Problem -> documents that have it."""
    recorded = {record.id: (record.version, record.passages) for record in store.states(index, State.INDEXED, _ALL)}
    waiting = dict(store.pending(index, _ALL))
    problems: dict[str, list[str]] = defaultdict(list)
    seen: set[str] = set()
    for document, version, passages in engine.contents(index):
        problem = _problem(document, version, passages, recorded, waiting)
        if document in seen and not problem:
            problem = "stand in it in two versions"
        seen.add(document)
        if problem:
            problems[problem].append(document)
    missing = [name for name, (_, passages) in recorded.items() if passages and name not in seen]
    if missing:
        problems["are recorded as indexed and are not there"] = missing
    return {problem: _sorted(names) for problem, names in sorted(problems.items())}


def _problem(
    document: str, version: int, passages: int, recorded: Mapping[str, tuple[int, int]], waiting: Mapping[str, int]
) -> str:
    if document in waiting:
        return ""  # what is newest is still on its way; until then an older version may stand
    newest, count = recorded.get(document, (0, 0))
    if not count:
        return "stand in it and should not: they were deleted, failed, or are not in the store"
    if version != newest:
        return "stand in it in a superseded version"
    return "" if passages == count else "lack passages, or have too many"


def _sorted(names: Iterable[str]) -> list[str]:
    return sorted(set(names))
