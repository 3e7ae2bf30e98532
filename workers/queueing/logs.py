"""A worker's log: on stderr, each line with the id of the request it belongs to."""

from __future__ import annotations

import logging
from contextvars import ContextVar
from typing import Final

REQUEST: Final[ContextVar[str]] = ContextVar("request", default="-")
"""The id of the request that a task's documents came with."""

_FORMAT: Final = "%(asctime)s %(levelname)s %(process)d request %(request)s: %(message)s"


def log_to_stderr() -> None:
    """Log our own lines from INFO on, those of libraries from WARNING on."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter(_FORMAT))
    handler.addFilter(_add_request)
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("medley").setLevel(logging.INFO)


def _add_request(record: logging.LogRecord) -> bool:
    record.request = REQUEST.get()
    return True
