"""Whether this process is shutting down, so that long requests can end by themselves before the server kills them."""

from __future__ import annotations

from typing import Any, Final


class Shutdown:
    """Follows the worker of the server that this process runs; without one the process never shuts down."""

    def __init__(self) -> None:
        self._worker: Any = None

    def follow(self, worker: Any) -> None:
        """Follow gunicorn's `worker`, which is no longer `alive` from the signal on that ends it."""
        self._worker = worker

    @property
    def has_begun(self) -> bool:
        """Whether the process was told to stop."""
        return self._worker is not None and not self._worker.alive


SHUTDOWN: Final = Shutdown()
"""That of this process."""
