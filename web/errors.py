"""Turns every error into an answer: JSON with a stable code for programs, an HTML page for people."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from flask import Flask, current_app, jsonify, make_response, redirect, render_template, request, url_for
from flask.wrappers import Response
from werkzeug.exceptions import HTTPException

from mappings.errors import MedleyError, Unauthorized
from web.access.throttle import TooManyFailures
from web.backlog import BacklogFull
from web.context import request_id
from web.serving.fair_shares import CallerBusy
from web.statuses import CODES, status_of
from web.wire import ErrorAnswer, ErrorDetail

MACHINE_PATHS: Final = ("/v1/", "/opensearch/", "/openapi.json", "/healthz", "/readyz", "/metrics")
_MESSAGES: Final = {
    404: "there is nothing at this address",
    405: "this address does not support {method}; it supports {allowed}",
    413: "the request is larger than {limit:,} bytes",
    500: "something went wrong; the log has the details under request {id}",
}


class MediaTypeError(MedleyError):
    """The body has a media type that this URL does not accept."""

    code = "unsupported_media_type"


def register(app: Flask) -> None:
    """Register the handlers of every error of `app`."""
    app.register_error_handler(MedleyError, answer_medley_error)
    app.register_error_handler(HTTPException, answer_http_error)
    app.register_error_handler(Exception, answer_bug)


def answer_medley_error(error: MedleyError) -> Response:
    """Answer one of our own errors with its code, message and field; pages redirect to the login when it is required."""
    status = status_of(error)
    if status >= 500:
        current_app.logger.error("request %s: %s: %s", request_id(), error.code, error.message)
    if isinstance(error, Unauthorized) and not is_for_programs() and request.endpoint != "pages.log_in":
        here = request.full_path.rstrip("?") if request.method == "GET" else ""
        return make_response(redirect(url_for("pages.log_in", next=here or None), HTTPStatus.SEE_OTHER))
    response = answer(status, ErrorAnswer.of(error))
    if status == HTTPStatus.UNAUTHORIZED:
        response.headers["WWW-Authenticate"] = 'Bearer realm="medley"'
    response.headers.update(retry_headers(error))
    return response


def retry_headers(error: MedleyError | None) -> dict[str, str]:
    """The header that says in how many seconds a request can be repeated, for an error that passes."""
    return (
        {"Retry-After": str(error.retry_after)} if isinstance(error, BacklogFull | CallerBusy | TooManyFailures) else {}
    )


def answer_http_error(error: HTTPException) -> Response:
    """Answer an error of Flask or Werkzeug: an unknown URL, a wrong method, a body that is too large."""
    status = error.code or 500
    if status < 400:
        return make_response(error.get_response())
    allowed = sorted(getattr(error, "valid_methods", None) or ())
    limit = current_app.config["MAX_CONTENT_LENGTH"]
    words = {"method": request.method, "allowed": ", ".join(allowed), "limit": limit, "id": request_id()}
    message = _MESSAGES[status].format_map(words) if status in _MESSAGES else error.description or error.name
    response = answer(status, _error(CODES.get(status, f"http_{status}"), message))
    if allowed:
        response.headers["Allow"] = ", ".join(allowed)
    return response


def answer_bug(error: Exception) -> Response:
    """Answer a bug: the log gets the traceback, the caller the request's id."""
    current_app.logger.error("request %s failed", request_id(), exc_info=error)
    return answer(500, _error(CODES[500], _MESSAGES[500].format(id=request_id())))


def is_for_programs() -> bool:
    """Whether the request is to a URL for programs."""
    return request.path == "/v1" or request.path.startswith(MACHINE_PATHS)


def _error(code: str, message: str) -> ErrorAnswer:
    return ErrorAnswer(error=ErrorDetail(code=code, message=message, field=None))


def answer(status: int, body: ErrorAnswer) -> Response:
    """Build the answer for an error, as JSON or as a page."""
    if is_for_programs():
        response = jsonify(body.model_dump())
    else:
        response = make_response(render_template("error.html", status=status, error=body.error, id=request_id()))
    response.status_code = status
    return response
