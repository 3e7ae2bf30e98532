"""Compares the files of an index with their checksums: all of them, or, when it is opened, a sample."""

from __future__ import annotations

import errno
import logging
import random
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final
from zlib import crc32

import orjson

from mappings.errors import Damaged
from search.engines.administration import FileProblem
from search.engines.embedded.integrity.manifest import BLOCK, DESCRIPTION, META, FileSums, Manifest
from search.engines.names import split_index

Intact = set[tuple[str, int, int]]
"""(file, block, checksum) of blocks that were compared before."""

_SAMPLED_BLOCKS: Final = 2
_ATTEMPTS: Final = 25
_PAUSE_SECONDS: Final = 0.2
_MANAGED: Final = "words/.managed.json"

_log = logging.getLogger("medley.index")


def find_problems(folder: Path, intact: Intact | None = None) -> list[FileProblem]:
    """Everything that is wrong with the files of the index in `folder`, which others can write to meanwhile.

    Blocks in `intact` are not read again; those found intact are added to it. Raises `OSError` for files that could not be
    read now, such as for lack of rights.
    """
    intact = set() if intact is None else intact  # also for the next attempt
    for _ in range(_ATTEMPTS):
        try:
            manifest = Manifest.load(folder)
        except Damaged as error:
            return [FileProblem(error.message)]
        if manifest is None:
            return [FileProblem("its files have no checksums, since an earlier version made it", is_damage=False)]
        if not _is_behind(manifest, folder):
            found = [*_damaged(folder, manifest, intact), *_unmanaged(folder, manifest)]
            if not found or _is_current(manifest, folder):
                return [FileProblem(text) for text in found]
        time.sleep(_PAUSE_SECONDS)  # another process commits
    return [FileProblem("its last commit was interrupted and has no checksums yet", is_damage=False)]


def check_sample(folder: Path) -> None:
    """Compare the length of every file, the small files, and a few random blocks. Raises `Damaged`.

    Takes milliseconds, whatever the size of the index. Raises `OSError` for files that could not be read now.
    """
    try:
        manifest = Manifest.load(folder)
    except Damaged as error:
        _log.warning("%s", error.message)  # the index itself can be intact
        return
    if manifest is None or _is_behind(manifest, folder):
        return
    blocks = [(name, block) for name, sums in manifest.files.items() for block in range(len(sums.blocks))]
    chosen = {*random.sample(blocks, min(_SAMPLED_BLOCKS, len(blocks))), (META, 0), (DESCRIPTION, 0)}
    found = [
        text
        for name, sums in manifest.files.items()
        if (text := _problem(folder, name, sums, [block for other, block in chosen if other == name]))
    ]
    if found and _is_current(manifest, folder):
        raise damaged(folder.name, found[0])


def damaged(index: str, problem: str) -> Damaged:
    """The error for an index with damaged files."""
    collection, _ = split_index(index)
    return Damaged(f"index {index} is damaged: {problem}; run `medley index rebuild {collection}`", field="index")


def _damaged(folder: Path, manifest: Manifest, intact: Intact) -> list[str]:
    found = []
    for name, sums in manifest.files.items():
        wanted = [block for block, crc in enumerate(sums.blocks) if (name, block, crc) not in intact]
        text = _problem(folder, name, sums, wanted)
        if text:
            found.append(text)
        else:
            intact.update((name, block, sums.blocks[block]) for block in wanted)
    return found


def _problem(folder: Path, name: str, sums: FileSums, blocks: Iterable[int]) -> str:
    """What is wrong with the length, or with one of `blocks`, of a file; empty where nothing is."""
    try:
        size = (folder / name).stat().st_size
        # Files in the folder itself grow between commits; the others must not change.
        if size < sums.size or (size > sums.size and "/" in name):
            return f"{name} has {size:,} bytes instead of {sums.size:,}"
        with (folder / name).open("rb") as file:
            for block in blocks:
                file.seek(block * BLOCK)
                if crc32(file.read(min(BLOCK, sums.size - block * BLOCK))) != sums.blocks[block]:
                    return f"{name} differs from its checksum in the {BLOCK:,} bytes from byte {block * BLOCK:,}"
    except FileNotFoundError:
        return f"{name} is missing"
    except OSError as error:
        if error.errno != errno.EIO:
            raise
        return f"{name} can't be read: {error}"
    return ""


def _unmanaged(folder: Path, manifest: Manifest) -> list[str]:
    """Whether tantivy's list of its files, which has no checksum since it also changes between commits, lacks some."""
    try:
        listed = {f"words/{name}" for name in orjson.loads((folder / _MANAGED).read_bytes())}
    except (FileNotFoundError, ValueError, TypeError):
        return [f"{_MANAGED} can't be read"]
    missing = [name for name in manifest.files if name.startswith("words/") and name not in listed]
    return [f"{_MANAGED} does not list {missing[0]}"] if missing else []


def _is_behind(manifest: Manifest, folder: Path) -> bool:
    try:
        return manifest.is_behind(folder)
    except OSError:
        return False  # reported as missing or unreadable


def _is_current(manifest: Manifest, folder: Path) -> bool:
    """Whether the index is still at the commit of `manifest`: a later one removes files that it no longer needs."""
    try:
        return Manifest.load(folder) == manifest and not _is_behind(manifest, folder)
    except Damaged:
        return True
