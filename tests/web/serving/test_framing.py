"""Finding the end of a request in what has arrived of it."""

import pytest

from web.serving.framing import ChunkedBody, RequestHead, without_expectation

LINE = b"POST /v1/search HTTP/1.1"


def head(*fields):
    return bytearray(b"\r\n".join((LINE, *fields)) + b"\r\n\r\n")


@pytest.mark.parametrize(
    ("fields", "length", "waits"),
    [
        ([], 0, False),
        ([b"Content-Length: 12"], 12, False),
        ([b"content-length:12 ", b"EXPECT: 100-Continue"], 12, True),
        ([b"Transfer-Encoding: chunked"], None, False),
        ([b"Transfer-Encoding: gzip, Chunked", b"Content-Length: 5"], None, False),
        ([b"Content-Length: -5"], 0, False),
        ([b"Content-Length: " + b"9" * 500], 0, False),
        ([b"Content-Length: ten", b"nonsense"], 0, False),
    ],
)
def test_a_head_says_what_follows(fields, length, waits):
    received = head(*fields) + b"more"
    assert RequestHead.of(received) == RequestHead(LINE, len(received) - 4, length, waits)


def test_an_incomplete_head_is_none_and_what_was_searched_is_not_searched_again():
    received = head(b"Host: a")
    assert [RequestHead.of(received[:size]) for size in range(len(received))] == [None] * len(received)
    assert RequestHead.of(received, len(received) - 1) == RequestHead.of(received)


CHUNKED = b"5\r\nabcde\r\n1;x=y\r\nf\r\n0\r\nX-Sum: 3\r\n\r\n"


def test_a_chunked_body_ends_after_its_trailers_however_it_arrives():
    body, received = ChunkedBody(3), bytearray(b"...")
    ends = []
    for byte in CHUNKED + b"next":
        received.append(byte)
        ends.append(body.end(received))
    assert ends == [None] * (len(CHUNKED) - 1) + [len(CHUNKED) + 3] * 5
    assert ChunkedBody(0).end(bytearray(b"0\r\n\r\n")) == 5


@pytest.mark.parametrize("body", [b"zz\r\nab", b"5" * 300, b"-5\r\n\r\n", b"\r\n"])
def test_a_damaged_chunk_ends_the_body(body):
    assert ChunkedBody(0).end(bytearray(body)) in (len(body), body.find(b"\r\n\r\n") + 4)


def test_an_answered_expectation_is_removed_from_the_head_only():
    received = head(b"Expect: 100-continue", b"Host: a") + b"\r\nExpect: in the body"
    assert without_expectation(received, RequestHead.of(received)) == bytes(
        head(b"Host: a") + b"\r\nExpect: in the body"
    )
