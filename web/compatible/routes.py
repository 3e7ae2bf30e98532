"""The addresses for clients of OpenSearch: `_search`, `_msearch`, `_count`, and what these clients ask first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from flask import Blueprint, request
from flask.wrappers import Response

from mappings.collection import Collection
from mappings.errors import MedleyError, NotFound, Unavailable
from web import context
from web.compatible import answer, descriptions, parameters
from web.compatible.body import CompatibleSearch, read_body, read_count
from web.compatible.errors import error_form, register
from web.compatible.lines import NamedSearch, read_lines
from web.compatible.shapes import quoted, unsupported
from web.compatible.sources import read_source
from web.errors import MediaTypeError
from web.serving import search_limits
from web.serving.fair_shares import Turn
from web.statuses import status_of
from web.validation import parse_json
from web.wire import ErrorDetail

_JSON: Final = "application/json"
_LINES: Final = ("application/x-ndjson", _JSON)
_READ: Final = ("GET", "POST")

blueprint = Blueprint("compatible", __name__, url_prefix="/opensearch")
blueprint.before_request(context.require_caller)
register(blueprint)


@blueprint.get("/")
def info() -> Response:
    """The version whose forms are spoken; a client's first question."""
    return answer.json_response(descriptions.info(), _parameters()["pretty"])


@blueprint.route("/_search", methods=_READ)
@blueprint.route("/<collection>/_search", methods=_READ)
def search(collection: str = "") -> Response:
    """One search."""
    given = _parameters(*parameters.OF_BODY, *parameters.SHAPE)
    asked, found = _asked(collection, _body() | _of_body(given), bool(given.get("rest_total_hits_as_int")))
    with context.search_turn():
        done = _searched(asked, found)
    shown = answer.as_whole_totals(done) if given.get("rest_total_hits_as_int") else done
    shown = answer.with_typed_keys(shown, asked) if given.get("typed_keys") else shown
    return answer.json_response(shown, given["pretty"], answer.warnings_of(done))


@blueprint.route("/_msearch", methods=_READ)
@blueprint.route("/<collection>/_msearch", methods=_READ)
def multi_search(collection: str = "") -> Response:
    """Several searches, each answered or refused by itself."""
    given = _parameters(*parameters.SHAPE)
    if request.mimetype not in _LINES:
        raise MediaTypeError(f"the body must be lines of JSON, sent as {_LINES[0]}", field="Content-Type")
    whole = bool(given.get("rest_total_hits_as_int"))
    searches = [_attempted(item, whole) for item in read_lines(request.get_data(), collection)]
    settings = context.portal().medley.settings
    valid = [item for item in searches if isinstance(item, tuple)]
    search_limits.check_cost([item.query for item, _ in valid], [found for _, found in valid], settings)
    with context.search_turn() as turn:
        answers = _answers(searches, turn, search_limits.BatchTime(settings))
    if whole:
        answers = [answer.as_whole_totals(item) for item in answers]
    if given.get("typed_keys"):
        pairs = zip(answers, searches, strict=True)
        answers = [answer.with_typed_keys(item, one[0]) if isinstance(one, tuple) else item for item, one in pairs]
    took = sum(item.get("took", 0) for item in answers)
    warnings = [text for item in answers for text in answer.warnings_of(item)]
    return answer.json_response({"took": took, "responses": answers}, given["pretty"], warnings)


@blueprint.route("/<collection>/_count", methods=_READ)
def count(collection: str) -> Response:
    """How many documents match, without their hits."""
    given, found = _parameters(), _collection(collection, "search")
    query = read_count(_body(), found, context.caller().access)
    with context.search_turn():
        total = context.use_cases().search(query, shown_from=query.size).total
    if total.relation != "exact":
        raise Unavailable("documents cannot be counted while many changes wait to be indexed: try again")
    return answer.json_response({"count": total.value, "_shards": answer.SHARDS}, given["pretty"])


@blueprint.get("/<collection>")
def index(collection: str) -> Response:
    """Whether the caller can see a collection, and its fields."""
    found = _collection(collection, "search")
    return answer.json_response({found.name: descriptions.index_of(found, _encoders(found))}, _parameters()["pretty"])


@blueprint.get("/_mapping")
@blueprint.get("/_mappings")
def mappings() -> Response:
    """The fields of every collection that the caller can see."""
    found = context.use_cases().collections.all()
    shown = {item.name: {"mappings": descriptions.mappings_of(item, _encoders(item))} for item in found}
    return answer.json_response(shown, _parameters()["pretty"])


@blueprint.get("/<collection>/_mapping")
@blueprint.get("/<collection>/_mappings")
def mapping(collection: str) -> Response:
    """The fields of a collection."""
    found = _collection(collection, "search")
    return answer.json_response(
        {found.name: {"mappings": descriptions.mappings_of(found, _encoders(found))}}, _parameters()["pretty"]
    )


@blueprint.get("/<collection>/_doc/<anything:identifier>")
def document(collection: str, identifier: str) -> Response:
    """The newest version of a document."""
    given = _parameters("_source")
    source = read_source(given.get("_source", True), "_source")
    found = _collection(collection, "document")
    try:
        stored = context.use_cases().document(found.name, identifier, "document")
    except NotFound:
        missing = {"_index": found.name, "_id": identifier, "found": False}
        return answer.json_response(missing, given["pretty"], status=404)
    return answer.json_response(descriptions.document_of(found, stored, source), given["pretty"])


@blueprint.route("/<path:rest>", methods=(*_READ, "PUT", "DELETE", "PATCH"))
def unknown(rest: str) -> Response:
    """Refuse every other address of OpenSearch by name."""
    what = f"the address {quoted(rest)} with {request.method}"
    instead = (
        "there are _search, _msearch, <collection>/_count, _mapping and _doc/<id>; documents are sent to /v1/documents"
    )
    raise unsupported(what, "address", instead)


def _parameters(*known: str) -> dict[str, Any]:
    return {"pretty": False} | parameters.read_parameters(request.args, ("pretty", *known))


def _of_body(given: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if name in parameters.OF_BODY}


def _body() -> dict[str, Any]:
    """The request's JSON, which can be left out."""
    sent = request.get_data()
    if not sent.strip():
        return {}
    if request.mimetype != _JSON:
        raise MediaTypeError(f"the body must be JSON, sent as 'Content-Type: {_JSON}'", field="Content-Type")
    body = parse_json(sent)
    if not isinstance(body, dict):
        raise unsupported("a body that is not an object", "body", 'send an object such as {"query": …}')
    return body


def _collection(name: str, action: str) -> Collection:
    """The collection of an address; one that the caller can't see is refused as one that does not exist is."""
    if not name or name == "_all" or {"*", ","} & set(name):
        raise unsupported("a search of several collections", "collection", "name one, as in /opensearch/<collection>/…")
    use_cases = context.use_cases()
    with use_cases.audited(action, name, only_errors=True):
        return use_cases.collections.get(name)


def _encoders(collection: Collection) -> dict[str, str]:
    """Vector field -> the fingerprint of its model, in the published index; none before there is one."""
    try:
        meta = context.portal().medley.engine.resolve(collection.name)
    except NotFound:
        return {}
    return {name: meta.encoders[name] for name in collection.vectors if name in meta.encoders}


def _asked(name: str, body: Any, whole: bool = False) -> tuple[CompatibleSearch, Collection]:
    """A search, whose total is to be a number if `whole`. Raises `InvalidInput`, `NotFound`."""
    found, settings = _collection(name, "search"), context.portal().medley.settings
    asked = read_body(body, found, context.caller().access, settings.window)
    if whole:
        answer.check_whole_totals(asked)
    return replace(asked, query=search_limits.limited(asked.query, found, settings)), found


def _attempted(item: NamedSearch, whole: bool) -> tuple[CompatibleSearch, Collection] | MedleyError:
    try:
        return _asked(item.collection, item.body, whole)
    except MedleyError as error:
        return error


def _searched(asked: CompatibleSearch, collection: Collection) -> dict[str, Any]:
    shown_from = asked.start if asked.size else asked.query.size
    results = context.use_cases().search(asked.query, shown_from)
    return answer.search_answer(asked, results, collection)


def _answers(
    searches: Sequence[tuple[CompatibleSearch, Collection] | MedleyError],
    turn: Turn,
    batch_time: search_limits.BatchTime,
) -> list[dict[str, Any]]:
    """The answers in order, errors among them. Between two searches another caller can go first."""
    answers = []
    for number, item in enumerate(searches):
        try:
            if isinstance(item, MedleyError):
                raise item
            if number:
                turn.pass_on(batch_time.left())
            asked, found = item
            query, notes = batch_time.allot(asked.query, found)
            done = _searched(replace(asked, query=query), found)
            done["ext"]["medley"]["partial"] = [*notes, *done["ext"]["medley"]["partial"]]
            answers.append({**done, "status": 200})
        except MedleyError as error:
            status = status_of(error)
            answers.append(error_form(status, ErrorDetail.model_validate(error)))
    return answers
