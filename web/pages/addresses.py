"""A search as an address that holds everything it asks, so that every view can be linked, bookmarked and returned to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl, urlencode

MAX_ADDRESS: Final = 3_600
"""Servers take request lines of about 4,000 bytes by default; a longer search is sent as a form."""

MAX_BACK: Final = 1_500
"""Characters of a search that the address of a document can carry along."""

MAX_PARAMETERS: Final = 200
PATH: Final = "/search"


@dataclass(frozen=True, slots=True)
class SearchAddress:
    """The parameters of a search, in order. Every change except the next page returns to page one."""

    pairs: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, pairs: Iterable[tuple[str, str]]) -> SearchAddress:
        """The parameters that have a value: those left empty in a form are dropped."""
        return cls(tuple((name, value) for name, value in pairs if value.strip()))

    @classmethod
    def parse(cls, text: str) -> SearchAddress:
        """The parameters in the query string of an address; none when there are too many to mean anything."""
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

    def put(self, name: str, value: str) -> SearchAddress:
        """With one value for `name` instead of all that it had."""
        return SearchAddress.of((*self.drop(name).pairs, (name, value)))

    def drop(self, *names: str) -> SearchAddress:
        """Without these parameters, on page one."""
        dropped = {"cursor", *names}
        return SearchAddress(tuple(pair for pair in self.pairs if pair[0] not in dropped))

    def remove(self, name: str, value: str) -> SearchAddress:
        """Without one value of a parameter."""
        return SearchAddress(tuple(pair for pair in self.drop().pairs if pair != (name, value)))

    def toggle(self, name: str, value: str) -> SearchAddress:
        """Without the value if it is present, with it otherwise."""
        if value in self.values(name):
            return self.remove(name, value)
        return SearchAddress((*self.drop().pairs, (name, value)))

    def at(self, cursor: str) -> SearchAddress:
        """The page that `cursor` leads to."""
        return SearchAddress((*self.drop().pairs, ("cursor", cursor)))

    @property
    def query(self) -> str:
        """The query string."""
        return urlencode(self.pairs)

    @property
    def url(self) -> str:
        """Path and query string."""
        return f"{PATH}?{self.query}"

    @property
    def is_short(self) -> bool:
        """Whether every server accepts the address."""
        return len(self.url) <= MAX_ADDRESS

    @property
    def without_text(self) -> str:
        """The query string without the text: what a button sends while the text is in the form around it."""
        return urlencode([pair for pair in self.pairs if pair[0] != "text"])

    @property
    def as_back(self) -> list[tuple[str, str]]:
        """The parameter by which a document's address leads back to this search; none if the search is too long."""
        return [("back", self.query)] if self.is_short and len(self.query) < MAX_BACK else []
