"""How stores treat the source versions of changes."""

from __future__ import annotations


def next_source(known: int | None, given: int | None) -> int | None:
    """The source version of a document after a change: the highest so far; None where there was none."""
    return given if known is None else known if given is None else max(known, given)


def is_stale(known: int | None, given: int | None) -> bool:
    """Whether a change has an older source version than an accepted one."""
    return known is not None and given is not None and given < known
