"""Errors in OpenSearch's form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from web.wire import ErrorDetail

PREFIX: Final = "/opensearch"
_TYPES: Final[Mapping[str, str]] = {
    "forbidden": "security_exception",
    "invalid_input": "illegal_argument_exception",
    "not_found": "resource_not_found_exception",
    "overloaded": "rejected_execution_exception",
    "throttled": "rejected_execution_exception",
    "too_large": "content_too_long_exception",
    "unauthorized": "security_exception",
    "unsupported_media_type": "media_type_header_exception",
}
"""OpenSearch's type for each code of ours that it has one for."""

_OTHER: Final = "search_phase_execution_exception"


def is_compatible(path: str) -> bool:
    """Whether an address is one of those for clients of OpenSearch."""
    return path == PREFIX or path.startswith(f"{PREFIX}/")


def error_form(status: int, error: ErrorDetail) -> dict[str, Any]:
    """An error as OpenSearch writes it; the reason begins with the place in the request."""
    place = f"[{error.field}] " if error.field else ""
    cause = {"type": _type(error), "reason": f"{place}{error.message}"}
    return {"error": {"root_cause": [cause], **cause}, "status": status}


def _type(error: ErrorDetail) -> str:
    field = error.field or ""
    if error.code == "not_found" and field == "collection":
        return "index_not_found_exception"
    if error.code == "invalid_input" and field.partition(".")[0] in ("body", "query"):
        return "parsing_exception"
    return _TYPES.get(error.code, _OTHER)
