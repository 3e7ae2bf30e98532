"""Walks the access log and names the first line that breaks its chain, and what is missing from it."""

from __future__ import annotations

import fcntl
import gzip
import json
import os
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, cast

from mappings.errors import InvalidInput, Unavailable
from web.access.chain import START, Link, head_path, is_intact, link_of, read_head
from web.access.log import HEAD_LOST


@dataclass(frozen=True, slots=True)
class Break:
    """Where the chain breaks: a line of a file, from 1, or a whole file when `line` is None."""

    file: str
    line: int | None
    reason: str

    def __str__(self) -> str:
        return f"{self.file}{'' if self.line is None else f', line {self.line}'}: {self.reason}"


@dataclass(frozen=True, slots=True)
class LogReport:
    """What a walk found: the records `first` to `last` are intact and complete unless there is a `broken`.

    `unchained` lines, of an earlier version, come before record 1 and are protected by nothing; `chain` is the hash of `last`.
    """

    files: tuple[str, ...]
    unchained: int = 0
    first: int = 0
    last: int = 0
    chain: str = START.chain
    broken: Break | None = None

    def as_json(self) -> dict[str, Any]:
        """The report as the command line prints it."""
        return asdict(self) | {"files": list(self.files)}


def rotated_files(log: Path) -> list[Path]:
    """The files beside `log` that are named as rotation names them: `access.log.1`, `access.log-20270101.gz`."""
    beside = (*log.parent.glob(f"{log.name}.[0-9]*"), *log.parent.glob(f"{log.name}-[0-9]*"))
    return sorted(path for path in beside if path.is_file())


def check_log(log: Path, further: Sequence[Path] = (), first: int = 1) -> LogReport:
    """Walk `log` and the rotated files beside it and in `further`, in the order of their records, from record `first` on.

    Files can be gzipped. Raises `InvalidInput` for a file beside it or in `further` that cannot be opened, and `Unavailable`
    if the log itself cannot.
    """
    with ExitStack() as stack:
        head, current = _snapshot(log, stack)
        paths = {path.resolve(): path for path in (*rotated_files(log), *further)}
        others = [path for path in paths.values() if not any(item.is_of(path) for item in current)]
        opened = [_Lines(path.name, _open(path, stack)) for path in others]
        walk = _Walk(first, sorted(opened, key=lambda item: item.starts_at()) + current)
        walk.run()
        report = walk.report
        if report.broken is None:
            report = replace(report, broken=_end(log, head, max(report.last, first - 1), report.chain))
    return report


@contextmanager
def _locked_head(log: Path) -> Iterator[Link | None]:
    """Keep writers waiting during the block, which gets the last link by the head."""
    try:
        descriptor = os.open(head_path(log), os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        yield None
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        yield read_head(descriptor)
    finally:
        os.close(descriptor)


def _snapshot(log: Path, stack: ExitStack) -> tuple[Link | None, list[_Lines]]:
    """The head and the log as they are between two writes: lines that are appended later are not read."""
    try:
        with _locked_head(log) as head:
            if not log.exists():
                return head, []
            file = stack.enter_context(log.open("rb"))
            return head, [_Lines(log.name, file, os.fstat(file.fileno()).st_size)]
    except OSError as error:
        raise Unavailable(f"{log} cannot be read: {error.strerror or error}", field=log.name) from error


def _open(path: Path, stack: ExitStack) -> BinaryIO:
    try:
        if path.suffix == ".gz":
            return cast("BinaryIO", stack.enter_context(gzip.open(path)))
        return stack.enter_context(path.open("rb"))
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror or error}", field="files") from error


class _Lines:
    """The lines of one file, read once, up to a size."""

    def __init__(self, name: str, file: BinaryIO, size: int | None = None) -> None:
        self.name, self._file, self._left = name, file, size
        self._damage: Exception | None = None

    def is_of(self, path: Path) -> bool:
        """Whether `path` is this file, under whatever name."""
        with suppress(OSError):
            return os.path.samestat(path.stat(), os.fstat(self._file.fileno()))
        return False

    def starts_at(self) -> int:
        """The number of the first record, whatever stands before it; 0 in a file without any."""
        try:
            link = next(filter(None, map(link_of, self._file)), None)
            self._file.seek(0)
        except (OSError, EOFError, zlib.error) as error:
            self._damage = error  # a gzip file that has failed once would read as if it had ended
            return 0
        return link.number if link else 0

    def __iter__(self) -> Iterator[bytes]:
        """The lines. Raises `OSError`, `EOFError` or `zlib.error` for a damaged file."""
        if self._damage:
            raise self._damage
        for line in self._file:
            if self._left is not None:
                if self._left <= 0:
                    return
                self._left -= len(line)
            yield line


class _Walk:
    """A walk over lines, as far as the chain holds."""

    def __init__(self, first: int, files: Sequence[_Lines]) -> None:
        self._first, self._files = first, files
        self._link: Link | None = None
        self.report = LogReport(tuple(item.name for item in files))

    def run(self) -> None:
        """Fill the report."""
        for file in self._files:
            number = 0
            try:
                for number, line in enumerate(file, start=1):
                    if reason := self._take(line):
                        self._break(file.name, number, reason)
                        return
            except (OSError, EOFError, zlib.error) as error:
                self._break(file.name, number + 1, f"cannot be read: {error}")
                return

    def _break(self, file: str, line: int, reason: str) -> None:
        self.report = replace(self.report, broken=Break(file, line, reason))

    def _take(self, line: bytes) -> str | None:
        """Take one line into the report, or say why it breaks the chain."""
        link = link_of(line)
        if self._link is None and (link.number < self._first if link else self._first > 1):
            return None  # before the records that were asked for
        if link is None and self._link is None and line.endswith(b"\n"):
            self.report = replace(self.report, unchained=self.report.unchained + 1)
            return None
        if link is None:
            return "the line is not a whole record"
        if not is_intact(line):
            return f"record {link.number} was altered: its hash does not match"
        if reason := self._misplaced(link):
            return reason
        if link.number > self._first and _tells_of_lost_head(line):
            return f"the head was lost before record {link.number}: records may have been cut off there"
        self._link = link
        self.report = replace(self.report, first=self.report.first or link.number, last=link.number, chain=link.chain)
        return None

    def _misplaced(self, link: Link) -> str | None:
        expected = self._link.number + 1 if self._link else self._first
        if link.number != expected:
            gap = link.number - expected
            if gap > 0:
                missing = f"record {expected} is" if gap == 1 else f"records {expected} to {link.number - 1} are"
                return f"{missing} missing before record {link.number}"
            return f"record {link.number} stands where record {expected} belongs"
        before = self._link.chain if self._link else START.chain if link.number == 1 else link.before
        if link.before != before:
            return f"record {link.number} does not follow the record before it: one of the two was replaced"
        return None


def _tells_of_lost_head(line: bytes) -> bool:
    return HEAD_LOST.encode() in line and json.loads(line)["action"] == HEAD_LOST


def _end(log: Path, head: Link | None, last: int, chain: str) -> Break | None:
    """What is wrong at the end of the log, by its head: `last` is the last record that is there or is not asked for."""
    if head is None and last:
        lost = "the head is missing or damaged, so nothing shows whether the last records were cut off"
        return Break(head_path(log).name, None, lost)
    if head is None:
        return None
    if head.number < last and chain == START.chain:
        return Break(
            log.name, None, f"it has no record {last + 1}: the head says that record {head.number} is the last"
        )
    if head.number > last:
        missing = f"record {head.number} is" if head.number == last + 1 else f"records {last + 1} to {head.number} are"
        reason = f"{missing} missing at the end: the head says that record {head.number} is the last"
        return Break(log.name, None, reason)
    if head.number == last and chain not in (head.chain, START.chain):
        return Break(log.name, None, f"the last record, {last}, is not the one that the head names")
    return None
