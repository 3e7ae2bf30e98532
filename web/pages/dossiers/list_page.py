"""The dossiers that a caller sees, as their page lists them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from mappings.documents import Access
from mappings.dossiers.dossier import VERDICTS
from mappings.dossiers.parse import parse_dossier
from mappings.errors import MedleyError
from search.kept.items import KeptItem, KeptPage
from web.pages.formatting import count_noun, format_value


@dataclass(frozen=True, slots=True)
class ListedDossier:
    """A dossier in the list; `claims` counts its claims by verdict, in words."""

    item: KeptItem
    own: bool
    changed: str
    claims: str

    @classmethod
    def of(cls, item: KeptItem, access: Access) -> ListedDossier:
        """The dossier as the caller sees it."""
        verdicts = Counter(claim.verdict for claim in parse_dossier(item.content).claims)
        counts = ", ".join(f"{verdicts[name]} {name}" for name in VERDICTS if verdicts[name])
        words = count_noun(verdicts.total(), "claim") + (f": {counts}" if counts else "")
        day = datetime.fromtimestamp(item.changed / 1_000_000, UTC).date()
        return cls(item, item.owner == access.user, format_value(day), words)


@dataclass(frozen=True, slots=True)
class DossierListPage:
    """A page of the list; `next` is the position after it, "" on the last one. After an error, `name` is what was typed."""

    items: Sequence[ListedDossier]
    next: str
    error: MedleyError | None = None
    name: str = ""

    @classmethod
    def of(cls, page: KeptPage, access: Access) -> DossierListPage:
        """The page of a listing."""
        return cls([ListedDossier.of(item, access) for item in page.items], page.next or "")
