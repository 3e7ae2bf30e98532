"""What clients say in `ext`: the text for reranking, and which models made their vectors."""

from __future__ import annotations

from typing import Any

from mappings.errors import InvalidInput
from search.query import QueryVector
from web.compatible.query.wanted import Wanted
from web.compatible.shapes import a_text, an_object, check_keys, unsupported


def given_vectors(ext: Any, wanted: Wanted) -> tuple[QueryVector, ...]:
    """The vectors of a query, each with the model that `ext` names for its field.

    Raises `InvalidInput` where it names none, and unless the text for reranking, where one is given, is that of the query.
    """
    options = an_object(ext or {}, "ext")
    check_keys(options, ("rerank", "medley"), "ext", {})
    if "rerank" in options:
        _check_rerank_text(options["rerank"], wanted)
    own = an_object(options.get("medley", {}), "ext.medley")
    check_keys(own, ("encoders",), "ext.medley", {})
    encoders = an_object(own.get("encoders", {}), "ext.medley.encoders")
    if extra := sorted(encoders.keys() - dict(wanted.vectors).keys()):
        raise InvalidInput(f"no vector is given for {extra[0][:80]!r}", field="ext.medley.encoders")
    return tuple(QueryVector(name, _encoder(name, encoders), values) for name, values in wanted.vectors)


def _encoder(name: str, encoders: Any) -> str:
    where = f"ext.medley.encoders.{name}"
    if name not in encoders:
        raise InvalidInput(
            "a vector must say which model made it: give its fingerprint here; that of the index is in [_meta.encoders] of "
            "its [_mapping], and a text by [neural] needs none",
            field=where,
        )
    return a_text(encoders[name], where)


def _check_rerank_text(rerank: Any, wanted: Wanted) -> None:
    check_keys(an_object(rerank, "ext.rerank"), ("query_context",), "ext.rerank", {})
    context = an_object(rerank.get("query_context"), "ext.rerank.query_context")
    check_keys(context, ("query_text",), "ext.rerank.query_context", {})
    if context.get("query_text") != wanted.text:
        raise unsupported("reranking by another text than that of the query", "ext.rerank", "give the same text")
