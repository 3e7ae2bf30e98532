"""The home folder: made for its owner alone, and closed to other users of the machine where it is found open.

Our own processes also have a umask that closes each file they create, whichever library does (`web.cli.main`). A program
that uses Medley as a library keeps its umask: there, the closed folder is what keeps others from the files in it.
"""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from mappings.errors import Unavailable

FIELD: Final = "MEDLEY_HOME"
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
_TRACES: Final = ("collections", "vectors", "evaluation", "cursor.key", "session.key", "tokens.json", "access.log")
"""A folder with one of these is a home."""

_log = logging.getLogger("medley.home")


def open_home(home: Path) -> None:
    """Create the folder if it does not exist, and close it to all but its owner.

    Raises `Unavailable` if it belongs to another user, can't be written to, or is open to others and can't be closed.
    """
    try:
        home.mkdir(mode=stat.S_IRWXU, parents=True, exist_ok=True)
        found = home.stat()
    except OSError as error:
        raise Unavailable(f"the home {home} can't be opened: {error.strerror}", field=FIELD) from error
    if found.st_uid != os.geteuid():  # files that root makes in another user's home would lock that user out
        raise Unavailable(
            f"the home {home} belongs to user {found.st_uid}, and this is user {os.geteuid()}: run Medley as its owner, "
            "or set MEDLEY_HOME to a folder of your own",
            field=FIELD,
        )
    if not os.access(home, os.R_OK | os.W_OK | os.X_OK):
        raise Unavailable(
            f"the home {home} is read-only; a search needs to write there, too, since it is logged before it is answered",
            field=FIELD,
        )
    if found.st_mode & _OTHERS:
        _close(home, found)


def _close(home: Path, found: os.stat_result) -> None:
    if found.st_mode & stat.S_ISVTX or not _is_home(home):
        raise _too_open(home, "has other content than Medley's; `chmod 700` it if nobody else needs that")
    try:
        _remove_rights(home)
    except OSError as error:
        raise _too_open(home, f"can't be closed ({error.strerror})") from error
    if home.stat().st_mode & _OTHERS:
        raise _too_open(home, "can't be closed: its file system keeps no rights")
    for path in _below(home):
        with suppress(OSError):  # it is gone, or belongs to another user; nobody gets to it through the closed home
            _remove_rights(path)
    _log.warning("other users of this machine could read the home %s: now only its owner can", home)


def _too_open(home: Path, reason: str) -> Unavailable:
    return Unavailable(
        f"other users can read the home {home}, and it {reason}: set MEDLEY_HOME to a folder of your own", field=FIELD
    )


def _is_home(folder: Path) -> bool:
    """Whether a folder is a home, or can become one because it is empty."""
    names = {entry.name for entry in os.scandir(folder)}
    return not names or not names.isdisjoint(_TRACES)


def _below(folder: Path) -> Iterator[Path]:
    """Every folder and file in `folder`, links left out."""
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(place, name)
            if not path.is_symlink():
                yield path


def _remove_rights(path: Path) -> None:
    """Take all rights from group and others; those of the owner stay."""
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & _OTHERS:
        path.chmod(mode & ~_OTHERS)
