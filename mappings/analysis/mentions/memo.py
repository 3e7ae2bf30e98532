"""A memory of what was found for each word: the same ones come again and again."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Final, TypeVar

_CAPACITY: Final = 200_000
_K = TypeVar("_K", bound=Hashable)
_V = TypeVar("_V")


class Memo(dict[_K, _V]):
    """What `function` gives for every key seen. It can be shared by threads."""

    def __init__(self, function: Callable[[_K], _V]) -> None:
        super().__init__()
        self._function = function

    def __missing__(self, key: _K) -> _V:
        found = self._function(key)
        if len(self) >= _CAPACITY:
            self.clear()
        self[key] = found
        return found
