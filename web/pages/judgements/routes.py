"""Judging hits, and the page of one's own judgements."""

from __future__ import annotations

from urllib.parse import parse_qsl

from flask import Blueprint, make_response, render_template, request
from flask.wrappers import Response
from werkzeug.datastructures import MultiDict

from mappings.errors import InvalidInput
from search.kept.items import is_item_id
from web import context
from web.access import sessions
from web.judgements.use_cases import JudgementUseCases
from web.kept.live_documents import live_documents
from web.pages import routes as search_pages
from web.pages.addresses import MAX_PARAMETERS, SearchAddress
from web.pages.claims.routes import show_claim
from web.pages.judgements.judging import judging_of, sent_judgement, sent_key
from web.pages.judgements.list_page import ON_A_PAGE, JudgementsPage
from web.pages.routes import redirect_to

blueprint = Blueprint("judgement_pages", __name__)
blueprint.before_request(context.require_caller)


@blueprint.app_context_processor
def for_judging() -> dict[str, object]:
    """What the form below each hit uses."""
    return {"judging_of": judging_of}


@blueprint.get("/judgements")
def judgements() -> Response:
    """The caller's own judgements, the newest first."""
    found = _use_cases().all()
    text = request.args.get("first", "0")
    first = int(text) if text.isascii() and text.isdigit() and len(text) < 8 else 0
    shown = found[first : first + ON_A_PAGE]
    documents = live_documents(context.use_cases(), ((item.collection, item.judgement.document) for item in shown))
    page = JudgementsPage.of(shown, documents, first, len(found))
    return make_response(render_template("judgements/judgements.html", page=page))


@blueprint.post("/judgements")
def judge() -> Response:
    """Keep a judgement of a hit, and show the page of the hit again."""
    sessions.check_form_token()
    sent = request.form
    _use_cases().judge(sent.get("collection", ""), sent_judgement(sent))
    return _back(sent)


@blueprint.post("/judgements/withdraw")
def withdraw() -> Response:
    """Remove a judgement, and return to the page that it was on."""
    sessions.check_form_token()
    sent = request.form
    _use_cases().withdraw(sent.get("collection", ""), sent_key(sent))
    return _back(sent)


def _back(sent: MultiDict[str, str]) -> Response:
    """The page with the form: a redirect to it or, where its text must not appear in an address, the page itself.

    The form's address ends in the place of the hit, which a browser keeps either way.
    """
    page, state = sent.get("page", ""), sent.get("state", "")
    if page == "saved" and is_item_id(state):
        return redirect_to(f"/saved/{state}")
    if page == "claim":
        return _back_to_claim(state)
    if page == "search":
        shown = search_pages.open_page(SearchAddress.parse(state))
        return redirect_to(shown.address.url) if shown.address.is_link else search_pages.show_page(shown)
    return redirect_to("/judgements")


def _back_to_claim(state: str) -> Response:
    try:
        given = dict(parse_qsl(state, max_num_fields=MAX_PARAMETERS))
    except ValueError:
        raise InvalidInput(f"there are more than {MAX_PARAMETERS} parameters", field="state") from None
    return show_claim(given.get("collection", ""), given.get("text", ""))


def _use_cases() -> JudgementUseCases:
    return JudgementUseCases(context.use_cases())
