"""Lines of files of any size: gzip is recognised by its first bytes, memory is bounded, damage becomes a rejection."""

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


class LocatedItem(NamedTuple):
    """What a reader makes of one record, and the record's position in its file, such as "line 12"."""

    position: str
    item: Document | Deletion | Rejection


def parse_or_reject(source: str, position: str, parse: Callable[[], Document | Deletion]) -> LocatedItem:
    """The result of `parse`, or a rejection if it raises `InvalidInput`."""
    try:
        return LocatedItem(position, parse())
    except InvalidInput as error:
        return LocatedItem(position, Rejection(source, position, error.message, error.field))


@dataclass(frozen=True, slots=True)
class TextLine:
    """One line of a file without its line break; `number` counts from 1."""

    source: str
    number: int
    content: bytes

    @property
    def position(self) -> str:
        """The position of the line in its file."""
        return f"line {self.number}"

    def rejected(self, reason: str, field: str | None = None) -> Rejection:
        """The line as a rejection."""
        return Rejection(self.source, self.position, reason, field)


def files(path: Path, suffixes: tuple[str, ...]) -> list[Path]:
    """`path` itself, or the files in the folder with one of these suffixes (and `.gz`), in order of name.

    Raises `InvalidInput` if there is no such file.
    """
    if not path.exists():
        raise InvalidInput(f"{path}: there is no such file or folder", field="path")
    if not path.is_dir():
        return [path]
    endings = (*suffixes, *(f"{suffix}.gz" for suffix in suffixes))
    found = [item for item in sorted(path.rglob("*")) if item.is_file() and item.name.lower().endswith(endings)]
    if not found:
        raise InvalidInput(
            f"{path}: the folder contains no file that ends in {', '.join(suffixes)} (or .gz)", field="path"
        )
    return found


def lines(path: Path, limit: int = MAX_LINE_BYTES) -> Iterator[TextLine | Rejection]:
    """The lines of a file. A line of more than `limit` bytes, and the place where a gzip file is truncated, are rejections."""
    return split_lines(str(path), chunks(path), limit)


def split_lines(source: str, pieces: Iterable[bytes | Rejection], limit: int) -> Iterator[TextLine | Rejection]:
    """The lines of content that arrives in pieces. A rejection among the pieces ends it and replaces the incomplete line."""
    return (line for _, line in numbered_lines(source, pieces, limit))


def numbered_lines(
    source: str, pieces: Iterable[bytes | Rejection], limit: int, skip_blank: bool = False
) -> Iterator[tuple[int, TextLine | Rejection]]:
    """The lines as `split_lines` returns them, each with its number from 1.

    `skip_blank` leaves out blank lines, of which a gzip of some kilobytes can contain millions, at the cost of counting.
    """
    number = size = 0
    pending: list[bytes] = []
    for piece in pieces:
        if isinstance(piece, Rejection):
            yield number + 1, Rejection(source, f"line {number + 1}", piece.reason)
            return
        *ended, rest = piece.split(b"\n")
        for part in ended:
            number += 1
            if size:  # the line began in an earlier piece
                size += len(part)
                yield number, _line(source, number, [*pending, part] if size <= limit else [], size, limit)
                pending, size = [], 0
            elif not skip_blank or part.strip():
                yield number, _line(source, number, [part], len(part), limit)
        size += len(rest)
        if rest and size <= limit:
            pending.append(rest)
    if size:
        yield number + 1, _line(source, number + 1, pending, size, limit)


def _line(source: str, number: int, parts: list[bytes], size: int, limit: int) -> TextLine | Rejection:
    if size > limit:
        return Rejection(source, f"line {number}", f"the line has {size:,} bytes; at most {limit:,} are accepted")
    content = b"".join(parts).removesuffix(b"\r")
    return TextLine(source, number, content.removeprefix(_BOM) if number == 1 else content)


def chunks(path: Path) -> Iterator[bytes | Rejection]:
    """The content in pieces; if a compressed file is truncated or corrupt, the last item is a rejection that says so."""
    place = 0
    try:
        with _open(path) as stream:
            while chunk := stream.read1(_CHUNK):  # so that the content before the truncation is read, too
                place += len(chunk)
                yield chunk
    except EOFError:
        yield Rejection(str(path), f"byte {place}", "the gzip file is truncated; everything before was read")
    except (gzip.BadGzipFile, zlib.error) as error:
        yield Rejection(str(path), f"byte {place}", f"the gzip file is corrupt ({error}); everything before was read")
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be read ({error.strerror or error})", field="path") from error


def _open(path: Path) -> gzip.GzipFile | BufferedReader:
    stream = path.open("rb")
    compressed = stream.peek(len(_GZIP)).startswith(_GZIP)
    if not compressed:
        return stream
    stream.close()
    return gzip.open(path, "rb")
