"""The root of the one error tree: every error a user may meet derives from `MedleyError`."""

from __future__ import annotations


class MedleyError(Exception):
    """An error with a stable `code`, one clear `message` and, where there is one, the `field` or file at fault.

    The doors translate it once: the gateway to an HTTP status, the command line to an exit code.
    """

    code = "error"

    def __init__(self, message: str, *, field: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.field = field


class InvalidInput(MedleyError):
    """The caller's input is wrong; the message says what would be right."""

    code = "invalid_input"


class NotFound(MedleyError):
    """The thing named does not exist, or the caller may not know that it does."""

    code = "not_found"


class Forbidden(MedleyError):
    """The caller is known and may not do this."""

    code = "forbidden"


class Unauthorized(MedleyError):
    """The caller is not known: no token, or one with a wrong secret."""

    code = "unauthorized"


class Conflict(MedleyError):
    """The state is not the one this operation needs, as with a second writer."""

    code = "conflict"


class Unavailable(MedleyError):
    """A part that the answer needs is down: an error, never an empty result."""

    code = "unavailable"


class ModelError(MedleyError):
    """A model directory is incomplete, altered, or not the one an index was built with."""

    code = "model_error"
