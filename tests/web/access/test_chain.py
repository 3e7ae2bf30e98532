"""The chain of the access log: what was altered, removed or put in later is found."""

import gzip
import json
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from hashlib import sha256

import pytest

from mappings.errors import InvalidInput, Unavailable
from search.settings import Settings
from web.access import chain
from web.access.log import AccessLog, Actor, AuditRecord
from web.access.log_check import check_log


@pytest.fixture
def log(tmp_path):
    return AccessLog(tmp_path / "access.log")


def record(number):
    return AuditRecord(Actor("http", "ada"), "search", "notes", {"text": f'"chain": "{number}'})


def write(log, *numbers):
    for number in numbers:
        log.write(record(number))


def rotate(log, name):
    return log.path.rename(log.path.with_name(name))


def edit(path, change):
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(change(lines)))


def test_each_line_is_hashed_and_names_the_one_before(log):
    log.write(record(1), record(2))
    write(log, 3)
    lines = log.path.read_text().splitlines()
    before = "0" * 64
    for number, line in enumerate(lines, start=1):
        link = json.loads(line)
        opened = line.rpartition(', "chain": ')[0]
        assert (link["number"], link["before"]) == (number, before)
        assert link["chain"] == sha256(opened.encode()).hexdigest()
        before = link["chain"]
    head = log.path.with_name("access.log.head")
    assert head.read_text() == f"{3:018d} {before}\n"
    assert stat.S_IMODE(head.stat().st_mode) == 0o600
    report = check_log(log.path)
    assert (report.first, report.last, report.chain, report.broken) == (1, 3, before, None)


def test_nothing_is_wrong_with_no_log(log):
    report = check_log(log.path)
    assert (report.last, report.broken) == (0, None)
    assert list(log.path.parent.iterdir()) == []


@pytest.mark.parametrize(
    ("change", "line", "reason"),
    [
        (lambda lines: [lines[0].replace(b"ada", b"eve"), *lines[1:]], 1, "record 1 was altered"),
        (lambda lines: [*lines[:2], lines[2].replace(b"200", b"403"), *lines[3:]], 3, "record 3 was altered"),
        (lambda lines: [lines[0], *lines[2:]], 2, "record 2 is missing before record 3"),
        (lambda lines: lines[2:], 1, "records 1 to 2 are missing before record 3"),
        (lambda lines: [lines[1], lines[0], *lines[2:]], 1, "record 1 is missing before record 2"),
        (lambda lines: [*lines[:2], lines[1], *lines[2:]], 3, "record 2 stands where record 3 belongs"),
        (lambda lines: [lines[0], b'{"user": "eve"}\n', *lines[1:]], 2, "not a whole record"),
        (lambda lines: [lines[0], b"\n", *lines[1:]], 2, "not a whole record"),
        (lambda lines: [*lines[:3], lines[3][:-20]], 4, "not a whole record"),
        (lambda lines: lines[:3], None, "record 4 is missing at the end"),
        (lambda lines: lines[:1], None, "records 2 to 4 are missing at the end"),
        (lambda lines: [], None, "records 1 to 4 are missing at the end"),
    ],
)
def test_the_first_broken_line_is_named(log, change, line, reason):
    write(log, 1, 2, 3, 4)
    edit(log.path, change)
    broken = check_log(log.path).broken
    assert broken is not None
    assert (broken.file, broken.line) == ("access.log", line)
    assert reason in broken.reason


def rehashed(line, **changes):
    """The line with other content, and a right hash of its own."""
    made = json.loads(line) | changes
    del made["chain"]
    opened = json.dumps(made)[:-1]
    return f'{opened}, "chain": "{sha256(opened.encode()).hexdigest()}"}}\n'.encode()


def test_a_line_with_a_new_hash_does_not_fit_the_next(log):
    write(log, 1, 2, 3)
    edit(log.path, lambda lines: [lines[0], rehashed(lines[1], user="eve"), lines[2]])
    broken = check_log(log.path).broken
    assert (broken.line, broken.reason.startswith("record 3 does not follow")) == (3, True)


def test_a_new_last_line_does_not_fit_the_head(log):
    write(log, 1, 2)
    edit(log.path, lambda lines: [lines[0], rehashed(lines[1], user="eve")])
    assert "not the one that the head names" in check_log(log.path).broken.reason
    write(log, 3)
    assert check_log(log.path).broken.line == 3


def test_a_cut_stays_visible_after_the_next_record(log):
    write(log, 1, 2, 3)
    edit(log.path, lambda lines: lines[:1])
    write(log, 4)
    assert "records 2 to 3 are missing before record 4" in check_log(log.path).broken.reason


def test_a_removed_log_stays_visible(log):
    write(log, 1, 2)
    log.path.unlink()
    assert "records 1 to 2 are missing at the end" in check_log(log.path).broken.reason
    write(log, 3)
    assert "records 1 to 2 are missing before record 3" in check_log(log.path).broken.reason


@pytest.mark.parametrize("damage", [lambda head: head.unlink(), lambda head: head.write_text("7\n")])
def test_a_lost_head_is_noticed_then_and_later(log, damage):
    write(log, 1, 2, 3)
    edit(log.path, lambda lines: lines[:2])
    damage(log.path.with_name("access.log.head"))
    assert "the head is missing or damaged" in check_log(log.path).broken.reason
    write(log, 4)
    assert [json.loads(line)["action"] for line in log.path.read_text().splitlines()[2:]] == ["head lost", "search"]
    broken = check_log(log.path).broken
    assert (broken.line, "the head was lost before record 3" in broken.reason) == (3, True)
    assert check_log(log.path, first=3).broken is None


def test_a_chain_goes_through_rotated_files(log):
    write(log, 1, 2)
    rotate(log, "access.log.2")
    write(log, 3)
    old = rotate(log, "access.log-20270101")
    old.with_name("access.log-20270101.gz").write_bytes(gzip.compress(old.read_bytes()))
    old.unlink()
    assert check_log(log.path).broken is None
    write(log, 4)
    elsewhere = rotate(log, "kept").rename(log.path.parent.parent / "kept-elsewhere")
    write(log, 5)
    assert "record 4 is missing before record 5" in check_log(log.path).broken.reason
    report = check_log(log.path, [elsewhere, log.path])
    assert (report.first, report.last, report.broken) == (1, 5, None)
    assert report.files == ("access.log.2", "access.log-20270101.gz", "kept-elsewhere", "access.log")


def test_records_that_are_not_kept_any_more_are_left_out_on_purpose_only(log):
    write(log, 1, 2)
    rotate(log, "access.log.1").unlink()
    write(log, 3, 4)
    assert "records 1 to 2 are missing" in check_log(log.path).broken.reason
    report = check_log(log.path, first=3)
    assert (report.first, report.last, report.broken) == (3, 4, None)


def test_a_first_record_that_was_never_written_is_an_error(log):
    write(log, 1, 2)
    report = check_log(log.path, first=9)
    assert (report.last, "has no record 9" in str(report.broken)) == (0, True)
    assert check_log(log.path, first=3).broken is None
    log.path.unlink()
    assert "record 2 is missing at the end" in str(check_log(log.path, first=2).broken)


def test_a_garbled_line_is_named_in_its_own_file(log):
    write(log, 1, 2)
    rotate(log, "access.log.2")
    write(log, 3, 4)
    edit(rotate(log, "access.log.1"), lambda lines: [b"garbled\n", lines[1]])
    write(log, 5)
    assert str(check_log(log.path).broken) == "access.log.1, line 1: the line is not a whole record"


def test_a_walk_lets_writers_go_on(log):
    write(log, 1)
    log.path.with_name("access.log.head").write_text("damaged")
    assert check_log(log.path).broken
    write(log, 2)


def test_a_log_that_cannot_be_opened_is_an_error(log):
    write(log, 1)
    log.path.unlink()
    log.path.mkdir()
    with pytest.raises(Unavailable, match="cannot be read"):
        check_log(log.path)


def test_lines_of_an_earlier_version_come_first_and_are_counted(log):
    log.path.write_text('{"user": "ada"}\n{"user": "ben"}\n')
    write(log, 1, 2)
    report = check_log(log.path)
    assert (report.unchained, report.first, report.last, report.broken) == (2, 1, 2, None)


def test_a_half_line_from_a_crash_does_not_spoil_the_next(log):
    write(log, 1)
    with log.path.open("ab") as file:
        file.write(b'{"time": "20')
    write(log, 2)
    broken = check_log(log.path).broken
    assert (broken.line, check_log(log.path, first=2).broken) == (2, None)


def test_a_process_killed_before_the_head_was_written_breaks_nothing(log):
    write(log, 1)
    head = log.path.with_name("access.log.head")
    old = head.read_bytes()
    write(log, 2)
    head.write_bytes(old)
    write(log, 3)
    assert (check_log(log.path).last, check_log(log.path).broken) == (3, None)


@pytest.mark.parametrize("content", [b"\x1f\x8bnothing", b"nothing"])
def test_a_damaged_archive_is_named(log, content):
    write(log, 1)
    (log.path.parent / "access.log.1.gz").write_bytes(content)
    assert check_log(log.path).broken.file == "access.log.1.gz"


def test_a_file_that_is_not_there_is_an_error(log):
    with pytest.raises(InvalidInput, match="cannot be read"):
        check_log(log.path, [log.path.with_name("none")])


def test_threads_and_objects_share_one_chain_while_it_rotates(log):
    def work(number):
        AccessLog(log.path).write(record(number), record(number))
        if number % 10 == 0:
            # Another thread may have rotated the log since this one wrote to it.
            with suppress(FileNotFoundError):
                log.path.rename(log.path.with_name(f"access.log.{number}"))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(1, 41)))
    report = check_log(log.path)
    assert (report.last, report.broken) == (80, None)


def test_a_process_killed_after_the_very_first_line_loses_no_head(log, monkeypatch):
    written = chain.write_head

    def killed(descriptor, link):
        if link.number:
            raise OSError(0, "killed")
        written(descriptor, link)

    monkeypatch.setattr(chain, "write_head", killed)
    with pytest.raises(Unavailable):
        write(log, 1)
    monkeypatch.undo()
    write(log, 2)
    assert (check_log(log.path).last, check_log(log.path).broken) == (2, None)


@pytest.mark.parametrize(("setting", "synced"), [(0, 0), (1, 5)])
def test_lines_are_written_through_to_disk_when_asked(tmp_path, monkeypatch, setting, synced):
    calls = []
    fsync = os.fsync
    monkeypatch.setattr(os, "fsync", lambda descriptor: (calls.append(descriptor), fsync(descriptor)))
    log = AccessLog.of(Settings(home=tmp_path, access_log_sync=setting))
    write(log, 1, 2)  # the line and the head each time, and the folder once
    assert len(calls) == synced
