"""Answers that are complete before their first byte is sent: they are spooled in a file, then streamed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from tempfile import SpooledTemporaryFile
from typing import IO, Final

from flask.wrappers import Response

from web import context

_IN_MEMORY: Final = 1 << 20
_PIECE: Final = 1 << 16


def spool(aside: ExitStack) -> IO[bytes]:
    """A file in the home without a name, in memory while it is small; it is closed with `aside`."""
    return aside.enter_context(SpooledTemporaryFile(_IN_MEMORY, dir=str(context.portal().home)))


def streamed(file: IO[bytes], aside: ExitStack, media_type: str) -> Response:
    """The content of `file` as an answer; `aside` is closed once it was sent, or its client has gone."""
    length = file.tell()
    file.seek(0)
    answer = Response(_read_out(file, aside), mimetype=media_type)
    answer.content_length = length
    answer.call_on_close(aside.close)  # for a client that disconnects early
    return answer


def _read_out(file: IO[bytes], aside: ExitStack) -> Iterator[bytes]:
    with aside:
        yield from iter(lambda: file.read(_PIECE), b"")
