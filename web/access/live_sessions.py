"""The sessions that are open, as one small file each: every process sees them, and they survive a restart."""

from __future__ import annotations

import os
import re
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from mappings.errors import Unavailable
from web.access.private_files import replace_file

FOLDER: Final = "sessions"
_ID: Final = re.compile(r"[0-9a-f]{32}")
_TOUCH_SECONDS: Final = 20.0
"""How old the time of the last use may be before it is written again: not at every request."""


class LiveSessions:
    """Sessions by id, in files of `home`: the content is when one was opened, the modification time its last use.

    A session that has no file has ended. `idle` and `age` are in seconds; an `idle` of 0 never ends one.
    """

    def __init__(self, home: Path, idle: float, age: float, clock: Callable[[], float] = time.time) -> None:
        self._folder, self._idle, self._age, self._clock = home / FOLDER, idle, age, clock

    def open(self) -> str:
        """Open a session and return its id. Raises `Unavailable` if it cannot be written."""
        self._sweep()
        identifier, now = secrets.token_hex(16), self._clock()
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            replace_file(self._folder / identifier, f"{now:.0f}\n".encode())
            os.utime(self._folder / identifier, (now, now))
        except OSError as error:
            raise Unavailable(f"the session cannot be kept: {error.strerror or error}", field=FOLDER) from error
        return identifier

    def why_ended(self, identifier: str) -> str | None:
        """Why the session has ended, in words that follow "this session"; None while it is open, which counts as a use.

        Raises `Unavailable` if its file cannot be read.
        """
        if not _ID.fullmatch(identifier):
            return "was opened by an earlier version"
        try:
            why = self._expiry(self._folder / identifier)
            if why is None:
                self._touch(self._folder / identifier)
        except (FileNotFoundError, NotADirectoryError):
            return "has been ended"
        except OSError as error:
            raise Unavailable(f"the session cannot be read: {error.strerror or error}", field=FOLDER) from error
        return why

    def end(self, identifier: str) -> None:
        """End the session for every process. Raises `Unavailable` if its file cannot be removed."""
        if _ID.fullmatch(identifier):
            try:
                (self._folder / identifier).unlink(missing_ok=True)
            except OSError as error:
                raise Unavailable(f"the session cannot be ended: {error.strerror or error}", field=FOLDER) from error

    def _expiry(self, file: Path) -> str | None:
        opened, used, now = self._opened(file), file.stat().st_mtime, self._clock()
        if now - opened >= self._age:
            return f"was opened more than {_duration(self._age)} ago"
        if self._idle and now - used >= self._idle:
            return f"was not used for {_duration(self._idle)}"
        return None

    @staticmethod
    def _opened(file: Path) -> float:
        try:
            return float(file.read_bytes())
        except ValueError:
            return 0.0  # damaged: as old as can be

    def _touch(self, file: Path) -> None:
        now = self._clock()
        if now - file.stat().st_mtime >= _TOUCH_SECONDS:
            os.utime(file, (now, now))

    def _sweep(self) -> None:
        """Remove the files of sessions that have expired: without it, those that nobody logs out of would stay."""
        with suppress(OSError):
            for file in self._folder.iterdir():
                with suppress(OSError):
                    if self._expiry(file):
                        file.unlink()


def end_all(home: Path) -> None:
    """End every session of `home`."""
    with suppress(FileNotFoundError):
        for file in (home / FOLDER).iterdir():
            file.unlink(missing_ok=True)


def _duration(seconds: float) -> str:
    minutes = round(seconds / 60)
    number, unit = (minutes // 60, "hour") if minutes % 60 == 0 else (minutes, "minute")
    return f"{number} {unit}{'' if number == 1 else 's'}"
