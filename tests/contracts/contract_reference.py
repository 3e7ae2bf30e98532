"""The answers that an engine must give, computed by brute force over the drafts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from backends import Draft

from mappings.analysis.words import terms
from mappings.documents import Access, FieldValue
from search.query import Filter, NoneOf, Terms


def visible(drafts: Iterable[Draft], access: Access, filters: Sequence[Filter] = ()) -> list[Draft]:
    """The documents that the caller may see and that match every filter."""
    return [item for item in drafts if access.may_see(item.labels) and all(keeps(one, item) for one in filters)]


def keeps(one: Filter, draft: Draft) -> bool:
    value = draft.fields.get(one.name)
    if value is None:
        return isinstance(one, NoneOf)
    if isinstance(one, NoneOf):
        return set(one.values).isdisjoint(as_texts(value))
    if isinstance(one, Terms):
        return not set(one.values).isdisjoint(as_texts(value))
    return (one.low is None or value >= one.low) and (one.high is None or value <= one.high)  # type: ignore[operator]


def as_texts(value: FieldValue) -> set[str]:
    if isinstance(value, tuple):
        return set(value)
    return {f"{value:g}" if isinstance(value, float) else str(value)}


def passage_ids(draft: Draft) -> list[str]:
    return [f"{draft.id}@{draft.version}#{number}" for number in range(len(draft.texts))]


def matching_passages(draft: Draft, words: str) -> list[str]:
    """The passages with any of the words in their title, heading or text."""
    wanted = set(terms(words))
    texts = (f"{draft.title} {draft.heading} {text}" for text in draft.texts)
    return [key for key, text in zip(passage_ids(draft), texts, strict=True) if wanted & set(terms(text))]


def matching(drafts: Iterable[Draft], words: str) -> list[Draft]:
    return [draft for draft in drafts if matching_passages(draft, words)]


def facet(drafts: Iterable[Draft], name: str) -> list[tuple[str, int]]:
    """(value, number of documents), most frequent first, ties by value."""
    counts = Counter(text for draft in drafts if name in draft.fields for text in as_texts(draft.fields[name]))
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def nearest(drafts: Iterable[Draft], vector: np.ndarray, documents: int) -> list[str]:
    """Passage ids by the inner product of their nearest row, cut after the first passage of the last wanted document."""
    best: dict[tuple[str, str], float] = {}
    for draft in drafts:
        rows = iter(draft.vectors or ())
        for key, count in zip(passage_ids(draft), draft.windows or (1,) * len(draft.texts), strict=True):
            own = np.stack([next(rows) for _ in range(count)]).astype(np.float16).astype(np.float32)
            best[key, draft.id] = float((own @ vector).max())
    kept: list[str] = []
    seen: set[str] = set()
    for key, document in sorted(best, key=lambda item: (-best[item], item)):
        if len(seen) == documents:
            break
        seen.add(document)
        kept.append(key)
    return kept
