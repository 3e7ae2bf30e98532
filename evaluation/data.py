"""Reading judged data: JSON Lines, gzipped or not, with messages that name file and line."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mappings.errors import InvalidInput, NotFound
from search.settings import Settings


def folder(settings: Settings, name: str) -> Path:
    """The data set `name` under MEDLEY_DATA. Raises `InvalidInput` when that is not set, `NotFound` when it lacks it."""
    if settings.data is None:
        raise InvalidInput(
            f"this reads {name}, one of the data sets of the project: set MEDLEY_DATA to their folder",
            field="MEDLEY_DATA",
        )
    found = settings.data / name
    if not found.is_dir():
        raise NotFound(f"there is no folder {name!r} in MEDLEY_DATA ({settings.data})", field="MEDLEY_DATA")
    return found


def present(path: Path) -> Path:
    """`path` or its gzipped twin `path.gz`, whichever exists. Raises `NotFound`."""
    for candidate in (path, path.with_name(path.name + ".gz")):
        if candidate.is_file():
            return candidate
    raise NotFound(f"{path} is missing (nor is there {path.name}.gz)", field=path.name)


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """(line number from 1, line without its end) of a text file, gzipped when its name ends in .gz.

    Raises `InvalidInput` for text that is not UTF-8 and for a truncated or damaged gzip file.
    """
    number = 0
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as stream:
            for number, raw in enumerate(stream, 1):
                yield number, raw.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path}, line {number}: the text is not UTF-8 ({error.reason})", field=path.name) from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InvalidInput(
            f"{path}, after line {number}: the gzip file is damaged or cut off", field=path.name
        ) from error
    except OSError as error:
        raise InvalidInput(f"{path} can not be read: {error.strerror}", field=path.name) from error


def records(path: Path, required: tuple[str, ...] = ()) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line number, object) of a JSON Lines file; empty lines are passed over.

    Raises `InvalidInput` for a line that is no JSON object or lacks one of the `required` keys.
    """
    for number, line in lines(path):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except ValueError as error:
            raise InvalidInput(f"{path}, line {number}: not JSON ({error})", field=path.name) from error
        if not isinstance(record, dict):
            raise InvalidInput(f"{path}, line {number}: a JSON object is expected on each line", field=path.name)
        if missing := [key for key in required if key not in record]:
            raise InvalidInput(f"{path}, line {number}: the key {missing[0]!r} is missing", field=path.name)
        yield number, record
