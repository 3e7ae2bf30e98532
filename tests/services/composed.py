"""docker-compose.yml as processes on this machine see it: where its mounts lie, and what its services are told."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
CONFIGURATION = "/usr/share/opensearch/config/"


@cache
def composition() -> Mapping[str, Any]:
    """The file, merged keys and all."""
    return yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Made:
    """What `make secrets` made in folders of a test."""

    secrets: Path
    home: Path
    printed: str

    @property
    def token(self) -> str:
        """The token that was shown."""
        return self.printed.split("shown this once: ")[1].split()[0]

    def read(self, name: str) -> str:
        """What a file of one line holds."""
        return (self.secrets / name).read_text(encoding="utf-8").strip()


def make_secrets(folder: Path) -> Made:
    """Run the script of `make secrets` for folders of a test."""
    secrets, home = folder / "secrets", folder / "home"
    command = [sys.executable, ROOT / "deploy" / "make_secrets.py", "--secrets", secrets, "--home", home]
    return Made(secrets, home, subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def mounted(service: str, made: Made) -> dict[str, Path]:
    """Path in the container -> file here, of every secret and every file of a service; volumes have no file."""
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
    """The settings of the OpenSearch service, and every other file of its configuration folder by name."""
    files = {path.removeprefix(CONFIGURATION): file for path, file in mounted("opensearch", made).items()}
    settings = yaml.safe_load(files.pop("opensearch.yml").read_text(encoding="utf-8"))
    return {
        name: yaml.safe_dump(value, default_flow_style=True).split("\n")[0] for name, value in settings.items()
    }, files
