"""The pages of claims: what to check, a table of claims, one claim, and two studies beside each other.

None of them says whether a claim is true: they show what studies say of it, and where nothing answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl

from flask import Blueprint, jsonify, make_response, render_template, request
from flask.wrappers import Response
from werkzeug.datastructures import MultiDict
from werkzeug.exceptions import RequestEntityTooLarge

from mappings.claims.pasted import read_pasted
from mappings.collection import Collection
from mappings.documents import clean
from mappings.errors import InvalidInput, MedleyError, Unauthorized
from web import context
from web.access import sessions
from web.errors import retry_headers
from web.pages.addresses import MAX_PARAMETERS, UNHURRIED
from web.pages.claims.addresses import claim_address, table_address
from web.pages.claims.claim_page import ClaimPage
from web.pages.claims.claim_search import checked_claims, search_claim, search_claims
from web.pages.claims.side_by_side import ComparedDocument, SideBySidePage, check_chosen, hit_of
from web.pages.claims.stances import SAYS, summary_of
from web.pages.claims.start_page import ClaimsPage
from web.pages.claims.table_page import TablePage
from web.pages.routes import redirect_to
from web.serving.limits import ARTICLE_BYTES, MAX_ARTICLE_BODY_BYTES
from web.statuses import status_of

FILES: Final = ("csv", "json")

blueprint = Blueprint("claim_pages", __name__)
blueprint.before_request(context.require_caller)


@blueprint.app_context_processor
def for_hits() -> dict[str, object]:
    """What every page with hits uses to say what they say of the text."""
    return {
        "stances_of": summary_of,
        "says": SAYS,
        "claim_address": claim_address,
        "table_address": table_address,
    }


@blueprint.get("/claims")
def claims() -> Response:
    """The field for a headline, several of them, or an article."""
    return _shown(_start(request.args.get("collection", "")))


@blueprint.post("/claims")
def send_claims() -> Response:
    """What was pasted: a headline and several lead to their pages, an article to the claims that it makes."""
    request.max_content_length = request.max_form_memory_size = MAX_ARTICLE_BODY_BYTES
    try:
        sessions.check_form_token()
        page = _start(request.form.get("collection", ""))
        page.kind, page.text = request.form.get("kind", ""), _pasted()
    except RequestEntityTooLarge:
        page = _start("")
        page.error = InvalidInput(
            f"an article can have {ARTICLE_BYTES:,} bytes at most: paste the part with its claims"
        )
        return _shown(page, 413)
    try:
        if page.collection is None:
            raise InvalidInput("there is no collection to check claims in", field="collection")
        found = read_pasted(page.text, page.kind)
    except MedleyError as error:
        page.error = error
        return _shown(page, status_of(error))
    if found.kind == "headline":
        address = claim_address(page.collection, found.headlines[0])
        return redirect_to(address.url) if address.is_link else _claim(page.collection, found.headlines[0])
    if found.kind == "headlines":
        address = table_address(page.collection, found.headlines)
        return redirect_to(address.url) if address.is_link else _table(TablePage(page.collection, found.headlines))
    page.read(page.text)
    return _shown(page)


def _pasted() -> str:
    """The text of the form, or of its file. Raises `RequestEntityTooLarge`."""
    file = request.files.get("file")
    sent = file.read() if file and file.filename else b""
    text = sent.decode("utf-8-sig", errors="replace") if sent else request.form.get("text", "")
    if max(len(sent), len(text.encode(errors="replace"))) > ARTICLE_BYTES:
        raise RequestEntityTooLarge
    return clean(text)


@blueprint.route("/claims/table", methods=["GET", "POST"])
def table() -> Response:
    """The table of the claims that are given, or its file."""
    given = _given()
    collection = _collection(given)
    page = TablePage(collection, checked_claims(given.getlist("claim")))
    name = given.get("format", "")
    if name and name not in FILES:
        raise InvalidInput(f"there is no format {name[:80]!r}; known are {', '.join(FILES)}", field="format")
    if request.method == "POST" and not name and page.address.is_link:
        return redirect_to(page.address.url)
    return _table(page, name)


def _table(page: TablePage, name: str = "") -> Response:
    try:
        page.show(search_claims(page.collection, page.claims))
    except Unauthorized:
        raise
    except MedleyError as error:
        if name:
            raise
        page.error = error
    if name:
        return _file(page, name)
    status = status_of(page.error) if page.error else 200
    return make_response(render_template("claims/table.html", page=page), status, retry_headers(page.error))


def _file(page: TablePage, name: str) -> Response:
    response = jsonify(page.as_json()) if name == "json" else make_response(page.as_csv())
    if name == "csv":
        response.headers["Content-Type"] = "text/csv; charset=utf-8"
    response.headers["Content-Disposition"] = f'attachment; filename="claims.{name}"'
    return response


@blueprint.route("/claim", methods=["GET", "POST"])
def claim() -> Response:
    """What the studies of a collection say of one claim."""
    given = _given()
    if request.method == "POST":
        return show_claim(given.get("collection", ""), given.get("text", ""), _is_unhurried(given))
    return _claim(_collection(given), _line(given.get("text", "")), _is_unhurried(given))


def _is_unhurried(given: Mapping[str, str]) -> bool:
    name, value = UNHURRIED
    return given.get(name) == value


def show_claim(name: str, text: str, unhurried: bool = False) -> Response:
    """The page of a claim in the collection `name`: redirected to its address, or answered directly if it is private."""
    collection = context.use_cases().named(name, "search")
    address = claim_address(collection, _line(text), unhurried)
    return redirect_to(address.url) if address.is_link else _claim(collection, _line(text), unhurried)


def _line(text: str) -> str:
    return " ".join(text.split())


def _claim(collection: Collection, text: str, unhurried: bool = False) -> Response:
    page = ClaimPage(collection, text, unhurried)
    try:
        page.show(search_claim(collection, text, unhurried))
    except Unauthorized:
        raise
    except MedleyError as error:
        page.error = error
    status = status_of(page.error) if page.error else 200
    return make_response(render_template("claims/claim.html", page=page), status, retry_headers(page.error))


@blueprint.route("/claim/compare", methods=["GET", "POST"])
def compare() -> Response:
    """Two hits of a claim beside each other; the claim is searched again, so that its evidence is marked."""
    given = _given()
    collection, text = _collection(given), given.get("text", "")
    names = check_chosen(given.getlist("document"))
    use_cases = context.use_cases()
    stored = [use_cases.document(collection.name, name, "document") for name in names]
    results = search_claim(collection, text)
    documents = [ComparedDocument.of(item, collection, hit_of(results, item.id)) for item in stored]
    page = SideBySidePage(collection, text, documents)
    return make_response(render_template("claims/side_by_side.html", page=page))


def _given() -> MultiDict[str, str]:
    """The parameters of the address or of the form; a button sends them all as `state`."""
    if request.method == "GET":
        return request.args
    sessions.check_form_token()
    try:
        state = parse_qsl(request.form.get("state", ""), max_num_fields=MAX_PARAMETERS)
    except ValueError:
        raise InvalidInput(f"there are more than {MAX_PARAMETERS} parameters", field="state") from None
    return MultiDict(state) if state else request.form


def _collection(given: Mapping[str, str]) -> Collection:
    return context.use_cases().named(given.get("collection", ""), "search")


def _start(name: str) -> ClaimsPage:
    """The page for a collection. Raises `InvalidInput` alike for one that is hidden and one that does not exist."""
    found = claim_collections()
    chosen = context.use_cases().named(name, "search") if name else next(iter(found), None)
    return ClaimsPage(found, chosen)


def claim_collections() -> list[Collection]:
    """The collections of studies that the caller sees: first those that are read for stances, invented ones last."""
    found = (item for item in context.use_cases().collections.all() if item.studies)
    return sorted(found, key=lambda item: (item.invented, item.stance is None))


def _shown(page: ClaimsPage, status: int = 200) -> Response:
    return make_response(render_template("claims/start.html", page=page), status, retry_headers(page.error))
