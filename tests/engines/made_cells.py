"""Waiting for the cells that a search has asked for."""

from __future__ import annotations

import threading

from search.engines.embedded.vectors.cells import THREAD


def await_cells() -> None:
    """Return when no thread makes cells any more."""
    for thread in threading.enumerate():
        if thread.name == THREAD:
            thread.join()
