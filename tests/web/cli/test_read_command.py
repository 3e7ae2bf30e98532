"""`medley read`: mentions with their assertions, of a file or of what is piped into it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from mappings.errors import InvalidInput
from web.cli.main import cli

OWN = "ward-fever\tward fever\t\t\tWFX\nzebra-itch\tzebra itch\t\t\t\n"
NOTE = "HPI: Denies ward fever.\nFAMILY HISTORY: Zebra itch.\n"


@pytest.fixture
def own(tmp_path: Path) -> Path:
    path = tmp_path / "own.tsv"
    path.write_text(OWN, encoding="utf-8")
    return path


def run(*words: str | Path, piped: str | bytes = "") -> Result:
    return CliRunner().invoke(cli, ["read", *map(str, words)], input=piped)


def test_it_prints_each_mention_with_its_assertion(own: Path) -> None:
    ran = run("-", "--concepts", own, piped=NOTE)
    assert ran.exit_code == 0, ran.output
    assert [line.split()[0] for line in ran.output.splitlines()] == ["ruled-out", "family"]


def test_json_has_offsets_of_each_mention(own: Path, tmp_path: Path) -> None:
    note = tmp_path / "note.txt"
    note.write_text(NOTE, encoding="utf-8")
    found = json.loads(run(note, "--json", "--concepts", own).output)
    assert [(item["concept"], item["assertion"], item["mention"], item["heading"]) for item in found["mentions"]] == [
        ("ward-fever", "ruled-out", "ward fever", "HPI"),
        ("zebra-itch", "family", "Zebra itch", "FAMILY HISTORY"),
    ]
    assert found["mentions"][0]["start"] == 7


def test_a_text_without_concepts_says_so(own: Path) -> None:
    assert "no concept of the lexicon is mentioned" in run("-", "--concepts", own, piped="qqq").output


def test_a_file_that_is_missing_or_no_text_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    for name, message in (("none.txt", "cannot be read"), ("bytes", "not valid UTF-8")):
        ran = run(tmp_path / name)
        assert isinstance(ran.exception, InvalidInput)
        assert message in ran.exception.message


def test_an_empty_input_is_an_error() -> None:
    ran = run("-")
    assert isinstance(ran.exception, InvalidInput)


def test_a_bad_file_of_concepts_is_named(own: Path) -> None:
    own.write_text("Bad id\tname\n", encoding="utf-8")
    ran = run("-", "--concepts", own, piped="text")
    assert isinstance(ran.exception, InvalidInput)
    assert f"{own}:1" in ran.exception.message
