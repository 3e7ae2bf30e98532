"""Passages into hits: one a document, or one a patient with the others folded under it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from search.rerank import Ranked


@dataclass(slots=True)
class Group:
    """Everything found for one document or patient: `best` leads, `others` follow in order."""

    key: str
    best: Ranked
    others: list[Ranked] = field(default_factory=list)

    @property
    def documents(self) -> list[str]:
        """The distinct documents of the group, the best's first."""
        return list(dict.fromkeys(item.fused.document for item in (self.best, *self.others)))


def group(ranked: Sequence[Ranked], key: Callable[[str], str]) -> list[Group]:
    """Groups in the order of their best; `key` maps a document id to its group."""
    groups: dict[str, Group] = {}
    for item in ranked:
        name = key(item.fused.document)
        if name in groups:
            groups[name].others.append(item)
        else:
            groups[name] = Group(name, item)
    return list(groups.values())
