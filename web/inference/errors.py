"""Every error of the model server in the form of text-embeddings-inference: `{"error", "error_type"}`."""

from __future__ import annotations

from typing import Final

from flask import Flask, current_app, jsonify, request
from flask.wrappers import Response
from werkzeug.exceptions import HTTPException

from encoders.batching import Abandoned, Expired, Overloaded
from mappings.errors import Forbidden, MedleyError, ModelError, Unauthorized
from web.inference.models import Untokenised

RETRY_SECONDS: Final = 1
BACKEND: Final = 424
_TYPES: Final[dict[type[MedleyError], str]] = {
    Overloaded: "Overloaded",
    Expired: "Overloaded",
    Abandoned: "Overloaded",
    Untokenised: "Tokenizer",
    Unauthorized: "Unauthorized",
    Forbidden: "Unauthorized",
    ModelError: "Backend",
}
_MESSAGES: Final = {
    404: "there is nothing at {path}; there are /embed, /rerank, /info, /health, /metrics",
    405: "{path} does not take {method}",
    413: "the request is larger than {limit:,} bytes",
}


class Refused(MedleyError):
    """A request that no repeating makes right; the message says what would be."""

    code = "invalid_input"
    status = 422


class TooMany(Refused):
    """More inputs in one request than may be."""

    code = "too_large"
    status = 413


def register(app: Flask) -> None:
    """Answer every error of `app` in one form."""
    app.register_error_handler(MedleyError, known)
    app.register_error_handler(HTTPException, of_http)
    app.register_error_handler(Exception, unknown)


def known(error: MedleyError) -> Response:
    """Our own errors say themselves what they are."""
    kind = next((name for cause, name in _TYPES.items() if isinstance(error, cause)), "Validation")
    if kind == "Backend":
        current_app.logger.error("%s: %s", request.path, error.message)
    response = answer(BACKEND if kind == "Backend" else error.status, kind, error.message)
    if isinstance(error, Overloaded):
        response.headers["Retry-After"] = str(RETRY_SECONDS)
    return response


def of_http(error: HTTPException) -> Response:
    """The errors of Flask and Werkzeug: an unknown address, a wrong method, a body too large."""
    status = error.code or 500
    words = {"path": request.path, "method": request.method, "limit": current_app.config["MAX_CONTENT_LENGTH"]}
    message = _MESSAGES[status].format_map(words) if status in _MESSAGES else error.description or error.name
    return answer(status, "Validation", message)


def unknown(error: Exception) -> Response:
    """A fault of ours: the log has it whole."""
    current_app.logger.error("%s failed", request.path, exc_info=error)
    return answer(500, "Backend", "something went wrong here; the server's log has the details")


def answer(status: int, kind: str, message: str) -> Response:
    """The error as JSON."""
    response = jsonify({"error": message, "error_type": kind})
    response.status_code = status
    return response
