"""OpenSearch's errors as ours, once: what a node, a proxy or the network says, in one sentence that names what to do."""

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
"""Statuses that pass: the same request may succeed a moment later."""

_FULL: Final = ("flood-stage", "read-only-allow-delete", "read_only_allow_delete", "no space left")
_CREDENTIALS: Final = (
    "check MEDLEY_OPENSEARCH_USER and MEDLEY_OPENSEARCH_PASSWORD_FILE, or MEDLEY_OPENSEARCH_API_KEY_FILE"
)


def status_of(error: Exception) -> int:
    """The HTTP status behind an error of the library; 0 where there was no answer."""
    code = getattr(error, "status_code", 0)
    return code if isinstance(code, int) else 0


def passes(error: Exception) -> bool:
    """Whether the same request may succeed a moment later."""
    if isinstance(error, SSLError):
        return False
    if isinstance(error, TransportError) and isinstance(error.info, Mapping) and is_full(error.info):
        return False
    return isinstance(error, NoConnection) or status_of(error) in BUSY


def is_full(body: Mapping[str, Any]) -> bool:
    """Whether an answer says that the disk is full: a 429 too, but one that no waiting mends."""
    return any(word in cause(body.get("error"))[1] for word in _FULL)


def translated(error: OpenSearchException, where: str) -> MedleyError:
    """The error of ours that says what could not be done at `where`, an address."""
    if isinstance(error, SSLError):
        return Unavailable(
            f"OpenSearch at {where}: its certificate is not accepted ({_reason(error)}); renew it, or name the "
            "authority that signed it in MEDLEY_OPENSEARCH_CA"
        )
    if isinstance(error, ConnectionTimeout):
        return Unavailable(f"OpenSearch at {where} does not answer in time; try again")
    if isinstance(error, NoConnection):
        return Unavailable(f"OpenSearch at {where} can't be reached ({_reason(error)})")
    if isinstance(error, TransportError):
        info = error.info if isinstance(error.info, Mapping) else {"error": str(error.info)}
        return of_answer(status_of(error), info, where)
    return Unavailable(f"OpenSearch at {where}: {error}")


def of_answer(status: int, body: Mapping[str, Any], where: str) -> MedleyError:
    """The error of ours for an answer of OpenSearch that says it failed, whole or one item of several."""
    kind, reason = cause(body.get("error"))
    if status == 401 or (status == 403 and "security_exception" in kind):
        return Unavailable(f"OpenSearch at {where} refuses us ({reason}): {_CREDENTIALS}")
    if is_full(body):
        return Unavailable(
            f"OpenSearch at {where}: its disk is full and the index takes no more ({reason}); make room and try again, "
            "nothing accepted before is lost"
        )
    if kind == "index_not_found_exception" or (status == 404 and not kind):
        return NotFound(f"OpenSearch at {where}: {reason or 'not found'}", field="index")
    if status == 409:
        return Conflict(f"OpenSearch at {where}: {reason}")
    if status == 400:
        return InvalidInput(f"OpenSearch at {where} takes the request for wrong: {kind}: {reason}")
    if status == 413:
        return InvalidInput(f"OpenSearch at {where} takes no request of this size; see http.max_content_length")
    return Unavailable(f"OpenSearch at {where} could not answer: {status} {kind} {reason}".strip())


def cause(error: Any) -> tuple[str, str]:
    """(type, reason) of an error as OpenSearch writes it: the innermost that says something."""
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
