"""What a caller can do, the same over every interface: search, read, add and delete documents, follow a job.

Each action is written to the access log before its result is returned.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from mappings.collection import Collection
from mappings.documents import Deletion, Document, Rejection
from mappings.errors import Conflict, Damaged, Forbidden, InvalidInput, MedleyError, NotFound
from search.completion.completions import CompletionRequest, Completions
from search.pipeline.document_stance import DocumentStance
from search.pipeline.results import Results
from search.query import Query
from search.storage import Accepted, Change, Job, State, StoreCounts, StoredDocument
from web.access.caller import Caller
from web.access.log import AccessLog, Actor, AuditRecord, logged_counts, logged_query
from web.access.visible_collections import VisibleCollections
from web.statuses import status_of
from workers.delivery import Delivery

if TYPE_CHECKING:
    from search.bootstrap import Medley
    from workers.queueing.queue import Queue

RecordStatus = Literal["accepted", "unchanged", "stale", "deleted", "unknown", "rejected"]
RECORD_STATUSES: Final[tuple[RecordStatus, ...]] = (
    "accepted",
    "unchanged",
    "stale",
    "deleted",
    "unknown",
    "rejected",
)
OnAnswer = Callable[[str, Results], None]
"""Called with the collection and the results of each search."""

_LOGGED_NAME_CHARACTERS: Final = 100
_LOGGED_ID_CHARACTERS: Final = 1000


class RecordedDelivery:
    """A delivery that counts the outcomes of its records; see `UseCases.delivery`."""

    def __init__(self, delivery: Delivery) -> None:
        self._delivery = delivery
        self.counts: Counter[str] = Counter(dict.fromkeys(RECORD_STATUSES, 0))

    @property
    def job(self) -> Job:
        """The job of the delivery."""
        return self._delivery.job

    @property
    def is_queued(self) -> bool:
        """Whether every accepted change was announced to the workers."""
        return self._delivery.queued

    @property
    def totals(self) -> dict[str, int]:
        """The counts of the job, in which `accepted` includes the unchanged documents."""
        return self._delivery.counts

    @property
    def dropped(self) -> dict[str, int]:
        """The names of values that were not kept, because the kind has no such fields: in how many documents, most first."""
        return self._delivery.dropped

    def accept(self, records: Sequence[Document | Deletion | Rejection]) -> Sequence[Accepted]:
        """Store the changes among `records`, in order, and count the rejections; one result per change."""
        changes = [item for item in records if not isinstance(item, Rejection)]
        done = self._delivery.accept(changes) if changes else []
        self.counts.update(record_status(change, item) for change, item in zip(changes, done, strict=True))
        self.reject(len(records) - len(changes))
        return done

    def reject(self, count: int) -> None:
        """Count records that were not accepted."""
        if count:
            self._delivery.reject(count)
            self.counts["rejected"] += count


@dataclass(frozen=True, slots=True)
class UseCases:
    """What `caller` can do. `queue` is None if this process does the indexing itself; `on_answer` counts answers."""

    medley: Medley
    log: AccessLog
    caller: Caller
    actor: Actor
    queue: Queue | None = None
    on_answer: OnAnswer = lambda collection, results: None

    @property
    def collections(self) -> VisibleCollections:
        """The collections that the caller can see."""
        return VisibleCollections(self.medley, self.caller)

    def named(self, collection: str, action: str) -> Collection:
        """The collection that a request for `action` names.

        Raises `InvalidInput`, which is logged, alike for one that does not exist and for one that the caller can't see.
        """
        with self.audited(action, collection, only_errors=True):
            try:
                return self.collections.get(collection)
            except NotFound as error:
                raise InvalidInput(error.message, field=error.field) from None

    def search(self, query: Query, shown_from: int = 0) -> Results:
        """Run `query`; a search that fails is logged, too.

        A caller of this method that shows the hits from position `shown_from` on only has only these logged.
        """
        asked = logged_query(query)
        try:
            results = self.medley.search(query)
        except MedleyError as error:
            self.audit("search", query.collection, asked, status=status_of(error))
            raise
        shown = list(dict.fromkeys(name for hit in results.hits[shown_from:] for name in (hit.document, *hit.others)))
        field = self.medley.collections.get(query.collection).group_by if query.facets else ""
        self.audit("search", query.collection, {**asked, **logged_counts(results, field)}, shown)
        self.on_answer(query.collection, results)
        return results

    def complete(self, request: CompletionRequest) -> Completions:
        """What can complete what was typed, which is not logged: it can be the beginning of a patient's name."""
        with self.audited("complete", request.collection, {"slot": request.slot}):
            return self.medley.complete(request)

    def document(self, collection: str, identifier: str, action: str) -> StoredDocument:
        """A document that the caller can see, never a tombstone. Raises `NotFound` and `Damaged`, which are logged, too."""
        asked = {"id": identifier[:_LOGGED_ID_CHARACTERS]}
        try:
            stored = self.medley.collections.document(collection, identifier, self.caller.access)
        except (NotFound, Damaged) as error:
            self.audit(action, collection, asked, status=status_of(error))
            raise
        self.audit(action, collection, asked, [stored.id])
        return stored

    def read_claim(self, collection: str, identifier: str, claim: str) -> DocumentStance:
        """What a document that the caller can see says of a claim. Raises as `document` and `Medley.read_claim` do."""
        stored = self.document(collection, identifier, "stance")
        if stored.document is None:
            raise NotFound(f"there is no document {identifier[:100]!r} that you may see", field="document")
        return self.medley.read_claim(claim, stored.document, stored.version, collection)

    def visible(self, collection: str, ids: Sequence[str]) -> dict[str, Document]:
        """Those of the documents that exist and that the caller can see, in the order of `ids`.

        Not logged: the search that returned their ids already is.
        """
        stored = self.medley.collections.store(collection).latest(ids)
        found = {name: stored[name].content for name in ids if name in stored}
        return {name: item for name, item in found.items() if item and self.caller.access.may_see(item.labels)}

    def writable(self, collection: str) -> Collection:
        """The collection of this name. Raises `Forbidden` for a caller who may not write to it, `NotFound`."""
        self.check_writer(collection)
        return self.collections.get(collection)

    def check_writer(self, collection: str) -> None:
        """Raise `Forbidden` unless the caller may write to `collection`, whether or not it exists."""
        if not self.caller.may_write(collection):
            raise Forbidden(
                f"this token may not write to {collection[:80]!r}: create one that may with "
                "`medley tokens add USER --label LABEL --write COLLECTION`",
                field="collection",
            )

    @contextmanager
    def delivery(self, collection: str) -> Iterator[RecordedDelivery]:
        """A delivery of records to `collection`, which ends with the block; it counts as broken off if the block raises.

        It is logged twice: as `feed` with its job before anything is accepted, because a process that is killed halfway has
        written, too, and as `fed` with the number of its records by status afterwards.
        """
        delivery = self._deliver(collection)
        self.audit("feed", collection, {"job": delivery.job.id})
        recorded = RecordedDelivery(delivery)
        with self.audited("fed", collection) as asked:
            try:
                yield recorded
            except MedleyError:
                with suppress(MedleyError):  # the store itself may be unavailable
                    delivery.finish(broken=True)
                raise
            else:
                delivery.finish()
            finally:
                asked |= {"job": delivery.job.id, **recorded.counts}

    def delete(self, collection: str, deletions: Sequence[Deletion]) -> tuple[Delivery, Sequence[Accepted]]:
        """Delete documents as one job, whether or not the caller can see them; one result per deletion.

        The calling code logs it with `audited`, so that rejections are logged, too.
        """
        delivery = self._deliver(collection)
        done = delivery.accept(deletions)
        delivery.finish()
        return delivery, done

    def _deliver(self, collection: str) -> Delivery:
        return Delivery(self.medley.collections.store(collection), collection, self.queue, self.actor.request or "")

    def job(self, identifier: str) -> tuple[str, Job]:
        """(collection, job) for a caller who may write to the collection. Raises `Forbidden`, `NotFound`."""
        collection = identifier.rpartition(".")[0]
        self.check_writer(collection)
        known = collection in self.medley.collections.names()
        found = self.medley.collections.store(collection).job(identifier) if known else None
        if found is None:
            raise NotFound(f"there is no job {identifier[:100]!r}", field="job")
        return collection, found

    @contextmanager
    def audited(
        self, action: str, collection: str, asked: Mapping[str, Any] | None = None, only_errors: bool = False
    ) -> Iterator[dict[str, Any]]:
        """Log what the block does to `collection`, even if it raises; the block adds details to the dict."""
        done = dict(asked or {})
        try:
            yield done
        except MedleyError as error:
            self.audit(action, collection, done, status=status_of(error))
            raise
        if not only_errors:
            self.audit(action, collection, done)

    def audit(
        self, action: str, collection: str, asked: Mapping[str, Any], ids: Sequence[str] = (), status: int = 200
    ) -> None:
        """Write one record. Raises `Unavailable`: what cannot be logged is not shown."""
        self.log.write(AuditRecord(self.actor, action, collection[:_LOGGED_NAME_CHARACTERS], asked, ids, status))


def record_status(change: Change, done: Accepted) -> RecordStatus:
    """The outcome of a change, from the store's result."""
    if done.stale:
        return "stale"
    if isinstance(change, Deletion):
        return "deleted" if done.changed else "unknown"
    return "accepted" if done.changed else "unchanged"


def check_not_invented(collection: Collection) -> None:
    """Raise `Conflict` for a collection of invented documents: others must never be mixed with them."""
    if collection.invented:
        raise Conflict(
            f"the documents in {collection.name!r} are invented: give yours a collection of their own",
            field="collection",
        )


def published_index(medley: Medley, collection: str) -> str:
    """The published index of a collection; empty if there is none yet."""
    return medley.engine.published(collection) or ""


def counts_by_state(counts: StoreCounts) -> dict[str, int]:
    """How many documents are indexed, waiting and failed."""
    return {
        "indexed": counts.states.get(State.INDEXED, 0),
        "waiting": counts.waiting,
        "failed": counts.states.get(State.FAILED, 0),
    }
