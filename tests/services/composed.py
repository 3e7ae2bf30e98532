"""Run the services of docker-compose.yml as processes on this machine, with its mounts and settings."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from opensearch_node import free_port

ROOT = Path(__file__).parents[2]
START_SECONDS = 180
CONFIGURATION = "/usr/share/opensearch/config/"


@cache
def composition() -> Mapping[str, Any]:
    """The parsed docker-compose.yml, with merge keys resolved."""
    return yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Made:
    """The output of `make secrets` in folders of a test."""

    secrets: Path
    home: Path
    printed: str

    @property
    def token(self) -> str:
        """The printed token."""
        return self.printed.split("shown this once: ")[1].split()[0]

    def read(self, name: str) -> str:
        """The content of a file with one line."""
        return (self.secrets / name).read_text(encoding="utf-8").strip()


def make_secrets(folder: Path) -> Made:
    """Run the script of `make secrets` on folders of a test."""
    secrets, home = folder / "secrets", folder / "home"
    command = [sys.executable, ROOT / "deploy" / "make_secrets.py", "--secrets", secrets, "--home", home]
    return Made(secrets, home, subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def mounted(service: str, made: Made) -> dict[str, Path]:
    """Path in the container -> local file, for every secret and file mount of a service, but not for volumes."""
    described = composition()["services"][service]
    found = {}
    for item in described.get("secrets", []):
        source = item if isinstance(item, str) else item["source"]
        target = f"/run/secrets/{source}" if isinstance(item, str) else item["target"]
        found[target] = made.secrets / Path(composition()["secrets"][source]["file"]).name
    for item in described.get("volumes", []):
        source, target = item.split(":")[:2]
        if source == "./home":
            found[target] = made.home
        elif source.startswith("./"):
            found[target] = ROOT / source
    return found


def configuration(made: Made) -> tuple[dict[str, str], dict[str, Path]]:
    """The settings of the OpenSearch service, and the other files of its configuration folder by name."""
    files = {path.removeprefix(CONFIGURATION): file for path, file in mounted("opensearch", made).items()}
    settings = yaml.safe_load(files.pop("opensearch.yml").read_text(encoding="utf-8"))
    return {
        name: yaml.safe_dump(value, default_flow_style=True).split("\n")[0] for name, value in settings.items()
    }, files


def default(value: Any) -> str:
    """The default of a value, used if the shell does not set its variable."""
    return re.sub(r"\$\{\w+:-(.*)\}", r"\1", str(value))


def redis(made: Made, folder: Path) -> tuple[subprocess.Popen, str]:
    """Start the Redis service on a free port; returns the process and its address."""
    command = [str(mounted("redis", made).get(part, part)) for part in composition()["services"]["redis"]["command"]]
    port = free_port()
    process = subprocess.Popen([*command, "--port", str(port), "--dir", str(folder)], stdout=subprocess.DEVNULL)
    return process, f"redis://127.0.0.1:{port}/0"


class Process:
    """The process of a service: its command and environment, with ports, host names and paths of this machine."""

    def __init__(self, name, made, folder, addresses, given=()):
        self.service, self.port = composition()["services"][name], free_port()
        self.log = folder / f"{name}.log"
        own = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(folder / "cache")}
        paths = {path: str(file) for path, file in mounted(name, made).items()}
        self.environment = own | self._environment(paths, folder, addresses) | dict(given)
        with self.log.open("wb") as log:
            command = [*self.medley(), *self._at_port(self.service["command"])]
            self.process = subprocess.Popen(command, cwd=folder, env=self.environment, stdout=log, stderr=log)

    def _environment(self, paths, folder, addresses):
        found = {}
        for name, value in self.service["environment"].items():
            text = default(value)
            found[name] = addresses.get(text, paths.get(text, text))
        if found["MEDLEY_HOME"] == "/var/lib/medley":  # a volume, or single files are mounted there
            home = folder / "home"
            home.mkdir()
            found["MEDLEY_HOME"] = str(home)
            for path, file in paths.items():
                if path.startswith("/var/lib/medley/"):
                    (home / Path(path).name).symlink_to(file)
        elif os.geteuid() == 0:  # the home was handed over to the containers' user; here, root runs the containers
            os.chown(found["MEDLEY_HOME"], 0, 0)
        return found

    def _at_port(self, parts):
        parts = [default(part) for part in parts]
        if "--port" not in self.service["command"]:
            return parts
        own = str(self.service["command"][-1])
        return [part.replace(f":{own}/", f":{self.port}/") if part != own else str(self.port) for part in parts]

    @staticmethod
    def medley():
        return [sys.executable, "-m", "web.cli"]

    def run(self, *arguments):
        """Run another command in the same environment, as `docker compose exec` would; returns its stdout."""
        command = [*self.medley(), *arguments]
        ran = subprocess.run(command, cwd=self.log.parent, env=self.environment, capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    def healthy(self):
        """Run the service's own health check."""
        _, program, *rest = self._at_port(self.service["healthcheck"]["test"])
        command = {"python": [sys.executable], "medley": self.medley()}[program]
        ran = subprocess.run([*command, *rest], cwd=self.log.parent, env=self.environment, capture_output=True)
        return ran.returncode == 0

    def wait(self):
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until and self.process.poll() is None:
            if self.healthy():
                return
            time.sleep(0.5)
        raise RuntimeError(f"not healthy: {self.log.read_text(errors='replace')[-3000:]}")

    def get(self, path, token):
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}", headers={"Authorization": f"Bearer {token}"}
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)
