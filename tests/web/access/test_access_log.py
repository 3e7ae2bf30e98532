"""The access log: one line for each record, complete or not at all."""

import json
import os
import stat
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest

from mappings.errors import Unavailable
from web.access.log import AccessLog, Actor, AuditRecord
from web.access.log_check import check_log

LOCAL = Actor("http", "ada")


def record(**asked):
    return AuditRecord(LOCAL, "search", "notes", asked)


def read(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_lines_are_appended_for_the_owner_only(tmp_path):
    log = AccessLog(tmp_path / "logs" / "access.log")
    log.write(AuditRecord(LOCAL, "search", ids=["a/1", "ü\n\u2028"]))
    log.write(AuditRecord(Actor("http", "ben"), "login"), AuditRecord(Actor("command line", "eve"), "search"))
    assert [line["user"] for line in read(log.path)] == ["ada", "ben", "eve"]
    assert read(log.path)[0]["ids"] == ["a/1", "ü\n\u2028"]
    assert read(log.path)[0]["time"].endswith("+00:00")
    assert stat.S_IMODE(log.path.stat().st_mode) == 0o600


@pytest.mark.parametrize("actor", [Actor("http", "ada", "3f9c", "10.0.0.7", "r-1"), Actor("command line", "ada")])
def test_every_door_writes_the_same_keys(tmp_path, actor):
    log = AccessLog(tmp_path / "access.log")
    log.write(AuditRecord(actor, "search", "notes", {"text": "fever"}, ["n1"], 200))
    (line,) = read(log.path)
    assert line.pop("time")
    assert (line.pop("number"), line.pop("before"), len(line.pop("chain"))) == (1, "0" * 64, 64)
    assert line == {
        "door": actor.door,
        "user": "ada",
        "token": actor.token,
        "address": actor.address,
        "request": actor.request,
        "action": "search",
        "collection": "notes",
        "asked": {"text": "fever"},
        "ids": ["n1"],
        "status": 200,
    }


def test_a_text_that_no_file_can_hold_is_escaped(tmp_path):
    log = AccessLog(tmp_path / "access.log")
    log.write(record(text="\ud800 \x00"))
    assert read(log.path)[0]["asked"]["text"] == "\ud800 \x00"


def _write_many(path, number):
    log = AccessLog(path)
    for turn in range(50):
        log.write(record(writer=number, turn=turn, text="x" * 5000))


@pytest.mark.slow
def test_processes_do_not_mix_their_lines(tmp_path):
    path = tmp_path / "access.log"
    with ProcessPoolExecutor(4, mp_context=get_context("spawn")) as pool:
        list(pool.map(_write_many, [path] * 4, range(4)))
    assert len(read(path)) == 200
    assert (check_log(path).last, check_log(path).broken) == (200, None)


def test_a_rotated_log_is_followed(tmp_path):
    log = AccessLog(tmp_path / "access.log")
    log.write(record(n=1))
    log.path.rename(tmp_path / "access.log.1")
    log.write(record(n=2))
    assert [line["asked"]["n"] for line in read(log.path)] == [2]


def test_a_log_that_cannot_be_written_is_an_error(tmp_path):
    (tmp_path / "access.log").mkdir()
    with pytest.raises(Unavailable, match="the access log cannot be written, so the request is rejected"):
        AccessLog(tmp_path / "access.log").write(record())


def test_half_a_line_is_removed(tmp_path, monkeypatch):
    log = AccessLog(tmp_path / "access.log")
    log.write(record(n=1))
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, content: write(descriptor, content[:10]))
    with pytest.raises(Unavailable, match="only part"):
        log.write(record(n=2))
    monkeypatch.undo()
    log.write(record(n=3))
    assert [line["asked"]["n"] for line in read(log.path)] == [1, 3]
