"""The doors: the HTTP API, the search page and the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flask import Flask

    from search.bootstrap import Medley
    from search.settings import Settings


def create_app(source: Medley | Settings | None = None) -> Flask:
    """The gateway over an opened Medley, over one opened by `source`, or by this process's own settings.

    Every worker of a server calls this once. Raises a `MedleyError` when the home folder can't be used.
    """
    from web.app import make_app

    return make_app(source)
