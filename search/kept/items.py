"""What users keep: searches, term bundles, cohorts, dossiers and judgements, each item of one user.

An item is private unless it is shared with labels; judgements never are.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, get_args

import orjson

from mappings.documents import EVERY_LABEL, Access
from mappings.dossiers.parse import parse_dossier
from mappings.errors import Conflict, Forbidden, InvalidInput, NotFound
from mappings.judgements.judgement import parse_judgements

KeptKind = Literal["search", "bundle", "cohort", "dossier", "judgements"]
"""A saved search, a term bundle (a name and a list of terms), a cohort (criteria that documents or patients meet), a
dossier (claims with verdicts and evidence), or judgements (of the hits of a collection's searches)."""

KEPT_KINDS: Final[tuple[KeptKind, ...]] = get_args(KeptKind)
MOST_ITEMS: Final = 1_000
"""How many items a user can keep."""

MOST_NAME_CHARACTERS: Final = 200
MOST_CONTENT_BYTES: Final = 64_000
"""The most bytes of an item's content as JSON in UTF-8."""

MOST_LABELS: Final = 50
MOST_PAGE_ITEMS: Final = 50
_ID_BYTES: Final = 8
_USER_CHARACTERS: Final = 200
_LABEL_CHARACTERS: Final = 200


@dataclass(frozen=True, slots=True)
class KeptDraft:
    """What a user gives of an item. `collection` is the one that it belongs to, or empty; `content` is a JSON object.

    Raises `InvalidInput`, with the field, for a value outside the limits.
    """

    kind: KeptKind
    name: str
    content: Mapping[str, Any]
    collection: str = ""
    shared_with: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if self.kind not in KEPT_KINDS:
            raise InvalidInput(f"{self.kind!r:.80} is not a kind; known are {', '.join(KEPT_KINDS)}", field="kind")
        _check_text(self.name, MOST_NAME_CHARACTERS, "name")
        for label in self.shared_with:
            _check_text(label, _LABEL_CHARACTERS, "shared_with")
        if EVERY_LABEL in self.shared_with:
            raise InvalidInput(f"{EVERY_LABEL!r} is not a label that an item can be shared with", field="shared_with")
        if len(self.shared_with) > MOST_LABELS:
            raise InvalidInput(f"an item can be shared with at most {MOST_LABELS} labels", field="shared_with")
        encode_content(self.content)
        if self.kind == "dossier":
            parse_dossier(self.content)
        if self.kind == "judgements":
            _check_judgements(self)


@dataclass(frozen=True, slots=True)
class KeptItem:
    """An item as it is stored; `created` and `changed` are microseconds since 1970.

    `revision` counts the changes of the item from 1. A change names the revision that it was made from.
    """

    id: str
    owner: str
    kind: KeptKind
    name: str
    content: Mapping[str, Any]
    collection: str
    shared_with: frozenset[str]
    revision: int
    created: int
    changed: int

    @classmethod
    def of(cls, access: Access, draft: KeptDraft) -> KeptItem:
        """A new item of the caller. Raises `InvalidInput` for a caller without a usable name, and `Forbidden`."""
        _check_text(access.user, _USER_CHARACTERS, "user")
        _check_sharing(access, draft.shared_with)
        now = time.time_ns() // 1_000
        given = (draft.kind, draft.name, draft.content, draft.collection, draft.shared_with)
        return cls(secrets.token_hex(_ID_BYTES), access.user, *given, 1, now, now)

    def changed_by(self, access: Access, revision: int, draft: KeptDraft) -> KeptItem:
        """The next revision of this item, with the content of `draft`.

        Raises the errors of `check_owner`, `Conflict` where `revision` is not the present one, `InvalidInput` for another
        kind, and `Forbidden` for a label that the caller does not have; labels that were there may stay.
        """
        self.check_owner(access)
        self.check_revision(revision)
        if draft.kind != self.kind:
            raise InvalidInput(f"the item is a {self.kind}, and its kind never changes", field="kind")
        _check_sharing(access, draft.shared_with - self.shared_with)
        return replace(
            self,
            name=draft.name,
            content=draft.content,
            collection=draft.collection,
            shared_with=draft.shared_with,
            revision=self.revision + 1,
            changed=max(self.changed + 1, time.time_ns() // 1_000),
        )

    def check_owner(self, access: Access) -> None:
        """Raise `NotFound` unless the caller may see the item, `Forbidden` unless it is theirs."""
        if not self.may_be_seen(access):
            raise unknown_item(self.id)
        if self.owner != access.user:
            raise Forbidden("only its owner can change or delete a shared item: keep a copy of your own", field="id")

    def check_revision(self, revision: int) -> None:
        """Raise `Conflict` unless this is the item's revision."""
        if revision != self.revision:
            raise Conflict(
                f"the item has revision {self.revision}, not {revision}: read it again and repeat the change",
                field="revision",
            )

    def may_be_seen(self, access: Access) -> bool:
        """Whether the caller owns the item, or has a label that it is shared with."""
        return self.owner == access.user or access.may_see(self.shared_with)

    def seen_by(self, access: Access) -> KeptItem:
        """The item as the caller sees it: nobody but the owner learns of labels that they do not have."""
        if self.owner == access.user or access.everything:
            return self
        return replace(self, shared_with=self.shared_with & access.labels)

    @property
    def position(self) -> str:
        """Where a listing stands after this item."""
        return f"{self.changed}-{self.id}"


@dataclass(frozen=True, slots=True)
class KeptFilter:
    """Which items a listing has: of one kind, of one collection (empty: of none), or all where they are None.

    Of the items of others only those that belong to no collection, or to one of `visible`, are listed; None: to any.
    """

    kind: KeptKind | None = None
    collection: str | None = None
    visible: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class KeptPage:
    """A page of a listing, the item that was changed last first; `next` is the position after it, None on the last one."""

    items: Sequence[KeptItem] = field(default_factory=tuple)
    next: str | None = None

    @classmethod
    def of(cls, found: Sequence[KeptItem], size: int) -> KeptPage:
        """The page of the first `size` items of `found`, which has one more where there is a next page."""
        items = tuple(found[:size])
        return cls(items, items[-1].position if len(found) > size else None)


def check_page(size: int, after: str) -> tuple[int, str] | None:
    """The moment and the id that a listing goes on after; None: from the start.

    Raises `InvalidInput` for a size out of range, and for a position that no listing has returned.
    """
    if not 1 <= size <= MOST_PAGE_ITEMS:
        raise InvalidInput(f"a page has 1 to {MOST_PAGE_ITEMS} items", field="size")
    if not after:
        return None
    moment, _, identifier = after.partition("-")
    if not (moment.isascii() and moment.isdigit() and len(moment) <= 18 and is_item_id(identifier)):
        raise InvalidInput("this is not a position that a listing has returned", field="after")
    return int(moment), identifier


def is_item_id(text: str) -> bool:
    """Whether an item can have this id."""
    return len(text) == 2 * _ID_BYTES and set(text) <= set("0123456789abcdef")


def is_name(text: str) -> bool:
    """Whether an item can have this name."""
    return _is_text(text, MOST_NAME_CHARACTERS)


def encode_content(content: Mapping[str, Any]) -> bytes:
    """The content of an item as JSON. Raises `InvalidInput` for what is not a JSON object, or too large."""
    try:
        encoded = orjson.dumps(content, option=orjson.OPT_SORT_KEYS)
    except (TypeError, RecursionError) as error:
        raise InvalidInput(f"the content can't be stored as JSON: {error}", field="content") from error
    if len(encoded) > MOST_CONTENT_BYTES:
        raise InvalidInput(
            f"the content has {len(encoded):,} bytes as JSON, more than {MOST_CONTENT_BYTES:,}", field="content"
        )
    if not isinstance(content, dict) or orjson.loads(encoded) != content:
        raise InvalidInput(
            "the content must be a JSON object of texts, finite numbers, lists and objects", field="content"
        )
    return encoded


def unknown_item(identifier: str) -> NotFound:
    """The error for an item that does not exist, and alike for one that the caller can't see."""
    return NotFound(f"there is no kept item {identifier[:100]!r} that you may see", field="id")


def name_taken(draft: KeptDraft | KeptItem) -> Conflict:
    """The error for a name that another item of the same owner and kind has."""
    return Conflict(f"you keep a {draft.kind} named {draft.name!r} already: choose another name", field="name")


def too_many_items() -> Conflict:
    """The error for a user who keeps as many items as possible."""
    return Conflict(f"you keep {MOST_ITEMS:,} items already: delete some first", field="items")


def restored_name(item: KeptItem) -> KeptItem:
    """A restored item under a name that no other item has, because its own is taken."""
    mark = f" (restored {item.id})"
    return replace(item, name=item.name[: MOST_NAME_CHARACTERS - len(mark)] + mark)


def _check_judgements(draft: KeptDraft) -> None:
    parse_judgements(draft.content)
    if not draft.collection:
        raise InvalidInput("judgements belong to a collection: name it", field="collection")
    if draft.shared_with:
        raise InvalidInput("judgements are never shared", field="shared_with")


def _check_text(text: str, most: int, where: str) -> None:
    if not _is_text(text, most):
        what = "the name of the user" if where == "user" else "a label" if where == "shared_with" else "a name"
        raise InvalidInput(f"{what} has 1 to {most} printable characters, and no spaces at the ends", field=where)


def _is_text(text: str, most: int) -> bool:
    return 0 < len(text) <= most and text.isprintable() and text == text.strip()


def _check_sharing(access: Access, added: frozenset[str]) -> None:
    """Nobody can make something appear to a group that they do not belong to."""
    foreign = sorted(added) if not access.everything else []
    if missing := [label for label in foreign if label not in access.labels]:
        raise Forbidden(
            f"you can share an item only with labels that you have, and {missing[0]!r} is none of them",
            field="shared_with",
        )
