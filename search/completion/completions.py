"""What can complete a typed text: the names of concepts, aspects and values that a caller's documents have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from mappings.collection import Collection
from mappings.documents import Access, clean
from mappings.errors import InvalidInput

CONCEPT_SLOTS: Final = ("entity", "concept")
ASPECT_SLOT: Final = "aspect"
MAX_TYPED_CHARACTERS: Final = 500
DEFAULT_COMPLETIONS: Final = 10
MAX_COMPLETIONS: Final = 20


@dataclass(frozen=True, slots=True)
class CompletionRequest:
    """What a caller has typed so far into a slot: `entity` or `concept`, `aspect`, or a field of the collection.

    It can't be built without `access`. Raises `InvalidInput` for an empty or a long text, and a wrong limit.
    """

    collection: str
    access: Access
    text: str
    slot: str = CONCEPT_SLOTS[0]
    limit: int = DEFAULT_COMPLETIONS

    def __post_init__(self) -> None:
        if not isinstance(self.access, Access):
            raise TypeError("a CompletionRequest needs the Access of its caller")
        if not clean(self.text).strip():
            raise InvalidInput("the text is empty: give what was typed so far", field="text")
        if len(self.text) > MAX_TYPED_CHARACTERS:
            message = f"the text has {len(self.text):,} characters; at most {MAX_TYPED_CHARACTERS} are allowed"
            raise InvalidInput(message, field="text")
        if not 1 <= self.limit <= MAX_COMPLETIONS:
            raise InvalidInput(f"limit is {self.limit}; it must be between 1 and {MAX_COMPLETIONS}", field="limit")


@dataclass(frozen=True, slots=True)
class Completion:
    """One completion: a concept by its preferred `name`, or an aspect or a value.

    `matched` is the name that was found, such as a synonym. `concept` is the concept's id and `group` its group, both ""
    for an aspect or a value. `documents` is how many documents that the caller may see mention it, or have it.
    """

    name: str
    matched: str
    documents: int
    concept: str = ""
    group: str = ""


@dataclass(frozen=True, slots=True)
class Completions:
    """The completions, the best first, and what is to be said about them."""

    completions: tuple[Completion, ...] = ()
    notes: tuple[str, ...] = ()


def slots_of(collection: Collection) -> tuple[str, ...]:
    """The slots whose values can be completed: concepts, aspects, and the keyword fields that the search page counts."""
    fields = (item.name for item in collection.fields.values() if item.facet and item.type == "keyword")
    return tuple(dict.fromkeys((*CONCEPT_SLOTS, ASPECT_SLOT, *fields)))


def check_slot(slot: str, collection: Collection) -> str:
    """`slot`, if it can be completed. Raises `InvalidInput`, which names those that can."""
    known = slots_of(collection)
    if slot not in known:
        raise InvalidInput(f"there is no slot {slot[:80]!r} to complete; there are {', '.join(known)}", field="slot")
    return slot
