"""The checksums of an index's files as of its last commit, by blocks of 1 MiB: `checksums.json`.

A segment of the word index never changes, so it is read once; files that grow are read from where the last commit ended.
The file is written after the commit it describes: after a kill in between it is older than the index, which is no damage,
and the next writer completes it. An index of an earlier program has no such file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from zlib import crc32

import orjson

from search.engines.embedded.integrity.sealed import seal, unseal
from search.engines.embedded.layout import write_atomic

FILE: Final = "checksums.json"
BLOCK: Final = 1 << 20
META: Final = "words/meta.json"
DESCRIPTION: Final = "index.json"
_FORM: Final = 1
_KEYS: Final = frozenset({"form", "commit", "files"})


@dataclass(frozen=True, slots=True)
class FileSums:
    """The length of a file in bytes, and the CRC-32 of each of its blocks; the last block can be shorter."""

    size: int = 0
    blocks: tuple[int, ...] = ()

    def extend(self, path: Path, size: int) -> FileSums:
        """The checksums of the first `size` bytes of `path`, of which only those beyond ours are read."""
        blocks = list(self.blocks)
        position = self.size
        with path.open("rb") as file:
            file.seek(position)
            while position < size:
                within = position % BLOCK
                piece = file.read(min(BLOCK - within, size - position))
                if not piece:
                    raise OSError(f"{path.name} ends after {position:,} of {size:,} bytes")
                blocks[position // BLOCK :] = [crc32(piece, blocks[-1] if within else 0)]
                position += len(piece)
        return FileSums(size, tuple(blocks))


@dataclass(frozen=True, slots=True)
class Manifest:
    """The checksums of one commit; `files` is keyed by path in the folder of the index."""

    commit: int = -1
    files: Mapping[str, FileSums] = field(default_factory=dict)

    @classmethod
    def load(cls, folder: Path) -> Manifest | None:
        """The checksums of the index in `folder`; None for an index without. Raises `Damaged`."""
        try:
            content = unseal(
                folder / FILE, _KEYS, "the checksums of the index are lost; `medley index rebuild` makes new"
            )
        except FileNotFoundError:
            return None
        files = {name: FileSums(size, tuple(blocks)) for name, (size, blocks) in content["files"].items()}
        return cls(content["commit"], files)

    def record(self, folder: Path, growing: Mapping[str, int]) -> Manifest:
        """Write the checksums of the commit in `folder`, taking over those that are known here.

        `growing`: the length of each file that only ever grows. The caller excludes other writers, and has made the files
        durable.
        """
        meta = (folder / META).read_bytes()
        files = {META: FileSums().extend(folder / META, len(meta))}
        for name in (DESCRIPTION, *segment_files(folder, meta)):
            size = (folder / name).stat().st_size
            known = self.files.get(name)
            files[name] = known if known and known.size == size else FileSums().extend(folder / name, size)
        for name, size in growing.items():
            known = self.files.get(name, FileSums())
            files[name] = (known if known.size <= size else FileSums()).extend(folder / name, size)
        made = Manifest(commit_of(meta), files)
        content = {name: [sums.size, sums.blocks] for name, sums in sorted(files.items())}
        write_atomic(folder / FILE, seal({"form": _FORM, "commit": made.commit, "files": content}))
        return made

    def is_behind(self, folder: Path) -> bool:
        """Whether the index has a newer commit than this one. One that can't be read is damaged, not newer."""
        meta = (folder / META).read_bytes()
        if self.files[META] == FileSums().extend(folder / META, len(meta)):
            return False
        try:
            return commit_of(meta) > self.commit
        except (ValueError, LookupError, TypeError):
            return False


def commit_of(meta: bytes) -> int:
    """The number of the commit that the meta file of the word index describes; it increases with every commit."""
    return int(orjson.loads(meta)["opstamp"])


def segment_files(folder: Path, meta: bytes) -> Iterator[str]:
    """The files of the segments that the meta file of the word index names, as paths in `folder`."""
    for segment in orjson.loads(meta)["segments"]:
        stem = segment["segment_id"].replace("-", "")
        deletes = segment["deletes"]
        for path in sorted((folder / "words").glob(f"{stem}.*")):
            # A file of deletions has the number of its commit; those of earlier commits can still be there.
            if path.suffix not in (".del", ".temp") or (deletes and path.name == f"{stem}.{deletes['opstamp']}.del"):
                yield f"words/{path.name}"
