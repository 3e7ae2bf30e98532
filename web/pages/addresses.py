"""A search as a URL that holds all its parameters, so that every view can be linked to, bookmarked and returned to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import parse_qsl, urlencode

UNHURRIED: Final = ("deadline_ms", "0")
"""The parameter of a search, or a claim, that has as much time as the server allows."""

MAX_URL_CHARACTERS: Final = 3_600
"""Servers accept request lines of about 4,000 bytes by default; a longer search is sent as a form."""

MAX_BACK_CHARACTERS: Final = 1_500
"""The longest search that the URL of a document carries along."""

MAX_PARAMETERS: Final = 200
SEARCH_PATH: Final = "/search"


@dataclass(frozen=True, slots=True)
class SearchAddress:
    """The URL parameters of a search, in order. Every change except to the next page goes back to page one.

    One of a collection with private queries is `private`: the page sends it by POST, and links to it only on request.
    """

    pairs: tuple[tuple[str, str], ...]
    private: bool = False

    @classmethod
    def of(cls, pairs: Iterable[tuple[str, str]]) -> SearchAddress:
        """Build the address from the parameters that have a value; fields left empty in a form are dropped."""
        return cls(tuple((name, value) for name, value in pairs if value.strip()))

    @classmethod
    def parse(cls, text: str) -> SearchAddress:
        """Parse the query string of a URL. One with more than `MAX_PARAMETERS` parameters gives an empty address."""
        try:
            return cls.of(parse_qsl(text, max_num_fields=MAX_PARAMETERS))
        except ValueError:
            return cls(())

    def values(self, name: str) -> list[str]:
        """All values of a parameter."""
        return [value for key, value in self.pairs if key == name]

    def get(self, name: str, default: str = "") -> str:
        """The first value of a parameter."""
        return next(iter(self.values(name)), default)

    def with_value(self, name: str, value: str) -> SearchAddress:
        """This search with `value` as the only value of `name`."""
        return self._with(SearchAddress.of((*self.drop(name).pairs, (name, value))).pairs)

    def drop(self, *names: str) -> SearchAddress:
        """This search without the parameters `names`."""
        dropped = {"cursor", *names}
        return self._with(pair for pair in self.pairs if pair[0] not in dropped)

    def privately(self, private: bool) -> SearchAddress:
        """This search, `private` or not."""
        return replace(self, private=private)

    def first_page(self) -> SearchAddress:
        """The first page of this search."""
        return self.drop("cursor")

    def remove(self, name: str, value: str) -> SearchAddress:
        """This search without one value of a parameter."""
        return self._with(pair for pair in self.first_page().pairs if pair != (name, value))

    def toggle(self, name: str, value: str) -> SearchAddress:
        """This search without the value if it has it, with the value otherwise."""
        if value in self.values(name):
            return self.remove(name, value)
        return self._with((*self.first_page().pairs, (name, value)))

    def at(self, cursor: str) -> SearchAddress:
        """The page of this search at `cursor`."""
        return self._with((*self.first_page().pairs, ("cursor", cursor)))

    def _with(self, pairs: Iterable[tuple[str, str]]) -> SearchAddress:
        return replace(self, pairs=tuple(pairs))

    @property
    def query_string(self) -> str:
        """The parameters, URL-encoded."""
        return urlencode(self.pairs)

    @property
    def url(self) -> str:
        """Path and query string."""
        return f"{SEARCH_PATH}?{self.query_string}"

    @property
    def fits_in_url(self) -> bool:
        """Whether the URL is short enough for every server."""
        return len(self.url) <= MAX_URL_CHARACTERS

    @property
    def is_link(self) -> bool:
        """Whether the page links to this search; otherwise a button sends it by POST."""
        return self.fits_in_url and not (self.private and self.asks)

    @property
    def asks(self) -> bool:
        """Whether it has more than a collection."""
        return any(name != "collection" for name, _ in self.pairs)

    @property
    def without_text(self) -> str:
        """The query string without `text`: what a button sends while the form around it holds the text."""
        return urlencode([pair for pair in self.pairs if pair[0] != "text"])

    @property
    def back_parameter(self) -> list[tuple[str, str]]:
        """The parameter by which the page of a document links back to this search; empty if it is too long, or private."""
        return [] if self.private or len(self.query_string) >= MAX_BACK_CHARACTERS else [("back", self.query_string)]
