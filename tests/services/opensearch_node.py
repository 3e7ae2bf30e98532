"""A real OpenSearch node on this machine: fetched once by Maven, run as a user other than root, stopped with us.

`python tests/services/opensearch_node.py` starts one, prints its address and stops it at end of input or Ctrl-C.
"""

from __future__ import annotations

import base64
import fcntl
import http.client
import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import memory

VERSION = "3.6.0"  # the newest one of which Maven Central has the plugins too
POM = Path(__file__).with_name("pom.xml")
READY_SECONDS = 180.0
NOBODY = 65534

QUICK = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""JVM options for a node that lives for minutes: half the CPU time to start, at the cost of peak throughput."""

NEURAL = ("neural",)
ML = ("neural", "ml")
SECURITY = ("security",)
"""Plugins of a node: in-engine hybrid search, or also models of other servers in its pipelines; TLS and users."""


def java_home() -> Path | None:
    """The home of a Java 21 or newer: `OPENSEARCH_JAVA_HOME`, `JAVA_HOME` or one installed on the system."""
    named = [Path(os.environ[name]) for name in ("OPENSEARCH_JAVA_HOME", "JAVA_HOME") if os.environ.get(name)]
    return next((path for path in (*named, *sorted(Path("/usr/lib/jvm").glob("*"))) if _release(path) >= 21), None)


def _release(home: Path) -> int:
    try:
        lines = (home / "release").read_text(encoding="utf-8").splitlines()
    except OSError:
        return 0
    version = next((line for line in lines if line.startswith("JAVA_VERSION=")), '="0"')
    return int(version.split('"')[1].split(".")[0])


def missing() -> str:
    """What this machine lacks to run a node, in words; empty if nothing."""
    if not shutil.which("mvn"):
        return "Maven is not installed"
    return "" if java_home() else "Java 21 or newer is not installed"


def lay_out(profiles: tuple[str, ...] = NEURAL) -> Path:
    """The folder with the node's files, which Maven fetches on first use and which are cached after that.

    Raises `RuntimeError` with the end of Maven's output if that fails.
    """
    home = _cache() / "-".join(("opensearch", VERSION, *profiles))
    home.parent.mkdir(parents=True, exist_ok=True)
    with home.with_name(f".{home.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two xdist workers may need the files at the same time
        if not (home / ".complete").is_file():
            _unpack(home, profiles)
    return home


def _unpack(home: Path, profiles: tuple[str, ...]) -> None:
    shutil.rmtree(home, ignore_errors=True)
    aside = Path(tempfile.mkdtemp(prefix=".opensearch-", dir=home.parent))
    command = ["mvn", "-q", "-B", "-ntp", "-f", str(POM), f"-P{','.join(profiles)}", f"-Dout={aside}"]
    ran = subprocess.run([*command, "process-resources"], capture_output=True, text=True)
    if ran.returncode:
        shutil.rmtree(aside, ignore_errors=True)
        raise RuntimeError(f"Maven could not fetch OpenSearch: {ran.stdout[-2000:]}{ran.stderr[-2000:]}")
    _accept(aside / "plugins" / "opensearch-security" / "plugin-descriptor.properties")
    for script in (aside / "bin").iterdir():
        script.chmod(0o755)
    (aside / ".complete").touch()
    for folder, _, files in os.walk(aside):  # the user that runs the node must be able to read them
        os.chmod(folder, 0o755)
        for name in files:
            path = Path(folder, name)
            path.chmod(path.stat().st_mode | 0o444)
    aside.rename(home)


def _accept(descriptor: Path) -> None:
    """Make the node load a plugin that was built for an earlier version."""
    if descriptor.is_file():
        text = descriptor.read_text(encoding="utf-8")
        lines = [
            f"opensearch.version={VERSION}" if line.startswith("opensearch.version=") else line
            for line in text.splitlines()
        ]
        descriptor.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _cache() -> Path:
    # The user that runs the node cannot enter root's home.
    own = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return (Path("/var/cache") if os.getuid() == 0 else own) / "medley"


def free_port() -> int:
    """A port on which nothing listens at the moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass(frozen=True)
class Secure:
    """A node with the security plugin: files for its configuration folder by name, and the user for readiness checks."""

    files: Mapping[str, Path]
    ca: Path
    user: str
    password: str

    def headers(self) -> dict[str, str]:
        """The HTTP headers that authenticate the user."""
        shown = base64.b64encode(f"{self.user}:{self.password}".encode()).decode()
        return {"Authorization": f"Basic {shown}"}


@dataclass(frozen=True)
class Running:
    """A node that someone else started."""

    url: str


class Node:
    """One node with its data; it can be killed and restarted on the same port."""

    def __init__(
        self,
        folder: Path,
        heap: str = "512m",
        settings: Mapping[str, str] | None = None,
        secure: Secure | None = None,
        jvm: Sequence[str] = QUICK,
        profiles: tuple[str, ...] = NEURAL,
    ) -> None:
        self.home = lay_out(profiles)
        self.folder, self.secure = folder, secure
        self.data = _data_folder(folder)
        self.port, self.transport = free_port(), free_port()
        self.url = f"{'https' if secure else 'http'}://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None
        self.configure(settings or {})
        self._write_jvm_options(heap, jvm)
        self._hand_over()

    def configure(self, settings: Mapping[str, str]) -> None:
        """Write the node's settings: ours with these over them; an empty one is left out. They count from the next start."""
        self._write_configuration(settings)
        self._hand_over()

    @property
    def is_alive(self) -> bool:
        """Whether its process runs."""
        return self._process is not None and self._process.poll() is None

    def start(self, wait: bool = True) -> Node:
        """Start the node; with `wait`, return when it accepts requests."""
        java = java_home()
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "OPENSEARCH_PATH_CONF": str(self.folder / "config"),
            "OPENSEARCH_TMPDIR": str(self.folder / "tmp"),
            "OPENSEARCH_JAVA_HOME": str(java),
            "JAVA_HOME": str(java),
        }
        as_nobody = [f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"] if os.getuid() == 0 else []
        # The kernel kills the node when the process that started it ends, even by SIGKILL.
        command = ["setpriv", *as_nobody, "--pdeathsig", "KILL", str(self.home / "bin" / "opensearch")]
        with (self.folder / "logs" / "console.log").open("ab") as log:
            self._process = subprocess.Popen(
                command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder
            )
        if wait:
            self.wait()
        return self

    def wait(self) -> None:
        """Return when the node accepts requests. Raises `RuntimeError` with the end of its log if it never does."""
        until = time.monotonic() + READY_SECONDS
        while time.monotonic() < until and self._process is not None and self._process.poll() is None:
            if self._ready():
                return
            time.sleep(0.2)
        log = (self.folder / "logs" / "console.log").read_text(errors="replace")[-4000:]
        raise RuntimeError(f"the OpenSearch node did not start: {log}")

    def kill(self) -> None:
        """`kill -9`."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """Stop the node and wait until it has ended."""
        self._end(signal.SIGTERM)

    def pause(self) -> None:
        """Freeze the node, so that it looks unreachable."""
        if self._process is not None:
            self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Continue a paused node."""
        if self._process is not None:
            self._process.send_signal(signal.SIGCONT)

    def _end(self, how: signal.Signals) -> None:
        if self._process is None:
            return
        self._process.send_signal(how)
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def _ready(self) -> bool:
        connection, headers = self._connection()
        try:
            connection.request("GET", "/_cluster/health?wait_for_status=yellow&timeout=4s", headers=headers)
            answer = connection.getresponse()
            return answer.status == 200 and not json.loads(answer.read())["timed_out"]
        except (OSError, ValueError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def _connection(self) -> tuple[http.client.HTTPConnection, dict[str, str]]:
        if self.secure is None:
            return http.client.HTTPConnection("127.0.0.1", self.port, timeout=5), {}
        trusted = ssl.create_default_context(cafile=self.secure.ca)
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=5, context=trusted), self.secure.headers()

    def _write_configuration(self, settings: Mapping[str, str]) -> None:
        for name in ("config", "logs", "tmp"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        logs, config = self.folder / "logs", self.folder / "config"
        shutil.copy(self.home / "config" / "log4j2.properties", config)
        if self.secure is not None:
            self._write_security(self.secure, config)
        lines = {
            "cluster.name": "medley-tests",
            "discovery.type": "single-node",
            "network.host": "127.0.0.1",
            "http.port": str(self.port),
            "transport.port": str(self.transport),
            "path.data": str(self.data),
            "path.logs": str(logs),
            "cluster.routing.allocation.disk.threshold_enabled": "false",
        }
        text = "".join(f"{name}: {value}\n" for name, value in {**lines, **settings}.items() if value)
        (config / "opensearch.yml").write_text(text, encoding="utf-8")

    def _write_jvm_options(self, heap: str, extra: Sequence[str]) -> None:
        """Write the distribution's options with another heap size; `extra` may select another garbage collector."""
        logs = self.folder / "logs"
        options = (self.home / "config" / "jvm.options").read_text(encoding="utf-8")
        options = options.replace("logs/", f"{logs}/").replace("HeapDumpPath=data", f"HeapDumpPath={logs}")
        options = options.replace("-Xms1g", f"-Xms{heap}").replace("-Xmx1g", f"-Xmx{heap}")
        kept = [line for line in options.splitlines() if not extra or not re.search("UseG1GC|Xlog:gc", line)]
        text = "".join(f"{line}\n" for line in (*kept, *extra))
        (self.folder / "config" / "jvm.options").write_text(text, encoding="utf-8")

    def _write_security(self, secure: Secure, config: Path) -> None:
        """Copy the plugin's default files, as in an image, then ours over them."""
        shutil.copytree(self.home / "plugins" / "opensearch-security" / "config", config / "opensearch-security")
        for name, source in secure.files.items():
            (config / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, config / name)

    def _hand_over(self) -> None:
        if os.getuid() == 0:
            for path in (self.folder, *self.folder.rglob("*"), self.data):
                os.chown(path, NOBODY, NOBODY)


def _data_folder(folder: Path) -> Path:
    """Create a folder for a node's data, in memory if possible: a node syncs several files for each index."""
    if in_memory := memory.folder():
        return Path(tempfile.mkdtemp(prefix="medley-opensearch-", dir=in_memory))
    data = folder / "data"
    data.mkdir()
    return data


@contextmanager
def running(
    heap: str = "512m",
    settings: Mapping[str, str] | None = None,
    secure: Secure | None = None,
    jvm: Sequence[str] = QUICK,
    profiles: tuple[str, ...] = NEURAL,
) -> Iterator[Node]:
    """A node that is removed afterwards. It is not under `tmp_path`, which only its owner can enter.

    A `secure` one needs the plugins of `SECURITY` among its `profiles`.
    """
    folder = Path(tempfile.mkdtemp(prefix="medley-opensearch-"))
    folder.chmod(0o755)
    node = Node(folder, heap, settings, secure, jvm, profiles)
    try:
        yield node.start()
    finally:
        node.stop()
        for made in (folder, node.data):
            shutil.rmtree(made, ignore_errors=True)


@contextmanager
def shared(folder: Path) -> Iterator[Running]:
    """One node for all processes that pass the same folder: the first starts it, and stops it when all are done."""
    with (folder / "node.url").open("a+") as address, (folder / "node.users").open("a") as users:
        fcntl.flock(address, fcntl.LOCK_EX)
        address.seek(0)
        url = address.read()
        with ExitStack() as started:
            if not url:
                node = started.enter_context(running())
                address.write(node.url)
                address.flush()
            fcntl.flock(users, fcntl.LOCK_SH)
            fcntl.flock(address, fcntl.LOCK_UN)
            try:
                yield Running(url or node.url)
            finally:
                if not url:
                    fcntl.flock(address, fcntl.LOCK_EX)  # a process that comes now starts another node
                    address.truncate(0)
                    fcntl.flock(users, fcntl.LOCK_EX)  # waits until nobody uses this one
                fcntl.flock(users, fcntl.LOCK_UN)


def main() -> None:
    """Run one node until end of input, with the heap size of the first argument; `fetch` only fetches its files."""
    if sys.argv[1:] == ["fetch"]:
        for profiles in (NEURAL, ML):
            lay_out(profiles)
        return
    with suppress(KeyboardInterrupt), running(sys.argv[1] if len(sys.argv) > 1 else "1g", jvm=()) as node:
        sys.stdout.write(f"{node.url}\n")
        sys.stdout.flush()
        sys.stdin.read()


if __name__ == "__main__":
    main()
