"""What the Helm chart renders, and its pods as processes of this machine, with their secrets, volumes and settings."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import urllib3
import yaml
from opensearch_node import free_port

ROOT = Path(__file__).parents[2]
CHART = ROOT / "deploy/helm/medley"
RENDERED = ROOT / "tests/golden/helm"
RELEASES = ("minimal", "full")
START_SECONDS = 180


@cache
def rendered(release: str) -> list[dict[str, Any]]:
    """The manifests of a release, as Helm wrote them."""
    return list(yaml.safe_load_all((RENDERED / f"{release}.yaml").read_text(encoding="utf-8")))


def deployments(release: str) -> dict[str, dict[str, Any]]:
    """Component -> the specification of its pods."""
    found = [item for item in rendered(release) if item["kind"] == "Deployment"]
    return {
        item["metadata"]["labels"]["app.kubernetes.io/component"]: item["spec"]["template"]["spec"] for item in found
    }


def containers(release: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """(component, container) of every container, those that run first included."""
    for name, pod in deployments(release).items():
        for container in (*pod.get("initContainers", ()), *pod["containers"]):
            yield name, container


class Pod:
    """The processes of one pod: what its mounts would show lies below `folder`, and every path is moved there."""

    def __init__(self, name: str, folder: Path, secrets: Mapping[str, str], replaced: Mapping[str, str]) -> None:
        self._pod = deployments("full")[name]
        (self._container,) = self._pod["containers"]
        self._folder, self._replaced, self.port = folder, replaced, free_port()
        self._log = folder / "pod.log"
        for volume in self._pod["volumes"]:
            self._lay_out(volume, secrets)
        for first in self._pod.get("initContainers", ()):
            command = [self._moved(part, first) for part in first["command"]]
            subprocess.run(command, env=self._environment(first), check=True, umask=0o022)
        with self._log.open("wb") as log:
            command = [*self.medley(), *(self._at_port(str(part)) for part in self._container["args"])]
            self.process = subprocess.Popen(
                command, cwd=folder, env=self._environment(self._container), stdout=log, stderr=log
            )

    @staticmethod
    def medley() -> list[str]:
        return [sys.executable, "-m", "web.cli"]

    def run(self, *arguments: str) -> str:
        """Another command in the container, as `kubectl exec` would run it; returns its stdout."""
        command, environment = [*self.medley(), *arguments], self._environment(self._container)
        ran = subprocess.run(command, cwd=self._folder, env=environment, capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    def passes(self, probe: str) -> bool:
        """Whether a probe of the container succeeds."""
        asked = self._container[probe]
        if "exec" in asked:
            command = [*self.medley(), *asked["exec"]["command"][1:]]
            environment = self._environment(self._container)
            return subprocess.run(command, cwd=self._folder, env=environment, capture_output=True).returncode == 0
        try:
            path = asked["httpGet"]["path"]
            return urllib3.request("GET", f"http://127.0.0.1:{self.port}{path}", retries=False).status == 200
        except urllib3.exceptions.HTTPError:
            return False

    def wait(self) -> None:
        until = time.monotonic() + START_SECONDS
        while not self.passes("startupProbe"):
            alive = self.process.poll() is None and time.monotonic() < until
            assert alive, self._log.read_text(errors="replace")
            time.sleep(0.5)

    def end(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)

    def _lay_out(self, volume: Mapping[str, Any], secrets: Mapping[str, str]) -> None:
        """An empty folder for a volume, or the files of the secrets that it names."""
        place = self._folder / volume["name"]
        place.mkdir()
        sources = [item["secret"] for item in volume.get("projected", {}).get("sources", ())]
        for source in [*sources, volume.get("secret", {})]:
            for item in source.get("items", ()):
                (place / item["path"]).write_text(secrets[item["key"]], encoding="utf-8")

    def _environment(self, container: Mapping[str, Any]) -> dict[str, str]:
        own = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "HOME": str(self._folder)}
        given = {item["name"]: self._moved(item["value"], container) for item in container["env"]}
        return own | {name: self._replaced.get(name, value) for name, value in given.items()}

    def _moved(self, text: str, container: Mapping[str, Any]) -> str:
        """The text with the path of each mount replaced by its place on this machine."""
        for mount in container["volumeMounts"]:
            if text == mount["mountPath"] or text.startswith(f"{mount['mountPath']}/"):
                return str(self._folder / mount["name"]) + text.removeprefix(mount["mountPath"])
        return text

    def _at_port(self, part: str) -> str:
        """The argument with the container's port replaced by that of this process."""
        own = [str(item["containerPort"]) for item in self._container.get("ports", ())]
        option, _, value = part.rpartition("=")
        return part if value not in own else f"{option}={self.port}" if option else str(self.port)
