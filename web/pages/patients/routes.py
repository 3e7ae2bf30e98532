"""The page of a patient, and the way to it by the patient's id."""

from __future__ import annotations

from urllib.parse import urlencode

from flask import Blueprint, make_response, redirect, render_template, request
from flask.wrappers import Response

from web import context
from web.access import sessions
from web.pages.patients import record
from web.pages.patients.patient_page import PatientPage
from web.pages.patients.record import address_of

blueprint = Blueprint("patients", __name__)
blueprint.before_request(context.require_caller)


@blueprint.get("/patient")
def patient() -> Response:
    """The page of the patient to whom a document belongs."""
    arguments, use_cases = request.args, context.use_cases()
    if "document" not in arguments:
        named = arguments.get("collection")  # its search page is where a patient is opened by id
        return make_response(redirect(f"/search?{urlencode({'collection': named})}" if named else "/", 303))
    collection = use_cases.named(arguments.get("collection", ""), "patient")
    found = record.by_document(use_cases, collection, arguments.get("document", ""))
    reader = context.portal().medley.collections.reader(collection.name)
    return make_response(render_template("patient.html", page=PatientPage(found, reader, arguments)))


@blueprint.post("/patient")
def open_patient() -> Response:
    """Lead from a patient's id to the page, whose address names a document instead."""
    sessions.check_form_token()
    use_cases = context.use_cases()
    collection = use_cases.named(request.form.get("collection", ""), "patient")
    found = record.by_id(use_cases, collection, request.form.get("patient", ""))
    return make_response(redirect(address_of(collection, found.documents[0].id), 303))
