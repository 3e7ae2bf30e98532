"""A small application served with given limits, to be run as a process; and clients that are slow on purpose."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


def application(environ, start_response):
    """Answers with the size of the body; `/megabytes/N` with N MB; `/wait` after half a second."""
    path = environ["PATH_INFO"]
    if path.startswith("/megabytes/"):
        count = int(path.rpartition("/")[2])
        start_response("200 OK", [("Content-Length", f"{count}000000")])
        return [bytes(1_000_000)] * count
    if path == "/wait":
        time.sleep(0.5)
    if path == "/unread":
        answer = b"not read"
    else:
        try:
            answer = b"%d" % len(environ["wsgi.input"].read())
        except OSError:
            answer = b"broken off"
    start_response("200 OK", [("Content-Length", str(len(answer)))])
    return [answer]


def serve(options, limits):
    from web.serving.limits import ConnectionLimits
    from web.serving.run import run_gunicorn

    limits["streamed"] = tuple(text.encode() for text in limits.get("streamed", ()))
    run_gunicorn({"loglevel": "warning", **options}, lambda: application, ConnectionLimits(**limits))


@contextmanager
def served(threads=2, **limits):
    """A port at which the application is served by one process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = {"bind": f"127.0.0.1:{port}", "workers": 1, "threads": threads, "graceful_timeout": 20}
    given = json.dumps([options, {"body": 100_000, **limits}])
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    process = subprocess.Popen([sys.executable, __file__, given], env=environment, stderr=subprocess.PIPE, text=True)
    try:
        wait_for(port, process)
        yield port
    finally:
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=60)
        assert "Traceback" not in errors, errors
        assert time.monotonic() - began < 8, "the stop was delayed"


def wait_for(port, process, path="/"):
    end = time.monotonic() + 60
    while time.monotonic() < end and process.poll() is None:
        try:
            if ask(port, path=path)[0] == 200:
                return
        except OSError:
            time.sleep(0.05)
    pytest.fail("the server did not start")


def ask(port, method="GET", path="/", body=None, headers=None, **options):
    """(status, body, headers) of one request over its own connection."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request(method, path, body, headers or {}, **options)
        answer = connection.getresponse()
        return answer.status, answer.read(), answer.headers
    finally:
        connection.close()


def opened(port, content=b""):
    """A connection over which `content` was sent."""
    client = socket.create_connection(("127.0.0.1", port), timeout=60)
    client.sendall(content)
    return client


def answer_on(client):
    """(status, body) of the answer that arrives over a connection."""
    answer = http.client.HTTPResponse(client)
    answer.begin()
    return answer.status, answer.read()


def until_closed(client):
    """What arrives before the server closes the connection."""
    content = b""
    while piece := client.recv(1 << 16):
        content += piece
    return content


if __name__ == "__main__":
    serve(*json.loads(sys.argv[1]))
