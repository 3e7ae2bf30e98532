"""The pages of what a user keeps: searches, bundles and cohorts, their own and those that are shared with them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from http import HTTPStatus
from typing import Any, Final

from flask import Blueprint, make_response, redirect, render_template, request
from flask.wrappers import Response

from mappings.documents import clean
from mappings.errors import InvalidInput, MedleyError, NotFound, Unauthorized
from search.kept.items import KeptDraft, KeptItem
from web import context
from web.access import sessions
from web.kept.bundles import by_id
from web.kept.seen import with_seen
from web.kept.use_cases import KeptUseCases
from web.pages import routes as search_pages
from web.pages.addresses import SearchAddress
from web.pages.cohorts.areas import cohort_collections
from web.pages.cohorts.sharing import sent_labels, sent_revision
from web.pages.saved.opened_search import OpenedSearch, shown_ids
from web.pages.saved.saved_page import TITLES, SavedPage, SavedSection, as_address, as_content
from web.statuses import status_of

ON_A_PAGE: Final = 50

blueprint = Blueprint("saved_pages", __name__)
blueprint.before_request(context.require_caller)


@blueprint.app_context_processor
def for_saving() -> dict[str, object]:
    """What the forms that save a search, or mark it as seen, use."""
    return {"shown_ids": shown_ids}


@blueprint.get("/saved")
def saved() -> Response:
    """What the caller keeps; with `kind` only the items of one kind, from the position `after` on."""
    return _shown(None)


@blueprint.get("/saved/<identifier>")
def saved_search(identifier: str) -> Response:
    """The answer of a saved search, as of now. Raises `NotFound`, also for an item that is no search."""
    item = _store().get(identifier)
    if item.kind != "search":
        raise NotFound(f"there is no saved search {identifier[:100]!r} that you may see", field="id")
    page = search_pages.open_page(as_address(item))
    page.saved = OpenedSearch.of(item, context.caller().access)
    return search_pages.show_page(page)


@blueprint.post("/saved/searches")
def save_search() -> Response:
    """Save a search of the search page, or a claim; with `seen`, the documents that are `shown` are no longer new."""
    sessions.check_form_token()
    address = SearchAddress.parse(request.form.get("search", ""))
    try:
        if not address.asks:
            raise InvalidInput("there is nothing to save: search first", field="search")
        content = as_content(address, lambda text: by_id(text, context.use_cases()))
        content = _seen_now(content) if request.form.get("seen") else content
        draft = KeptDraft("search", _name(), content, address.get("collection"), sent_labels(request.form))
        item = _store().add(draft)
    except Unauthorized:
        raise
    except MedleyError as error:
        page = search_pages.open_page(address)
        page.error = error
        return make_response(render_template("search.html", page=page), status_of(error))
    return _to(f"/saved/{item.id}")


@blueprint.post("/saved/bundles")
def save_bundle() -> Response:
    """Save a new bundle."""
    sessions.check_form_token()
    try:
        _store().add(KeptDraft("bundle", _name(), {"terms": _terms()}, "", sent_labels(request.form)))
    except Unauthorized:
        raise
    except MedleyError as error:
        return _shown(error)
    return _to("/saved")


@blueprint.post("/saved/<identifier>")
def change(identifier: str) -> Response:
    """Rename an item of the caller, or share it otherwise; the terms of a bundle are changed, too."""
    return _changed(identifier, _replaced)


@blueprint.post("/saved/<identifier>/seen")
def mark_as_seen(identifier: str) -> Response:
    """Remember the documents that the page of a saved search showed: only others are new from now on."""
    return _changed(identifier, _marked, f"/saved/{identifier}")


@blueprint.post("/saved/<identifier>/delete")
def delete(identifier: str) -> Response:
    """Delete an item of the caller, in the revision that the page showed."""
    return _changed(identifier, lambda item: _store().delete(item.id, sent_revision(request.form)))


def _changed(identifier: str, do: Callable[[KeptItem], object], to: str = "/saved") -> Response:
    sessions.check_form_token()
    item = _store().get(identifier)
    try:
        do(item)
    except Unauthorized:
        raise
    except MedleyError as error:
        return _shown(error, item.id)
    return _to(to)


def _replaced(item: KeptItem) -> KeptItem:
    content = {"terms": _terms()} if item.kind == "bundle" else item.content
    draft = KeptDraft(item.kind, _name(), content, item.collection, sent_labels(request.form))
    return _store().replace(item.id, sent_revision(request.form), draft)


def _marked(item: KeptItem) -> KeptItem:
    if item.kind != "search":
        raise InvalidInput(f"the item is a {item.kind}, and only a search shows documents", field="kind")
    draft = KeptDraft("search", item.name, _seen_now(item.content), item.collection, item.shared_with)
    return _store().replace(item.id, sent_revision(request.form), draft)


def _seen_now(content: Mapping[str, Any]) -> dict[str, Any]:
    return with_seen(content, request.form.getlist("shown"))


def _shown(error: MedleyError | None, failed: str = "") -> Response:
    """The page; with an error the form keeps what was sent."""
    store, access = _store(), context.caller().access
    wanted = request.args.get("kind", "")
    kinds = [kind for kind in TITLES if wanted in ("", kind)]
    after = request.args.get("after", "") if len(kinds) == 1 else ""
    sections = [SavedSection.of(kind, store.list_items(kind, None, ON_A_PAGE, after), access) for kind in kinds]
    collections = context.use_cases().collections.all()
    judges = any(item.studies for item in collections)
    page = SavedPage(sections, [item for item in collections if item.concepts], bool(cohort_collections()), judges)
    if error:
        page = replace(page, error=error, failed=failed, name=_name(), terms=request.form.get("terms", ""))
    return make_response(render_template("saved/saved.html", page=page), status_of(error) if error else HTTPStatus.OK)


def _store() -> KeptUseCases:
    return KeptUseCases(context.use_cases())


def _name() -> str:
    return clean(request.form.get("name", "")).strip()


def _terms() -> list[str]:
    """The terms of a bundle, one a line. Raises `InvalidInput` without any."""
    lines = clean(request.form.get("terms", "")).splitlines()
    terms = list(dict.fromkeys(text for line in lines if (text := line.strip())))
    if not terms:
        raise InvalidInput("a bundle has at least one term", field="terms")
    return terms


def _to(address: str) -> Response:
    return make_response(redirect(address, HTTPStatus.SEE_OTHER))
