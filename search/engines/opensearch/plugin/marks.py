"""Marks in the descriptions of what the plug-in makes: that it is ours, of which version, and by which token."""

from __future__ import annotations

import hashlib
import json
from typing import Any, Final

_MADE_BY: Final = "Made by 'medley plugin'"
_SUFFIX: Final = ", token "


def mark(content: Any) -> str:
    """The description of what was made from `content`: it tells that it is ours, and which version it is."""
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]
    return f"{_MADE_BY} ({digest})"


def token_mark(token: str) -> str:
    """What a mark says besides of a connector with a token: a hash, so that another one is told from it; "" without one."""
    return f"{_SUFFIX}{hashlib.sha256(token.encode()).hexdigest()[:8]}" if token else ""


def has_token(description: str) -> bool:
    """Whether a description is of a connector that was made with a token."""
    return _SUFFIX in description


def is_ours(description: Any) -> bool:
    """Whether a description tells that the plug-in made it."""
    return isinstance(description, str) and description.startswith(_MADE_BY)


def is_version(description: str, wanted: str) -> bool:
    """Whether a description is of the wanted version; where that names no token, any will do."""
    return description == wanted or (not has_token(wanted) and description.partition(_SUFFIX)[0] == wanted)
