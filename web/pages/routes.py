"""The HTML pages: search, a document, login and logout. They work without JavaScript."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from http import HTTPStatus

from flask import Blueprint, g, jsonify, make_response, redirect, render_template, request, url_for
from flask.wrappers import Response
from werkzeug.datastructures import MultiDict

from mappings.collection import Collection
from mappings.errors import InvalidInput, MedleyError, Unauthorized
from search.query import Query
from search.storage import StoredDocument
from web import context, forms
from web.access import auth, guard, sessions
from web.access.log import AuditRecord
from web.access.throttle import TooManyFailures
from web.citations import attachments
from web.citations.evidence_marks import EvidenceMarks
from web.completions import CompletionAnswer, CompletionForm
from web.errors import retry_headers
from web.kept.bundles import with_bundles
from web.pages import formatting
from web.pages.addresses import SearchAddress
from web.pages.document_page import DocumentPage
from web.pages.examples import examples_for
from web.pages.explanations import CurveView, curve_view
from web.pages.facets import years_of
from web.pages.findings import DocumentFindings
from web.pages.hits import others_of
from web.pages.search_page import SearchPage
from web.serving import search_limits
from web.statuses import status_of
from web.validation import validated

blueprint = Blueprint("pages", __name__)
USUAL = (("absence", "not-present"), ("sort", "relevance"))
"""What the search form sends where nothing else was chosen; an address needs none of it."""

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
    """A search from the form: redirected to its URL or, if it is private or too long for a URL, answered directly."""
    page = open_page(sent_address())
    return redirect_to(page.address.url) if page.address.is_link else show_page(page)


@blueprint.post("/search/citations")
def send_citations() -> Response:
    """The citations of the hits of a search that is private or too long for a URL."""
    address = sent_address()
    name = citation_format(address.get("format", "ris"))
    page = open_page(SearchAddress.of(pair for pair in address.pairs if pair[0] != "format"))
    use_cases, query = context.use_cases(), _query(page)
    with context.search_turn():
        results = use_cases.search(query)
    found = use_cases.visible(query.collection, [hit.document for hit in results.hits])
    return attachments.of_documents(name, found.values(), context.portal().medley.collections.get(query.collection))


@blueprint.post("/complete")
def send_complete() -> Response:
    """The completions of what is typed into a field of the search form, for the script of the page."""
    sessions.check_form_token()
    sent = {name: text for name, text in forms.single_values(request.form).items() if name != "csrf"}
    form = validated(CompletionForm, sent, strict=False)
    use_cases = context.use_cases()
    collection = use_cases.named(form.collection, "complete")
    found = use_cases.complete(form.to_request(collection.name, use_cases.caller.access))
    return jsonify(CompletionAnswer.of(found).model_dump())


def sent_address() -> SearchAddress:
    """The search that a form of the search page sends; a button next to the text sends the other parameters as `state`.

    One that sends another text sends it there, too.
    """
    sessions.check_form_token()
    further = SearchAddress.parse(request.form.get("state", ""))
    own = SearchAddress.of(form_pairs(list(request.form.items(multi=True))))
    return SearchAddress.of((*(own.drop("text") if further.get("text") else own).pairs, *further.pairs))


def form_pairs(sent: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The fields of the search form as parameters: `from.year` and `to.year` become `filter.year=2015..2020`."""
    kept = [pair for pair in sent if pair not in USUAL]
    pairs = [(name, value) for name, value in kept if not name.startswith(("csrf", "state", "from.", "to."))]
    bounds = {name: value.strip() for name, value in sent if name.startswith(("from.", "to.")) and value.strip()}
    fields = dict.fromkeys(name.partition(".")[2] for name in bounds)
    return pairs + [
        (f"filter.{name}", f"{bounds.get(f'from.{name}', '')}..{bounds.get(f'to.{name}', '')}") for name in fields
    ]


def show_search(address: SearchAddress) -> Response:
    """The search page for `address`."""
    return show_page(open_page(address))


def open_page(address: SearchAddress) -> SearchPage:
    """The search page for `address`, before it is answered."""
    # Invented documents come last, so that the page begins with the reader's own.
    return SearchPage(address, sorted(context.use_cases().collections.all(), key=lambda item: item.invented))


def show_page(page: SearchPage) -> Response:
    """The answer of a search page; an error is shown below the form, which keeps the input."""
    medley, status = context.portal().medley, 200
    if page.asked and page.collection:
        try:
            _answer(page)
        except Unauthorized:
            raise
        except MedleyError as error:
            page.error, status = error, status_of(error)
    elif page.collection:
        name = page.collection.name
        found = examples_for(name, medley.collections.store(name), context.caller().access)
        page.examples = [(words, replace(example, private=page.address.private)) for words, example in found]
    return make_response(render_template("search.html", page=page), status, retry_headers(page.error))


def _answer(page: SearchPage) -> None:
    use_cases, query = context.use_cases(), _query(page)
    with context.search_turn():
        results = use_cases.search(query)
    reader = context.portal().medley.collections.reader(query.collection)
    page.show(results, use_cases.visible(query.collection, others_of(results)), reader.lexicon if reader else None)


def _query(page: SearchPage) -> Query:
    form = forms.search_form_of(MultiDict(page.parameters))
    collection = context.use_cases().named(form.collection, "search")
    query = with_bundles(forms.to_query(form, collection, context.caller().access), context.use_cases())
    query = replace(query, facets=(*query.facets, *years_of(collection)))
    return search_limits.limited(query, collection, context.portal().medley.settings)


@blueprint.get("/document")
def document() -> Response:
    """One document; the URL can name a passage and the offsets of its evidence, which is then highlighted."""
    arguments, use_cases = request.args, context.use_cases()
    collection = use_cases.named(arguments.get("collection", ""), "document")
    stored = use_cases.document(collection.name, arguments.get("id", ""), "document")
    marks = EvidenceMarks(arguments.get("passage", ""), arguments.getlist("mark"))
    reader = context.portal().medley.collections.reader(collection.name)
    # What an assertion says, it says of a patient: publications are not marked.
    private, marked = collection.private_queries, collection.reads_queries
    findings = DocumentFindings(stored, reader, arguments, private) if reader and marked else None
    back = SearchAddress.parse(arguments.get("back", ""))
    curve = _curve_of(stored, collection, back, arguments.get("passage", ""))
    page = DocumentPage(stored, collection, marks, back, findings, curve)
    return make_response(render_template("document.html", page=page))


def _curve_of(stored: StoredDocument, collection: Collection, back: SearchAddress, passage: str) -> CurveView | None:
    """The curve of a document for the search that led to it; None where there is none, or it can't be repeated."""
    if stored.document is None or not back.asks or back.get("collection", collection.name) != collection.name:
        return None
    try:
        form = forms.search_form_of(MultiDict([*back.drop("collection").pairs, ("collection", collection.name)]))
        query = forms.to_query(form, collection, context.caller().access)
        drawn = context.portal().medley.draw_curve(query, stored.document, stored.version)
    except MedleyError:
        return None  # the document is shown whatever is wrong with the address of the search
    return curve_view(drawn, passage if passage.startswith(f"{stored.id}@{stored.version}#") else "")


@blueprint.get("/cite")
def cite() -> Response:
    """The citation of a document as a file."""
    arguments, use_cases = request.args, context.use_cases()
    name = citation_format(arguments.get("format", "ris"))
    collection = use_cases.named(arguments.get("collection", ""), "cite")
    stored = use_cases.document(collection.name, arguments.get("id", ""), "cite")
    return attachments.of_stored(name, stored, collection)


def citation_format(name: str) -> str:
    """`name` if it is a format of citations. Raises `InvalidInput`."""
    if forms.check_format(name) == "json":
        raise InvalidInput("the format of a citation is ris, bibtex or csv", field="format")
    return name


@blueprint.get("/login")
def log_in() -> Response:
    """The login form."""
    return show_login(None)


@blueprint.post("/login")
def send_log_in() -> Response:
    """Open a session for the token in the form."""
    sessions.check_form_token()
    try:
        g.caller = auth.caller_with_token(context.portal().home, request.form.get("token", ""))
    except auth.RejectedCredentials as error:
        return show_login(context.logged_rejection("login", error))
    context.portal().log.write(AuditRecord(context.actor(), "login"))
    sessions.open_session(g.caller)
    return redirect_to(local_address(request.form.get("next", "")))


@blueprint.post("/logout")
def log_out() -> Response:
    """End the session on the server, so that no copy of its cookie is of use."""
    sessions.check_form_token()
    sessions.close_session()
    context.portal().log.write(AuditRecord(context.actor(), "logout"))
    return redirect_to(url_for("pages.log_in"))


def show_login(error: Unauthorized | None) -> Response:
    """The login form, with the error of the last attempt, or why the session has ended."""
    following, home = local_address(request.values.get("next", "")), context.portal().home
    guarded = guard.is_guarded(home)
    ended = auth.ended_session(home) if guarded else None
    notice = error.message if error else ended
    page = render_template("login.html", error=error, notice=notice, next=following, guarded=guarded)
    response = make_response(page, status_of(error) if error else HTTPStatus.OK)
    if isinstance(error, TooManyFailures):
        response.headers["Retry-After"] = str(error.retry_after)
    return response


def local_address(address: str) -> str:
    """`address` if it is a page of this server, otherwise the start page: a login must not redirect to another site."""
    inside = address.startswith("/") and not address.startswith(("//", "/\\")) and address.isprintable()
    return address if inside else url_for("pages.start")


def redirect_to(address: str) -> Response:
    """Redirect to `address` with GET."""
    return make_response(redirect(address, HTTPStatus.SEE_OTHER))
