"""A real Redis on this machine: in memory only, on a free port, stopped with us."""

from __future__ import annotations

import base64
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import orjson
import redis
from opensearch_node import free_port

READY_SECONDS = 20.0


def missing() -> str:
    """What this machine lacks to run Redis, in words; empty if nothing."""
    return "" if shutil.which("redis-server") else "redis-server is not installed"


class Redis:
    """A server that keeps its port; it can be killed and started again any number of times."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder, self.port = folder, port
        self.url = f"redis://127.0.0.1:{port}/0"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start an empty server and wait until it answers."""
        command = ["redis-server", "--bind", "127.0.0.1", "--port", str(self.port), "--dir", str(self.folder)]
        with (self.folder / "redis.log").open("ab") as log:
            self.process = subprocess.Popen(
                [*command, "--save", "", "--appendonly", "no"], stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        self._wait()

    def _wait(self) -> None:
        until = time.monotonic() + READY_SECONDS
        while time.monotonic() < until:
            try:
                with self._client() as client:
                    client.ping()
                return
            except redis.RedisError:
                time.sleep(0.02)
        raise RuntimeError(f"Redis did not start: {(self.folder / 'redis.log').read_text()[-2000:]}")

    def kill(self) -> None:
        """Kill the server, as a power cut would; its data is lost."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def flush(self) -> None:
        """Remove all data; start the server if it was killed."""
        if self.process is None or self.process.poll() is not None:
            self.start()
        with self._client() as client:
            client.flushall()

    def _client(self) -> redis.Redis:
        return redis.Redis.from_url(self.url, socket_timeout=5.0)


def sent(client: redis.Redis, queue: str = "medley:encode") -> list[Any]:
    """The arguments of every message in a queue, oldest first."""
    messages = [orjson.loads(raw) for raw in reversed(client.lrange(queue, 0, -1))]
    return [orjson.loads(base64.b64decode(message["body"]))[0] for message in messages]


def start_redis(folder: Path, port: int | None = None) -> Redis:
    """Start a server that writes its log to `folder`."""
    server = Redis(folder, port or free_port())
    server.start()
    return server
