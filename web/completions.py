"""What callers send to complete a text, and what they get, the same over every interface."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from mappings.documents import Access
from search.completion.completions import (
    CONCEPT_SLOTS,
    DEFAULT_COMPLETIONS,
    MAX_COMPLETIONS,
    MAX_TYPED_CHARACTERS,
    CompletionRequest,
    Completions,
)
from web.wire import WireModel


class CompletionForm(BaseModel):
    """What was typed so far, and into which slot."""

    model_config = ConfigDict(extra="forbid", title="Complete")

    collection: str = Field(description="name of the collection that will be searched", examples=["notes"])
    text: str = Field(
        min_length=1, max_length=MAX_TYPED_CHARACTERS, description="what was typed so far", examples=["metfromin"]
    )
    slot: str = Field(
        CONCEPT_SLOTS[0],
        max_length=64,
        description="what is typed: `entity` or `concept` (a concept), `aspect` (what a section is about), or a keyword "
        "field of the collection whose values are counted",
    )
    limit: int = Field(DEFAULT_COMPLETIONS, ge=1, le=MAX_COMPLETIONS, description="most completions")

    def to_request(self, collection: str, access: Access) -> CompletionRequest:
        """The request of this form. Raises `InvalidInput` for a text of spaces alone."""
        return CompletionRequest(collection, access, self.text, self.slot, self.limit)


class CompletionJson(WireModel):
    """One completion."""

    model_config = ConfigDict(title="Completion")

    name: str = Field(description="the preferred name of a concept, an aspect, or a value")
    matched: str = Field(description="the name that was found, such as a synonym or an abbreviation")
    concept: str | None = Field(description="the id of the concept")
    group: str | None = Field(description="the group of the concept, such as drugs")
    documents: int = Field(
        description="how many documents that the caller can see mention the concept, or have the value"
    )


class CompletionAnswer(WireModel):
    """The completions of what was typed, the best first."""

    completions: list[CompletionJson]
    notes: list[str] = Field(description="why there is less than there could be, for the reader")

    @classmethod
    def of(cls, found: Completions) -> CompletionAnswer:
        """Build from the completions."""
        completions = [
            CompletionJson(
                name=item.name,
                matched=item.matched,
                concept=item.concept or None,
                group=item.group or None,
                documents=item.documents,
            )
            for item in found.completions
        ]
        return cls(completions=completions, notes=list(found.notes))
