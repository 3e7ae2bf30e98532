"""The pages for people: search, a document, logging in and out. They work without JavaScript."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus

from flask import Blueprint, g, make_response, redirect, render_template, request, session, url_for
from flask.wrappers import Response
from werkzeug.datastructures import MultiDict

from mappings.errors import InvalidInput, MedleyError, Unauthorized
from web import citations as export
from web import context, forms
from web.access import auth
from web.api import search as api
from web.pages import document_page as reading
from web.pages import examples
from web.pages import formatting as showing
from web.pages import search_page as view
from web.pages.addresses import State

blueprint = Blueprint("pages", __name__)
OPEN = frozenset({"pages.log_in", "pages.send_log_in"})


@blueprint.before_request
def know_the_caller() -> None:
    """Every page but the login needs a caller."""
    if request.endpoint not in OPEN:
        auth.require_caller()


@blueprint.app_context_processor
def for_every_page() -> dict[str, object]:
    """What the frame around each page shows."""
    return {"caller": g.get("caller"), "form_token": auth.form_token, "asset": showing.asset}


@blueprint.get("/")
def start() -> Response:
    """The search page, with nothing asked yet."""
    return shown_search(State.of(request.args.items(multi=True)))


@blueprint.get("/search")
def search() -> Response:
    """The answer to the search in the address."""
    return shown_search(State.of(request.args.items(multi=True)))


@blueprint.post("/search")
def send_search() -> Response:
    """A search from the form: led to its address or, when the text is too long for one, answered right here.

    A button beside a long text sends the rest of what is asked as `state`.
    """
    auth.check_form_token()
    further = State.parsed(request.form.get("state", "")).pairs
    state = State.of((*sent_pairs(list(request.form.items(multi=True))), *further))
    return redirected(state.address) if state.short else shown_search(state)


def sent_pairs(sent: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The fields of the search form as parameters: `from.year` and `to.year` become `filter.year=2015..2020`."""
    pairs = [(name, value) for name, value in sent if not name.startswith(("csrf", "state", "from.", "to."))]
    bounds = {name: value.strip() for name, value in sent if name.startswith(("from.", "to.")) and value.strip()}
    fields = dict.fromkeys(name.partition(".")[2] for name in bounds)
    return pairs + [
        (f"filter.{name}", f"{bounds.get(f'from.{name}', '')}..{bounds.get(f'to.{name}', '')}") for name in fields
    ]


def shown_search(state: State) -> Response:
    """The search page for `state`; an error in it is shown above the form, which keeps what was typed."""
    medley = context.portal().medley
    page = view.SearchPage(state, [medley.collections.get(name) for name in medley.collections.names()])
    status = 200
    if page.asked and page.collection:
        try:
            query = api.query_of(forms.search_form_of(MultiDict(page.parameters)))
            results = api.searched(query)
            page.answer(results, api.visible(query, view.others_of(results)))
        except MedleyError as error:
            if isinstance(error, Unauthorized):
                raise
            page.error, status = error, error.status
    elif page.collection:
        page.examples = examples.of(
            page.collection.name, medley.collections.store(page.collection.name), context.caller().access
        )
    return make_response(render_template("search.html", page=page), status)


@blueprint.get("/document")
def document() -> Response:
    """One document; the address may name a passage and the offsets of its evidence, which are then marked."""
    arguments = request.args
    collection = api.collection_of(arguments.get("collection", ""))
    stored = api.opened(collection.name, arguments.get("id", ""), "document")
    marked = reading.Marked(arguments.get("passage", ""), arguments.getlist("mark"))
    page = reading.DocumentPage(stored, collection, marked, State.parsed(arguments.get("back", "")))
    return make_response(render_template("document.html", page=page))


@blueprint.get("/cite")
def cite() -> Response:
    """The citation of a document as a file."""
    arguments = request.args
    name = forms.check_format(arguments.get("format", "ris"))
    if name == "json":
        raise InvalidInput("a citation is ris, bibtex or csv", field="format")
    collection = api.collection_of(arguments.get("collection", ""))
    stored = api.opened(collection.name, arguments.get("id", ""), "cite")
    assert stored.document is not None  # noqa: S101 - `opened` never gives a tombstone
    return api.cited(name, [export.citation(stored.document, collection.name)], stored.id)


@blueprint.get("/login")
def log_in() -> Response:
    """The login form."""
    return login_page(None)


@blueprint.post("/login")
def send_log_in() -> Response:
    """Open a session for the token in the form."""
    auth.check_form_token()
    try:
        g.caller = auth.caller_of(request.form.get("token", ""))
    except Unauthorized as error:
        context.log(context.audit("login", "", {}, [], error.status))
        return login_page(error)
    context.log(context.audit("login", "", {}, []))
    auth.open_session(g.caller)
    return redirected(local_address(request.form.get("next", "")))


@blueprint.post("/logout")
def log_out() -> Response:
    """End the session."""
    auth.check_form_token()
    session.clear()
    return redirected(url_for("pages.log_in"))


def login_page(error: Unauthorized | None) -> Response:
    """The login form, with what was wrong the time before."""
    following = local_address(request.values.get("next", ""))
    guarded = auth.guarded(context.portal().home)
    page = render_template("login.html", error=error, next=following, guarded=guarded)
    return make_response(page, HTTPStatus.UNAUTHORIZED if error else HTTPStatus.OK)


def local_address(address: str) -> str:
    """`address` when it leads to a page of this portal, else the start page: a login must not lead elsewhere."""
    inside = address.startswith("/") and not address.startswith(("//", "/\\")) and address.isprintable()
    return address if inside else url_for("pages.start")


def redirected(address: str) -> Response:
    """Go on to `address` with GET."""
    return make_response(redirect(address, HTTPStatus.SEE_OTHER))
