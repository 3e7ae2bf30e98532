"""The HTTP API: search, documents, collections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any

from flask import Blueprint, jsonify, make_response, request
from flask.wrappers import Response

from mappings.collection import Collection
from mappings.documents import Document
from mappings.errors import InvalidInput, MedleyError, NotFound
from search.pipeline.results import Results
from search.query import Query
from search.storage import StoredDocument
from web import citations as export
from web import context, filters, forms, wire
from web.access import auth
from web.errors import MediaTypeError

blueprint = Blueprint("api", __name__, url_prefix="/v1")
blueprint.before_request(auth.require_caller)


@blueprint.get("/search")
def search_by_address() -> Response:
    """One search, asked in the address; `format` may ask for citations of the hits."""
    parameters = request.args.copy()
    wanted = forms.check_format(parameters.pop("format", "json"))
    query = query_of(forms.search_form_of(parameters))
    results = searched(query)
    if wanted == "json":
        return jsonify(wire.results_as_json(results))
    return cited(wanted, citations(query, results), query.collection)


@blueprint.post("/search")
def search() -> Response:
    """One search, asked in JSON."""
    return jsonify(wire.results_as_json(searched(query_of(forms.search_form(body())))))


@blueprint.post("/search/batch")
def search_batch() -> Response:
    """Several searches in one request: all are answered, or none."""
    asked = [_placed(number, query_of, form) for number, form in enumerate(forms.batch_form(body()).searches)]
    answers = [_placed(number, searched, query) for number, query in enumerate(asked)]
    return jsonify({"answers": [wire.results_as_json(results) for results in answers]})


def _placed(number: int, step: Any, item: Any) -> Any:
    """`step(item)`; its error says which of the batch's searches it belongs to."""
    try:
        return step(item)
    except MedleyError as error:
        placed = copy(error)  # the error itself may be kept by whoever raised it
        placed.field = f"searches.{number}.{error.field}" if error.field else f"searches.{number}"
        raise placed from error


@blueprint.get("/documents/<anything:identifier>")
def document(identifier: str) -> Response:
    """The newest version of a document, or its citation."""
    form = forms.document_form(request.args)
    stored = opened(collection_of(form.collection).name, identifier, "document" if form.format == "json" else "cite")
    if form.format == "json":
        return jsonify(wire.document_as_json(form.collection, stored))
    assert stored.document is not None  # noqa: S101 - `opened` never gives a tombstone
    return cited(form.format, [export.citation(stored.document, form.collection)], stored.id)


@blueprint.get("/collections")
def collections() -> Response:
    """Every collection, and what can be asked of it."""
    medley = context.portal().medley
    found = [medley.collections.get(name) for name in medley.collections.names()]
    return jsonify({"collections": [wire.collection_as_json(item, forms.sorts(item)) for item in found]})


def body() -> Any:
    """The request's JSON. Raises `MediaTypeError` for another type: a form of another site can't send this one."""
    if request.mimetype != "application/json":
        raise MediaTypeError("the body is to be JSON, sent as 'Content-Type: application/json'", field="Content-Type")
    return forms.parse_json(request.get_data())


def collection_of(name: str) -> Collection:
    """The collection of this name. Raises `InvalidInput` naming the known."""
    medley = context.portal().medley
    if name not in (known := medley.collections.names()):
        raise InvalidInput(
            f"there is no collection {name[:80]!r}; there are: {', '.join(known) or 'none yet'}", field="collection"
        )
    return medley.collections.get(name)


def query_of(form: forms.SearchForm) -> Query:
    """The query that the caller asks with `form`."""
    return forms.to_query(form, collection_of(form.collection), context.caller().access)


def searched(query: Query, action: str = "search") -> Results:
    """The answer to `query`, written to the access log before anybody sees it. So is a search that fails."""
    try:
        results = context.portal().medley.search(query)
    except MedleyError as error:
        context.log(context.audit(action, query.collection, _asked(query), [], error.status))
        raise
    context.log(context.audit(action, query.collection, _asked(query), _seen(results)))
    return results


def _seen(results: Results) -> list[str]:
    return list(dict.fromkeys(name for hit in results.hits for name in (hit.document, *hit.others)))


def _asked(query: Query) -> Mapping[str, Any]:
    asked = {
        "text": query.text,
        "entity": query.entity,
        "aspect": query.aspect,
        "with": list(query.having),
        "without": list(query.lacking),
        "filters": filters.spelled(query.filters),
    }
    further = {"sort": query.sort} if query.sort != "relevance" else {}
    return (
        {name: value for name, value in asked.items() if value} | further | ({"page": "next"} if query.cursor else {})
    )


def opened(collection: str, identifier: str, action: str) -> StoredDocument:
    """A document that the caller may see, written to the access log before anybody sees it. Raises `NotFound`."""
    asked = {"id": identifier[:1000]}
    try:
        stored = context.portal().medley.collections.document(collection, identifier, context.caller().access)
    except NotFound as error:
        context.log(context.audit(action, collection, asked, [], error.status))
        raise
    context.log(context.audit(action, collection, asked, [stored.id]))
    return stored


def citations(query: Query, results: Results) -> list[export.Citation]:
    """The hits as citations, in their order; a document deleted a moment ago is left out."""
    found = visible(query, [hit.document for hit in results.hits])
    return [export.citation(item, query.collection) for item in found.values()]


def visible(query: Query, ids: Sequence[str]) -> dict[str, Document]:
    """Those of the documents that are there and that the caller may see, in the order of `ids`."""
    stored = context.portal().medley.collections.store(query.collection).latest(ids)
    found = {name: stored[name].document for name in ids if name in stored}
    return {name: item for name, item in found.items() if item and query.access.may_see(item.labels)}


def cited(name: str, items: Sequence[export.Citation], title: str) -> Response:
    """Citations as a file to keep."""
    form = export.WRITERS[name]
    response = make_response(form.write(items))
    response.headers["Content-Type"] = f"{form.media_type}; charset=utf-8"
    stem = "".join(letter if letter.isascii() and (letter.isalnum() or letter in "._-") else "-" for letter in title)[
        :80
    ]
    response.headers["Content-Disposition"] = f'attachment; filename="{stem.strip(".-") or "citations"}.{form.suffix}"'
    return response
