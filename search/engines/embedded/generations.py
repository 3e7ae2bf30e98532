"""The generations of a collection's indexes: which exist, which number comes next, and which one is published."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

from mappings.errors import Damaged
from search.engines.embedded.integrity.sealed import seal, unseal
from search.engines.embedded.layout import exclusive, write_atomic
from search.engines.names import index_name, split_index

_POINTER_FILE: Final = "published.json"
_GENERATION_FILE: Final = "generation"
_REMOVED_FILE: Final = ".generation"


def pointer(folder: Path, collection: str) -> str | None:
    """The index that the collection in `folder` has published; None before the first publication. Raises `Damaged`."""
    try:
        return str(unseal(folder / _POINTER_FILE, {"index"})["index"])
    except FileNotFoundError:
        return None
    except Damaged as error:
        newest = (names(folder) or [index_name(collection, 1)])[-1]
        raise Damaged(
            f'{error.message}: write {{"index": "{newest}"}} into it to publish that index, then run '
            f"`medley index verify {collection}`",
            field=error.field,
        ) from None


def point_to(folder: Path, index: str) -> None:
    """Publish an index of the collection in `folder`: the pointer is replaced atomically."""
    write_atomic(folder / _POINTER_FILE, seal({"index": index}))


def next_number(folder: Path, above: int) -> int:
    """A number for a new index, higher than `above` and than all before. The caller holds the admin lock."""
    # Kept in a file of its own: if a new index reused the name of a dropped one, the store's document states of the
    # dropped index would count for the new one.
    generation = max(above, last_number(folder), _highest(folder), _last_removed(folder.parent)) + 1
    write_atomic(folder / _GENERATION_FILE, seal({"generation": generation}))
    return generation


def last_number(folder: Path) -> int:
    """The highest number that an index of the collection in `folder` ever had; 0 before the first. Raises `Damaged`."""
    path = folder / _GENERATION_FILE
    return _read_number(path, "that of any index the collection ever had", _highest(folder) + 1_000)


def keep_number(folder: Path) -> None:
    """Let no later index of any collection have the number of an index in `folder`, which is about to be removed.

    Other processes remember indexes by name: those of a later collection of the same name must have others. The number is
    kept beside the folders of the collections, and does not say whose it was.
    """
    root = folder.parent
    try:
        highest = max(last_number(folder), _highest(folder))
    except Damaged:
        highest = _highest(folder) + 1_000
    with exclusive(root / f"{_REMOVED_FILE}.lock", "the number of the last removed index", wait=30.0):
        if highest > _last_removed(root):
            write_atomic(root / _REMOVED_FILE, seal({"generation": highest}))


def _last_removed(root: Path) -> int:
    return _read_number(root / _REMOVED_FILE, "that of any index there ever was", 1_000_000)


def _read_number(path: Path, than: str, such_as: int) -> int:
    """The number in a file; 0 where there is none. Raises `Damaged`."""
    try:
        content = path.read_bytes()
        if content.strip().isdigit():  # the earlier form
            return int(content)
        remedy = f"write a number into it that is higher than {than}, such as {such_as}"
        return int(unseal(path, {"generation"}, remedy)["generation"])
    except FileNotFoundError:
        return 0


def _highest(folder: Path) -> int:
    return max((split_index(name)[1] for name in names(folder)), default=0)


def names(folder: Path) -> list[str]:
    """The names of all indexes of the collection in `folder`, in order of generation."""
    found = [
        item.parent.name for item in (folder / "indexes").glob("*/index.json") if not item.parent.name.startswith(".")
    ]
    return sorted(found, key=lambda name: split_index(name)[1])


def remove_leftovers(folder: Path) -> None:
    """Remove indexes that were partly created or dropped when a process was killed. The caller holds the admin lock."""
    for item in (*folder.glob(".building-*"), *folder.glob(".dropped-*")):
        shutil.rmtree(item, ignore_errors=True)
