"""Errors in OpenSearch's form."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from flask import Blueprint
from flask.wrappers import Response
from werkzeug.exceptions import HTTPException

from mappings.errors import MedleyError
from web import errors
from web.wire import ErrorDetail

Raised = TypeVar("Raised", bound=Exception)
_TYPES: Final[Mapping[str, str]] = {
    "forbidden": "security_exception",
    "invalid_input": "illegal_argument_exception",
    "not_found": "resource_not_found_exception",
    "overloaded": "rejected_execution_exception",
    "throttled": "rejected_execution_exception",
    "too_large": "content_too_long_exception",
    "unauthorized": "security_exception",
    "unsupported_media_type": "media_type_header_exception",
}
"""OpenSearch's type for each code of ours that it has one for."""

_LONGEST_PLACE: Final = 300
_OTHER: Final = "search_phase_execution_exception"


def register(blueprint: Blueprint) -> None:
    """Answer every error of the addresses of `blueprint` as the API does, but in OpenSearch's form."""
    blueprint.register_error_handler(MedleyError, _translated(errors.answer_medley_error))
    blueprint.register_error_handler(HTTPException, _translated(errors.answer_http_error))
    blueprint.register_error_handler(Exception, _translated(errors.answer_bug))


def _translated(answer: Callable[[Raised], Response]) -> Callable[[Raised], Response]:
    def translated(error: Raised) -> Response:
        response = answer(error)
        if response.status_code >= 400:
            detail = ErrorDetail.model_validate(response.get_json()["error"])
            response.set_data(json.dumps(error_form(response.status_code, detail)))
        return response

    return translated


def error_form(status: int, error: ErrorDetail) -> dict[str, Any]:
    """An error as OpenSearch writes it; the reason begins with the place in the request."""
    place = f"[{error.field[:_LONGEST_PLACE]}] " if error.field else ""
    cause = {"type": _type(error), "reason": f"{place}{error.message}"}
    return {"error": {"root_cause": [cause], **cause}, "status": status}


def _type(error: ErrorDetail) -> str:
    field = error.field or ""
    if error.code == "not_found" and field == "collection":
        return "index_not_found_exception"
    if error.code == "invalid_input" and field.partition(".")[0] in ("body", "query"):
        return "parsing_exception"
    return _TYPES.get(error.code, _OTHER)
