"""`medley complete`."""

import json

import command_line
import pytest


def test_a_table_and_json_over_the_same_completions(home):
    table = command_line.medley(home, "complete", "pnuemonia", "-c", "notes", "--limit", "1")
    assert table.stdout.splitlines() == [
        "name       matched  group      documents",
        "---------  -------  ---------  ---------",
        "pneumonia           diagnoses  3",
    ]
    asked = ("complete", "-", "-c", "notes", "--label", "ward-7", "--limit", "1", "--json")
    found = json.loads(command_line.medley(home, *asked, standard_input=b"pnuemonia").stdout)
    pneumonia = {"name": "pneumonia", "matched": "pneumonia", "concept": "pneumonia", "group": "diagnoses"}
    assert found == {"completions": [pneumonia | {"documents": 2}], "notes": []}


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        (("", "-c", "notes"), "text"),
        (("a", "-c", "absent"), "collection"),
        (("a", "-c", "notes", "--slot", "colour"), "slot"),
        (("a", "-c", "notes", "--limit", "21"), "limit"),
    ],
)
def test_wrong_arguments(home, arguments, field):
    done = command_line.medley(home, "complete", *arguments, "--json")
    assert (done.returncode, done.stdout) == (1, "")
    assert json.loads(done.stderr)["error"]["field"] == field


def test_nothing_completes(home):
    assert command_line.medley(home, "complete", "zzzz", "-c", "notes").stdout == "nothing completes this\n"
