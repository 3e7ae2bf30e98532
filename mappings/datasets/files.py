"""Reading the files of data sets: JSON Lines, gzipped or not, with errors that name file and line."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mappings.documents import Section
from mappings.errors import InvalidInput, NotFound


def dataset_folder(data: Path | None, name: str) -> Path:
    """The folder of the data set `name` in `data`, the folder that MEDLEY_DATA names; None where it is not set.

    Raises `InvalidInput` where it is not set, `NotFound` where it does not contain the data set.
    """
    if data is None:
        raise InvalidInput(
            f"this reads {name}, one of the data sets of the project: set MEDLEY_DATA to their folder",
            field="MEDLEY_DATA",
        )
    folder = data / name
    if not folder.is_dir():
        raise NotFound(f"there is no folder {name!r} in MEDLEY_DATA ({data})", field="MEDLEY_DATA")
    return folder


def existing_file(path: Path) -> Path:
    """`path` or its gzipped twin `path.gz`, whichever exists. Raises `NotFound`."""
    for candidate in (path, path.with_name(path.name + ".gz")):
        if candidate.is_file():
            return candidate
    raise NotFound(f"{path} is missing (there is no {path.name}.gz either)", field=path.name)


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """(line number from 1, line without its line break) of a text file, gzipped where its name ends in .gz.

    Raises `InvalidInput` for text that is not UTF-8 and for a truncated or corrupt gzip file.
    """
    number = 0
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as stream:
            for number, raw in enumerate(stream, 1):
                yield number, raw.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"{path}, line {number}: the text is not valid UTF-8 ({error.reason})", field=path.name
        ) from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InvalidInput(
            f"{path}, after line {number}: the gzip file is corrupt or truncated", field=path.name
        ) from error
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}", field=path.name) from error


def json_records(path: Path, required: tuple[str, ...] = ()) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line number, object) of a JSON Lines file; blank lines are skipped.

    Raises `InvalidInput` for a line that is not a JSON object or lacks one of the `required` keys.
    """
    for number, line in numbered_lines(path):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except ValueError as error:
            raise InvalidInput(f"{path}, line {number}: not valid JSON ({error})", field=path.name) from error
        if not isinstance(record, dict):
            raise InvalidInput(f"{path}, line {number}: each line must be a JSON object", field=path.name)
        if missing := [key for key in required if key not in record]:
            raise InvalidInput(f"{path}, line {number}: the key {missing[0]!r} is missing", field=path.name)
        yield number, record


def dataset_records(data: Path | None, name: str, required: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """The objects of `DATA/name.jsonl` ("scifact/corpus"), gzipped or not, each with the `required` keys.

    Raises as `dataset_folder`, `existing_file` and `json_records` do.
    """
    folder, _, file = name.partition("/")
    path = existing_file(dataset_folder(data, folder) / f"{file}.jsonl")
    return (record for _, record in json_records(path, required))


def labelled_sections(parts: list[Mapping[str, Any]]) -> tuple[Section, ...]:
    """Sections from objects with `text` and an optional `label`, their heading."""
    return tuple(Section(str(part.get("label") or ""), str(part["text"])) for part in parts)
