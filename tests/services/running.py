"""Processes of Medley's servers for tests: `medley serve` and `medley inference`, on free ports, ended with the block."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import urllib3
from command_line import quick_command
from opensearch_node import free_port

ROOT = Path(__file__).parents[2]
READY_SECONDS = 120.0


@contextmanager
def server(name: str, *options: str, command: Sequence[str] = (), **variables: str) -> Iterator[str]:
    """The address of a server that answers its health check. Afterwards it is asked to end, without a traceback.

    `command` is what runs the command line instead of a `quick_command`.
    """
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    arguments = (name, "--port", str(port), *options)
    process = subprocess.Popen(
        [*command, *arguments] if command else quick_command(*arguments),
        cwd=ROOT,
        env=os.environ | variables,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        await_answer(f"{address}/healthz", process)
        yield address
    finally:
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=60)
        assert "Traceback" not in errors, errors


def await_answer(address: str, process: subprocess.Popen[Any]) -> None:
    """Return when a server answers at an address. Raises `AssertionError` when its process ends, or after two minutes."""
    until = time.monotonic() + READY_SECONDS
    while time.monotonic() < until and process.poll() is None:
        try:
            if urllib3.request("GET", address, retries=False).status == 200:
                return
        except urllib3.exceptions.HTTPError:
            time.sleep(0.1)
    raise AssertionError(f"{address} did not answer")
