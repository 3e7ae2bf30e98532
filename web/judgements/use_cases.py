"""What a caller can do with their own judgements of hits; changes and readings are in the access log, without texts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple

import orjson

from mappings.documents import Access
from mappings.errors import Conflict, InvalidInput, NotFound
from mappings.judgements.judgement import (
    Judgement,
    JudgementKey,
    as_content,
    newest,
    parse_judgements,
    with_judgement,
    without_judgement,
)
from search.kept.items import MOST_PAGE_ITEMS, KeptDraft, KeptFilter, KeptItem
from search.kept.store import KeptStore
from web.citations.evidence_marks import EvidenceMarks
from web.kept.use_cases import KeptUseCases
from web.use_cases import UseCases

NEARLY_FULL: Final = 60_000
"""An item that would have more bytes takes no further judgement. The rest of its room is for judgements that are replaced:
each grows by at most the six bytes from `null` to `"supports"`, and an item has fewer than 600."""

_ATTEMPTS: Final = 3
_PASSING: Final = ("revision", "name", "id")
"""The fields of errors that another tab causes, which changed, began or deleted an item meanwhile."""


class OwnJudgement(NamedTuple):
    """A judgement of the caller, and the collection of its document."""

    collection: str
    judgement: Judgement


@dataclass(frozen=True, slots=True)
class JudgementUseCases:
    """The judgements of the caller of `use_cases`; nobody else ever sees them, but the operator exports all."""

    use_cases: UseCases

    def judge(self, collection: str, judgement: Judgement) -> None:
        """Keep a judgement; an earlier one of the same text and passage is replaced.

        Raises `InvalidInput` for a collection that is not of studies, `NotFound` for a document that the caller can't see,
        and `Conflict` if it has changed since it was found.
        """
        chosen = self.use_cases.named(collection, "document")
        if not chosen.studies:
            raise InvalidInput(
                f"hits are judged in collections of studies, and {chosen.name!r} is not one", field="collection"
            )
        stored = self.use_cases.document(chosen.name, judgement.document, "document")
        if EvidenceMarks(judgement.passage, ()).passage_of(stored, chosen) is None:
            raise Conflict("the document has changed since it was found: search again", field="passage")
        _repeated(partial(self._keep, chosen.name, judgement))

    def withdraw(self, collection: str, key: JudgementKey) -> None:
        """Remove a judgement; nothing happens if there is none. Its document can be gone, or hidden from the caller by now."""
        _repeated(partial(self._remove, collection, key))

    def all(self) -> list[OwnJudgement]:
        """Every judgement of the caller, the newest first."""
        found = [OwnJudgement(item.collection, one) for item in self._items(None) for one in judgements_of(item)]
        return sorted(found, key=lambda item: (item.judgement.at, item.collection, item.judgement.key), reverse=True)

    def _keep(self, collection: str, judgement: Judgement) -> None:
        items = [(item, judgements_of(item)) for item in self._items(collection)]
        holding = [pair for pair in items if any(one.key == judgement.key for one in pair[1])]
        with_room = [pair for pair in items if _size((*pair[1], judgement)) <= NEARLY_FULL]
        for item, judgements in (*holding, *with_room)[:1]:
            self._replace(item, with_judgement(judgements, judgement))
            return
        name = self._free_name(collection)
        self._kept.add(KeptDraft("judgements", name, as_content([judgement]), collection))

    def _remove(self, collection: str, key: JudgementKey) -> None:
        for item in self._items(collection):
            judgements = judgements_of(item)
            left = without_judgement(judgements, key)
            if len(left) == len(judgements):
                continue
            if left:
                self._replace(item, left)
            else:
                self._kept.delete(item.id, item.revision)

    def _replace(self, item: KeptItem, judgements: Sequence[Judgement]) -> None:
        draft = KeptDraft("judgements", item.name, as_content(judgements), item.collection)
        self._kept.replace(item.id, item.revision, draft)

    def _free_name(self, collection: str) -> str:
        """A name that none of the caller's items has: a renamed collection leaves its old name to its items."""
        name, number = collection, 1
        while self.use_cases.medley.kept.named(self.use_cases.caller.access, "judgements", name):
            number += 1
            name = f"{collection} ({number})"
        return name

    def _items(self, collection: str | None) -> list[KeptItem]:
        found: list[KeptItem] = []
        after: str | None = ""
        while after is not None:
            page = self._kept.list_items("judgements", collection, MOST_PAGE_ITEMS, after)
            found += page.items
            after = page.next
        return found

    @property
    def _kept(self) -> KeptUseCases:
        return KeptUseCases(self.use_cases)


def shown_judgements(store: KeptStore, access: Access, collection: str) -> Mapping[JudgementKey, Judgement]:
    """The caller's judgements in a collection, for pages of its hits.

    Not logged: every page of hits asks for them, and they are the caller's own.
    """
    return newest(one for item in _shown_items(store, access, collection) for one in judgements_of(item))


def judgements_of(item: KeptItem) -> tuple[Judgement, ...]:
    """The judgements that an item holds."""
    return parse_judgements(item.content)


def _shown_items(store: KeptStore, access: Access, collection: str) -> Iterator[KeptItem]:
    after: str | None = ""
    while after is not None:
        page = store.list_items(access, KeptFilter("judgements", collection), MOST_PAGE_ITEMS, after)
        yield from page.items
        after = page.next


def _repeated(change: Callable[[], None]) -> None:
    """Make a change of the caller's items, again where another one of theirs came between: it takes nothing away."""
    for left in reversed(range(_ATTEMPTS)):
        try:
            change()
        except (Conflict, NotFound) as error:
            if error.field not in _PASSING or not left:
                raise
        else:
            return


def _size(judgements: Sequence[Judgement]) -> int:
    return len(orjson.dumps(as_content(judgements)))
