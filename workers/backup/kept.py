"""What users keep, in a backup: saved with the collections that it belongs to, and restored without replacing anything."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from mappings.errors import InvalidInput
from search.bootstrap import Medley
from search.kept.items import KeptDraft, KeptItem, is_item_id
from workers.backup.files import make_folder, read_lines, write_lines
from workers.backup.manifest import KEPT_FILE
from workers.backup.restore import CheckedBackup


def save_kept(medley: Medley, folder: Path, collections: Collection[str]) -> int:
    """Save the items that belong to one of `collections`, or to none; how many. Raises `Damaged` for a damaged one."""
    found = [item for item in medley.kept.export() if not item.collection or item.collection in collections]
    make_folder((folder / KEPT_FILE).parent)
    write_lines(folder / KEPT_FILE, (asdict(item) | {"shared_with": sorted(item.shared_with)} for item in found))
    return len(found)


def restore_kept(medley: Medley, backup: CheckedBackup) -> int:
    """Put the saved items back under their ids; how many were not there.

    An item that is there stays as it is, so an interrupted call can be repeated; it is then counted as there already. A
    name that its owner has given to another item since is marked as restored.
    """
    path = backup.source / KEPT_FILE
    return medley.kept.restore(_items(path)) if KEPT_FILE in backup.manifest.files else 0


def _items(path: Path) -> Iterator[KeptItem]:
    for line in read_lines(path):
        yield _item(path, line)


def _item(path: Path, line: Mapping[str, Any]) -> KeptItem:
    try:
        item = KeptItem(**line)
        item = replace(item, shared_with=frozenset(item.shared_with))
        KeptDraft(item.kind, item.name, item.content, item.collection, item.shared_with)
        _check_stored(item)
    except (TypeError, InvalidInput) as error:
        raise InvalidInput(f"{path} has a line that is not a kept item: {error}", field=path.name) from error
    return item


def _check_stored(item: KeptItem) -> None:
    """Raise `InvalidInput` unless the parts of an item that its store gives it are what a store gives."""
    numbers = (item.revision, item.created, item.changed)
    if not (is_item_id(item.id) and item.owner and isinstance(item.owner, str)):
        raise InvalidInput("its id or its owner is not one")
    if not all(isinstance(number, int) and number > 0 for number in numbers):
        raise InvalidInput("its revision or its times are not positive numbers")
