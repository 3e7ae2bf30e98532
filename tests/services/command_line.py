"""`medley` as a process of its own, over a home of the test, under the umask that most systems have."""

from __future__ import annotations

import atexit
import os
import socket
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
USUAL_UMASK = 0o022
QUICK = {"MEDLEY_ENCODER": "hashing-256", "MEDLEY_RERANKER": "none"}
WITHOUT_OVERRIDE = ("setpriv", "--bounding-set=-dac_override,-dac_read_search")
"""In front of a command: root is held to the modes of files, as other users are."""


def environment(home: Path, **settings: str) -> dict[str, str]:
    """The variables of a process over `home`, with quick models unless `settings` say otherwise."""
    return os.environ | {"MEDLEY_HOME": str(home), "PYTHONPATH": str(ROOT)} | QUICK | settings


@cache
def _server() -> Path:
    """The socket of a process that has imported Medley, and lives as long as this one: see `command_server`."""
    folder = tempfile.TemporaryDirectory(prefix="medley-")
    place = Path(folder.name) / "socket"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(place))
        listening.listen(64)
        process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("command_server.py")), str(listening.fileno())],
            stdin=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            pass_fds=[listening.fileno()],
            start_new_session=True,
        )

    def end() -> None:
        process.communicate()
        folder.cleanup()

    atexit.register(end)
    return place


def quick_command(*arguments: str) -> list[str]:
    """A command line that runs a command of Medley without the second that importing takes.

    The process that imports it once forks for each; whoever needs the seed of hashes, the session or the rights of a
    process of its own uses `python -m web.cli`.
    """
    return [sys.executable, "-IS", str(Path(__file__).with_name("command_client.py")), str(_server()), *arguments]


def medley(
    home: Path, *arguments: str, prefix: tuple[str, ...] = (), standard_input: Any = subprocess.DEVNULL, **settings: str
) -> subprocess.CompletedProcess[str]:
    """Run one command to its end. `standard_input` is bytes to pipe into it, or what `subprocess` takes as `stdin`."""
    piped = {"input": standard_input} if isinstance(standard_input, bytes) else {"stdin": standard_input}
    command = [*prefix, sys.executable, "-m", "web.cli", *arguments] if prefix else quick_command(*arguments)
    done = subprocess.run(
        command,
        capture_output=True,
        cwd=home.parent,
        env=environment(home, **settings),
        umask=USUAL_UMASK,
        timeout=120,
        **piped,
    )
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def start(home: Path, *arguments: str, **settings: str) -> subprocess.Popen[str]:
    """Start a command that runs until it is stopped; its stderr is a pipe."""
    return subprocess.Popen(
        quick_command(*arguments),
        cwd=home.parent,
        env=environment(home, **settings),
        umask=USUAL_UMASK,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for_line(process: subprocess.Popen[str], text: str) -> list[str]:
    """The lines on stderr until one has `text`. Raises `AssertionError` if the process ends without it."""
    assert process.stderr is not None
    seen: list[str] = []
    for line in process.stderr:
        seen.append(line.rstrip())
        if text in line:
            return seen
    raise AssertionError(f"it ended without {text!r}: {seen}")


def stop(process: subprocess.Popen[str]) -> str:
    """Send SIGTERM and wait; returns the rest of stderr."""
    process.terminate()
    return process.communicate(timeout=60)[1]
