"""Which parts of `_source` a client wants: all, none, or by patterns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from web.compatible.shapes import an_object, check_keys, matches, some_patterns


@dataclass(frozen=True, slots=True)
class SourceFilter:
    """Keeps the keys that match one of `included` (None: every key) and none of `excluded`."""

    included: tuple[str, ...] | None = None
    excluded: tuple[str, ...] = ()
    is_shown: bool = True

    def of(self, source: Mapping[str, Any]) -> dict[str, Any]:
        """The part of `source` that is wanted."""
        return {name: value for name, value in source.items() if self._keeps(name)}

    def _keeps(self, name: str) -> bool:
        is_included = self.included is None or any(matches(name, item) for item in self.included)
        return is_included and not any(matches(name, item) for item in self.excluded)


def read_source(value: Any, where: str) -> SourceFilter:
    """The filter that `_source` describes: true, false, patterns, or an object with `includes` and `excludes`.

    Raises `InvalidInput`.
    """
    if isinstance(value, bool):
        return SourceFilter(is_shown=value)
    if isinstance(value, str | list):
        return SourceFilter(tuple(some_patterns(value, where)) if value else None)
    options = an_object(value, where)
    check_keys(options, ("includes", "include", "excludes", "exclude"), where)
    included = options.get("includes", options.get("include"))
    excluded = options.get("excludes", options.get("exclude"))
    return SourceFilter(
        tuple(some_patterns(included, f"{where}.includes")) if included else None,
        tuple(some_patterns(excluded, f"{where}.excludes")) if excluded else (),
    )
