"""`manifest.json` of a backup: what the backup holds, and the checksum of each of its files."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import orjson

from mappings.errors import Conflict, InvalidInput, NotFound
from search.engines.embedded.layout import unavailable
from workers.backup.files import checksum, write_private

FORMAT: Final = 2
"""The version of the format of backups."""

READ: Final = (1, FORMAT)
"""The versions that can be restored; any other is refused. Version 1 has nothing of what users keep."""

KEPT_FILE: Final = "kept/items.jsonl.gz"
"""Where a backup holds what users keep."""

_FILE: Final = "manifest.json"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_PATH: Final = re.compile(rf"(collections/[a-z0-9][a-z0-9_-]{{0,62}}|home|kept)/{_NAME.pattern}")


@dataclass(frozen=True, slots=True)
class SavedCollection:
    """A collection in a backup: its catalog entry, and how many documents, tombstones and jobs are saved.

    `invented`: its documents are made up; backups of earlier versions do not say so of any.
    """

    kind: str
    tuned: str
    documents: int
    deleted: int
    jobs: int
    invented: bool = False


@dataclass(frozen=True, slots=True)
class BackupManifest:
    """The content of `manifest.json`; `created` is a UTC time, `files` are path -> SHA-256.

    `kept` is how many items of users are saved.
    """

    id: str
    program: str
    created: str
    engine: str
    collections: Mapping[str, SavedCollection]
    files: Mapping[str, str]
    kept: int = 0

    @property
    def home_files(self) -> list[str]:
        """The names of the files of the home folder."""
        return sorted(path.removeprefix("home/") for path in self.files if path.startswith("home/"))

    def save(self, folder: Path) -> None:
        """Write it as the last file of a backup."""
        content = {"format": FORMAT, **asdict(self)}
        write_private(folder / _FILE, orjson.dumps({**content, "sha256": _digest(content)}, option=orjson.OPT_INDENT_2))


def documents_file(collection: str) -> str:
    """Where a backup holds the documents of a collection."""
    return f"collections/{collection}/documents.jsonl.gz"


def jobs_file(collection: str) -> str:
    """Where a backup holds the jobs of a collection."""
    return f"collections/{collection}/jobs.jsonl.gz"


def home_file(name: str) -> str:
    """Where a backup holds a file of the home folder."""
    return f"home/{name}"


def is_plain_name(name: str) -> bool:
    """Whether a file of the home folder can be in a backup: letters, digits, dots, '_' and '-'."""
    return _NAME.fullmatch(name) is not None


def read_manifest(source: Path) -> BackupManifest:
    """The manifest of the backup in the folder `source`.

    Raises `NotFound` where there is none, `Conflict` for another format, `InvalidInput` for one that is damaged.
    """
    path = source / _FILE
    try:
        content = orjson.loads(path.read_bytes())
        found, expected = content["format"], content.pop("sha256")
    except (FileNotFoundError, NotADirectoryError):
        raise NotFound(f"{source} is not a finished backup: it has no {_FILE}", field="source") from None
    except OSError as error:
        raise unavailable(f"{path} can't be read", error) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _damaged(path, f"it is not a manifest ({error!r})") from error
    if found not in READ:
        raise Conflict(f"the backup {source} has format {found!r}; this program reads up to {FORMAT}", field=_FILE)
    if expected != _digest(content):
        raise _damaged(path, "its content is not what was written")
    return _parse(path, content)


def verify(source: Path, manifest: BackupManifest) -> None:
    """Raise `InvalidInput` unless every file of the backup is there and as it was written."""
    for name, expected in manifest.files.items():
        path = source / name
        if path.is_symlink() or not path.is_file():
            raise InvalidInput(f"the backup is incomplete: {path} is missing", field=name)
        try:
            found = checksum(path)
        except OSError as error:
            raise unavailable(f"{path} can't be read", error) from error
        if found != expected:
            raise _damaged(path, "its SHA-256 is not that of the manifest")


def _parse(path: Path, content: dict[str, Any]) -> BackupManifest:
    try:
        collections = {name: SavedCollection(**entry) for name, entry in content["collections"].items()}
        values = {name: content[name] for name in ("id", "program", "created", "engine")}
        manifest = BackupManifest(
            **values, collections=collections, files=content["files"], kept=content.get("kept", 0)
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise _damaged(path, f"it is not a manifest ({error!r})") from error
    needed = {part for name in collections for part in (documents_file(name), jobs_file(name))}
    needed |= {KEPT_FILE} if content["format"] == FORMAT else set()
    if needed - set(manifest.files):
        raise _damaged(path, f"it does not list {min(needed - set(manifest.files))}")
    if strange := [name for name in manifest.files if not _PATH.fullmatch(name)]:
        raise _damaged(path, f"it lists {strange[0][:200]!r}, which is not a file of a backup")
    return manifest


def _damaged(path: Path, reason: str) -> InvalidInput:
    return InvalidInput(f"{path} is damaged, {reason}: nothing was restored; use another backup", field=path.name)


def _digest(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(orjson.dumps(content, option=orjson.OPT_SORT_KEYS)).hexdigest()
