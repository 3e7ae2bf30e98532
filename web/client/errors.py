"""What can go wrong for a program that asks a gateway."""

from __future__ import annotations

from mappings.errors import MedleyError


class ApiError(MedleyError):
    """An answer that is an error: its HTTP `status`, and `code`, `message` and `field` as the gateway gave them.

    `retry_after`: seconds after which the same request can succeed; None if it will not, or nobody knows.
    """

    def __init__(
        self, status: int, code: str, message: str, field: str | None = None, retry_after: int | None = None
    ) -> None:
        super().__init__(message, field=field)
        self.status, self.code, self.retry_after = status, code, retry_after


class ConnectionFailed(MedleyError):
    """No answer: nothing listens at the address, the answer took too long, or it is not one of a gateway."""

    code = "unavailable"
