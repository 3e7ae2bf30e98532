"""Imports Medley once, and forks for each command: `python command_server.py FILENO` accepts on that socket.

Each command is a process of its own, with the environment, folder, umask and files of the `command_client` that asked
for it; what it is spared is the second of importing. All of them have one seed of hashes. The server ends, and kills
what still runs, at the end of its standard input.
"""

from __future__ import annotations

import gc
import importlib
import marshal
import os
import pkgutil
import selectors
import signal
import socket
import sys
from contextlib import suppress
from pathlib import Path

LATER = (
    "mappings.formats.registry",
    "search.engines.embedded.engine",
    "search.engines.opensearch.engine",
    "web.access.log",
    "web.app",
    "web.serving.run",
    "workers.indexing.ingest",
    "workers.queueing.worker",
)
"""What commands import when they run."""


def main() -> None:
    from mappings.clinical.reading import shipped_reader
    from web.cli import commands
    from web.cli.main import main as run_command
    from workers.indexing import rebuild

    for module in (*(f"web.cli.commands.{item.name}" for item in pkgutil.iter_modules(commands.__path__)), *LATER):
        importlib.import_module(module)
    shipped_reader()  # which every command that opens a collection loads
    rebuild.GRACE_SECONDS = 2.0  # of ten: nobody searches what was replaced
    assert len(os.listdir("/proc/self/task")) == 1, "a process of several threads must not be forked"
    gc.freeze()  # what is imported stays shared with the processes that are forked
    with socket.socket(fileno=int(sys.argv[1])) as listening:
        Server(listening).serve()
    run_command()


class Server:
    """Forks for each request; `serve` returns in the forked process, which is then the command."""

    def __init__(self, listening: socket.socket) -> None:
        self._events = selectors.DefaultSelector()
        self._events.register(0, selectors.EVENT_READ, self._end)
        self._events.register(listening, selectors.EVENT_READ, lambda: self._accept(listening))
        self._running: dict[int, socket.socket] = {}
        self._forked = False

    def serve(self) -> None:
        while not self._forked:
            event, _ = self._events.select()[0]  # one at a time: it may close what the next one is about
            event.data()

    def _end(self) -> None:
        for process in self._running:
            os.kill(process, signal.SIGKILL)
        os._exit(0)

    def _accept(self, listening: socket.socket) -> None:
        client = listening.accept()[0]
        head, files, _, _ = socket.recv_fds(client, 8, 3)
        with client.makefile("rb") as reading:
            request = marshal.loads(reading.read(int.from_bytes(head)))
        if process := os.fork():
            for file in files:
                os.close(file)
            self._watch(process, client)
            return
        self._forked = True
        self._events.close()
        for each in (client, *self._running.values()):
            each.close()
        become(files, *request)

    def _watch(self, process: int, client: socket.socket) -> None:
        self._running[process] = client
        end = os.pidfd_open(process)
        self._events.register(end, selectors.EVENT_READ, lambda: self._answer(process, end))
        self._events.register(client, selectors.EVENT_READ, lambda: self._forward(client, process))

    def _forward(self, client: socket.socket, process: int) -> None:
        received = client.recv(8)
        for number in received or [signal.SIGKILL]:
            os.kill(process, number)
        if not received:  # the client was killed
            self._events.unregister(client)

    def _answer(self, process: int, end: int) -> None:
        client = self._running.pop(process)
        status = os.waitpid(process, 0)[1]
        with suppress(OSError):
            client.sendall(status.to_bytes(8))
        with suppress(KeyError):
            self._events.unregister(client)
        self._events.unregister(end)
        os.close(end)
        client.close()


def become(files: list[int], arguments: list[str], environment: dict[str, str], folder: str, umask: int) -> None:
    """Take the files, environment, folder and umask of the client, and its command line."""
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", 1, closefd=False, errors="backslashreplace")  # noqa: SIM115
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    os.umask(umask)
    sys.argv = [str(Path(sys.executable).with_name("medley")), *arguments]


if __name__ == "__main__":
    main()
