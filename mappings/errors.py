"""The one error tree: every error that a user can see derives from `MedleyError`."""

from __future__ import annotations


class MedleyError(Exception):
    """An error with a stable `code`, one clear `message` and, where there is one, the `field` or file at fault.

    It is translated once, at the edge: by the HTTP interface to a status, by the command line to an exit code.
    """

    code = "error"

    def __init__(self, message: str, *, field: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.field = field


class InvalidInput(MedleyError):
    """The caller's input is invalid; the message says what would be valid."""

    code = "invalid_input"


class NotFound(MedleyError):
    """What was named does not exist, or the caller is not allowed to know that it does."""

    code = "not_found"


class Forbidden(MedleyError):
    """The caller is authenticated, but not allowed to do this."""

    code = "forbidden"


class Unauthorized(MedleyError):
    """The caller is not authenticated: no token, or one with a wrong secret."""

    code = "unauthorized"


class Conflict(MedleyError):
    """The current state does not allow this operation: another writer is active, for example."""

    code = "conflict"


class Unavailable(MedleyError):
    """A dependency is unavailable: an error, never an empty result."""

    code = "unavailable"


class Damaged(Unavailable):
    """Something stored has changed on the disk; the message says what, and how to replace it."""

    code = "damaged"


class ModelError(MedleyError):
    """A model directory is incomplete, altered, or not the one that an index was built with."""

    code = "model_error"
