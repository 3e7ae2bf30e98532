"""The HTTP routes of what users keep: `/v1/kept` and `/v1/kept/<id>`."""

from __future__ import annotations

from typing import TypeVar

from flask import Blueprint, jsonify, request, url_for
from flask.wrappers import Response
from pydantic import BaseModel

from search.kept.items import KeptItem
from web import context, forms
from web.api.search import json_body
from web.kept.shapes import (
    KeptAnswer,
    KeptChangeForm,
    KeptDeletionAnswer,
    KeptDeletionForm,
    KeptForm,
    KeptListAnswer,
    KeptListForm,
)
from web.kept.use_cases import KeptUseCases
from web.validation import validated

blueprint = Blueprint("kept", __name__, url_prefix="/v1")
blueprint.before_request(context.require_caller)

Parameters = TypeVar("Parameters", bound=BaseModel)


@blueprint.get("/kept")
def list_items() -> Response:
    """What the caller keeps and what is shared with them, page by page."""
    form = _parameters(KeptListForm)
    page = _use_cases().list_items(form.kind, form.collection, form.size, form.after)
    return jsonify(KeptListAnswer.of(page, context.caller().access).model_dump())


@blueprint.post("/kept")
def add() -> Response:
    """Keep an item of the caller."""
    item = _use_cases().add(validated(KeptForm, json_body()).draft())
    response = _answer(item)
    response.status_code = 201
    response.headers["Location"] = url_for("kept.get", identifier=item.id)
    return response


@blueprint.get("/kept/<identifier>")
def get(identifier: str) -> Response:
    """An item of the caller, or one that is shared with them."""
    return _answer(_use_cases().get(identifier))


@blueprint.put("/kept/<identifier>")
def replace(identifier: str) -> Response:
    """Replace an item of the caller that still has the revision of the body."""
    form = validated(KeptChangeForm, json_body())
    return _answer(_use_cases().replace(identifier, form.revision, form.draft()))


@blueprint.delete("/kept/<identifier>")
def delete(identifier: str) -> Response:
    """Delete an item of the caller."""
    item = _use_cases().delete(identifier, _parameters(KeptDeletionForm).revision)
    return jsonify(KeptDeletionAnswer(id=item.id).model_dump())


def _use_cases() -> KeptUseCases:
    return KeptUseCases(context.use_cases())


def _answer(item: KeptItem) -> Response:
    return jsonify(KeptAnswer.of(item, context.caller().access).model_dump())


def _parameters(kind: type[Parameters]) -> Parameters:
    return validated(kind, forms.single_values(request.args), strict=False)
