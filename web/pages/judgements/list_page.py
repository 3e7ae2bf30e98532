"""The caller's own judgements, as their page lists them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from urllib.parse import urlencode

from mappings.collection import Collection
from mappings.documents import Document
from mappings.judgements.judgement import Judgement
from web.judgements.use_cases import OwnJudgement
from web.kept.live_documents import LiveDocuments
from web.pages.addresses import SearchAddress
from web.pages.claims.addresses import search_address
from web.pages.formatting import format_value
from web.pages.judgements.judging import in_words

ON_A_PAGE: Final = 50


@dataclass(frozen=True, slots=True)
class ListedJudgement:
    """A judgement in the list. `link` and `search` are empty where its document, or its collection, is gone or hidden."""

    collection: str
    judgement: Judgement
    title: str
    link: str
    search: SearchAddress | None

    @classmethod
    def of(cls, own: OwnJudgement, live: tuple[Document, Collection] | None) -> ListedJudgement:
        """The judgement beside its document, if that is still there."""
        judgement = own.judgement
        if live is None:
            return cls(own.collection, judgement, judgement.document, "", None)
        document, collection = live
        place = [("collection", collection.name), ("id", document.id), ("passage", judgement.passage)]
        search = search_address(collection, judgement.text)
        return cls(own.collection, judgement, document.title or document.id, f"/document?{urlencode(place)}", search)

    @property
    def words(self) -> str:
        """The judgement in words."""
        return in_words(self.judgement)

    @property
    def day(self) -> str:
        """When it was made; "" if that is not known."""
        at = self.judgement.at
        return format_value(datetime.fromisoformat(at).date()) if at else ""


@dataclass(frozen=True, slots=True)
class JudgementsPage:
    """A page of the list: the judgements from `first` on, of `total`."""

    items: Sequence[ListedJudgement]
    first: int
    total: int

    @classmethod
    def of(cls, shown: Sequence[OwnJudgement], documents: LiveDocuments, first: int, total: int) -> JudgementsPage:
        """The page of the judgements that are `shown`."""
        items = [ListedJudgement.of(item, documents.get((item.collection, item.judgement.document))) for item in shown]
        return cls(items, first, total)

    @property
    def next(self) -> int:
        """The first judgement of the next page; 0 on the last one."""
        after = self.first + len(self.items)
        return after if after < self.total else 0
