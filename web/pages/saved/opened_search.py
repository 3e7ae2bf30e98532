"""A saved search that is opened, and which of its hits are new since it was last looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mappings.documents import Access
from search.kept.items import KeptItem
from web.kept.seen import MOST_SEEN, SeenDocuments
from web.pages.formatting import format_value
from web.pages.hits import OTHERS, HitView


@dataclass(frozen=True, slots=True)
class OpenedSearch:
    """A saved search on its page; `own`: the caller is its owner, who alone is told what is new, and marks it as seen."""

    item: KeptItem
    own: bool
    seen: SeenDocuments | None

    @classmethod
    def of(cls, item: KeptItem, access: Access) -> OpenedSearch:
        """The search as the caller sees it."""
        return cls(item, item.owner == access.user, SeenDocuments.of(item.content))

    @property
    def id(self) -> str:
        """The id of the item."""
        return self.item.id

    @property
    def name(self) -> str:
        """The name of the search."""
        return self.item.name

    def is_new(self, document: str) -> bool:
        """Whether a document was not among those seen."""
        return self.own and self.seen is not None and document not in self.seen.ids

    def news(self, hits: Sequence[HitView]) -> str:
        """How many hits are new, in words."""
        if self.seen is None:
            return "Which hits you have seen is not known: this search was saved without them"
        count = sum(self.is_new(item.hit.document) for item in hits)
        return f"{count or 'Nothing'} new since {format_value(self.seen.moment.date())}"


def shown_ids(hits: Sequence[HitView]) -> list[str]:
    """The documents that a page of hits shows: first those of the hits, then the further ones below them."""
    others = (other for item in hits for other in item.hit.others[:OTHERS])
    return list(dict.fromkeys([*(item.hit.document for item in hits), *others]))[:MOST_SEEN]
