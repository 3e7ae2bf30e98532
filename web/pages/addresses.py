"""A search as an address: what is asked is kept in it, so that every view can be linked, kept and gone back to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl, urlencode

MAX_ADDRESS: Final = 3_600
"""Servers take request lines of about 4,000 bytes by default; a longer search is sent as a form."""

MAX_PARAMETERS: Final = 200
SEARCH: Final = "/search"
_RESET: Final = frozenset({"cursor"})


@dataclass(frozen=True, slots=True)
class State:
    """The parameters of a search, in order. Any change but the next page starts again at page one."""

    pairs: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, pairs: Iterable[tuple[str, str]]) -> State:
        """The parameters that say something: those left empty in a form are dropped."""
        return cls(tuple((name, value) for name, value in pairs if value.strip()))

    @classmethod
    def parsed(cls, text: str) -> State:
        """The parameters in the query part of an address; none when there are too many to mean anything."""
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

    def put(self, name: str, value: str) -> State:
        """With one value for `name`, in the place of all it had."""
        return State.of((*self.drop(name).pairs, (name, value)))

    def drop(self, *names: str) -> State:
        """Without these parameters."""
        gone = _RESET.union(names)
        return State(tuple(pair for pair in self.pairs if pair[0] not in gone))

    def remove(self, name: str, value: str) -> State:
        """Without one value of a parameter."""
        return State(tuple(pair for pair in self.drop().pairs if pair != (name, value)))

    def toggle(self, name: str, value: str) -> State:
        """With the value when it isn't there, without it when it is."""
        return self.remove(name, value) if value in self.values(name) else State((*self.drop().pairs, (name, value)))

    def at(self, cursor: str) -> State:
        """The page that `cursor` leads to."""
        return State((*self.drop().pairs, ("cursor", cursor)))

    @property
    def query(self) -> str:
        """The query part of the address."""
        return urlencode(self.pairs)

    @property
    def address(self) -> str:
        """Path and query part."""
        return f"{SEARCH}?{self.query}"

    @property
    def short(self) -> bool:
        """Whether every server takes the address."""
        return len(self.address) <= MAX_ADDRESS

    @property
    def rest(self) -> str:
        """The query part without the text: what a button sends while the text stands in the form around it."""
        return urlencode([pair for pair in self.pairs if pair[0] != "text"])
