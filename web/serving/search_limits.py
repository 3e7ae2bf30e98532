"""What searches over HTTP may cost: time for reranking, and for a batch, time in all and candidates to rerank."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from mappings.collection import Collection
from mappings.errors import InvalidInput, Unavailable
from search.query import Query
from search.settings import Settings


def limited(query: Query, collection: Collection, settings: Settings) -> Query:
    """The query with a deadline of at most `max_deadline_ms` of the settings; also for a collection without a deadline."""
    if not settings.max_deadline_ms:
        return query
    return _with_at_most(query, collection, settings, settings.max_deadline_ms)


def check_cost(queries: Sequence[Query], collections: Sequence[Collection], settings: Settings) -> None:
    """Raise `InvalidInput` if a batch would rerank more candidates than the settings allow."""
    cost = sum(
        settings.candidates or collection.reranking.candidates
        for query, collection in zip(queries, collections, strict=True)
        if query.rerank
    )
    if 0 < settings.batch_candidates < cost:
        raise InvalidInput(
            f"these searches would rerank up to {cost:,} candidates, and a batch may have {settings.batch_candidates:,}: "
            "send fewer searches at once, or some with 'rerank': false",
            field="searches",
        )


class BatchTime:
    """The time of one batch: its searches share `batch_deadline_ms` of the settings for reranking.

    The searches after that are answered without reranking, in as much time again.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._seconds = settings.batch_deadline_ms / 1000
        self._until = time.monotonic() + self._seconds

    def left(self) -> float:
        """Seconds until the searches that are not reranked must have begun, too; 3,600 without a limit."""
        return max(0.0, self._until + self._seconds - time.monotonic()) if self._seconds else 3_600.0

    def allot(self, query: Query, collection: Collection) -> tuple[Query, list[str]]:
        """The query with the time that is left for it, and what the answer must say about that.

        Raises `Unavailable` if not even the searches without reranking were answered in time.
        """
        if not self._seconds:
            return query, []
        if not self.left():
            raise Unavailable(f"the batch took more than {2 * self._seconds:g} seconds: send fewer searches at once")
        left = int(1000 * (self._until - time.monotonic()))
        if left > 0:
            return _with_at_most(query, collection, self._settings, left), []
        message = f"the batch's {self._seconds:g} seconds were over before this search: nothing new was reranked"
        return _with_at_most(query, collection, self._settings, 1), [message] if query.rerank else []


def _with_at_most(query: Query, collection: Collection, settings: Settings, milliseconds: int) -> Query:
    own = settings.deadline_ms or collection.reranking.deadline_ms
    asked = (own if query.deadline_ms is None else query.deadline_ms) or milliseconds
    return replace(query, deadline_ms=min(asked, milliseconds))
