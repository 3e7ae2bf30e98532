"""A span for each request that an application answers, where traces are on."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

from flask import Flask, request
from flask.wrappers import Response

from search.tracing import spans

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

_PROBES: Final = ("/health", "/healthz", "/readyz", "/metrics")
_FILES: Final = "/static/"
_SPAN: Final = "medley.span"
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"})
_OTHER: Final = "_OTHER"
"""What OpenTelemetry's conventions call a method that a client made up."""

Continues = Callable[[str | None], bool]
"""Whether the client at an address may say which trace its request belongs to."""


def trace_requests(app: Flask, continues: Continues) -> None:
    """Record a span for each request of `app` but health checks, metrics and static files; nothing if traces are off.

    It is named by method and route: addresses hold ids and texts.
    """
    if spans.is_on():
        app.wsgi_app = _TracedRequests(app.wsgi_app, continues)  # type: ignore[method-assign]
        app.after_request(_describe)


class _TracedRequests:
    def __init__(self, inner: WSGIApplication, continues: Continues) -> None:
        self._inner, self._continues = inner, continues

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        path = environ.get("PATH_INFO", "")
        if path in _PROBES or path.startswith(_FILES):
            return self._inner(environ, start_response)
        method = _method(environ.get("REQUEST_METHOD", ""))
        given = environ.get("HTTP_TRACEPARENT", "")
        carrier = {spans.TRACEPARENT: given} if given and self._continues(environ.get("REMOTE_ADDR")) else {}
        with spans.span("request", {"http.request.method": method}, "server", carrier) as opened:
            environ[_SPAN] = opened
            return self._inner(environ, start_response)


def _method(named: str) -> str:
    return named if named in _METHODS else _OTHER


def _describe(response: Response) -> Response:
    opened: Any = request.environ.get(_SPAN, spans.NO_SPAN)
    route = request.url_rule.rule if request.url_rule else "unknown"
    opened.rename(f"{_method(request.method)} {route}")
    opened.set({"http.route": route, "http.response.status_code": response.status_code})
    if response.status_code >= 500:
        opened.fail(str(response.status_code))
    return response
