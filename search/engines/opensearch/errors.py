"""Translates the errors of OpenSearch, of a proxy and of the network, once, into one sentence that says what to do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from opensearchpy.exceptions import (
    ConnectionError as NoConnection,
)
from opensearchpy.exceptions import (
    ConnectionTimeout,
    OpenSearchException,
    SSLError,
    TransportError,
)

from mappings.errors import Conflict, InvalidInput, MedleyError, NotFound, Unavailable

BUSY: Final = frozenset({429, 502, 503, 504})
"""Transient statuses: the same request can succeed a moment later."""

_FULL: Final = ("flood-stage", "read-only-allow-delete", "read_only_allow_delete", "no space left")
_CREDENTIALS: Final = (
    "check MEDLEY_OPENSEARCH_USER and MEDLEY_OPENSEARCH_PASSWORD_FILE, or MEDLEY_OPENSEARCH_API_KEY_FILE"
)


def status_of(error: Exception) -> int:
    """The HTTP status of an error of the library; 0 where there was no response."""
    code = getattr(error, "status_code", 0)
    return code if isinstance(code, int) else 0


def is_transient(error: Exception) -> bool:
    """Whether the same request can succeed a moment later."""
    if isinstance(error, SSLError):
        return False
    if isinstance(error, TransportError) and isinstance(error.info, Mapping) and is_full(error.info):
        return False
    return isinstance(error, NoConnection) or status_of(error) in BUSY


def is_full(body: Mapping[str, Any]) -> bool:
    """Whether a response reports a full disk: a 429 as well, but one that waiting does not cure."""
    return any(word in cause(body.get("error"))[1] for word in _FULL)


def translate(error: OpenSearchException, where: str) -> MedleyError:
    """Our error for an error of the library; `where` is the address."""
    if isinstance(error, SSLError):
        return Unavailable(
            f"OpenSearch at {where}: its certificate is rejected ({_reason(error)}); renew it, or name the "
            "authority that signed it in MEDLEY_OPENSEARCH_CA"
        )
    if isinstance(error, ConnectionTimeout):
        return Unavailable(f"OpenSearch at {where} did not respond in time; try again")
    if isinstance(error, NoConnection):
        return Unavailable(f"OpenSearch at {where} can't be reached ({_reason(error)})")
    if isinstance(error, TransportError):
        info = error.info if isinstance(error.info, Mapping) else {"error": str(error.info)}
        return error_of(status_of(error), info, where)
    return Unavailable(f"OpenSearch at {where}: {error}")


def error_of(status: int, body: Mapping[str, Any], where: str) -> MedleyError:
    """Our error for a failed response, or for one failed item of a response."""
    kind, reason = cause(body.get("error"))
    if status == 401 or (status == 403 and "security_exception" in kind):
        return Unavailable(f"OpenSearch at {where} denies access ({reason}): {_CREDENTIALS}")
    if is_full(body):
        return Unavailable(
            f"OpenSearch at {where}: its disk is full, so the index is read-only ({reason}); free some space and try "
            "again; no accepted document is lost"
        )
    if kind == "cluster_block_exception" and "index write" in reason:
        return Conflict(
            f"nothing can be written to the collection: it is being renamed or deleted ({reason})", field="collection"
        )
    if kind == "index_not_found_exception" or (status == 404 and kind in ("", "resource_not_found_exception")):
        return NotFound(f"OpenSearch at {where}: {reason or 'not found'}", field="index")
    if status == 409:
        return Conflict(f"OpenSearch at {where}: {reason}")
    if status == 400:
        return InvalidInput(f"OpenSearch at {where} rejected the request as invalid: {kind}: {reason}")
    if status == 413:
        return InvalidInput(f"OpenSearch at {where} rejects requests of this size; see http.max_content_length")
    return Unavailable(f"OpenSearch at {where} failed: {status} {kind} {reason}".strip())


def cause(error: Any) -> tuple[str, str]:
    """(type, reason) of an error body: the innermost one with content."""
    if not isinstance(error, Mapping):
        return "", str(error or "")
    roots = error.get("root_cause") or []
    inner = error.get("caused_by")
    shards = error.get("failed_shards") or []
    if shards and isinstance(shards[0], Mapping):
        return cause(shards[0].get("reason"))
    best = roots[0] if roots and isinstance(roots[0], Mapping) else error
    kind, reason = str(best.get("type", "")), str(best.get("reason", ""))
    if isinstance(inner, Mapping) and inner.get("reason"):
        reason = f"{reason}: {inner['reason']}"
    return kind, reason


def _reason(error: TransportError) -> str:
    inner = error.info if isinstance(error.info, Exception) else error.error
    text = str(getattr(inner, "reason", inner))
    return text.rsplit(": ", 1)[-1][:200]


def checked(answer: Mapping[str, Any], where: str) -> Mapping[str, Any]:
    """The answer to one search of several. Raises its error, and `Unavailable` if it covers only part of the index."""
    if "error" in answer:
        problem = error_of(answer.get("status", 500), answer, where)
        # The request was validated before: a response that calls it invalid is a fault of the index.
        raise Unavailable(problem.message) if isinstance(problem, InvalidInput) else problem
    if answer.get("timed_out") or answer["_shards"]["failed"]:
        raise Unavailable(f"OpenSearch at {where} returned results from only part of the index; try again")
    return answer
