"""Reads the tab-separated lexicons; comment lines start with `#` and state origin and licence."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from mappings.errors import InvalidInput

LEXICONS: Final = Path(__file__).parent.parent / "lexicons"


def rows(name: str) -> list[tuple[str, ...]]:
    """The rows of `lexicons/<name>.tsv` in order, their columns without surrounding space."""
    return [row for _, row in rows_of(LEXICONS / f"{name}.tsv")]


def rows_of(path: Path) -> list[tuple[int, tuple[str, ...]]]:
    """(line number, columns without surrounding space) of a lexicon file. Raises `InvalidInput`."""
    try:
        # A spreadsheet that saves as UTF-8 begins the file with a byte order mark.
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}", field="lexicon") from error
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path} is not valid UTF-8 ({error.reason})", field="lexicon") from error
    return [
        (number, tuple(column.strip() for column in line.split("\t")))
        for number, line in enumerate(lines, 1)
        if line.strip() and not line.startswith("#")
    ]
