"""The command line as a user sees it: exit codes, JSON on stdout, one clear line on stderr."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from command_line import quick_command

ROOT = Path(__file__).parents[3]


@pytest.fixture
def medley(tmp_path):
    environ = os.environ | {"MEDLEY_HOME": str(tmp_path / "home"), "MEDLEY_ENCODER": "hashing-256", "MEDLEY_RERANKER": "none", "PYTHONPATH": str(ROOT)}  # fmt: skip

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(quick_command(*arguments), capture_output=True, text=True, cwd=tmp_path, env=environ)

    return run


def lines(path: Path, *records: object) -> Path:
    path.write_text("".join(f"{record if isinstance(record, str) else json.dumps(record)}\n" for record in records))
    return path


GOOD = {
    "id": "a1",
    "title": "Aspirin and infarction",
    "text": "Aspirin lowered mortality after infarction.",
    "year": 2015,
}


@pytest.mark.slow
def test_from_a_file_to_an_answer(medley, tmp_path):
    file = lines(
        tmp_path / "in.jsonl",
        GOOD,
        {**GOOD, "id": "a2", "title": "Statins", "text": "Statins lowered the risk of stroke."},
    )
    done = medley("ingest", str(file), "--collection", "abstracts", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == {
        "collection": "abstracts", "accepted": 2, "unchanged": 0,
        "stale": 0, "deleted": 0, "rejected": 0, "rejections": [], "dropped_fields": {}, "indexed": 2, "failed": 0, "failures": [],
        "encoded_texts": 2, "encoded_tokens": 0,
    }  # fmt: skip

    found = json.loads(medley("search", "aspirin mortality", "-c", "abstracts", "--json", "--explain").stdout)
    assert next(hit["document"] for hit in found["hits"]) == "a1"
    assert found["total"] == {"value": 1, "relation": "exact"}
    text = medley("search", "aspirin mortality", "-c", "abstracts").stdout
    assert "1 document matches" in text
    assert "Aspirin lowered mortality after infarction." in text

    stands = json.loads(medley("status", "--json").stdout)["collections"][0]
    assert stands == {
        "collection": "abstracts", "kind": "abstracts", "documents": 2, "deleted": 0,
        "indexed": 2, "waiting": 0, "failed": 0, "passages": 2, "index": "abstracts-1", "building": [],
        "damage": "",
    }  # fmt: skip

    rebuilt = json.loads(medley("index", "rebuild", "abstracts", "--json").stdout)
    assert rebuilt == {"collection": "abstracts", "index": "abstracts-2", "documents": 2, "passages": 2, "failed": []}
    assert json.loads(medley("index", "verify", "abstracts", "--json").stdout) == {
        "index": "abstracts-2",
        "problems": [],
    }
    assert json.loads(medley("delete", "a1", "-c", "abstracts", "--json").stdout) == {
        "collection": "abstracts",
        "deleted": ["a1"],
        "unknown": [],
    }
    assert json.loads(medley("search", "aspirin mortality", "-c", "abstracts", "--json").stdout)["total"]["value"] == 0

    who = [json.loads(line) for line in (tmp_path / "home" / "access.log").read_text().splitlines()]
    assert [item["action"] for item in who] == ["feed", "fed", "search", "search", "delete", "search"]
    assert {(item["door"], item["status"]) for item in who} == {("command line", 200)}
    assert [item["asked"] for item in who if item["action"] == "search"] == [{"text": "aspirin mortality"}] * 3
    assert who[2]["ids"][0] == "a1"
    assert who[4]["asked"]["id"] == "a1"


@pytest.mark.slow
def test_a_bad_record_is_named_and_stops_nothing(medley, tmp_path):
    file = lines(tmp_path / "in.jsonl", {"id": "x"}, "{broken", GOOD, {**GOOD, "id": "a3", "published": "2021-02-30"})
    kept = tmp_path / "rejected.jsonl"
    done = medley("ingest", str(file), "-c", "abstracts", "--json", "--rejections", str(kept))
    report = json.loads(done.stdout)
    assert done.returncode == 1
    assert (report["accepted"], report["rejected"], report["indexed"]) == (1, 3, 1)
    assert [item["position"] for item in report["rejections"]] == ["line 1", "line 2", "line 4"]
    assert report["rejections"][2]["field"] == "published"
    assert [json.loads(line) for line in kept.read_text().splitlines()] == report["rejections"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "code", "field", "message"),
    [
        (
            ["search", "aspirin", "-c", "nothing"],
            "not_found",
            "collection",
            "there is no collection 'nothing'; there are: none yet",
        ),
        (["search", "aspirin", "-c", "../etc"], "invalid_input", "collection", "is not a valid collection name"),
        (["ingest", "missing.jsonl", "-c", "abstracts"], "invalid_input", None, "missing.jsonl"),
        (["ingest", ".", "-c", "mine"], "not_found", "kind", "give the kind with --kind"),
        (["index", "drop", "abstracts-9"], "not_found", None, "abstracts"),
        (["status", "-c", "nothing"], "not_found", "collection", "no collection 'nothing'"),
        (["tokens", "revoke", "abc"], "not_found", "id", "no token with the id 'abc'"),
        (["evaluate", "nothing"], "not_found", "suite", "there is no suite 'nothing'; there are scifact"),
    ],
)
def test_an_error_is_one_json_line_on_stderr(medley, arguments, code, field, message):
    done = medley(*arguments, "--json")
    error = json.loads(done.stderr)["error"]
    assert (done.returncode, done.stdout) == (1, "")
    assert error["code"] == code
    assert message in error["message"]
    assert field is None or error["field"] == field
    assert "Traceback" not in medley(*arguments).stderr


@pytest.mark.slow
def test_retry_makes_the_first_index(medley, tmp_path):
    file = lines(tmp_path / "in.jsonl", GOOD)
    assert medley("ingest", str(file), "--collection", "abstracts", "--store-only").returncode == 0
    done = medley("retry", "--collection", "abstracts", "--json")
    assert json.loads(done.stdout) == {
        "collection": "abstracts", "retried": 0, "indexed": 1, "failed": 0, "failures": [], "encoded_texts": 1, "encoded_tokens": 0,
    }  # fmt: skip


@pytest.mark.slow
def test_wrong_usage_is_explained(medley):
    done = medley("search", "aspirin")
    assert done.returncode == 2
    assert "Missing option '--collection'" in done.stderr


@pytest.mark.slow
def test_another_address_without_tokens_is_refused(medley):
    done = medley("serve", "--host", "0.0.0.0")
    assert done.returncode == 1
    assert "create one with `medley tokens add`" in done.stderr


@pytest.mark.slow
def test_tokens_are_made_listed_and_revoked(medley):
    text = medley("tokens", "add", "alice", "--label", "clinical", "--write", "notes").stdout.strip()
    (known,) = json.loads(medley("tokens", "list", "--json").stdout)["tokens"]
    assert (known["user"], known["labels"], known["writes"]) == ("alice", ["clinical"], ["notes"])
    assert text.split("_")[1] == known["id"]
    assert medley("tokens", "revoke", known["id"]).returncode == 0
    assert json.loads(medley("tokens", "list", "--json").stdout) == {"tokens": []}


def test_help_lists_every_command(medley):
    from web.cli.main import COMMANDS

    shown = medley("--help").stdout
    assert all(f"  {name} " in shown for name in COMMANDS)


@pytest.mark.slow
def test_every_command_has_help(medley):
    from web.cli.main import COMMANDS

    for name in COMMANDS:
        assert medley(name, "--help").returncode == 0, name
