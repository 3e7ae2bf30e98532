"""A served portal that slow clients and a greedy reader attack: health checks and other callers are answered."""

import json
import os
import signal
import socket
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

import pytest
from command_line import quick_command
from portal_home import abstract, settings_of
from small_server import ROOT, ask, opened, wait_for

from search.bootstrap import Medley
from web.access import tokens
from web.cli.indexing import fill_quietly

pytestmark = pytest.mark.slow

SLOW_CLIENTS = 200
WORDS = (
    *("statin", "aspirin", "mortality", "stroke", "trial", "placebo", "adults"),
    *("risk", "dose", "bleeding", "renal", "cardiac", "weight", "insulin"),
)


@contextmanager
def portal(home, *command, **settings):
    """The port of a portal with one process over `home`, or of another server; its stop must not be delayed."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    own = {"MEDLEY_HOME": str(home), "MEDLEY_ENCODER": "hashing-256", "PYTHONPATH": str(ROOT), **settings}
    started = quick_command(*(command or ("serve", "--workers", "1")), "--port", str(port))
    process = subprocess.Popen(started, cwd=ROOT, env=os.environ | own, stderr=subprocess.PIPE, text=True)
    try:
        wait_for(port, process, "/healthz")
        yield port
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        process.wait(30)
        assert time.monotonic() - began < 10
    finally:
        process.terminate()
        _, errors = process.communicate(timeout=60)
        assert "Traceback" not in errors, errors


def search(port, token, text="aspirin stroke"):
    began = time.monotonic()
    body = json.dumps({"collection": "abstracts", "text": text})
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
    status, answer, _ = ask(port, "POST", "/v1/search", body, headers)
    assert status == 200, answer
    return time.monotonic() - began


def health(port):
    began = time.monotonic()
    assert ask(port, path="/healthz")[0] == 200
    return time.monotonic() - began


def test_two_hundred_slow_clients_stop_nobody(home):
    token = tokens.add(home, "ada", ["public"])
    parts = [
        b"GET /v1/search?collection=abstracts HTTP/1.1\r\nHost: localhost\r\nX-A: ",
        b"POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n",
        b"POST /v1/documents?collection=abstracts HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n",
        b"POST /login HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n",
    ]
    with portal(home, MEDLEY_RERANKER="none") as port, ExitStack() as clients:
        slow = [clients.enter_context(opened(port, parts[number % 4])) for number in range(SLOW_CLIENTS)]
        for _ in range(3):
            for client in slow:
                try:
                    client.sendall(b"a")
                except OSError:  # was refused
                    continue
            assert max(health(port) for _ in range(5)) < 2
            assert max(search(port, token) for _ in range(5)) < 2
            time.sleep(1)


@pytest.fixture
def large_home(home):
    """Enough long abstracts that reranking takes a while."""
    medley = Medley.open(settings_of(home))
    texts = [" ".join(WORDS[(number * place) % len(WORDS)] for place in range(1, 200)) for number in range(1, 60)]
    documents = [abstract(f"l/{n}", f"Trial {n}", "public", 2000, "Heart", text) for n, text in enumerate(texts)]
    medley.collections.store("abstracts").put(documents)
    fill_quietly(medley, "abstracts")
    return home


def test_five_batches_of_one_reader_leave_room_for_others(large_home):
    ada, mallory = (tokens.add(large_home, name, ["public"]) for name in ("ada", "mallory"))
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {mallory}"}

    def batch(number):
        searches = [
            {"collection": "abstracts", "text": f"{word} {number} {place} mortality trial", "deadline_ms": 60_000}
            for place, word in enumerate(WORDS[:12])
        ]
        return ask(port, "POST", "/v1/search/batch", json.dumps({"searches": searches}), headers)

    with portal(large_home) as port, ThreadPoolExecutor(5) as pool:
        batches = [pool.submit(batch, number) for number in range(5)]
        time.sleep(0.5)
        answered = 0
        while not all(item.done() for item in batches):
            assert health(port) < 3
            assert search(port, ada, f"aspirin {answered}") < 10
            answered += 1
        answers = [item.result() for item in batches]
    refused = [(headers["Retry-After"], json.loads(body)) for status, body, headers in answers if status == 429]
    assert answered > 3
    assert {status for status, _, _ in answers} == {200, 429}
    assert {after for after, _ in refused} == {"5"}
    assert {told["error"]["code"] for _, told in refused} == {"overloaded"}


def test_slow_clients_do_not_stop_a_model_server(tmp_path):
    command = ("inference", "--model", "hashing-256", "--threads", "1")
    parts = [b"POST /embed HTTP/1.1\r\nContent-Le", b"POST /embed HTTP/1.1\r\nContent-Length: 90\r\n\r\n{"]
    with portal(tmp_path, *command) as port, ExitStack() as clients:
        for number in range(40):
            clients.enter_context(opened(port, parts[number % 2]))
        assert health(port) < 2
        status, body, _ = ask(port, "POST", "/embed", b'{"inputs": "aspirin"}')
        assert (status, len(json.loads(body)[0])) == (200, 256)
