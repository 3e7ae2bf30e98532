"""Every error as an answer: JSON with a stable code for programs, a page for people."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from flask import Flask, current_app, jsonify, make_response, redirect, render_template, request, url_for
from flask.wrappers import Response
from werkzeug.exceptions import HTTPException

from mappings.errors import MedleyError, Unauthorized
from web.backlog import Overloaded
from web.context import request_id

CODES: Final = {
    400: "invalid_input",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    409: "conflict",
    413: "too_large",
    414: "too_large",
    415: "unsupported_media_type",
    429: "overloaded",
    500: "internal",
    503: "unavailable",
}
"""The stable code of each HTTP status that has one; any other status is `http_<status>`."""

MACHINE_PATHS: Final = ("/v1/", "/openapi.json", "/healthz", "/readyz", "/metrics")
_MESSAGES: Final = {
    404: "there is nothing at this address",
    405: "this address does not take {method}; it takes {allowed}",
    413: "the request is larger than {limit:,} bytes",
    500: "something went wrong here; the log has the details under request {id}",
}


class MediaTypeError(MedleyError):
    """The body is of a type that this address does not read."""

    code = "unsupported_media_type"
    status = 415


def register(app: Flask) -> None:
    """Answer every error of `app` in one form."""
    app.register_error_handler(MedleyError, known)
    app.register_error_handler(HTTPException, of_http)
    app.register_error_handler(Exception, unknown)


def known(error: MedleyError) -> Response:
    """Our own errors say themselves what they are."""
    if error.status >= 500:
        current_app.logger.error("request %s: %s: %s", request_id(), error.code, error.message)
    if isinstance(error, Unauthorized) and not for_machines() and request.endpoint != "pages.log_in":
        here = request.full_path.rstrip("?") if request.method == "GET" else ""
        return make_response(redirect(url_for("pages.log_in", next=here or None), HTTPStatus.SEE_OTHER))
    response = answer(error.status, error.code, error.message, error.field)
    if error.status == HTTPStatus.UNAUTHORIZED:
        response.headers["WWW-Authenticate"] = 'Bearer realm="medley"'
    if isinstance(error, Overloaded):
        response.headers["Retry-After"] = str(error.retry_after)
    return response


def of_http(error: HTTPException) -> Response:
    """The errors of Flask and Werkzeug: an unknown address, a wrong method, a body too large."""
    status = error.code or 500
    if status < 400:
        return make_response(error.get_response())
    allowed = sorted(getattr(error, "valid_methods", None) or ())
    limit = current_app.config["MAX_CONTENT_LENGTH"]
    words = {"method": request.method, "allowed": ", ".join(allowed), "limit": limit, "id": request_id()}
    message = _MESSAGES[status].format_map(words) if status in _MESSAGES else error.description or error.name
    response = answer(status, CODES.get(status, f"http_{status}"), message)
    if allowed:
        response.headers["Allow"] = ", ".join(allowed)
    return response


def unknown(error: Exception) -> Response:
    """A fault of ours: the log has it whole, the caller gets the request's id."""
    current_app.logger.error("request %s failed", request_id(), exc_info=error)
    return answer(500, CODES[500], _MESSAGES[500].format(id=request_id()))


def for_machines() -> bool:
    """Whether the address is one that programs read."""
    return request.path == "/v1" or request.path.startswith(MACHINE_PATHS)


def answer(status: int, code: str, message: str, field: str | None = None) -> Response:
    """The error as JSON or as a page."""
    if for_machines():
        response = jsonify({"error": {"code": code, "message": message, "field": field}})
    else:
        page = render_template("error.html", status=status, code=code, message=message, field=field, id=request_id())
        response = make_response(page)
    response.status_code = status
    return response
