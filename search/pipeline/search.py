"""The one path of a search: retrieve → rerank → present."""

from __future__ import annotations

from mappings.collection import Collection
from mappings.errors import InvalidInput, ModelError, NotFound
from search.pipeline.checks import check_fields
from search.pipeline.paging.cursor import Cursor, verify
from search.pipeline.paging.progress import MAX_DEPTH
from search.pipeline.present import leaves_window, present_first, present_next
from search.pipeline.rerank import rerank
from search.pipeline.results import Results
from search.pipeline.retrieve import Retrieved, retrieve
from search.pipeline.services import SearchServices, Trace
from search.query import Query
from search.tracing import spans


def search(query: Query, services: SearchServices) -> Results:
    """One page of answers to `query`.

    Raises `NotFound` for an unknown collection, `InvalidInput` for an unknown filter, facet or sort field, for an invalid
    cursor and for a vector that is not of the index's model, `Unavailable` if the engine is down. A missing model never
    raises: `degraded` says so.
    """
    collection = services.collection(query.collection)
    services.reader(collection)  # loaded once by each process: not in the time of its first search
    with spans.span("search", {"medley.collection": collection.name}) as whole, spans.Steps("search") as steps:
        results = _page(query, services, collection, Trace(spans=steps))
        whole.set(_figures(results))
    return results


def _page(query: Query, services: SearchServices, collection: Collection, trace: Trace) -> Results:
    check_fields(query, collection)
    if query.cursor:
        previous = verify(query.cursor, query, services.key, services.settings.cursor_minutes)
        return _next_page(query, services, collection, previous, trace)
    retrieved = _retrieve_published(query, services, collection, trace)
    reranked = rerank(query, retrieved, services, trace)
    return present_first(query, retrieved, reranked, services, trace)


def _figures(results: Results) -> spans.Attributes:
    """What a trace tells of an answer: numbers only."""
    return {
        "medley.hits": len(results.hits),
        "medley.degraded": len(results.degraded),
        "medley.partial": len(results.partial),
        "medley.candidates": results.reranked.candidates,
        "medley.scored": results.reranked.scored,
    }


def _retrieve_published(query: Query, services: SearchServices, collection: Collection, trace: Trace) -> Retrieved:
    try:
        return retrieve(query, services, trace, collection)
    except ModelError as error:
        if not query.vectors:
            raise
        raise InvalidInput(error.message, field="vectors") from error  # one has another dimension
    except NotFound:
        # The index was dropped after it was resolved: its successor is published by now.
        trace.degraded.clear()
        return retrieve(query, services, trace, collection)


def _next_page(
    query: Query, services: SearchServices, collection: Collection, previous: Cursor, trace: Trace
) -> Results:
    window = services.settings.window
    depth = min(MAX_DEPTH, window + len(previous.shown)) if leaves_window(query, previous) else window
    try:
        retrieved = retrieve(query, services, trace, collection, previous.index, depth)
    except NotFound:
        raise InvalidInput(
            "the index of this cursor no longer exists: search again from the first page", field="cursor"
        ) from None
    return present_next(query, retrieved, previous, services, trace)
