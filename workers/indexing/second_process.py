"""Reads documents in a second process, beside the one that writes: reading is Python code, which threads cannot share.

The process that indexes reads itself what the other one has not begun when it is needed, so neither waits for the other,
and a second process that never starts, or ends, costs nothing but time. It is a program of its own, not a copy of this
process: a copy would hold this one's locks without its threads, and a worker's child process may have no such copies.
"""

from __future__ import annotations

import logging
import os
import pickle
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Generator, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, suppress
from typing import IO, Any, Final

from encoders.devices import cores
from mappings.clinical.reading import ConceptReader, prepared_reader
from mappings.collection import Collection
from search.storage import StoredDocument
from workers.indexing.analysis import analyse
from workers.indexing.batches import DocumentBatch

LEAST_DOCUMENTS: Final = 1_000
"""Fewer are read before a second process has loaded what it reads by."""

_PART: Final = 16
"""Documents that are sent together."""
_AHEAD: Final = 2
"""Batches that are given to the second process before they are needed."""
_IN_FLIGHT: Final = 2
"""Parts of which one is sent while the other is read, so that the second process never waits."""
_END_SECONDS: Final = 5.0
_log: Final = logging.getLogger("medley.worker")

_Part = Sequence[StoredDocument]
_Batches = Iterable[list[StoredDocument]]


def analyse_beside(
    batches: _Batches, collection: Collection, reader: ConceptReader | None, documents: int
) -> Generator[DocumentBatch, None, None]:
    """Each batch as `analyse` gives it, in order; with the help of a second process if enough `documents` are to be read."""
    process = _start() if reader and documents >= LEAST_DOCUMENTS and cores() > 1 else None
    if process is None or reader is None:
        yield from (analyse(batch, collection, reader) for batch in batches)
        return
    with closing(_SecondProcess(process, collection, reader)) as second:
        yield from second.analyse(batches)


class _SecondProcess:
    """The other end of a `_serve` that runs in `process`."""

    def __init__(self, process: subprocess.Popen[bytes], collection: Collection, reader: ConceptReader) -> None:
        self._process, self._collection, self._reader = process, collection, reader
        self._sending, self._receiving = threading.Lock(), threading.Lock()
        self._threads = ThreadPoolExecutor(_IN_FLIGHT, "second-process")
        self._threads.submit(self._ask, (collection, reader.lexicon))  # first of all, since it reads questions in order

    def analyse(self, batches: _Batches) -> Generator[DocumentBatch, None, None]:
        """Each batch as `analyse` gives it, in order."""
        ahead: deque[list[tuple[_Part, Future[DocumentBatch]]]] = deque()
        for batch in batches:
            parts = [batch[start : start + _PART] for start in range(0, len(batch), _PART)]
            ahead.append([(part, self._threads.submit(self._ask, part)) for part in parts])
            if len(ahead) > _AHEAD:
                yield self._finish(ahead.popleft())
        while ahead:
            yield self._finish(ahead.popleft())

    def close(self) -> None:
        """End the process and its threads."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._process.kill()
        self._threads.shutdown()
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                _opened(pipe).close()
        self._process.wait(_END_SECONDS)

    def _finish(self, batch: Sequence[tuple[_Part, Future[DocumentBatch]]]) -> DocumentBatch:
        """The batch of which some parts were sent: what was not begun yet is read here, from the end."""
        own = {
            number: analyse(part, self._collection, self._reader)
            for number, (part, future) in reversed([*enumerate(batch)])
            if future.cancel()
        }
        found = DocumentBatch()
        for number, (part, future) in enumerate(batch):
            found += own[number] if number in own else self._result(part, future)
        return found

    def _result(self, part: _Part, future: Future[DocumentBatch]) -> DocumentBatch:
        try:
            return future.result()
        except (OSError, EOFError, ValueError, pickle.PickleError) as error:  # it was killed, or has never started
            _log.warning("documents are read in one process: the second one ended (%s)", error)
            return analyse(part, self._collection, self._reader)

    def _ask(self, question: Any) -> Any:
        """What the process answers. Its answers come in the order of the questions."""
        with self._sending:
            _send(_opened(self._process.stdin), question)
            self._receiving.acquire()
        try:
            return pickle.load(_opened(self._process.stdout))  # noqa: S301 - written by our own process
        finally:
            self._receiving.release()


def _start() -> subprocess.Popen[bytes] | None:
    """This module as a program, with the same modules to import; None if it can't be started."""
    path = os.pathsep.join(filter(None, sys.path))
    try:
        return subprocess.Popen(  # noqa: S603 - this program
            [sys.executable, "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path},
            start_new_session=True,  # an interrupt from the keyboard is for the first process alone
        )
    except OSError as error:
        _log.warning("documents are read in one process: a second one did not start (%s)", error)
        return None


def _opened(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        raise EOFError("the pipe is not open")
    return pipe


def _send(pipe: IO[bytes], item: Any) -> None:
    pickle.dump(item, pipe, pickle.HIGHEST_PROTOCOL)
    pipe.flush()


def _serve(questions: IO[bytes], answers: IO[bytes]) -> None:
    """Answers questions until there are no more; the first one brings what documents are read by."""
    collection, lexicon = pickle.load(questions)  # noqa: S301 - written by our own process
    reader = prepared_reader(lexicon)
    with ThreadPoolExecutor(1) as writing:  # so that the next documents are read while the last answer is received
        writing.submit(_send, answers, None)
        while True:
            try:
                part = pickle.load(questions)  # noqa: S301
            except EOFError:
                return
            writing.submit(_send, answers, analyse(part, collection, reader))


if __name__ == "__main__":
    given, asked = os.fdopen(os.dup(sys.stdout.fileno()), "wb"), sys.stdin.buffer
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # whatever is printed is no answer
    _serve(asked, given)
