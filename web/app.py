"""The Flask application of the gateway: its blueprints, and the security headers of every answer."""

from __future__ import annotations

from typing import Final

from flask import Flask, request
from flask.wrappers import Response

from search.bootstrap import Medley
from search.settings import Settings
from search.settings import read as read_settings
from web import errors
from web.access.guard import is_guarded
from web.access.log import AccessLog
from web.access.proxies import Proxies, set_up_proxies
from web.access.sessions import set_up_sessions
from web.api import cohorts, completion, documents, openapi, operations
from web.api import search as search_api
from web.api.kept import routes as kept
from web.backlog import Backlog
from web.compatible import routes as compatible
from web.context import EXTENSION, Portal, request_id
from web.metrics import GatewayMeter
from web.pages import routes as pages
from web.pages.claims import routes as claim_pages
from web.pages.cohorts import comparison_page
from web.pages.cohorts import routes as cohort_pages
from web.pages.dossiers import routes as dossier_pages
from web.pages.judgements import routes as judgement_pages
from web.pages.patients import routes as patients
from web.pages.reference import reference_blueprint
from web.pages.saved import routes as saved_pages
from web.serving.fair_shares import FairShares
from web.serving.limits import MAX_BODY_BYTES
from web.serving.traced_requests import trace_requests
from workers.queueing.queue import open_queue

THREADS: Final = 4

CONTENT_POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "style-src 'self'",
        "script-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS: Final = {
    "Content-Security-Policy": CONTENT_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


def make_app(source: Medley | Settings | None = None, threads: int = THREADS) -> Flask:
    """Create the application over `source`, to run `threads` searches at the same time; see `web.create_app`."""
    medley = source if isinstance(source, Medley) else Medley.open(source or read_settings())
    medley.collections.lists_names = False
    app = Flask("web", template_folder="pages/templates", static_folder="pages/static", static_url_path="/static")
    app.config.update(MAX_CONTENT_LENGTH=MAX_BODY_BYTES, MAX_FORM_MEMORY_SIZE=MAX_BODY_BYTES)
    app.json.sort_keys = False  # type: ignore[attr-defined]  # the default provider has it, its base class does not
    app.url_map.merge_slashes = False  # a document's id can hold two slashes in a row
    log = AccessLog.of(medley.settings)
    shares = FairShares(threads, "searches"), FairShares(threads, "uploads", waiting=0)
    meter = GatewayMeter()
    queue = open_queue(medley.settings)
    app.extensions[EXTENSION] = Portal(medley, log, Backlog(medley), queue, *shares, on_answer=meter.count_answer)
    set_up_proxies(app, medley.settings.proxies)
    set_up_sessions(app, medley.settings)
    is_guarded(medley.settings.home)  # remembered from the start, whatever happens to the files
    app.jinja_env.filters["capitalize_first"] = lambda text: text[:1].upper() + text[1:]
    app.jinja_env.trim_blocks = app.jinja_env.lstrip_blocks = True
    errors.register(app)
    operations.register(app, meter)
    app.register_blueprint(search_api.blueprint)
    app.register_blueprint(completion.blueprint)
    app.register_blueprint(cohorts.blueprint)
    app.register_blueprint(documents.blueprint)
    app.register_blueprint(kept.blueprint)
    app.register_blueprint(compatible.blueprint)
    app.register_blueprint(pages.blueprint)
    app.register_blueprint(reference_blueprint(openapi.description))
    app.register_blueprint(patients.blueprint)
    app.register_blueprint(cohort_pages.blueprint)
    app.register_blueprint(comparison_page.blueprint)
    app.register_blueprint(saved_pages.blueprint)
    app.register_blueprint(dossier_pages.blueprint)
    app.register_blueprint(claim_pages.blueprint)
    app.register_blueprint(judgement_pages.blueprint)
    app.after_request(finish)
    trace_requests(app, Proxies.of(medley.settings.proxies).trusts)  # others could fill or mute traces
    return app


def finish(response: Response) -> Response:
    """Add the security headers. Browsers may cache only static files, which are the same for everybody."""
    response.headers.update(HEADERS)
    response.headers["X-Request-ID"] = request_id()
    response.headers["Cache-Control"] = "public, max-age=86400" if request.endpoint == "static" else "no-store"
    return response
