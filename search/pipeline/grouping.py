"""Group passages into hits: one per document, or one per patient, with further documents listed under it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mappings.documents import FieldValue
from search.ranking.candidates import Candidate

Fields = Mapping[str, Mapping[str, FieldValue]]
"""Document id -> its fields."""


@dataclass(slots=True)
class Group:
    """Everything found for one document or patient: the best passage, and `others` in order."""

    key: str
    best: Candidate
    others: list[Candidate] = field(default_factory=list)

    @property
    def documents(self) -> list[str]:
        """The distinct documents of the group, that of `best` first."""
        return list(dict.fromkeys(item.document for item in (self.best, *self.others)))


def group(ranked: Sequence[Candidate], key: Callable[[str], str]) -> list[Group]:
    """Groups in the order of their best passages; `key` maps a document id to its group."""
    groups: dict[str, Group] = {}
    for item in ranked:
        name = key(item.document)
        if name in groups:
            groups[name].others.append(item)
        else:
            groups[name] = Group(name, item)
    return list(groups.values())


def fold(groups: Sequence[Group], works: Mapping[str, str]) -> list[Group]:
    """The groups in their order, those of one work as one; `works` maps a document to its work."""
    folded: dict[str, Group] = {}
    for item in groups:
        work = works.get(item.best.document)
        if not work:
            folded[item.key] = item
            continue
        key = f"work:{work}"
        if key in folded:
            folded[key].others += [item.best, *item.others]
        else:
            folded[key] = Group(key, item.best, item.others)
    return list(folded.values())


def by_field(ranked: Sequence[Candidate], name: str, fields: Fields) -> list[Group]:
    """Groups of the documents that share the field `name`; a document without it is a group of its own."""
    return group(ranked, lambda document: group_key(fields, name, document))


def group_key(fields: Fields, name: str, document: str) -> str:
    """The key of the group of `document`: its value of the field `name`, or else its id."""
    value = fields.get(document, {}).get(name)
    return f"{name}:{value}" if value else document


def sort_by(sort: str, groups: Sequence[Group], fields: Fields) -> list[Group]:
    """Groups by a field of their best document (`-name`: descending), those without it last; ties keep their order."""
    name = sort.removeprefix("-")

    def value(item: Group) -> Any:
        return fields.get(item.best.document, {}).get(name)

    having = [item for item in groups if value(item) is not None]
    return sorted(having, key=value, reverse=sort.startswith("-")) + [item for item in groups if value(item) is None]
