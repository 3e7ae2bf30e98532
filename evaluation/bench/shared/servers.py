"""Servers of ours in processes of their own, as users run them, on this machine only."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import urllib3

from evaluation.bench.systems.measure import read_memory
from mappings.errors import Unavailable
from search.settings import Settings

START_SECONDS: Final = 120.0
NO_SETTINGS: Final[Mapping[str, str]] = {}
_ROOT: Final = Path(__file__).parents[3]


@dataclass(frozen=True, slots=True)
class RunningServer:
    """The address of a server, such as `http://127.0.0.1:8080`, and the id of its first process."""

    address: str
    process: int

    def memory(self) -> dict[str, float]:
        """Resident and proportional memory of all its processes in MB; empty where the system does not report it."""
        found = [read_memory(str(process)) for process in _family(self.process)]
        return {name: sum(item.get(name, 0.0) for item in found) for name in found[0]}


def _family(process: int) -> list[int]:
    """A process and its descendants."""
    try:
        children = Path(f"/proc/{process}/task/{process}/children").read_text(encoding="utf-8").split()
    except OSError:
        return [process]
    return [process, *(member for child in children for member in _family(int(child)))]


@contextmanager
def model_server(models: Sequence[str], *options: str, settings: Mapping[str, str] = NO_SETTINGS) -> Iterator[str]:
    """The address of a model server of `models`, by default those that are shipped. Raises `Unavailable`."""
    named = [part for name in models for part in ("--model", name)]
    with tempfile.TemporaryDirectory() as home:
        chosen = {"MEDLEY_HOME": home, **settings}
        with _running(["inference", *named, *options], chosen) as found:
            yield found.address


@contextmanager
def gateway(settings: Settings) -> Iterator[str]:
    """The address of a gateway over the cluster and the model servers of the settings. Raises `Unavailable`."""
    chosen = {
        "MEDLEY_HOME": str(settings.home),
        "MEDLEY_OPENSEARCH": settings.opensearch,
        "MEDLEY_OPENSEARCH_PREFIX": settings.opensearch_prefix,
        "MEDLEY_INFERENCE": settings.inference,
        "MEDLEY_COLLECTIONS": str(settings.collections or ""),
    }
    with _running(["serve"], chosen) as found:
        yield found.address


@contextmanager
def embedded_gateway(chosen: Mapping[str, str]) -> Iterator[RunningServer]:
    """A gateway with these environment variables, which say where its home is. Raises `Unavailable`."""
    with _running(["serve"], chosen) as found:
        yield found


@contextmanager
def worker(chosen: Mapping[str, str]) -> Iterator[RunningServer]:
    """A worker of the queue that these environment variables name; it has no address."""
    environment = {**os.environ, **chosen, "PYTHONPATH": str(_ROOT)}
    line = [sys.executable, "-m", "web.cli", "worker"]
    process = subprocess.Popen(line, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603
    try:
        yield RunningServer("", process.pid)
    finally:
        process.terminate()
        process.wait(timeout=START_SECONDS)


@contextmanager
def _running(command: Sequence[str], chosen: Mapping[str, str]) -> Iterator[RunningServer]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    line = [sys.executable, "-m", "web.cli", *command, "--port", str(port)]
    environment = {**os.environ, **chosen, "PYTHONPATH": str(_ROOT)}
    process = subprocess.Popen(line, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603
    address = f"http://127.0.0.1:{port}"
    try:
        _await(address, lambda: process.poll() is None, command[0])
        yield RunningServer(address, process.pid)
    finally:
        process.terminate()
        process.wait(timeout=60)


def _await(address: str, runs: Callable[[], bool], name: str) -> None:
    pool = urllib3.PoolManager(retries=False)
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until and runs():
        with suppress(urllib3.exceptions.HTTPError):
            if pool.request("GET", f"{address}/readyz", timeout=START_SECONDS).status == 200:
                return
        time.sleep(0.1)
    raise Unavailable(f"a server of ours did not start: run `medley {name}` to see why")
