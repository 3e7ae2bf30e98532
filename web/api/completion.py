"""Completion of what is typed, over HTTP: `GET` and `POST /v1/complete`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flask import Blueprint, jsonify, request
from flask.wrappers import Response

from mappings.documents import clean
from web import context, forms
from web.api.search import json_body
from web.completions import CompletionAnswer, CompletionForm
from web.validation import validated

blueprint = Blueprint("completion", __name__, url_prefix="/v1")
blueprint.before_request(context.require_caller)


@blueprint.get("/complete")
def complete_by_address() -> Response:
    """The completions of a text in the address; for what may be a patient's name, there is `POST`."""
    parameters = {name: clean(text) for name, text in forms.single_values(request.args).items()}
    return _answer(parameters, strict=False)


@blueprint.post("/complete")
def complete() -> Response:
    """The completions of a text in a JSON body, which no log of addresses sees."""
    return _answer(json_body())


def _answer(value: Mapping[str, Any], strict: bool = True) -> Response:
    form = validated(CompletionForm, value, strict=strict)
    use_cases = context.use_cases()
    collection = use_cases.named(form.collection, "complete")
    found = use_cases.complete(form.to_request(collection.name, use_cases.caller.access))
    return jsonify(CompletionAnswer.of(found).model_dump())
