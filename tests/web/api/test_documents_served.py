"""Adding documents over real sockets to real processes: requests that are cut and bodies that are huge."""

import gzip
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command_line import quick_command
from portal_home import settings_of

from search.bootstrap import Medley

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
PATH = "/v1/documents?collection=abstracts"
NDJSON = "application/x-ndjson"
TAKEN = 4_000


def line(number, size=40):
    return (
        json.dumps({"id": f"d/{number:06}", "text": f"Fever fell {number}. " + "word " * (size // 5)}).encode() + b"\n"
    )


@pytest.fixture
def start(home):
    """Starts a portal with one process over the home; returns (host, port, process).

    Without `quick`, `process` is the parent of those that serve.
    """
    running = []

    def make(quick=True, **settings):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        own = {"MEDLEY_HOME": str(home), "MEDLEY_ENCODER": "hashing-256", "MEDLEY_RERANKER": "none", **settings}
        arguments = ("serve", "--port", str(port), "--workers", "1")
        command = quick_command(*arguments) if quick else [sys.executable, "-m", "web.cli", *arguments]
        process = subprocess.Popen(command, cwd=ROOT, env=os.environ | own, stderr=subprocess.PIPE, text=True)
        running.append(process)
        wait_for(port, process)
        return "127.0.0.1", port, process

    yield make
    for process in running:
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=60)
        assert "Traceback" not in errors, errors


def wait_for(port, process):
    until = time.monotonic() + 120
    while time.monotonic() < until and process.poll() is None:
        try:
            if ask(("127.0.0.1", port), "GET", "/healthz")[0] == 200:
                return
        except OSError:
            time.sleep(0.1)
    pytest.fail("the portal did not start")


def ask(place, method, path, body=None, headers=None, **options):
    connection = http.client.HTTPConnection(*place[:2], timeout=120)
    try:
        connection.request(method, path, body, headers or {}, **options)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        connection.close()


def post(place, body, **headers):
    return ask(place, "POST", PATH, body, {"Content-Type": NDJSON} | headers)


def stored(home, count):
    """Which of the first `count` documents are in the store."""
    medley = Medley.open(settings_of(home))
    return set(medley.collections.store("abstracts").latest([f"d/{number:06}" for number in range(count)]))


def sent_in_part(place, head, body):
    """A connection over which the head and a part of the body have been sent."""
    connection = socket.create_connection(place[:2], timeout=60)
    connection.sendall(f"POST {PATH} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: {NDJSON}\r\n{head}\r\n\r\n".encode())
    connection.sendall(body)
    return connection


def until(condition):
    """Wait for something that another process does."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.1)
    return pytest.fail("it did not come")


def fed(home):
    """The records of the access log about deliveries that have ended."""
    file = home / "access.log"
    lines = [json.loads(item) for item in file.read_text().splitlines()] if file.exists() else []
    return [item for item in lines if item["action"] == "fed"]


def test_a_request_that_is_cut_keeps_its_records_and_can_be_repeated(start, home):
    place = start()
    body = b"".join(line(number) for number in range(TAKEN))
    cut = body[: len(body) // 2]
    whole = cut.count(b"\n")
    sent_in_part(place, f"Content-Length: {len(body)}", cut).close()
    asked = until(lambda: fed(home))[0]["asked"]
    assert (asked["accepted"], asked["rejected"]) == (whole, 0)
    assert len(stored(home, TAKEN)) == whole
    job = json.loads(ask(place, "GET", f"/v1/jobs/{asked['job']}")[2])
    assert (job["accepted"], job["broken"], job["state"]) == (whole, True, "waiting")
    status, _, answer = post(place, body)
    *records, total = [json.loads(item) for item in answer.splitlines()]
    assert (status, len(records)) == (200, TAKEN)
    assert (total["unchanged"], total["accepted"], total["rejected"]) == (whole, TAKEN - whole, 0)


def test_a_sender_who_still_listens_is_told_that_the_request_was_cut(start):
    place = start()
    body = line(0) + line(1)
    with sent_in_part(place, f"Content-Length: {len(body)}", body[:-5]) as connection:
        connection.shutdown(socket.SHUT_WR)
        answer = http.client.HTTPResponse(connection)
        answer.begin()
        told = json.loads(answer.read())["error"]
    assert (answer.status, told["code"]) == (400, "broken_off")
    assert f"after {len(body) - 5} of {len(body)} bytes" in told["message"]


@pytest.mark.parametrize("end", [b"0\r\n\r\n", b"", b"zz\r\n"])
def test_chunked_bodies_are_accepted(start, home, end):
    place = start()
    body = line(0) + line(1) + line(2)[:-9]
    with sent_in_part(
        place, "Transfer-Encoding: chunked", f"{len(body):x}\r\n".encode() + body + b"\r\n" + end
    ) as sent:
        sent.shutdown(socket.SHUT_WR)
        answer = http.client.HTTPResponse(sent)
        answer.begin()
        told = answer.read()
    if end.startswith(b"0"):
        assert answer.status == 200
        assert json.loads(told.splitlines()[-1])["rejected"] == 1
    else:
        assert (answer.status, json.loads(told)["error"]["code"]) == (400, "broken_off")
    until(lambda: fed(home))
    assert stored(home, 3) <= {"d/000000", "d/000001"}


def test_a_gateway_that_is_killed_has_stored_what_it_confirmed(start, home):
    place = start(quick=False)
    told = [json.loads(item) for item in post(place, b"".join(map(line, range(700))))[2].splitlines()]
    body = b"".join(line(number) for number in range(700, 30_000))
    with sent_in_part(place, f"Content-Length: {len(body)}", body[: len(body) // 2]):
        until(lambda: len(stored(home, 3_000)) > 1_500)
        children = Path(f"/proc/{place[2].pid}/task/{place[2].pid}/children").read_text().split()
        for process in map(int, children):
            os.kill(process, signal.SIGKILL)
    assert {item["id"] for item in told[:-1]} <= stored(home, 30_000)
    again = start()
    status, _, answer = post(again, body)
    assert status == 200
    assert json.loads(answer.splitlines()[-1])["rejected"] == 0
    assert len(stored(home, 30_000)) == 30_000


def test_a_refused_sender_of_many_megabytes_receives_the_reason(start):
    place = start(MEDLEY_BACKLOG="1")
    assert post(place, line(0))[0] == 200
    time.sleep(1.5)
    status, headers, answer = post(place, b"".join(line(number, 2_000) for number in range(10_000)))
    assert (status, headers["Retry-After"]) == (429, "10")
    assert json.loads(answer)["error"]["code"] == "overloaded"


def long_work():
    """A gzip of some kilobytes whose records take many seconds: each is stored, as it differs from the one before."""
    records = b"".join(b'{"id": "%d", "text": "%s"}\n' % (number % 7, b"ab "[: number % 3 + 1]) for number in range(21))
    return gzip.compress(records * 40_000)


def test_work_ends_when_its_client_has_gone(start, home):
    place = start()
    body = long_work()
    sent_in_part(place, f"Content-Length: {len(body)}", body).close()
    before = time.monotonic()
    record = until(lambda: fed(home))[0]
    assert time.monotonic() - before < 10
    assert (record["status"], record["asked"]["rejected"]) == (400, 0)
    assert 0 < record["asked"]["accepted"] < 800_000
    job = json.loads(ask(place, "GET", f"/v1/jobs/{record['asked']['job']}")[2])
    assert job["broken"]


def test_work_does_not_delay_a_stop(start, home):
    place = start(quick=False)
    body = long_work()
    with sent_in_part(place, f"Content-Length: {len(body)}", body) as connection:
        until(lambda: (home / "access.log").exists())  # the delivery has begun
        time.sleep(1)
        before = time.monotonic()
        place[2].send_signal(signal.SIGTERM)
        answer = http.client.HTTPResponse(connection)
        answer.begin()
        told = json.loads(answer.read())["error"]
        place[2].wait(timeout=60)
    assert (answer.status, told["code"]) == (503, "unavailable")
    assert time.monotonic() - before < 10
    assert fed(home)[0]["asked"]["accepted"] > 0


def memory(process):
    """The peak memory of each answering process since it started, in bytes."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    peaks = [Path(f"/proc/{child}/status").read_text().split("VmHWM:")[1].split()[0] for child in children]
    return sum(map(int, peaks)) * 1024


def test_two_hundred_megabytes_take_constant_memory(start, home):
    place = start(MEDLEY_BACKLOG="1000000")
    count, size = 21_000, 10_000

    def body(begin, end):
        yield from (line(number, size) for number in range(begin, end))

    def feed(begin, end):
        headers = {"Content-Type": NDJSON, "Transfer-Encoding": "chunked"}
        status, _, answer = ask(place, "POST", PATH, body(begin, end), headers, encode_chunked=True)
        total = json.loads(answer.splitlines()[-1])
        assert (status, total["accepted"], answer.count(b"\n")) == (200, end - begin, end - begin + 1)

    feed(0, 1_000)
    before = memory(place[2])
    assert sum(map(len, body(1_000, count))) > 200_000_000
    feed(1_000, count)
    assert memory(place[2]) - before < 80_000_000  # a few batches and what their pieces leave behind; not the body
