"""The addresses of claims: of one, of a table of them, and of two documents beside each other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode

from mappings.collection import Collection
from web.pages.addresses import MAX_URL_CHARACTERS, UNHURRIED, SearchAddress

CLAIM_PATH: Final = "/claim"
TABLE_PATH: Final = "/claims/table"


@dataclass(frozen=True, slots=True)
class ClaimAddress:
    """A path with its parameters. One of a collection with private queries is `private`: it is sent by POST."""

    path: str
    pairs: tuple[tuple[str, str], ...]
    private: bool = False

    @property
    def query_string(self) -> str:
        """The parameters, URL-encoded."""
        return urlencode(self.pairs)

    @property
    def url(self) -> str:
        """Path and query string."""
        return f"{self.path}?{self.query_string}"

    @property
    def fits_in_url(self) -> bool:
        """Whether the URL is short enough for every server."""
        return len(self.url) <= MAX_URL_CHARACTERS

    @property
    def is_link(self) -> bool:
        """Whether pages link to it; otherwise a button sends it by POST."""
        return self.fits_in_url and not self.private


def claim_address(collection: Collection, claim: str, unhurried: bool = False) -> ClaimAddress:
    """The page of a claim; `unhurried`: with as much time to read the hits as the server allows."""
    pairs = (("collection", collection.name), ("text", claim), *([UNHURRIED] if unhurried else []))
    return ClaimAddress(CLAIM_PATH, pairs, collection.private_queries)


def table_address(collection: Collection, claims: Sequence[str], name: str = "") -> ClaimAddress:
    """The table of claims, or its file in the format `name`."""
    pairs: Iterable[tuple[str, str]] = [("collection", collection.name), *(("claim", claim) for claim in claims)]
    chosen = (*pairs, *([("format", name)] if name else []))
    return ClaimAddress(TABLE_PATH, tuple(chosen), collection.private_queries)


def search_address(collection: Collection, text: str) -> SearchAddress:
    """The ordinary search for a text."""
    return SearchAddress.of([("collection", collection.name), ("text", text)]).privately(collection.private_queries)
