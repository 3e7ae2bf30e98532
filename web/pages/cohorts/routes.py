"""The pages of cohorts: the form that builds one, its patients, and a saved one.

What is asked can name a patient, so the form is sent by POST and answered without a redirect; only a saved cohort has an
address.
"""

from __future__ import annotations

from http import HTTPStatus

from flask import Blueprint, make_response, redirect, render_template, request
from flask.wrappers import Response

from mappings.collection import Collection
from mappings.errors import Conflict, InvalidInput, MedleyError, NotFound, Unauthorized
from search.cohorts.read import definition_as_json
from search.kept.items import KeptDraft, KeptItem
from web import context
from web.access import sessions
from web.cohorts.forms import CohortDefinitionForm, CohortExportForm, CohortPageForm
from web.cohorts.long_requests import as_file
from web.cohorts.use_cases import CohortUseCases
from web.errors import retry_headers
from web.kept.bundles import reference_to
from web.kept.use_cases import KeptUseCases
from web.pages.cohorts.areas import areas, cohort_collections
from web.pages.cohorts.builder_page import PATIENTS_ON_A_PAGE, BuilderPage, KeptCohort, in_words
from web.pages.cohorts.bundle_rows import listed_bundles
from web.pages.cohorts.criteria_form import (
    CriterionRow,
    as_definition,
    read_rows,
    row_error,
    rows_of,
    switched,
    without_row,
)
from web.pages.cohorts.sharing import sent_labels, sharing_choices
from web.statuses import status_of
from web.validation import validated

blueprint = Blueprint("cohort_pages", __name__)
blueprint.before_request(context.require_caller)


@blueprint.app_context_processor
def for_templates() -> dict[str, object]:
    """What the head of every page, and every form that shares something, uses."""
    return {
        "areas": areas,
        "sharing": lambda chosen=(): sharing_choices(context.caller().access, chosen),
        "in_words": in_words,
    }


@blueprint.get("/cohorts")
def new_cohort() -> Response:
    """The form of a new cohort; the address can name a bundle to begin with."""
    bundle = request.args.get("bundle", "")
    rows = [_row_of_bundle(bundle)] if bundle else [CriterionRow()]
    return _counted(_page(_collection(request.args.get("collection", "")), rows))


@blueprint.get("/cohorts/<identifier>")
def saved_cohort(identifier: str) -> Response:
    """A saved cohort, counted now."""
    item = KeptUseCases(context.use_cases()).get(identifier)
    if item.kind != "cohort":
        raise NotFound(f"there is no cohort {identifier[:100]!r} that you may see", field="id")
    page = _page(_collection(item.collection), [])
    page.rows = rows_of(item.content, page.lexicon, page.named_bundles)
    page.kept = _kept(item)
    page.saved = request.args.get("saved") == "now"
    return _counted(page)


@blueprint.post("/cohorts")
def change_cohort() -> Response:
    """The cohort of the form, with a row more or less if a button says so, and its counts."""
    page, asked = _sent(), request.form.get("do", "")
    name, _, place = asked.partition(".")
    if name == "add":
        page.rows = [*page.rows, CriterionRow()]
    elif name == "remove":
        page.rows = without_row(page.rows, _number(place, -1)) or [CriterionRow()]
    elif name == "switch":
        page.rows = switched(page.rows, _number(place, -1))
    elif name == "bundle":
        page.rows = [row for row in page.rows if not row.is_empty]
        page.rows = [*page.rows, _row_of_bundle(request.form.get("bundle", ""))]
    page.later = bool(after := request.form.get("after", ""))
    return _counted(page, after)


@blueprint.post("/cohorts/save")
def save_cohort() -> Response:
    """Save the cohort of the form: a new one, or the next revision of the one that it was opened from."""
    page = _sent()
    kept, store = page.kept, KeptUseCases(context.use_cases())
    copies = request.form.get("do") == "copy" or not kept.id
    try:
        draft = _draft(page)
        if copies:
            item = store.add(draft)
        else:
            item = store.replace(kept.id, _number(request.form.get("over", ""), kept.revision), draft)
    except Unauthorized:
        raise
    except MedleyError as error:
        if isinstance(error, Conflict) and error.field == "revision":
            page.other = store.get(kept.id)
        return _not_saved(page, error)
    return make_response(redirect(f"/cohorts/{item.id}?saved=now", HTTPStatus.SEE_OTHER))


@blueprint.post("/cohorts/export")
def export_cohort() -> Response:
    """The cohort of the form as a file."""
    page = _sent()
    try:
        definition, page.order = as_definition(page.rows)
        given = {"collection": page.collection.name, "format": request.form.get("format", "")}
        return as_file(validated(CohortExportForm, definition | given))
    except Unauthorized:
        raise
    except MedleyError as error:
        return _refused(page, error)


def _sent() -> BuilderPage:
    sessions.check_form_token()
    sent = request.form
    page = _page(_collection(sent.get("collection", "")), read_rows(sent) or [CriterionRow()])
    page.kept = KeptCohort(
        id=sent.get("item", ""),
        revision=_number(sent.get("revision", ""), 0),
        name=sent.get("name", "").strip(),
        own=sent.get("own", "yes") == "yes",
        shared_with=sorted(sent_labels(sent)),
    )
    return page


def _number(text: str, otherwise: int) -> int:
    return int(text) if text.isdecimal() and len(text) < 10 else otherwise


def _page(collection: Collection, rows: list[CriterionRow]) -> BuilderPage:
    reader = context.portal().medley.collections.reader(collection.name)
    lexicon = reader.lexicon if reader else None
    return BuilderPage(collection, cohort_collections(), lexicon, rows, bundles=listed_bundles())


def _collection(name: str) -> Collection:
    """The collection of a cohort: the named one, or the first. Raises `NotFound` alike for a hidden one and none."""
    found = [item for item in cohort_collections() if not name or item.name == name]
    if not found:
        raise NotFound("there is no collection of patients by that name, or none that you may see", field="collection")
    return found[0]


def _kept(item: KeptItem) -> KeptCohort:
    own = item.owner == context.caller().access.user
    return KeptCohort(item.id, item.revision, item.name, own, sorted(item.shared_with))


def _row_of_bundle(identifier: str) -> CriterionRow:
    item = KeptUseCases(context.use_cases()).get(identifier)
    if item.kind != "bundle":
        raise NotFound(f"there is no bundle {identifier[:100]!r} that you may see", field="bundle")
    return CriterionRow(concept=reference_to(item, context.caller().access))


def _draft(page: BuilderPage) -> KeptDraft:
    """What is saved: the definition as it was understood, so that it means the same when names change."""
    definition, page.order = as_definition(page.rows)
    if not page.order:
        raise InvalidInput("there is nothing to save: give a criterion first", field="all")
    form = validated(CohortDefinitionForm, definition | {"collection": page.collection.name})
    bundles = CohortUseCases(context.use_cases()).bundle
    understood = definition_as_json(form.definition(page.collection, page.lexicon, bundles))
    content = {name: value for name, value in understood.items() if name != "collection"}
    return KeptDraft("cohort", page.kept.name, content, page.collection.name, frozenset(page.kept.shared_with))


def _counted(page: BuilderPage, after: str = "") -> Response:
    """The page with the counts of its rows and a page of patients; without any criterion it asks for one."""
    try:
        if page.is_asked:
            definition, page.order = as_definition(page.rows)
            given = {"collection": page.collection.name, "after": after, "size": PATIENTS_ON_A_PAGE}
            form = validated(CohortPageForm, definition | given)
            with context.search_turn():
                answer, export = CohortUseCases(context.use_cases()).page(form)
            page.show(answer, export.definition)
    except Unauthorized:
        raise
    except MedleyError as error:
        return _refused(page, error)
    return _shown(page)


def _not_saved(page: BuilderPage, error: MedleyError) -> Response:
    """The page as it was sent and counted, with the reason why it was not saved."""
    _counted(page)
    return _shown(page, status_of(page.error)) if page.error else _refused(page, error)


def _refused(page: BuilderPage, error: MedleyError) -> Response:
    """The page as it was sent, with the error at the row that it is of."""
    page.error = (row_error(error, page.rows) if isinstance(error, InvalidInput) else None) or error
    return _shown(page, status_of(error))


def _shown(page: BuilderPage, status: int = 200) -> Response:
    return make_response(render_template("cohorts/builder.html", page=page), status, retry_headers(page.error))
