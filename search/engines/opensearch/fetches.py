"""Bodies of searches that fetch what is shown: passages and fields by their ids, and the passages that prove something."""

from __future__ import annotations

from collections.abc import Sequence

from mappings.documents import Access
from search.engines.codec import encodable
from search.engines.opensearch.queries import WINDOW, Body, having, visible_to
from search.engines.opensearch.records import SHOWN
from search.query import PROVES, Phrase


def passages(ids: Sequence[str], access: Access) -> Body:
    """The passages with these ids that the caller may see."""
    return _fetch("passage", ids, "passage", access, SHOWN)


def proving(documents: Sequence[str], keys: Sequence[str], access: Access, phrases: Sequence[Phrase]) -> Body:
    """The passages of `documents` that the caller may see and that assert one of `keys` or have one of `phrases`.

    At most `WINDOW`.
    """
    found: list[Body] = [{"terms": {PROVES: list(keys)}}] if keys else []
    found += [having(phrases, ("content",))] if phrases else []
    asked = {"bool": {"should": found, "minimum_should_match": 1}}
    clauses = [{"terms": {"document": list(map(encodable, documents))}}, asked]
    return {
        "size": WINDOW,
        "_source": {"includes": list(SHOWN)},
        "query": {"bool": {"filter": [*clauses, {"term": {"kind": "passage"}}, visible_to(access)]}},
    }


def document_fields(documents: Sequence[str], access: Access) -> Body:
    """The fields of those documents that the caller may see, in the entries of their first passages."""
    return _fetch("document", documents, "document", access, ("document", "shown"))


def any_visible(access: Access) -> Body:
    """One entry that the caller may see, if there is any; each shard stops at its first."""
    query = {"bool": {"filter": [visible_to(access)]}}
    return {"size": 1, "terminate_after": 1, "track_total_hits": False, "_source": False, "query": query}


def _fetch(name: str, values: Sequence[str], kind: str, access: Access, fields: Sequence[str]) -> Body:
    clauses = [{"terms": {name: list(map(encodable, values))}}, {"term": {"kind": kind}}, visible_to(access)]
    return {"size": len(values), "_source": {"includes": list(fields)}, "query": {"bool": {"filter": clauses}}}
