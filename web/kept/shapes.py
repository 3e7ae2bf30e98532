"""The JSON shapes of kept items: what callers send, and what they get."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from mappings.documents import Access
from search.kept.items import (
    MOST_CONTENT_BYTES,
    MOST_LABELS,
    MOST_NAME_CHARACTERS,
    MOST_PAGE_ITEMS,
    KeptDraft,
    KeptItem,
    KeptKind,
    KeptPage,
)
from web.wire import WireModel


class KeptForm(BaseModel):
    """An item to keep."""

    model_config = ConfigDict(extra="forbid", title="KeptItemToKeep")

    kind: KeptKind = Field(description="a saved search, a term bundle, a cohort, a dossier or judgements of hits")
    name: str = Field(
        min_length=1,
        max_length=MOST_NAME_CHARACTERS,
        description="printable characters; unique among the caller's items of this kind",
        examples=["anticoagulants"],
    )
    content: dict[str, Any] = Field(
        description=f"a JSON object of at most {MOST_CONTENT_BYTES:,} bytes, kept as it is; that of a dossier and of judgements is checked",
        examples=[{"terms": ["warfarin", "apixaban"]}],
    )
    collection: str = Field("", description="the collection that it belongs to; empty: none", examples=["abstracts"])
    shared_with: Annotated[list[str], Field(max_length=MOST_LABELS)] = Field(
        [], description="access labels of the caller: whoever has one of them sees the item and can't change it"
    )

    def draft(self) -> KeptDraft:
        """The item that is meant. Raises `InvalidInput`."""
        return KeptDraft(self.kind, self.name, self.content, self.collection, frozenset(self.shared_with))


class KeptChangeForm(KeptForm):
    """The next revision of an item: all of it, with the revision that it was made from."""

    model_config = ConfigDict(extra="forbid", title="KeptItemChange")

    revision: int = Field(ge=1, description="the item's `revision` as it was read; if it has another now, 409")


class KeptListForm(BaseModel):
    """The parameters of a listing."""

    model_config = ConfigDict(extra="forbid", title="KeptListParameters")

    kind: KeptKind | None = Field(None, description="only items of this kind")
    collection: str | None = Field(None, description="only items of this collection; empty: of none")
    size: int = Field(20, ge=1, le=MOST_PAGE_ITEMS, description="items on a page")
    after: str = Field("", max_length=60, description="the `next` of the page before")


class KeptDeletionForm(BaseModel):
    """The parameters of a deletion."""

    model_config = ConfigDict(extra="forbid", title="KeptDeletionParameters")

    revision: int | None = Field(
        None, ge=1, description="delete the item only in this revision; if it has another, 409"
    )


class KeptAnswer(WireModel):
    """A kept item. `own`: the caller is its owner. Others see only those of its labels that they have."""

    model_config = ConfigDict(title="KeptItem")

    id: str
    kind: KeptKind
    name: str
    content: dict[str, Any]
    collection: str
    owner: str
    own: bool
    shared_with: list[str]
    revision: int
    created: str
    changed: str

    @classmethod
    def of(cls, item: KeptItem, access: Access) -> KeptAnswer:
        """Build from an item as the caller sees it."""
        return cls(
            id=item.id,
            kind=item.kind,
            name=item.name,
            content=dict(item.content),
            collection=item.collection,
            owner=item.owner,
            own=item.owner == access.user,
            shared_with=sorted(item.shared_with),
            revision=item.revision,
            created=moment(item.created),
            changed=moment(item.changed),
        )


class KeptListAnswer(WireModel):
    """A page of kept items, what was changed last first; `next` is null on the last page."""

    model_config = ConfigDict(title="KeptItems")

    items: list[KeptAnswer]
    next: str | None

    @classmethod
    def of(cls, page: KeptPage, access: Access) -> KeptListAnswer:
        """Build from a page."""
        return cls(items=[KeptAnswer.of(item, access) for item in page.items], next=page.next)


class KeptDeletionAnswer(WireModel):
    """An item that was deleted."""

    model_config = ConfigDict(title="KeptItemDeleted")

    id: str
    status: Literal["deleted"] = "deleted"


def moment(microseconds: int) -> str:
    """A time stamp of the store as ISO 8601, in UTC."""
    return datetime.fromtimestamp(microseconds / 1_000_000, UTC).isoformat(timespec="milliseconds")
