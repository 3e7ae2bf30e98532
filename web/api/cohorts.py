"""The HTTP routes of cohorts: their patients, a comparison of two, and exports."""

from __future__ import annotations

from flask import Blueprint, jsonify
from flask.wrappers import Response

from web import context, forms
from web.api.search import json_body
from web.cohorts.answers import CohortAnswer, ComparisonAnswer
from web.cohorts.forms import CohortComparisonForm, CohortExportForm, CohortPageForm
from web.cohorts.use_cases import CohortUseCases
from web.delivery.cohort_answers import as_file, compared_in_turns

blueprint = Blueprint("cohorts", __name__, url_prefix="/v1")
blueprint.before_request(context.require_caller)


@blueprint.post("/cohorts")
def cohort() -> Response:
    """A page of the patients who meet a definition, with the evidence for each criterion."""
    form = forms.validated(CohortPageForm, json_body())
    with context.search_turn():
        page, definition = _use_cases().page(form)
    return jsonify(CohortAnswer.of(page, definition).model_dump())


@blueprint.post("/cohorts/compare")
def compare() -> Response:
    """The patients of two cohorts: in both, only in the first, only in the second."""
    compared = compared_in_turns(forms.validated(CohortComparisonForm, json_body()))
    return jsonify(ComparisonAnswer.of(compared).model_dump())


@blueprint.post("/cohorts/export")
def export() -> Response:
    """A cohort as a file. It is complete, and in the access log, before its first byte is sent."""
    return as_file(forms.validated(CohortExportForm, json_body()))


def _use_cases() -> CohortUseCases:
    return CohortUseCases(context.use_cases())
