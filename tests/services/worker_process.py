"""A real `medley worker`, of which a test may kill some or all processes and restart them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
ROOT = Path(__file__).parents[2]
PROGRAM = Path(__file__).with_name("quick_worker.py")
PATIENCE = 60.0


def eventually(look: Callable[[], T], what: str, seconds: float = PATIENCE, told: Callable[[], str] = str) -> T:
    """Poll `look` and return its first true value. Raises `AssertionError` after `seconds`."""
    until = time.monotonic() + seconds
    while not (found := look()):
        assert time.monotonic() < until, f"not within {seconds:.0f} s: {what}\n{told()}"
        time.sleep(0.05)
    return found


class Worker:
    """One `medley worker` with its processes. Its log survives restarts."""

    def __init__(self, folder: Path, settings: Mapping[str, str], arguments: tuple[str, ...] = ()) -> None:
        self._folder, self._arguments = folder, arguments
        self._settings = {f"MEDLEY_{name.upper()}": value for name, value in settings.items()}
        self._process: subprocess.Popen[bytes] | None = None
        folder.mkdir(parents=True, exist_ok=True)

    def start(self) -> Worker:
        """Start it. The kernel kills it when the thread that started it ends, so a killed test leaves nothing behind."""
        environment = {"PATH": os.environ["PATH"], "HOME": str(self._folder), "PYTHONPATH": str(ROOT)}
        command = ["setpriv", "--pdeathsig", "KILL", sys.executable, str(PROGRAM), "worker", *self._arguments]
        with (self._folder / "worker.log").open("ab") as log:
            self._process = subprocess.Popen(
                command,
                env=environment | self._settings,
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        return self

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """The main process."""
        assert self._process is not None
        return self._process

    @property
    def log(self) -> str:
        """The whole log."""
        return (self._folder / "worker.log").read_text(encoding="utf-8", errors="replace")

    def children(self) -> list[int]:
        """The ids of the processes that the main one started."""
        listed = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        with suppress(OSError):
            return sorted(map(int, listed.read_text().split()))
        return []

    def kill(self, *processes: int) -> None:
        """`kill -9` the given processes, or the main one if none is given."""
        for number in processes or (self.process.pid,):
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        if not processes:
            self.process.wait()

    def stop(self, seconds: float = PATIENCE) -> int:
        """Send SIGTERM and wait; returns the exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(seconds)

    def end(self) -> None:
        """Kill all its processes."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None


@contextmanager
def working(folder: Path, settings: Mapping[str, str], *arguments: str) -> Iterator[Worker]:
    """A running worker that is killed afterwards."""
    worker = Worker(folder, settings, arguments)
    try:
        yield worker.start()
    finally:
        worker.end()
