"""The ways into Medley: the HTTP API, the search page, the model server and the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flask import Flask

    from search.bootstrap import Medley
    from search.settings import Settings


def create_app(source: Medley | Settings | None = None, threads: int = 4) -> Flask:
    """Create the gateway (API and pages) over `source`: an open Medley, or settings; by default this process's settings.

    It runs at most `threads` searches at the same time, and as many uploads; the server needs more threads than that.
    Every worker process of a server calls this once. Raises a `MedleyError` when the home folder cannot be used.
    """
    from web.app import make_app

    return make_app(source, threads)
