"""Whether a home is guarded by tokens: once it had one it stays so, whatever happens to the list of tokens."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Final

from mappings.errors import Unavailable
from web.access.private_files import replace_file

TOKENS: Final = "tokens.json"
MARKER: Final = "guarded"
_MESSAGE: Final = b"This home has had access tokens and stays guarded. To go back: medley tokens open\n"

_seen: set[Path] = set()
"""The homes that this process has found guarded: without a restart they stay so, even if both files are removed."""


def is_guarded(home: Path) -> bool:
    """Whether a token was ever created here, by the list of tokens, by the marker or by what this process has seen.

    Revoking the last one or losing the list locks everybody out; neither gives open access. A home that cannot be read
    counts as guarded.
    """
    if home in _seen:
        return True
    listed = _exists(home / TOKENS)
    if not listed and not _exists(home / MARKER):
        return False
    _seen.add(home)
    if listed:
        with suppress(Unavailable):  # a model server's home can be read-only
            mark(home)
    return True


def mark(home: Path) -> None:
    """Record that `home` is guarded from now on. Raises `Unavailable` if it cannot be written."""
    if not _exists(home / MARKER):
        home.mkdir(parents=True, exist_ok=True)
        replace_file(home / MARKER, _MESSAGE)


def unmark(home: Path) -> None:
    """Return `home` to open local use. Other processes that have seen it guarded keep it so until they restart."""
    (home / MARKER).unlink(missing_ok=True)
    _seen.discard(home)


def _exists(path: Path) -> bool:
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True
