"""A body in pieces: split into records and bounded batches, with the place where it broke off."""

import gzip
import io
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mappings.collection import load
from mappings.documents import Deletion, Document, Rejection
from web.api import record_stream
from web.api.record_stream import PostedRecord
from web.serving.request_watch import BrokenOff

ABSTRACTS = load("abstracts")


def sent(number, size=10):
    return PostedRecord(number, f"d{number}", size, Deletion(f"d{number}"))


def test_batches_are_bounded_by_number_and_by_bytes(monkeypatch):
    monkeypatch.setattr(record_stream, "BATCH_DOCUMENTS", 3)
    monkeypatch.setattr(record_stream, "BATCH_BYTES", 100)
    sizes = [1, 1, 1, 1, 99, 200, 1]
    found = record_stream.batches(sent(number, size) for number, size in enumerate(sizes))
    assert [[item.size for item in batch] for batch in found] == [[1, 1, 1], [1, 99], [200], [1]]


def test_where_a_body_breaks_off_the_complete_records_come_first():
    def cut():
        yield sent(1)
        raise BrokenOff("cut")

    found = record_stream.batches(cut())
    assert next(found) == [sent(1)]
    with pytest.raises(BrokenOff):
        next(found)


@given(st.lists(st.binary(min_size=1, max_size=40), max_size=20), st.integers(1, 30))
def test_gzip_in_pieces_of_any_size_is_decompressed(parts, step):
    packed = b"".join(gzip.compress(part, mtime=0) for part in parts)
    body = (packed[start : start + step] for start in range(0, len(packed), step))
    assert b"".join(record_stream.unpacked(body, declared=bool(parts))) == b"".join(parts)


def test_a_gzip_bomb_is_decompressed_in_small_pieces():
    packed = gzip.compress(bytes(30_000_000))
    assert max(map(len, record_stream.unpacked(iter([packed]), declared=False))) <= 1 << 18


def test_records_have_their_lines_and_ids():
    body = [b'{"id": 7, "te', b'xt": "a"}\r\n\n{"id": "b", "deleted": true}\n{"id": true}\n[', b"]"]
    found = list(record_stream.records(iter(body), ABSTRACTS))
    assert [(item.line, item.id, type(item.item)) for item in found] == [
        (1, "7", Document),
        (3, "b", Deletion),
        (4, None, Rejection),
        (5, None, Rejection),
    ]


class Gone(io.BytesIO):
    """A stream whose connection is lost after its content."""

    def read(self, size=-1):
        if piece := super().read(size):
            return piece
        raise ConnectionResetError("reset by peer")


@pytest.mark.parametrize(
    ("stream", "expected", "words"),
    [
        (io.BytesIO(b"abc"), 4, "after 3 of 4 bytes"),
        (Gone(b"abc"), None, "after 3 bytes"),
        (Gone(b""), 9, "after 0 bytes"),
    ],
)
def test_a_body_that_ends_early_names_the_bytes_received(stream, expected, words):
    with pytest.raises(BrokenOff, match=words):
        list(record_stream.pieces(stream, expected))


def test_a_silent_sender_is_dropped(monkeypatch):
    monkeypatch.setattr(record_stream, "STALL_SECONDS", 0.05)
    ours, theirs = socket.socketpair()
    with ours, theirs, ours.makefile("rb", buffering=0) as stream:
        theirs.sendall(b"abc")
        environ = {"gunicorn.socket": ours, "wsgi.input": stream, "wsgi.input_terminated": True}
        body = record_stream.body_of(environ, 9)
        assert next(body) == b"abc"
        with pytest.raises(BrokenOff, match="after 3 bytes"):
            next(body)


def test_the_body_of_a_refused_sender_is_read_up_to_a_bound(monkeypatch):
    monkeypatch.setattr(record_stream, "_DISCARDED_BYTES", 10)
    left = iter([b"abcd"] * 9)
    record_stream.discard(left)
    assert len(list(left)) == 6
    record_stream.discard(record_stream.pieces(Gone(b"abc"), None))
