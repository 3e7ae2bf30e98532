"""The ways into Medley: the HTTP API, the search page, the model server and the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flask import Flask

    from search.bootstrap import Medley
    from search.settings import Settings


def create_app(source: Medley | Settings | None = None) -> Flask:
    """Create the gateway: the API and the pages, over an open Medley, or one opened with `source` or this process's settings.

    Every worker process of a server calls this once. Raises a `MedleyError` when the home folder cannot be used.
    """
    from web.app import make_app

    return make_app(source)
