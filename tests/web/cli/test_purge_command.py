"""`medley purge` as an operator uses it."""

import json
import os
import pty
import subprocess
import time
from pathlib import Path

import pytest
from command_line import quick_command
from markers import Markers

from mappings.collection import load
from mappings.errors import InvalidInput
from mappings.formats.registry import read
from web.cli.commands.purge import parse_duration

ROOT = Path(__file__).parents[3]


@pytest.fixture
def medley(tmp_path):
    settings = {"MEDLEY_HOME": str(tmp_path / "home"), "MEDLEY_ENCODER": "hashing-256", "MEDLEY_RERANKER": "none"}

    def run(*arguments, stdin=subprocess.DEVNULL, **more):
        return subprocess.run(
            quick_command(*arguments),
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env=os.environ | settings | {"PYTHONPATH": str(ROOT)} | more,
            stdin=stdin,
        )

    return run


@pytest.fixture
def ingest(medley, tmp_path):
    def run(*records, **more):
        file = tmp_path / "in.jsonl"
        file.write_text("".join(f"{json.dumps(record)}\n" for record in records))
        done = medley("ingest", str(file), "-c", "abstracts", "--json", **more)
        file.unlink()
        assert done.returncode == 0, done.stderr
        return done

    return run


def logged(tmp_path):
    lines = (tmp_path / "home" / "access.log").read_text().splitlines()
    return [(item["action"], item["asked"]) for item in map(json.loads, lines)]


@pytest.mark.slow
def test_a_purge_removes_what_is_gone_and_is_logged(medley, ingest, tmp_path):
    markers = Markers(seed=11)
    for _ in range(2):
        records = [{"id": f"d{number}", "text": f"asthma {markers.word()}"} for number in range(20)]
        ingest(*records)
        (tmp_path / "again.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records))
        for document in read(tmp_path / "again.jsonl", "jsonl", load("abstracts")):
            markers.mark(document)
        (tmp_path / "again.jsonl").unlink()
    ingest({"id": "d0", "text": "asthma"}, {"id": "d1", "text": "asthma"})
    assert medley("delete", *[f"d{number}" for number in range(2, 20)], "-c", "abstracts").returncode == 0
    assert markers.found(tmp_path)

    done = medley("purge", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == {
        "collections": [
            {"collection": "abstracts", "versions": 40, "documents": 18, "jobs": 0, "waiting": 0, "kept": []}
        ]
    }
    assert markers.found(tmp_path) == []
    found = json.loads(medley("search", "asthma", "-c", "abstracts", "--json").stdout)
    assert sorted(hit["document"] for hit in found["hits"]) == ["d0", "d1"]
    (asked, before), (done, after) = [item for item in logged(tmp_path) if item[0].startswith("purge")]
    assert (asked, done, after) == ("purge", "purged", {"versions": 40, "tombstones": 18})
    assert time.time() - 600 < before["before"] <= time.time()


@pytest.mark.slow
def test_named_documents_are_purged_and_one_that_is_not_deleted_is_named(medley, ingest, tmp_path):
    ingest({"id": "a", "text": "one"}, {"id": "b", "text": "one"}, {"id": "c", "text": "one"})
    ingest({"id": "b", "text": "two"}, {"id": "c", "text": "two"})
    medley("delete", "a", "-c", "abstracts")
    done = medley("purge", "-c", "abstracts", "--id", "a", "--id", "b", "--id", "unknown")
    assert done.returncode == 1
    assert done.stdout.splitlines() == [
        "abstracts: 2 replaced versions, 1 deleted documents and 0 records of jobs removed for ever",
        "abstracts: b is not deleted, so its newest version stays",
    ]
    assert ("purge", ["a", "b", "unknown"]) in [(action, asked.get("ids")) for action, asked in logged(tmp_path)]
    assert medley("purge", "--older-than", "1h", "--json").stdout.count('"versions": 0') == 1
    assert '"versions": 1' in medley("purge", "--json").stdout


@pytest.mark.slow
def test_a_deletion_that_waits_for_the_index_is_told(medley, ingest, tmp_path):
    ingest({"id": "a", "text": "one"}, {"id": "b", "text": "one"})
    file = tmp_path / "gone.jsonl"
    file.write_text('{"id": "a", "deleted": true}\n')
    assert medley("ingest", str(file), "-c", "abstracts", "--store-only").returncode == 0
    done = medley("purge")
    assert done.returncode == 1
    assert "1 deleted documents stay until the index has processed them: run `medley retry -c abstracts`" in done.stdout
    assert medley("retry", "-c", "abstracts").returncode == 0
    assert medley("purge").returncode == 0


@pytest.mark.slow
def test_on_a_terminal_it_asks_first(medley, ingest):
    ingest({"id": "a", "text": "one"})
    ingest({"id": "a", "text": "two"})
    for answer, options, code, versions in ((b"n\n", [], 130, None), (b"", ["--yes"], 0, 1), (b"y\n", [], 0, 0)):
        master, terminal = pty.openpty()
        os.write(master, answer)
        done = medley("purge", "--json", *options, stdin=terminal)
        os.close(master)
        os.close(terminal)
        assert done.returncode == code, done.stderr
        asked = "Remove everything that was replaced or deleted from abstracts for ever?" in done.stderr
        assert asked is not bool(options)
        assert (json.loads(done.stdout)["collections"][0]["versions"] if done.stdout else None) == versions


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--older-than", "soon"], "'soon' is not a duration; write it like 30d, 12h or 45m"),
        (["--id", "a"], "an id is unique only within its collection"),
        (["-c", "absent"], "there is no collection 'absent'"),
    ],
)
def test_what_is_wrong_is_named(medley, arguments, message):
    done = medley("purge", *arguments)
    assert done.returncode == 1
    assert message in done.stderr


@pytest.mark.parametrize("text", ["", "30", "d", "-1d", "1.5d", "1w", "30 d", "9999999d"])
def test_a_duration_has_a_number_and_a_unit(text):
    with pytest.raises(InvalidInput, match="is not a duration"):
        parse_duration(text)


def test_durations():
    assert [parse_duration(text) for text in ("0d", "30d", "12h", "45m")] == [0, 2_592_000, 43_200, 2_700]


@pytest.mark.slow
def test_retention_is_applied_by_an_ingest_run(medley, ingest, tmp_path):
    ingest({"id": "a", "text": "one"}, MEDLEY_RETENTION_DAYS="30")
    assert medley("purge", "--older-than", "0d", MEDLEY_RETENTION_DAYS="30").returncode == 0
    assert medley("settings", MEDLEY_RETENTION_DAYS="a month").returncode == 1
