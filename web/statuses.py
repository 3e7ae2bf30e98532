"""The HTTP status of each error: the one place where errors meet HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mappings.errors import MedleyError

CODES: Final[Mapping[int, str]] = {
    400: "invalid_input",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    409: "conflict",
    413: "too_large",
    414: "too_large",
    415: "unsupported_media_type",
    429: "overloaded",
    500: "internal",
    503: "unavailable",
}
"""The stable code of each HTTP status that has one; any other status is `http_<status>`."""

_STATUSES: Final[Mapping[str, int]] = {code: status for status, code in CODES.items() if status != 414} | {
    "broken_off": 400,
    "csrf": 403,
    "throttled": 429,
    "damaged": 503,
}


def status_of(error: MedleyError) -> int:
    """The HTTP status of an error; 500 for a code that is the fault of no request."""
    return _STATUSES.get(error.code, 500)
