"""Nobody but its owner can read a home: not what our processes create, and not a home that was left open."""

import json
import os
import stat
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from command_line import ROOT, environment, medley, start, stop, wait_for_line
from opensearch_node import free_port

from mappings.errors import Unavailable
from search.bootstrap import Medley
from search.home import open_home
from search.settings import Settings
from web.access import tokens

RECORD = {"id": "a1", "title": "Aspirin", "text": "Aspirin lowered mortality after infarction.", "year": 2015}


def open_to_others(home: Path) -> list[str]:
    """What group or others have any right to, the home itself included."""
    paths = [home, *home.rglob("*")]
    return [str(path.relative_to(home)) for path in paths if path.lstat().st_mode & 0o077 and not path.is_symlink()]


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def records(count: int) -> bytes:
    return "".join(json.dumps(RECORD | {"id": f"a{number}"}) + "\n" for number in range(count)).encode()


def upload(home: Path) -> None:
    """Send documents to a served portal, so many that its notes on them go to a file."""
    port, token = free_port(), tokens.add(home, "feeder", ["*"], ["*"])
    process = start(home, "serve", "--port", str(port), "--workers", "1")
    try:
        wait_for_line(process, "ready")
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/x-ndjson"}
        address = f"http://127.0.0.1:{port}/v1/documents?collection=abstracts"
        request = urllib.request.Request(address, data=records(2_000), headers=headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            assert answer.status == 200
            assert len(answer.read().splitlines()) > 2_000
    finally:
        stop(process)


@pytest.mark.slow
def test_no_file_of_a_home_can_be_read_by_others(tmp_path):
    home = tmp_path / "home"
    for arguments in (
        ["ingest", "-", "-c", "abstracts"],
        ["search", "aspirin", "-c", "abstracts"],
        ["index", "rebuild", "abstracts"],
        ["delete", "a1", "-c", "abstracts"],
        ["tokens", "add", "ada", "--label", "public"],
    ):
        # Passages are encoded by a model, since only then their vectors are kept.
        done = medley(home, *arguments, standard_input=records(2), MEDLEY_ENCODER="medley-biencoder")
        assert done.returncode == 0, done.stderr
    done = medley(home, "demo")
    assert done.returncode == 0, done.stderr
    assert any((home / "vectors").iterdir())
    assert open_to_others(home) == []
    upload(home)
    assert {"session.key", "access.log", "tokens.json"} <= {item.name for item in home.iterdir()}
    assert open_to_others(home) == []


@pytest.mark.slow
@pytest.mark.redis
def test_no_file_of_a_worker_can_be_read_by_others(tmp_path, redis):
    home = tmp_path / "home"
    done = medley(home, "ingest", "-", "-c", "abstracts", "--queue", standard_input=records(3), MEDLEY_REDIS=redis.url)
    assert done.returncode == 0, done.stderr
    process = start(home, "worker", MEDLEY_REDIS=redis.url)
    try:
        wait_for_line(process, "3 of 3 documents settled")
    finally:
        stop(process)
    assert (home / "collections" / "abstracts" / "published.json").is_file()
    assert open_to_others(home) == []


@pytest.mark.slow
def test_a_home_that_others_can_read_is_closed_with_one_message(tmp_path):
    home = tmp_path / "home"
    assert medley(home, "ingest", "-", "-c", "abstracts", standard_input=records(2)).returncode == 0
    outside = tmp_path / "elsewhere.txt"
    outside.write_text("not of the home")
    outside.chmod(0o644)
    (home / "link").symlink_to(outside)
    for path in [home, *home.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    done = medley(home, "search", "aspirin", "-c", "abstracts")
    assert (done.returncode, len(done.stderr.splitlines())) == (0, 1)
    assert f"other users of this machine could read the home {home}: now only its owner can" in done.stderr
    assert (open_to_others(home), mode(outside)) == ([], 0o644)
    assert medley(home, "status").stderr == ""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "expected"), [("search", 0o077), ("serve", 0o077), ("train", 0o022), ("export", 0o022)]
)
def test_commands_that_write_models_keep_the_umask(tmp_path, command, expected):
    code = "import os, sys; from web.cli.main import cli; cli.main([sys.argv[1], '--help'], standalone_mode=False); print(os.umask(0))"
    done = subprocess.run(
        [sys.executable, "-c", code, command], capture_output=True, env=environment(tmp_path), cwd=ROOT, umask=0o022
    )
    assert int(done.stdout.splitlines()[-1]) == expected


def test_a_library_closes_the_home_and_keeps_its_programs_umask(tmp_path):
    before = os.umask(0o022)
    try:
        Medley.open(Settings(home=tmp_path / "deep" / "home"))
        assert os.umask(0o022) == 0o022
    finally:
        os.umask(before)
    assert mode(tmp_path / "deep" / "home") == 0o700


@pytest.mark.parametrize("made", [0o755, 0o750, 0o701])
def test_an_empty_folder_becomes_a_closed_home(tmp_path, made):
    home = tmp_path / "home"
    home.mkdir()
    home.chmod(made)
    open_home(home)
    assert mode(home) == 0o700


def test_a_folder_with_other_content_is_refused_and_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    tmp_path.chmod(0o755)
    before = mode(tmp_path / "thesis.txt")
    with pytest.raises(Unavailable, match=r"has other content than Medley's.*set MEDLEY_HOME"):
        open_home(tmp_path)
    assert (mode(tmp_path), mode(tmp_path / "thesis.txt")) == (0o755, before)


def test_a_folder_for_everybodys_files_is_refused(tmp_path):
    (tmp_path / "cursor.key").write_bytes(b"left by an earlier version")
    tmp_path.chmod(0o1777)
    with pytest.raises(Unavailable, match="other users can read the home"):
        open_home(tmp_path)
    assert mode(tmp_path) == 0o1777


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to another user")
@pytest.mark.parametrize("made", [0o755, 0o700])
def test_a_home_of_another_user_is_refused(tmp_path, made):
    home = tmp_path / "home"
    home.mkdir()
    home.chmod(made)
    os.chown(home, 4321, 4321)
    for use in (lambda: Medley.open(Settings(home=home)), lambda: tokens.add(home, "ada", ["public"])):
        with pytest.raises(
            Unavailable, match="belongs to user 4321, and this is user 0: run Medley as its owner"
        ) as caught:
            use()
        assert (caught.value.field, mode(home), list(home.iterdir())) == ("MEDLEY_HOME", made, [])


def test_a_file_in_place_of_the_home_is_named(tmp_path):
    (tmp_path / "home").write_text("")
    with pytest.raises(Unavailable, match=r"the home .*home can't be opened"):
        open_home(tmp_path / "home")
