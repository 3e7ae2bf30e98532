"""deploy/requirements.lock: exact versions with hashes, within the bounds of setup.py, and nothing of where they came from."""

from __future__ import annotations

import re
import runpy
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import NamedTuple

import pytest
import setuptools
from packaging.markers import Marker, default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "deploy/requirements.lock").read_text(encoding="utf-8")
EXTRAS = ("cpu", "traces")


class Locked(NamedTuple):
    """One entry of the lock; `marker` says where it is installed, None for everywhere."""

    name: str
    version: Version
    marker: Marker | None
    hashes: list[str]


@cache
def entries() -> list[Locked]:
    found = []
    for entry in TEXT.replace("\\\n", " ").splitlines():
        head, *hashes = entry.split("--hash=")
        name, version, marker = re.fullmatch(r"([a-z0-9-]+)==([^ ;]+)(?: ; (.+?))?", head.strip()).groups()
        made = Marker(marker) if marker else None
        found.append(Locked(name, Version(version), made, [item.strip() for item in hashes]))
    return found


def installed(python: str = "", platform: str = "") -> dict[str, Locked]:
    """What is installed from the lock under a Python on a platform; here without any. Nothing is installed twice."""
    here = default_environment()
    if python:
        here |= {"python_version": python, "python_full_version": f"{python}.4", "sys_platform": platform}
    found = [item for item in entries() if item.marker is None or item.marker.evaluate(here)]
    assert len({item.name for item in found}) == len(found)
    return {item.name: item for item in found}


@pytest.fixture
def wanted(monkeypatch):
    """The requirements of setup.py that are locked."""
    given = {}
    monkeypatch.setattr(setuptools, "setup", lambda **arguments: given.update(arguments))
    runpy.run_path(str(ROOT / "setup.py"))
    return [Requirement(text) for text in [*given["install_requires"], *(each for name in EXTRAS for each in given["extras_require"][name])]]  # fmt: skip


@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13"])
@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
def test_every_requirement_of_setup_is_locked_within_its_bounds(wanted, python, platform):
    assert len(wanted) > 20
    found = installed(python, platform)
    for requirement in wanted:
        assert found[canonicalize_name(requirement.name)].version in requirement.specifier, requirement


def test_every_package_has_hashes_of_its_own():
    every = [item for entry in entries() for item in entry.hashes]
    assert all(entry.hashes for entry in entries())
    assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", item) for item in every)
    assert len(set(every)) == len(every)


def test_the_lock_names_no_registry_and_no_file():
    assert not re.search(r"//|^-|^#|file:|@|index", re.sub(r"--hash=\S+", "", TEXT), re.MULTILINE)


def test_what_trains_or_tests_is_not_locked():
    assert not {"torch", "transformers", "pytest", "onnxruntime-gpu"} & {item.name for item in entries()}


def test_what_a_locked_package_requires_is_locked():
    """Read from the packages that are installed here in the locked version."""
    locked, compared = installed(), 0
    for name, package in locked.items():
        try:
            here = distribution(name)
        except PackageNotFoundError:
            continue
        if Version(here.version) != package.version:
            continue
        compared += 1
        for text in here.requires or ():
            requirement = Requirement(text)
            if requirement.marker and not requirement.marker.evaluate({"extra": ""}):
                continue
            below = locked[canonicalize_name(requirement.name)]
            assert requirement.specifier.contains(below.version, prereleases=True), f"{name} requires {text}"
    assert compared > 10
