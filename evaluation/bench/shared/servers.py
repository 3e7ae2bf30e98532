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

from evaluation.bench.shared.apart import environment_of
from mappings.errors import Unavailable
from search.settings import Settings

START_SECONDS: Final = 120.0
NO_SETTINGS: Final[Mapping[str, str]] = {}
_ROOT: Final = Path(__file__).parents[3]


@dataclass(frozen=True, slots=True)
class RunningGateway:
    """A gateway over an installation that a worker feeds: its address, and the processes that serve and index."""

    address: str
    processes: tuple[int, ...]


@contextmanager
def model_server(models: Sequence[str], *options: str, settings: Mapping[str, str] = NO_SETTINGS) -> Iterator[str]:
    """The address of a model server of `models`, by default those that are shipped. Raises `Unavailable`."""
    named = [part for name in models for part in ("--model", name)]
    with tempfile.TemporaryDirectory() as home:
        chosen = {"MEDLEY_HOME": home, **settings}
        with _running(["inference", *named, *options], chosen) as (address, _):
            yield address


@contextmanager
def gateway(settings: Settings) -> Iterator[str]:
    """The address of a gateway over the cluster and the model servers of the settings. Raises `Unavailable`."""
    chosen = {
        "MEDLEY_HOME": str(settings.home),
        "MEDLEY_OPENSEARCH": settings.opensearch,
        "MEDLEY_OPENSEARCH_PREFIX": settings.opensearch_prefix,
        "MEDLEY_INFERENCE": settings.inference,
    }
    with _running(["serve"], chosen) as (address, _):
        yield address


@contextmanager
def gateway_and_worker(settings: Settings) -> Iterator[RunningGateway]:
    """A gateway and a worker of the queue that the settings name. Raises `Unavailable`."""
    chosen = environment_of(settings)
    line = [sys.executable, "-m", "web.cli", "worker"]
    environment = {**os.environ, **chosen, "PYTHONPATH": str(_ROOT)}
    worker = subprocess.Popen(line, env=environment, stderr=subprocess.DEVNULL)  # noqa: S603
    try:
        with _running(["serve"], chosen) as (address, process):
            yield RunningGateway(address, (process, worker.pid))
    finally:
        worker.terminate()
        worker.wait(timeout=START_SECONDS)


@contextmanager
def _running(command: Sequence[str], chosen: Mapping[str, str]) -> Iterator[tuple[str, int]]:
    """The address of a server, and the number of its process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    line = [sys.executable, "-m", "web.cli", *command, "--port", str(port)]
    environment = {**os.environ, **chosen, "PYTHONPATH": str(_ROOT)}
    process = subprocess.Popen(line, env=environment, stderr=subprocess.DEVNULL)  # noqa: S603
    address = f"http://127.0.0.1:{port}"
    try:
        _await(address, lambda: process.poll() is None, command[0])
        yield address, process.pid
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
