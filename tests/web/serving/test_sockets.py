"""A client's socket: how long a thread waits for it, and what happens to an answer that is not read."""

import socket
import threading
import time

import pytest

from web.serving import sockets
from web.serving.sockets import ClientSocket


@pytest.fixture
def pair():
    """(our socket, the client's)."""
    accepted, client = socket.socketpair()
    ours = ClientSocket(accepted)
    with ours, client:
        yield ours, client


def read_on(ours):
    while True:
        ours.recv(100)


def test_a_sender_that_trickles_is_given_up(pair):
    ours, client = pair
    ours.setblocking(True)
    ours.grant(0.5)
    client.sendall(b"a" * 100)
    assert ours.recv(1) == b"a"
    ours.recv(100)
    stop = threading.Event()

    def trickle():
        while not stop.wait(0.1):
            client.sendall(b"a")

    sender = threading.Thread(target=trickle)
    sender.start()
    began = time.monotonic()
    try:
        with pytest.raises(TimeoutError, match="sends too slowly"):
            read_on(ours)
    finally:
        stop.set()
        sender.join()
    assert 0.4 < time.monotonic() - began < 5
    assert ours.gettimeout() is None


def test_a_fast_sender_earns_time_but_not_forever(pair):
    ours, client = pair
    ours.setblocking(True)
    ours.grant(0.1)
    client.sendall(bytes(100_000))
    assert sum(len(ours.recv(50_000)) for _ in range(2)) == 100_000
    assert 1 < ours._left <= sockets.PATIENCE_SECONDS


def test_the_own_timeout_still_holds(pair):
    ours, _ = pair
    ours.settimeout(0.1)
    with pytest.raises(TimeoutError, match="timed out"):
        ours.recv(1)
    ours.settimeout(0)
    with pytest.raises(BlockingIOError):
        ours.recv(1)


def test_without_time_only_what_has_arrived_is_read(pair):
    ours, client = pair
    ours.setblocking(True)
    ours.grant(0)
    client.sendall(b"abc")
    assert ours.recv(9, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b"abc"
    assert ours.recv(9) == b"abc"
    ours.grant(0)
    with pytest.raises(TimeoutError):
        ours.recv(9)


def test_a_waiting_thread_notices_that_it_shall_hurry(pair):
    ours, _ = pair
    ours.setblocking(True)
    threading.Timer(0.1, ours.hurry, [0.1]).start()
    began = time.monotonic()
    with pytest.raises(TimeoutError):
        ours.recv(1)
    assert time.monotonic() - began < 3


def test_what_is_not_read_is_kept_and_sent_later(pair):
    ours, client = pair
    ours.setblocking(True)
    answer = bytes(range(256)) * 8_000
    ours.sendall(answer)
    assert 0 < len(ours.unsent) < len(answer)
    received = bytearray()
    while len(received) < len(answer):
        received += client.recv(1 << 16)
        ours.flush()
    assert bytes(received) == answer
    assert not ours.unsent
    assert not ours.flush()


def test_a_reader_of_more_than_is_kept_is_given_up(pair, monkeypatch):
    monkeypatch.setattr(sockets, "MAX_UNSENT", 1_000_000)
    ours, _ = pair
    ours.setblocking(True)
    ours.grant(0.2)
    with pytest.raises(TimeoutError, match="reads too slowly"):
        ours.sendall(bytes(3_000_000))
    assert ours.gettimeout() is None
