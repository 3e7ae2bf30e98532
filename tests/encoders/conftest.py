"""Tiny artifacts for every test of this folder."""

from pathlib import Path

import pytest
from tiny import write_artifact

from encoders.artifact import Artifact


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.fixture
def bi(tmp_path: Path) -> Artifact:
    return write_artifact(tmp_path / "tiny-bi")


@pytest.fixture
def cross(tmp_path: Path) -> Artifact:
    return write_artifact(tmp_path / "tiny-cross", "cross-encoder")
