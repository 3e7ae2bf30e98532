"""API tokens: who may send requests, which documents they see, and where they may write. Only hashes are stored."""

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
from web.access import guard
from web.access.private_files import locked, replace_file

FILE = guard.TOKENS
PREFIX = "medley"
EVERY_COLLECTION = "*"
_COLLECTION = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")


@dataclass(frozen=True, slots=True)
class ApiToken:
    """A token as it is stored: `digest` is the SHA-256 of a random secret of 256 bits, so a plain hash is enough.

    `writes` names the collections that the holder may write into, `operator` lets the holder see the installation's counts,
    `expires` is the moment from which the token is refused; tokens of an earlier version have none of the three.
    """

    id: str
    user: str
    labels: frozenset[str]
    created: str
    digest: str
    writes: frozenset[str] = frozenset()
    operator: bool = False
    expires: datetime | None = None

    @property
    def access(self) -> Access:
        """What the holder can see."""
        return Access(self.user, self.labels)

    @property
    def is_expired(self) -> bool:
        """Whether its time has passed."""
        return self.expires is not None and self.expires <= datetime.now(UTC)

    def as_json(self) -> dict[str, Any]:
        """The token for a listing: everything but the digest."""
        return {
            "id": self.id,
            "user": self.user,
            "labels": sorted(self.labels),
            "writes": sorted(self.writes),
            "operator": self.operator,
            "created": self.created,
            "expires": self.expires.isoformat(timespec="seconds") if self.expires else None,
        }


def add(
    home: Path,
    user: str,
    labels: Iterable[str],
    writes: Iterable[str] = (),
    operator: bool = False,
    expires: datetime | None = None,
) -> str:
    """Make a token for `user` with `labels` (`*`: every label) and return its text, which is shown only once.

    Its holder may write into the collections in `writes` (`*`: all of them), and as `operator` see the installation's counts;
    from the moment `expires` on it is refused. `home` is guarded from now on.
    Raises `InvalidInput` for an invalid name of a user, a label or a collection, and when there is no label.
    """
    name, allowed, writable = _checked_user(user), _checked_labels(labels), _checked_collections(writes)
    identifier, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    created = datetime.now(UTC).isoformat(timespec="seconds")
    token = ApiToken(identifier, name, allowed, created, _digest(secret), writable, operator, expires)
    with locked(home / f"{FILE}.lock"):
        known = list_tokens(home)
        guard.mark(home)
        _write(home, (*known, token))
    return f"{PREFIX}_{identifier}_{secret}"


def list_tokens(home: Path) -> tuple[ApiToken, ...]:
    """Every token, oldest first. Raises `Unavailable` when the file is damaged: then nobody is let in."""
    path = home / FILE
    try:
        return tuple(_token(item) for item in json.loads(path.read_bytes())["tokens"])
    except FileNotFoundError:
        return ()
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise Unavailable(f"{path} is not a valid list of tokens: {error!r}", field=FILE) from error


def _token(item: Mapping[str, Any]) -> ApiToken:
    labels, writes = frozenset(item["labels"]), frozenset(item.get("writes", ()))
    operator, expires = item.get("operator") is True, item.get("expires")
    ends = None if expires is None else datetime.fromisoformat(expires).astimezone(UTC)
    return ApiToken(item["id"], item["user"], labels, item["created"], item["digest"], writes, operator, ends)


def revoke(home: Path, identifier: str) -> ApiToken:
    """Remove the token with this id; its sessions end with it. Raises `NotFound`."""
    with locked(home / f"{FILE}.lock"):
        known = list_tokens(home)
        gone = find(known, identifier)
        if gone is None:
            raise NotFound(f"there is no token with the id {identifier[:40]!r}", field="id")
        _write(home, tuple(token for token in known if token is not gone))
    return gone


def remove_all(home: Path) -> int:
    """Remove every token and return `home` to open local use; return how many there were.

    A damaged list is removed, too. Raises `Unavailable`.
    """
    with locked(home / f"{FILE}.lock"):
        try:
            count = len(list_tokens(home))
        except Unavailable:
            count = 0
        try:
            (home / FILE).unlink(missing_ok=True)
            guard.unmark(home)
        except OSError as error:
            raise Unavailable(f"{home / FILE} cannot be removed: {error.strerror}", field=FILE) from error
    return count


def find(known: Iterable[ApiToken], identifier: str) -> ApiToken | None:
    """The token with this id."""
    return next((token for token in known if token.id == identifier), None)


def verify(known: Iterable[ApiToken], text: str) -> ApiToken | None:
    """The token with the text `text`, expired or not, or None: its id must be known and its secret right."""
    prefix, identifier, secret = _parts(text)
    token = find(known, identifier)
    # An unknown id is compared too, so that the time taken does not tell the two cases apart.
    right = hmac.compare_digest(_digest(secret), token.digest if token else _digest(""))
    return token if token and right and prefix == PREFIX else None


def claimed(known: Iterable[ApiToken], text: str) -> str | None:
    """The id of the token that `text` claims to be, if there is one with it; its secret can be wrong."""
    token = find(known, _parts(text)[1])
    return token.id if token else None


def _parts(text: str) -> tuple[str, str, str]:
    prefix, _, rest = text.strip().partition("_")
    identifier, _, secret = rest.partition("_")
    return prefix, identifier, secret


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def _write(home: Path, known: Iterable[ApiToken]) -> None:
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
            "give at least one label, or '*' for every document: without a label nothing is visible", field="labels"
        )
    if bad := sorted(label for label in allowed if not label or label != label.strip() or not label.isprintable()):
        raise InvalidInput(
            f"{bad[0]!r} is not a label: use printable characters, without spaces at the ends", field="labels"
        )
    return allowed


def _checked_collections(names: Iterable[str]) -> frozenset[str]:
    chosen = frozenset(names)
    if bad := sorted(name for name in chosen if name != EVERY_COLLECTION and not _COLLECTION.fullmatch(name)):
        raise InvalidInput(f"{bad[0][:80]!r} is neither a collection name nor '*' for all of them", field="writes")
    return chosen
