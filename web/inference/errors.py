"""Turns every error of the model server into an answer in the format of text-embeddings-inference."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from flask import Flask, current_app, jsonify, request
from flask.wrappers import Response
from werkzeug.exceptions import HTTPException

from mappings.errors import MedleyError
from web.access.auth import RejectedCredentials
from web.statuses import status_of

RETRY_SECONDS: Final = 1
THROTTLED: Final = {"x-amzn-ErrorType": "ThrottlingException"}
"""By this header ML Commons knows a refusal that it may send again (`client_config` of a connector), by nothing else."""
_TYPES: Final[Mapping[str, tuple[int, str]]] = {
    "overloaded": (429, "Overloaded"),
    "deadline_passed": (504, "Overloaded"),
    "abandoned": (499, "Overloaded"),
    "tokenizer": (422, "Tokenizer"),
    "unauthorized": (401, "Unauthorized"),
    "forbidden": (403, "Unauthorized"),
    "model_error": (424, "Backend"),
    "invalid_request": (422, "Validation"),
}
"""Error code -> HTTP status and `error_type`; any other code has the gateway's status and `Validation`."""

_MESSAGES: Final = {
    404: "there is nothing at {path}; there are /embed, /rerank, /opensearch/KIND/…, /info, /health, /metrics",
    405: "{path} does not support {method}",
    413: "the request is larger than {limit:,} bytes",
}


class InvalidRequest(MedleyError):
    """An invalid request, which fails again if retried; the message says what is valid."""

    code = "invalid_request"


class TooManyTexts(InvalidRequest):
    """One request has more texts than the server accepts."""

    code = "too_large"


def register(app: Flask) -> None:
    """Register the handlers of every error of `app`."""
    app.register_error_handler(MedleyError, answer_medley_error)
    app.register_error_handler(HTTPException, answer_http_error)
    app.register_error_handler(Exception, answer_bug)


def answer_medley_error(error: MedleyError) -> Response:
    """Answer one of our own errors with its message and the `error_type` of its code."""
    status, kind = _TYPES.get(error.code, (status_of(error), "Validation"))
    if kind == "Backend":
        current_app.logger.error("%s: %s", request.path, error.message)
    if isinstance(error, RejectedCredentials):
        current_app.logger.warning("%s: %s from %s", request.path, error.reason, request.remote_addr)
    response = answer(status, kind, error.message)
    if error.code == "overloaded":
        response.headers["Retry-After"] = str(RETRY_SECONDS)
        response.headers.update(THROTTLED)
    return response


def answer_http_error(error: HTTPException) -> Response:
    """Answer an error of Flask or Werkzeug: an unknown URL, a wrong method, a body that is too large."""
    status = error.code or 500
    words = {"path": request.path, "method": request.method, "limit": current_app.config["MAX_CONTENT_LENGTH"]}
    message = _MESSAGES[status].format_map(words) if status in _MESSAGES else error.description or error.name
    return answer(status, "Validation", message)


def answer_bug(error: Exception) -> Response:
    """Answer a bug: the log gets the traceback."""
    current_app.logger.error("%s failed", request.path, exc_info=error)
    return answer(500, "Backend", "something went wrong; the server's log has the details")


def answer(status: int, kind: str, message: str) -> Response:
    """Build the answer for an error: `{"error", "error_type"}`."""
    response = jsonify({"error": message, "error_type": kind})
    response.status_code = status
    return response
