"""`medley` as a process of its own, over a home of the test, under the umask that most systems have."""

from __future__ import annotations

import os
import subprocess
import sys
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


def medley(
    home: Path, *arguments: str, prefix: tuple[str, ...] = (), standard_input: Any = subprocess.DEVNULL, **settings: str
) -> subprocess.CompletedProcess[str]:
    """Run one command to its end. `standard_input` is bytes to pipe into it, or what `subprocess` takes as `stdin`."""
    piped = {"input": standard_input} if isinstance(standard_input, bytes) else {"stdin": standard_input}
    done = subprocess.run(
        [*prefix, sys.executable, "-m", "web.cli", *arguments],
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
        [sys.executable, "-m", "web.cli", *arguments],
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
