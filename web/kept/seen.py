"""What a saved search remembers of its documents, so that it can tell which are new."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from mappings.documents import clean

SEEN: Final = "seen"
"""The key of a saved search's content with what was seen: `ids` of documents, and the `moment`."""

MOST_SEEN: Final = 100
_MOST_ID_CHARACTERS: Final = 600


@dataclass(frozen=True, slots=True)
class SeenDocuments:
    """The documents that a saved search showed when it was saved, or last marked as seen."""

    ids: frozenset[str]
    moment: datetime

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> SeenDocuments | None:
        """What the content of a saved search says; None if it does not say it, such as one of an earlier version."""
        seen = content.get(SEEN)
        if not isinstance(seen, dict) or not isinstance(seen.get("ids"), list):
            return None
        try:
            moment = datetime.fromisoformat(str(seen.get("moment", "")))
        except ValueError:
            return None
        return cls(frozenset(map(str, seen["ids"])), moment)


def with_seen(content: Mapping[str, Any], sent: Sequence[str]) -> dict[str, Any]:
    """The content of a saved search with the documents that a form names as seen now."""
    ids = [clean(text) for text in dict.fromkeys(sent) if 0 < len(text) <= _MOST_ID_CHARACTERS][:MOST_SEEN]
    return {**content, SEEN: {"ids": ids, "moment": datetime.now(UTC).isoformat(timespec="seconds")}}


def without_seen(content: Mapping[str, Any]) -> dict[str, Any]:
    """The content without what was seen."""
    return {name: value for name, value in content.items() if name != SEEN}
