"""Document versions on their way into an index, in batches of bounded size, and what became of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from mappings.errors import InvalidInput, MedleyError, ModelError
from search.protocols import IndexEntry
from search.storage import DocumentStore, State, StoredDocument

BATCH_DOCUMENTS: Final = 256
"""The most documents written in one commit."""

_BATCH_CHARACTERS: Final = 4_000_000
_CAUSE_CHARACTERS: Final = 2_000
_READ_DOCUMENTS: Final = 16


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one document version: `indexed` (also for a deletion that was applied), or `failed` with its cause."""

    id: str
    version: int
    state: State
    passages: int = 0
    deleted: bool = False
    cause: str = ""

    @classmethod
    def failure(cls, identifier: str, version: int, cause: str) -> Outcome:
        """A failed version; a very long cause is cut."""
        return cls(identifier, version, State.FAILED, cause=cause[:_CAUSE_CHARACTERS])


@dataclass(frozen=True, slots=True)
class DocumentBatch:
    """Document versions on their way: those to be written, the tombstones to be applied, and those that failed."""

    entries: tuple[IndexEntry, ...] = ()
    deleted: tuple[StoredDocument, ...] = ()
    failed: tuple[Outcome, ...] = ()

    def __add__(self, other: DocumentBatch) -> DocumentBatch:
        return DocumentBatch(self.entries + other.entries, self.deleted + other.deleted, self.failed + other.failed)

    def __len__(self) -> int:
        return len(self.entries) + len(self.deleted) + len(self.failed)

    def ids(self) -> Iterator[str]:
        """The id of each document."""
        yield from (item.document for item in self.entries)
        yield from (item.id for item in self.deleted)
        yield from (item.id for item in self.failed)

    def restrict(self, versions: Mapping[str, int]) -> DocumentBatch:
        """Only what is still at the version that `versions` has for it."""
        return DocumentBatch(
            tuple(item for item in self.entries if versions.get(item.document) == item.version),
            tuple(item for item in self.deleted if versions.get(item.id) == item.version),
            tuple(item for item in self.failed if versions.get(item.id) == item.version),
        )

    def outcomes(self) -> Iterator[Outcome]:
        """The outcome of each version once the batch is committed."""
        yield from (Outcome(item.id, item.version, State.INDEXED, deleted=True) for item in self.deleted)
        yield from (Outcome(item.document, item.version, State.INDEXED, len(item.passages)) for item in self.entries)
        yield from self.failed


def read_batches(store: DocumentStore, ids: Sequence[str]) -> Iterator[list[StoredDocument]]:
    """The newest versions in batches of bounded number and length, so that large documents don't add up in memory."""
    batch: list[StoredDocument] = []
    size = 0
    for start in range(0, len(ids), _READ_DOCUMENTS):
        names = ids[start : start + _READ_DOCUMENTS]
        latest = store.latest(names)
        for stored in (latest[name] for name in names):
            batch.append(stored)
            size += _characters(stored)
            if len(batch) >= BATCH_DOCUMENTS or size >= _BATCH_CHARACTERS:
                yield batch
                batch, size = [], 0
    if batch:
        yield batch


def _characters(stored: StoredDocument) -> int:
    document = stored.content
    return len(document.title) + sum(len(section.text) for section in document.sections) if document else 0


def isolate_failures(
    entries: Sequence[IndexEntry], step: Callable[[Sequence[IndexEntry]], Sequence[IndexEntry]]
) -> DocumentBatch:
    """What `step` returns for the entries; when it raises, they are halved until each document at fault is alone.

    Raises what is no document's fault, such as `Unavailable`.
    """
    if not entries:
        return DocumentBatch()
    try:
        return DocumentBatch(tuple(step(entries)))
    except (InvalidInput, ModelError) as error:
        cause = describe_error(error)
    except MedleyError:
        raise  # a dependency is unavailable
    except Exception as error:  # whatever a model does to one document must not stop the others
        cause = describe_error(error)
    if len(entries) == 1:
        return DocumentBatch(failed=(Outcome.failure(entries[0].document, entries[0].version, cause),))
    middle = len(entries) // 2
    return isolate_failures(entries[:middle], step) + isolate_failures(entries[middle:], step)


def describe_error(error: Exception) -> str:
    """An error as the cause of a failure: the message of one of ours, the type and text of any other."""
    return error.message if isinstance(error, MedleyError) else f"{type(error).__name__}: {error}"
