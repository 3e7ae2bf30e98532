"""API tokens: who may ask, which documents they see, and where they may write. Only hashes of the secrets are kept."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mappings.documents import Access
from mappings.errors import InvalidInput, NotFound, Unavailable
from web.access.private_files import locked, replace_file

FILE = "tokens.json"
PREFIX = "medley"
EVERY_COLLECTION = "*"
_COLLECTION = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")


@dataclass(frozen=True, slots=True)
class Token:
    """A token as it is kept: `digest` is the SHA-256 of a random secret of 256 bits, so a plain hash is enough.

    `writes` names the collections that the holder may write into; a token of an earlier version has none.
    """

    id: str
    user: str
    labels: frozenset[str]
    created: str
    digest: str
    writes: frozenset[str] = frozenset()

    @property
    def access(self) -> Access:
        """What the holder may see."""
        return Access(self.user, self.labels)

    def as_json(self) -> dict[str, Any]:
        """The token for a listing: all but the digest."""
        return {
            "id": self.id,
            "user": self.user,
            "labels": sorted(self.labels),
            "writes": sorted(self.writes),
            "created": self.created,
        }


def add(home: Path, user: str, labels: Iterable[str], writes: Iterable[str] = ()) -> str:
    """Make a token for `user` with `labels` (`*`: every label) and return its text, which is shown this once.

    It may write into the collections that `writes` names (`*`: all of them).
    Raises `InvalidInput` for an unusable name of a user, a label or a collection, and for no label at all.
    """
    name, allowed, writable = _checked_user(user), _checked_labels(labels), _checked_collections(writes)
    identifier, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    created = datetime.now(UTC).isoformat(timespec="seconds")
    token = Token(identifier, name, allowed, created, _digest(secret), writable)
    with locked(home / f"{FILE}.lock"):
        _write(home, (*listed(home), token))
    return f"{PREFIX}_{identifier}_{secret}"


def listed(home: Path) -> tuple[Token, ...]:
    """Every token, oldest first. Raises `Unavailable` when the file is damaged: then nobody is let in."""
    path = home / FILE
    try:
        return tuple(_token(item) for item in json.loads(path.read_bytes())["tokens"])
    except FileNotFoundError:
        return ()
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise Unavailable(f"{path} can't be read as a list of tokens: {error!r}", field=FILE) from error


def _token(item: Mapping[str, Any]) -> Token:
    labels, writes = frozenset(item["labels"]), frozenset(item.get("writes", ()))
    return Token(item["id"], item["user"], labels, item["created"], item["digest"], writes)


def revoke(home: Path, identifier: str) -> Token:
    """Remove the token with this id; its sessions end with it. Raises `NotFound`."""
    with locked(home / f"{FILE}.lock"):
        known = listed(home)
        gone = find(known, identifier)
        if gone is None:
            raise NotFound(f"there is no token with the id {identifier[:40]!r}", field="id")
        _write(home, tuple(token for token in known if token is not gone))
    return gone


def find(known: Iterable[Token], identifier: str) -> Token | None:
    """The token with this id."""
    return next((token for token in known if token.id == identifier), None)


def verified(known: Iterable[Token], text: str) -> Token | None:
    """The token that `text` is the whole of: its id must be known and its secret right."""
    prefix, _, rest = text.strip().partition("_")
    identifier, _, secret = rest.partition("_")
    token = find(known, identifier)
    # The comparison also runs for an unknown id, so that the time taken doesn't tell the two apart.
    right = hmac.compare_digest(_digest(secret), token.digest if token else _digest(""))
    return token if token and right and prefix == PREFIX else None


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def _write(home: Path, known: Iterable[Token]) -> None:
    items = [token.as_json() | {"digest": token.digest} for token in known]
    replace_file(home / FILE, json.dumps({"tokens": items}, indent=1).encode())


def _checked_user(user: str) -> str:
    if not user.strip() or not user.isprintable() or len(user) > 100:
        raise InvalidInput("a user name has 1 to 100 printable characters", field="user")
    return user.strip()


def _checked_labels(labels: Iterable[str]) -> frozenset[str]:
    allowed = frozenset(labels)
    if not allowed:
        raise InvalidInput(
            "give at least one label, or '*' for every document: without one nothing is visible", field="labels"
        )
    if bad := sorted(label for label in allowed if not label or label != label.strip() or not label.isprintable()):
        raise InvalidInput(f"{bad[0]!r} is no label: a label is a name in printable characters", field="labels")
    return allowed


def _checked_collections(names: Iterable[str]) -> frozenset[str]:
    chosen = frozenset(names)
    if bad := sorted(name for name in chosen if name != EVERY_COLLECTION and not _COLLECTION.fullmatch(name)):
        raise InvalidInput(f"{bad[0][:80]!r} is no collection's name, nor '*' for all of them", field="writes")
    return chosen
