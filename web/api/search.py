"""The HTTP API for reading: search, documents, collections."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, TypeVar

from flask import Blueprint, jsonify, request
from flask.wrappers import Response

from mappings.collection import Collection
from mappings.errors import MedleyError
from search.pipeline.checks import sort_orders
from search.query import Query
from web import context, forms
from web.citations import attachments
from web.errors import MediaTypeError
from web.kept.bundles import with_bundles
from web.search_answers import BatchAnswer, SearchAnswer, StanceAnswer
from web.serving import search_limits
from web.serving.fair_shares import Turn
from web.validation import parse_json
from web.wire import CollectionJson, CollectionsAnswer, DocumentAnswer

blueprint = Blueprint("api", __name__, url_prefix="/v1")
blueprint.before_request(context.require_caller)

Item = TypeVar("Item")
Done = TypeVar("Done")


@blueprint.get("/search")
def search_by_address() -> Response:
    """One search from the parameters of the address; `format` can ask for citations of the hits."""
    parameters = request.args.copy()
    wanted = forms.check_format(parameters.pop("format", "json"))
    query = _query(forms.search_form_of(parameters))
    use_cases = context.use_cases()
    with context.search_turn():
        results = use_cases.search(query)
    collection = _collection(query)
    if wanted == "json":
        return jsonify(SearchAnswer.of(results, collection).model_dump())
    # A document that was deleted a moment ago is left out.
    found = use_cases.visible(query.collection, [hit.document for hit in results.hits])
    return attachments.of_documents(wanted, found.values(), collection)


@blueprint.post("/search")
def search() -> Response:
    """One search from a JSON body."""
    query = _query(forms.search_form(json_body()))
    with context.search_turn():
        return jsonify(_answer(query).model_dump())


@blueprint.post("/search/batch")
def search_batch() -> Response:
    """Several searches in one request: all are answered, or none."""
    queries = [_numbered(number, _query, form) for number, form in enumerate(forms.batch_form(json_body()).searches)]
    medley = context.portal().medley
    search_limits.check_cost(queries, [medley.collections.get(query.collection) for query in queries], medley.settings)
    with context.search_turn() as turn:
        answers = _batch_answers(queries, turn, search_limits.BatchTime(medley.settings))
    return jsonify(BatchAnswer(answers=answers).model_dump())


def _batch_answers(queries: Sequence[Query], turn: Turn, batch_time: search_limits.BatchTime) -> list[SearchAnswer]:
    """The answers in order. Between two searches another caller can go first."""

    def answered(query: Query) -> SearchAnswer:
        allotted, notes = batch_time.allot(query, context.portal().medley.collections.get(query.collection))
        answer = _answer(allotted)
        return answer.model_copy(update={"partial": [*notes, *answer.partial]})

    answers = []
    for number, query in enumerate(queries):
        if number:
            turn.pass_on(batch_time.left())
        answers.append(_numbered(number, answered, query))
    return answers


def _numbered(number: int, step: Callable[[Item], Done], item: Item) -> Done:
    """`step(item)`; its error names which of the batch's searches it belongs to."""
    try:
        return step(item)
    except MedleyError as error:
        named = copy(error)  # whoever raised the error may have kept it
        named.field = f"searches.{number}.{error.field}" if error.field else f"searches.{number}"
        raise named from error


def _query(form: forms.SearchForm) -> Query:
    collection = context.use_cases().named(form.collection, "search")
    query = with_bundles(forms.to_query(form, collection, context.caller().access), context.use_cases())
    return search_limits.limited(query, collection, context.portal().medley.settings)


def _answer(query: Query) -> SearchAnswer:
    return SearchAnswer.of(context.use_cases().search(query), _collection(query))


def _collection(query: Query) -> Collection:
    return context.portal().medley.collections.get(query.collection)


def json_body() -> Any:
    """The request's JSON. Raises `MediaTypeError` for another type: a form of another site cannot send this one."""
    if request.mimetype != "application/json":
        raise MediaTypeError("the body must be JSON, sent as 'Content-Type: application/json'", field="Content-Type")
    return parse_json(request.get_data())


@blueprint.post("/stance")
def stance() -> Response:
    """What one document says of a claim."""
    form = forms.stance_form(json_body())
    use_cases = context.use_cases()
    collection = use_cases.named(form.collection, "stance")
    with context.search_turn():
        found = use_cases.read_claim(collection.name, form.document, form.text)
    return jsonify(StanceAnswer.of(found, collection).model_dump())


@blueprint.get("/documents/<anything:identifier>")
def document(identifier: str) -> Response:
    """The newest version of a document, or its citation."""
    form = forms.document_form(request.args)
    action, use_cases = "document" if form.format == "json" else "cite", context.use_cases()
    collection = use_cases.named(form.collection, action)
    stored = use_cases.document(collection.name, identifier, action)
    if form.format == "json":
        return jsonify(DocumentAnswer.of(collection, stored).model_dump())
    return attachments.of_stored(form.format, stored, collection)


@blueprint.get("/collections")
def collections() -> Response:
    """The collections that the caller can see, with their fields and orders."""
    found = context.use_cases().collections.all()
    answer = CollectionsAnswer(collections=[CollectionJson.of(item, sort_orders(item)) for item in found])
    return jsonify(answer.model_dump())
