"""The HTML pages: search, a document, login and logout. They work without JavaScript."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus

from flask import Blueprint, g, make_response, redirect, render_template, request, session, url_for
from flask.wrappers import Response
from werkzeug.datastructures import MultiDict

from mappings.errors import InvalidInput, MedleyError, Unauthorized
from search.query import Query
from web import citations, context, forms
from web.access import auth, sessions
from web.access.log import AuditRecord
from web.errors import retry_headers
from web.pages import formatting
from web.pages.addresses import SearchAddress
from web.pages.document_page import DocumentPage, EvidenceMarks
from web.pages.examples import examples_for
from web.pages.hits import others_of
from web.pages.search_page import SearchPage
from web.serving import search_limits
from web.statuses import status_of

blueprint = Blueprint("pages", __name__)
OPEN = frozenset({"pages.log_in", "pages.send_log_in"})


@blueprint.before_request
def require_caller() -> None:
    """Authenticate the request, except for the login pages."""
    if request.endpoint not in OPEN:
        context.require_caller()


@blueprint.app_context_processor
def for_every_page() -> dict[str, object]:
    """The template variables that every page uses."""
    return {"caller": g.get("caller"), "form_token": sessions.form_token, "asset": formatting.asset}


@blueprint.get("/")
def start() -> Response:
    """The search page without a question."""
    return show_search(SearchAddress.of(request.args.items(multi=True)))


@blueprint.get("/search")
def search() -> Response:
    """The answer to the search in the URL."""
    return show_search(SearchAddress.of(request.args.items(multi=True)))


@blueprint.post("/search")
def send_search() -> Response:
    """A search from the form: redirected to its URL or, if the text is too long for a URL, answered directly.

    A button next to a long text sends the other parameters as `state`.
    """
    sessions.check_form_token()
    further = SearchAddress.parse(request.form.get("state", "")).pairs
    address = SearchAddress.of((*form_pairs(list(request.form.items(multi=True))), *further))
    return redirect_to(address.url) if address.fits_in_url else show_search(address)


def form_pairs(sent: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The fields of the search form as parameters: `from.year` and `to.year` become `filter.year=2015..2020`."""
    pairs = [(name, value) for name, value in sent if not name.startswith(("csrf", "state", "from.", "to."))]
    bounds = {name: value.strip() for name, value in sent if name.startswith(("from.", "to.")) and value.strip()}
    fields = dict.fromkeys(name.partition(".")[2] for name in bounds)
    return pairs + [
        (f"filter.{name}", f"{bounds.get(f'from.{name}', '')}..{bounds.get(f'to.{name}', '')}") for name in fields
    ]


def show_search(address: SearchAddress) -> Response:
    """The search page for `address`; an error is shown below the form, which keeps the input."""
    medley = context.portal().medley
    page = SearchPage(address, [medley.collections.get(name) for name in medley.collections.names()])
    status = 200
    if page.asked and page.collection:
        try:
            _answer(page)
        except Unauthorized:
            raise
        except MedleyError as error:
            page.error, status = error, status_of(error)
    elif page.collection:
        name = page.collection.name
        page.examples = examples_for(name, medley.collections.store(name), context.caller().access)
    return make_response(render_template("search.html", page=page), status, retry_headers(page.error))


def _answer(page: SearchPage) -> None:
    use_cases, query = context.use_cases(), _query(page)
    with context.search_turn():
        results = use_cases.search(query)
    page.show(results, use_cases.visible(query.collection, others_of(results)))


def _query(page: SearchPage) -> Query:
    form = forms.search_form_of(MultiDict(page.parameters))
    collection = forms.known_collection(context.portal().medley, form.collection)
    query = forms.to_query(form, collection, context.caller().access)
    return search_limits.limited(query, collection, context.portal().medley.settings)


@blueprint.get("/document")
def document() -> Response:
    """One document; the URL can name a passage and the offsets of its evidence, which is then highlighted."""
    arguments = request.args
    collection = forms.known_collection(context.portal().medley, arguments.get("collection", ""))
    stored = context.use_cases().document(collection.name, arguments.get("id", ""), "document")
    marks = EvidenceMarks(arguments.get("passage", ""), arguments.getlist("mark"))
    page = DocumentPage(stored, collection, marks, SearchAddress.parse(arguments.get("back", "")))
    return make_response(render_template("document.html", page=page))


@blueprint.get("/cite")
def cite() -> Response:
    """The citation of a document as a file."""
    arguments = request.args
    name = forms.check_format(arguments.get("format", "ris"))
    if name == "json":
        raise InvalidInput("the format of a citation is ris, bibtex or csv", field="format")
    collection = forms.known_collection(context.portal().medley, arguments.get("collection", ""))
    stored = context.use_cases().document(collection.name, arguments.get("id", ""), "cite")
    return citations.of_stored(name, stored, collection.name)


@blueprint.get("/login")
def log_in() -> Response:
    """The login form."""
    return show_login(None)


@blueprint.post("/login")
def send_log_in() -> Response:
    """Open a session for the token in the form."""
    sessions.check_form_token()
    log = context.portal().log
    try:
        g.caller = auth.caller_with_token(context.portal().home, request.form.get("token", ""))
    except Unauthorized as error:
        log.write(AuditRecord(context.actor(), "login", status=status_of(error)))
        return show_login(error)
    log.write(AuditRecord(context.actor(), "login"))
    sessions.open_session(g.caller)
    return redirect_to(local_address(request.form.get("next", "")))


@blueprint.post("/logout")
def log_out() -> Response:
    """End the session."""
    sessions.check_form_token()
    session.clear()
    return redirect_to(url_for("pages.log_in"))


def show_login(error: Unauthorized | None) -> Response:
    """The login form, with the error of the last attempt."""
    following = local_address(request.values.get("next", ""))
    guarded = auth.is_guarded(context.portal().home)
    page = render_template("login.html", error=error, next=following, guarded=guarded)
    return make_response(page, HTTPStatus.UNAUTHORIZED if error else HTTPStatus.OK)


def local_address(address: str) -> str:
    """`address` if it is a page of this server, otherwise the start page: a login must not redirect to another site."""
    inside = address.startswith("/") and not address.startswith(("//", "/\\")) and address.isprintable()
    return address if inside else url_for("pages.start")


def redirect_to(address: str) -> Response:
    """Redirect to `address` with GET."""
    return make_response(redirect(address, HTTPStatus.SEE_OTHER))
