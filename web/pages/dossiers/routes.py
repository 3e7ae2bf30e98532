"""The pages of dossiers: the list, a dossier with its forms, the printed page, the exports, and adding from a hit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from http import HTTPStatus
from typing import Final

from flask import Blueprint, make_response, redirect, render_template, request
from flask.wrappers import Response

from mappings.documents import clean
from mappings.dossiers import changes
from mappings.dossiers.changes import ClaimRating, DossierEdit
from mappings.dossiers.dossier import Dossier, Stamp
from mappings.dossiers.parse import check_notes, check_source, check_verdict
from mappings.errors import MedleyError, Unauthorized
from search.kept.items import KeptItem
from web import context
from web.access import sessions
from web.citations.attachments import as_download
from web.dossiers.exports import dossier_format, unrated_claims
from web.dossiers.use_cases import DossierUseCases
from web.pages.cohorts.sharing import sent_labels, sent_revision
from web.pages.dossiers.adding import AddingPage, own_dossiers, sent_choice
from web.pages.dossiers.dossier_page import DossierPage
from web.pages.dossiers.list_page import DossierListPage
from web.statuses import status_of

ON_A_PAGE: Final = 50
LEFT_OUT: Final = "Medley-Claims-Left-Out"
"""The header of an export that says how many claims it leaves out because they have no verdict."""

blueprint = Blueprint("dossier_pages", __name__)
blueprint.before_request(context.require_caller)


@blueprint.app_context_processor
def for_templates() -> dict[str, object]:
    """What the form below each hit uses."""
    return {"own_dossiers": own_dossiers}


@blueprint.get("/dossiers")
def dossiers() -> Response:
    """The dossiers of the caller and those that are shared with them, and the form of a new one."""
    return _list(None)


@blueprint.post("/dossiers")
def create() -> Response:
    """Begin a dossier."""
    sessions.check_form_token()
    try:
        item = _use_cases().create(_name(), sent_labels(request.form))
    except Unauthorized:
        raise
    except MedleyError as error:
        return _list(error)
    return _to(f"/dossiers/{item.id}")


@blueprint.get("/dossiers/<identifier>")
def dossier(identifier: str) -> Response:
    """A dossier."""
    return _shown(_page(identifier))


@blueprint.get("/dossiers/<identifier>/print")
def print_dossier(identifier: str) -> Response:
    """A dossier as a page to print, without forms and navigation."""
    return make_response(render_template("dossiers/print.html", page=_page(identifier)))


@blueprint.get("/dossiers/<identifier>/export")
def export_dossier(identifier: str) -> Response:
    """A dossier as a file."""
    chosen = dossier_format(request.args.get("format", ""))
    opened = _use_cases().get(identifier)
    title = f"dossier {opened.item.name}"[:60] + chosen.mark
    response = as_download(chosen.write(opened), chosen.media_type, title, chosen.suffix)
    if chosen.mark:
        response.headers[LEFT_OUT] = str(unrated_claims(opened))
    return response


@blueprint.post("/dossiers/evidence")
def add_evidence() -> Response:
    """Add the sentences of a hit to a dossier, or to a new one; the searched text is the claim."""
    sessions.check_form_token()
    sent = request.form
    try:
        choice = sent_choice(sent)
        item, claim = _use_cases().add_evidence(sent.get("dossier", ""), sent.get("claim", ""), choice)
    except Unauthorized:
        raise
    except MedleyError as error:
        page = AddingPage(error, sent)
        return make_response(render_template("dossiers/adding.html", page=page), status_of(error))
    return _to(f"/dossiers/{item.id}#claim-{claim}")


@blueprint.post("/dossiers/<identifier>")
def rename(identifier: str) -> Response:
    """Rename a dossier, or share it otherwise."""
    labels = sent_labels(request.form)
    return _changed(identifier, "name", lambda it: it.rename(identifier, _revision(), _name(), labels))


@blueprint.post("/dossiers/<identifier>/delete")
def delete(identifier: str) -> Response:
    """Delete a dossier, in the revision that the page showed."""
    return _changed(identifier, "delete", lambda it: it.delete(identifier, _revision()), "/dossiers")


@blueprint.post("/dossiers/<identifier>/claims")
def add_claim(identifier: str) -> Response:
    """Add a claim."""
    text = request.form.get("claim", "")
    return _changed(identifier, "claim-new", lambda it: it.add_claim(identifier, _revision(), text))


@blueprint.post("/dossiers/<identifier>/claims/<int:claim>")
def rate(identifier: str, claim: int) -> Response:
    """Change the verdict, the notes and the source of a claim."""
    form = f"claim-{claim}"
    return _edited(identifier, form, lambda it, stamp: changes.with_rating(it, claim, _rating(), stamp), form)


@blueprint.post("/dossiers/<identifier>/claims/<int:claim>/delete")
def remove_claim(identifier: str, claim: int) -> Response:
    """Remove a claim with its evidence."""
    return _edited(identifier, f"claim-{claim}", lambda it, stamp: changes.without_claim(it, claim, stamp))


@blueprint.post("/dossiers/<identifier>/claims/<int:claim>/evidence/<int:evidence>")
def annotate(identifier: str, claim: int, evidence: int) -> Response:
    """Change the note on a piece of evidence."""

    def edit(dossier: Dossier, stamp: Stamp) -> Dossier:
        note = check_notes(request.form.get("note", ""), "note")
        return changes.with_note(dossier, claim, evidence, note, stamp)

    return _edited(identifier, f"evidence-{claim}-{evidence}", edit, f"claim-{claim}")


@blueprint.post("/dossiers/<identifier>/claims/<int:claim>/evidence/<int:evidence>/delete")
def remove_evidence(identifier: str, claim: int, evidence: int) -> Response:
    """Remove a piece of evidence."""

    def edit(dossier: Dossier, stamp: Stamp) -> Dossier:
        return changes.without_evidence(dossier, claim, evidence, stamp)

    return _edited(identifier, f"evidence-{claim}-{evidence}", edit, f"claim-{claim}")


def _edited(identifier: str, form: str, edit: DossierEdit, place: str = "") -> Response:
    """Edit the content of a dossier, and go to a place on its page."""
    to = f"/dossiers/{identifier}#{place}" if place else ""
    return _changed(identifier, form, lambda it: it.change(identifier, _revision(), edit), to)


def _changed(identifier: str, form: str, do: Callable[[DossierUseCases], KeptItem], to: str = "") -> Response:
    """Change a dossier, and go to its page or to the address `to`; after an error the page keeps what `form` held."""
    sessions.check_form_token()
    try:
        do(_use_cases())
    except Unauthorized:
        raise
    except MedleyError as error:
        page = _page(identifier)
        page.error, page.failed, page.typed = error, form, request.form.to_dict()
        return _shown(page)
    return _to(to or f"/dossiers/{identifier}")


def _page(identifier: str) -> DossierPage:
    use_cases = _use_cases()
    opened = use_cases.get(identifier)
    return DossierPage.of(opened, use_cases.documents(opened.dossier))


def _shown(page: DossierPage) -> Response:
    status = status_of(page.error) if page.error else HTTPStatus.OK
    return make_response(render_template("dossiers/dossier.html", page=page), status)


def _list(error: MedleyError | None) -> Response:
    found = _use_cases().page(ON_A_PAGE, request.args.get("after", ""))
    page = DossierListPage.of(found, context.caller().access)
    page = replace(page, error=error, name=_name()) if error else page
    status = status_of(error) if error else HTTPStatus.OK
    return make_response(render_template("dossiers/dossiers.html", page=page), status)


def _use_cases() -> DossierUseCases:
    return DossierUseCases(context.use_cases())


def _rating() -> ClaimRating:
    sent = request.form
    return ClaimRating(
        check_verdict(sent.get("verdict", "")), check_notes(sent.get("notes", "")), check_source(sent.get("source", ""))
    )


def _name() -> str:
    return clean(request.form.get("name", "")).strip()


def _revision() -> int:
    return sent_revision(request.form)


def _to(address: str) -> Response:
    return make_response(redirect(address, HTTPStatus.SEE_OTHER))
