"""Slow clients hold no thread: neither with their heads and bodies, nor by reading slowly, nor by staying."""

import json
import socket
import time
from contextlib import ExitStack

import pytest
from small_server import answer_on, ask, opened, served, until_closed

pytestmark = pytest.mark.slow

HEAD = b"POST / HTTP/1.1\r\nHost: localhost\r\n"


def quick(port, path="/"):
    began = time.monotonic()
    assert ask(port, path=path)[0] == 200
    return time.monotonic() - began


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"G",
        b"GET / HTTP/1.1\r\nHost: localhost\r\n",
        HEAD + b"Content-Length: 5000\r\n\r\nabc",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nab",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n",
        HEAD.replace(b"/ ", b"/unread ") + b"Content-Length: 900000\r\n\r\nabc",
    ],
)
def test_ten_slow_clients_do_not_stop_two_threads(content):
    with served() as port, ExitStack() as clients:
        for _ in range(10):
            clients.enter_context(opened(port, content))
        assert max(quick(port) for _ in range(5)) < 1


def test_slow_heads_and_bodies_are_refused_after_their_time():
    with served(head_seconds=1, body_seconds=2) as port:
        with opened(port, HEAD) as head, opened(port, HEAD + b"Content-Length: 9\r\n\r\nabc") as body:
            began = time.monotonic()
            for byte in b"X-A: 1":
                head.sendall(bytes([byte]))  # a client that goes on sending is no better
                time.sleep(0.1)
            assert answer_on(head)[0] == 408
            assert 0.5 < time.monotonic() - began < 2
            status, told = answer_on(body)
            assert (status, json.loads(told)["error"]["code"]) == (408, "http_408")
            assert 1.5 < time.monotonic() - began < 3.5
            assert until_closed(head) == until_closed(body) == b""
        with opened(port) as silent:
            assert until_closed(silent) == b""


def test_requests_in_small_pieces_are_answered():
    request = HEAD + b"Content-Length: 3\r\n\r\nabc"
    chunked = HEAD + b"Transfer-Encoding: chunked\r\n\r\n2;a=b\r\nab\r\n1\r\nc\r\n0\r\nX-Sum: 1\r\n\r\n"
    with served() as port, opened(port) as client:
        for content in (request, chunked, request):  # over one connection, which stays open
            for byte in content:
                client.sendall(bytes([byte]))
                time.sleep(0.001)
            assert answer_on(client) == (200, b"3")


def test_requests_sent_together_are_answered_in_order():
    with served() as port, opened(port) as client:
        client.sendall((HEAD + b"Content-Length: 3\r\n\r\nabc") * 2 + HEAD + b"\r\n")
        answers = b""
        while answers.count(b"HTTP/1.1 200") < 3 or not answers.endswith(b"0"):
            answers += client.recv(4096)
        assert [part[-1:] for part in answers.split(b"HTTP/1.1 200 OK")[1:]] == [b"3", b"3", b"0"]


def test_a_client_that_waits_for_leave_to_send_gets_it_once():
    with served() as port, opened(port, HEAD + b"Content-Length: 3\r\nExpect: 100-continue\r\n\r\n") as client:
        assert client.recv(4096) == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.sendall(b"abc")
        assert answer_on(client) == (200, b"3")


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"nonsense\r\n\r\n", b"400"),
        (b"\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nX: " + b"y" * 70_000, b"431"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + b"61a80\r\n" + b"a" * 250_000, b"413"),
    ],
)  # fmt: skip
def test_wrong_and_excessive_requests_are_refused(content, status):
    with served() as port, opened(port, content) as client:
        assert until_closed(client).split()[1] == status
        assert ask(port, "POST", body=b"abc")[:2] == (200, b"3")


def test_a_damaged_chunk_does_not_wait_for_more():
    with served() as port, opened(port, HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n") as client:
        assert answer_on(client)[0] in (200, 400, 500)


@pytest.mark.parametrize(
    "requests",
    [b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" * 200, b"GET /megabytes/6 HTTP/1.1\r\nHost: localhost\r\n\r\n"],
)
def test_readers_that_do_not_read_hold_no_thread(requests):
    with served() as port, ExitStack() as clients:
        for _ in range(10):
            client = clients.enter_context(socket.socket())
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.connect(("127.0.0.1", port))
            client.sendall(requests)
        assert max(quick(port) for _ in range(5)) < 1


def test_a_large_answer_arrives_completely_however_slowly_it_is_read():
    with served() as port, opened(port, b"GET /megabytes/60 HTTP/1.1\r\nHost: localhost\r\n\r\n") as client:
        time.sleep(0.5)
        status, body = answer_on(client)
        assert (status, len(body)) == (200, 60_000_000)
        client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert answer_on(client) == (200, b"0")


def test_clients_that_stay_after_their_answer_do_not_delay_others():
    with served() as port, ExitStack() as clients:
        for _ in range(20):
            client = clients.enter_context(opened(port, b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n"))
            assert answer_on(client)[0] == 200
        assert max(quick(port) for _ in range(5)) < 1


def test_past_the_limit_the_longest_waiting_connection_is_closed():
    with served(connections=20) as port, ExitStack() as clients:
        waiting = [clients.enter_context(opened(port, b"GET /")) for _ in range(30)]
        time.sleep(0.5)
        assert quick(port) < 1
        assert waiting[0].recv(1) == b""
        waiting[-1].sendall(b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert answer_on(waiting[-1])[0] == 200


def test_an_address_can_have_a_limit_of_its_own():
    with served(per_address=3) as port, ExitStack() as clients:
        waiting = [clients.enter_context(opened(port, b"GET /")) for _ in range(6)]
        assert waiting[0].recv(1) == waiting[1].recv(1) == b""
        waiting[-1].sendall(b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert answer_on(waiting[-1])[0] == 200


def test_bodies_that_wait_have_bounded_memory():
    part = HEAD + b"Content-Length: 900000\r\n\r\n" + bytes(800_000)
    with served(body=1_000_000, memory=3_000_000) as port, ExitStack() as clients:
        waiting = [clients.enter_context(opened(port, part)) for _ in range(6)]
        time.sleep(0.5)
        alive = 0
        for client in waiting:
            client.settimeout(0.2)
            try:
                alive += client.recv(1) != b""
            except TimeoutError:
                alive += 1
            except ConnectionError:
                pass
        assert 1 <= alive <= 4
        assert quick(port) < 1


def test_uploads_have_a_part_of_the_threads_and_others_are_told_when_to_come_back():
    part = b"POST /up HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nabc"
    with served(threads=3, streamed=["POST /up"], streams=2, stream_seconds=1) as port, ExitStack() as clients:
        first, second, third = (clients.enter_context(opened(port, part)) for _ in range(3))
        assert quick(port) < 1
        refused = until_closed(third)
        assert b" 429 " in refused
        assert b"Retry-After: 10\r\n" in refused
        fourth = clients.enter_context(opened(port, part + b"defghi"))
        first.sendall(b"defghi")
        assert answer_on(first) == answer_on(fourth) == (200, b"9")
        second.close()
        assert quick(port) < 1


def test_a_connection_is_kept_for_the_next_request_as_long_as_is_allowed():
    request = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with served() as port, opened(port, request) as client:
        assert answer_on(client)[0] == 200
        time.sleep(3.5)  # gunicorn itself closes after two seconds, while clients are about to send
        client.sendall(request)
        assert answer_on(client)[0] == 200
    with served(idle_seconds=0.5) as port, opened(port, request) as client:
        assert answer_on(client)[0] == 200
        began = time.monotonic()
        assert until_closed(client) == b""
        assert 0.3 < time.monotonic() - began < 2


def test_a_slow_upload_does_not_delay_the_stop():
    with served(streamed=["POST /"]) as port, ExitStack() as clients:
        client = clients.enter_context(opened(port, HEAD + b"Content-Length: 9\r\n\r\nabc"))
        idle = clients.enter_context(opened(port, b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"))
        assert answer_on(idle)[0] == 200
        running = clients.enter_context(opened(port, b"GET /wait HTTP/1.1\r\nHost: localhost\r\n\r\n"))
        time.sleep(0.1)
        kept = clients.pop_all()
    with kept:  # the server has stopped, in time
        assert answer_on(client) == (200, b"broken off")
        assert answer_on(running)[0] == 200
        assert until_closed(idle) == b""
