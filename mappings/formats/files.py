"""Lines of files of any size: gzip known by its first bytes, memory bounded, damage told from content."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Final, NamedTuple

from mappings.documents import Deletion, Document, Rejection
from mappings.errors import InvalidInput

MAX_LINE_BYTES: Final = 64 << 20
_CHUNK: Final = 1 << 18
_GZIP: Final = b"\x1f\x8b"
_BOM: Final = b"\xef\xbb\xbf"


class Placed(NamedTuple):
    """What a reader makes of one record, and the record's place in its file, such as "line 12"."""

    position: str
    item: Document | Deletion | Rejection


def placed(source: str, position: str, make: Callable[[], Document | Deletion]) -> Placed:
    """What `make` gives, or the rejection that its `InvalidInput` means."""
    try:
        return Placed(position, make())
    except InvalidInput as error:
        return Placed(position, Rejection(source, position, error.message, error.field))


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a file without its break; `number` counts from 1."""

    source: str
    number: int
    content: bytes

    @property
    def position(self) -> str:
        """The place of the line in its file."""
        return f"line {self.number}"

    def rejected(self, reason: str, field: str | None = None) -> Rejection:
        """The line as a rejection."""
        return Rejection(self.source, self.position, reason, field)


def files(path: Path, suffixes: tuple[str, ...]) -> list[Path]:
    """`path` itself, or the files in the folder with one of these suffixes (and `.gz`), in order of their names.

    Raises `InvalidInput` when there is no such file.
    """
    if not path.exists():
        raise InvalidInput(f"{path}: there is no such file or folder", field="path")
    if not path.is_dir():
        return [path]
    endings = (*suffixes, *(f"{suffix}.gz" for suffix in suffixes))
    found = [item for item in sorted(path.rglob("*")) if item.is_file() and item.name.lower().endswith(endings)]
    if not found:
        raise InvalidInput(
            f"{path}: the folder holds no file that ends in {', '.join(suffixes)} (or .gz)", field="path"
        )
    return found


def lines(path: Path, limit: int = MAX_LINE_BYTES) -> Iterator[Line | Rejection]:
    """The lines of a file. One longer than `limit` bytes, and the place where a gzip ends early, are rejections."""
    return split_lines(str(path), chunks(path), limit)


def split_lines(source: str, pieces: Iterable[bytes | Rejection], limit: int) -> Iterator[Line | Rejection]:
    """The lines of a content that comes in pieces; a rejection among them ends it, with the line that it cuts."""
    number = 0
    pending: list[bytes] = []
    size = 0
    for chunk in pieces:
        if isinstance(chunk, Rejection):
            yield Rejection(source, f"line {number + 1}", chunk.reason)
            return
        head, *rest = chunk.split(b"\n")
        size += len(head)
        if size <= limit:
            pending.append(head)
        for part in rest:
            number += 1
            yield _line(source, number, pending, size, limit)
            pending, size = [part], len(part)
    if size:
        yield _line(source, number + 1, pending, size, limit)


def _line(source: str, number: int, parts: list[bytes], size: int, limit: int) -> Line | Rejection:
    if size > limit:
        return Rejection(source, f"line {number}", f"the line has {size:,} bytes; at most {limit:,} are taken")
    content = b"".join(parts).removesuffix(b"\r")
    return Line(source, number, content.removeprefix(_BOM) if number == 1 else content)


def chunks(path: Path) -> Iterator[bytes | Rejection]:
    """The content in pieces; where a compressed file breaks off, a rejection that says so comes last."""
    place = 0
    try:
        with _open(path) as stream:
            while chunk := stream.read1(_CHUNK):  # what stands before a cut comes, too
                place += len(chunk)
                yield chunk
    except EOFError:
        yield Rejection(
            str(path), f"byte {place}", "the gzip ends early: the file was cut off; what came before was taken"
        )
    except (gzip.BadGzipFile, zlib.error) as error:
        yield Rejection(str(path), f"byte {place}", f"the gzip is damaged ({error}); what came before was taken")
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be read ({error.strerror or error})", field="path") from error


def _open(path: Path) -> gzip.GzipFile | BufferedReader:
    stream = path.open("rb")
    compressed = stream.peek(len(_GZIP)).startswith(_GZIP)
    if not compressed:
        return stream
    stream.close()
    return gzip.open(path, "rb")
