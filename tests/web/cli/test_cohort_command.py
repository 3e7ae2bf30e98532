"""`medley cohort`: definitions from files, options and the standard input; what it prints, writes and logs."""

import getpass
import json
import sys

import pytest
from click.testing import CliRunner

from mappings.documents import Access, Document, Section
from search.bootstrap import Medley
from search.kept.items import KeptDraft
from search.settings import Settings
from web.cli import main as cli_main
from web.cli.indexing import fill_quietly
from web.cli.main import cli

NOTES = [
    ("a/1", "ward-7", "a", "Pneumonia of the left lung."),
    ("a/2", "ward-8", "a", "No fever. Mother with gout."),
    ("b/1", "ward-7", "b", "No pneumonia."),
    ("c/1", "ward-8", "c", "Pneumonia. Fever since yesterday."),
]


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs `medley cohort …` over four notes of three patients."""
    monkeypatch.setenv("MEDLEY_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("MEDLEY_ENCODER", "hashing-256")
    monkeypatch.chdir(tmp_path)
    medley = Medley.open(Settings(home=tmp_path / "home", encoder="hashing-256"))
    medley.collections.create("notes")
    medley.collections.store("notes").put(
        [
            Document(name, "", (Section("", text),), frozenset({label}), {"patient": patient})
            for name, label, patient, text in NOTES
        ]
    )
    fill_quietly(medley, "notes")

    def invoke(*arguments, text=None):
        return CliRunner().invoke(cli, ["cohort", *arguments], input=text, catch_exceptions=False)

    return invoke


def failed(monkeypatch, capsys, *arguments):
    """(exit code, error) of a command that fails."""
    monkeypatch.setattr(sys, "argv", ["medley", "cohort", *arguments, "--json"])
    with pytest.raises(SystemExit) as stopped:
        cli_main.main()
    return stopped.value.code, json.loads(capsys.readouterr().err)["error"]


def logged(tmp_path):
    return [json.loads(line) for line in (tmp_path / "home/access.log").read_text().splitlines()]


def test_options_make_a_definition(run):
    result = run("run", "-c", "notes", "--with", "pneumonia", "--ruled-out", "fever", "--family", "gout")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "1 of 3 patients meet the definition",
        "  pneumonia: 2 patients by itself",
        "  ruled-out: fever: 1 patient by itself",
        "  family: gout: 1 patient by itself",
        "",
        "a  2 documents",
        "    pneumonia: met",
        "        Pneumonia of the left lung.  a/1",
        "    ruled-out: fever: met",
        "        No fever.  a/2",
        "    family: gout: met",
        "        Mother with gout.  a/2",
    ]


def test_json_is_the_answer_over_http(run):
    answer = json.loads(run("run", "-c", "notes", "--without", "pneumonia", "--json").stdout)
    assert (answer["total"], answer["patients_known"]) == (1, 3)
    (patient,) = answer["patients"]
    assert (patient["patient"], patient["standings"][0]["standing"]) == ("b", "ruled-out")


def test_a_definition_from_a_file_and_from_the_input_is_the_same(run, tmp_path):
    definition = {"collection": "notes", "any": ["pneumonia", {"words": "fever"}]}
    (tmp_path / "cohort.json").write_text(json.dumps(definition))
    from_file = run("run", "cohort.json", "--json", "--size", "1").stdout
    assert json.loads(from_file)["next"] == "a"
    assert run("run", "-", "--json", "--size", "1", text=json.dumps(definition)).stdout == from_file
    del definition["collection"]
    assert run("run", "-", "-c", "notes", "--json", "--size", "1", text=json.dumps(definition)).stdout == from_file
    later = json.loads(run("run", "cohort.json", "--json", "--after", "a").stdout)
    assert [item["patient"] for item in later["patients"]] == ["c"]


def test_a_label_hides_the_other_documents(run):
    seen = run("run", "-c", "notes", "--with", "pneumonia", "--label", "ward-7")
    assert seen.stdout.splitlines()[0] == "1 of 2 patients meet the definition"
    assert "c/1" not in seen.stdout


def test_two_cohorts_are_compared(run, tmp_path):
    (tmp_path / "a.json").write_text(json.dumps({"all": ["pneumonia"]}))
    result = run("compare", "a.json", "-", "-c", "notes", text='{"all": ["fever"]}')
    assert result.stdout.splitlines() == [
        "both: 1 patient",
        "    c",
        "only A: 1 patient",
        "    a",
        "only B: 0 patients",
    ]
    assert json.loads(run("compare", "a.json", "a.json", "-c", "notes", "--json").stdout)["both"]["total"] == 2


def test_an_export_goes_to_the_output_or_a_file_and_is_logged_once(run, tmp_path):
    printed = run("export", "-c", "notes", "--with", "pneumonia")
    assert (
        printed.stdout.splitlines()[1] == '"a","","","pneumonia","met","present","a/1","Pneumonia of the left lung.",""'
    )
    assert printed.stderr == "exported 2 patients with 2 documents\n"
    written = run("export", "-c", "notes", "--with", "pneumonia", "--format", "fhir", "-o", "bundle.json")
    assert written.stdout == ""
    assert len(json.loads((tmp_path / "bundle.json").read_text())["entry"]) == 2
    records = logged(tmp_path)
    assert [(item["door"], item["action"], item["asked"]["format"], item["ids"]) for item in records] == [
        ("command line", "export-cohort", "csv", ["a/1", "c/1"]),
        ("command line", "export-cohort", "fhir", ["a/1", "c/1"]),
    ]


def test_wrong_definitions_are_errors_that_name_the_place(run, tmp_path, monkeypatch, capsys):
    (tmp_path / "cohort.json").write_text('{"collection": "notes", "all": ["fever", "pnuemonia"]}')
    (tmp_path / "list.json").write_text("[]")
    (tmp_path / "broken.json").write_text("{")
    for arguments, field, message in (
        (("run", "cohort.json"), "all.1.concept", "did you mean pneumonia"),
        (("run", "cohort.json", "--with", "fever"), "definition", "not both"),
        (("run", "-c", "notes"), "definition", "--with pneumonia"),
        (("run", "--with", "fever"), "collection", "collection is missing"),
        (("run", "list.json"), "definition", "a definition is a JSON object"),
        (("run", "broken.json"), "body", "not valid JSON"),
        (("compare", "-", "-"), "b", "only one of two"),
        (("compare", "cohort.json", "cohort.json"), "a.all.1.concept", "names no concept"),
        (("run", "-c", "notes", "--with", "fever", "--since", "soon"), "all.0.since", "pattern"),
        (("run", "-c", "nothing", "--with", "fever"), "collection", "there is no collection"),
    ):
        code, error = failed(monkeypatch, capsys, *arguments)
        assert (code, error["field"]) == (1, field), arguments
        assert message in error["message"]


def test_since_is_for_every_option(run):
    answer = json.loads(run("run", "-c", "notes", "--with", "pneumonia", "--since", "2020-01-01", "--json").stdout)
    assert (answer["total"], answer["criteria"][0]["criterion"]) == (0, "pneumonia, since 2020-01-01")


def test_the_user_of_the_machine_names_a_bundle(run, tmp_path):
    medley = Medley.open(Settings(home=tmp_path / "home", encoder="hashing-256"))
    owner = Access(getpass.getuser(), frozenset({"*"}))
    medley.kept.add(owner, KeptDraft("bundle", "chest", {"terms": ["fever", "gout"]}))
    result = run("run", "-c", "notes", "--with", "pneumonia", "--with", "bundle:chest")
    assert result.output.startswith("1 of 3 patients meet the definition\n")
    assert "  bundle chest: 1 patient by itself\n" in result.output
    found = CliRunner().invoke(cli, ["search", "-c", "notes", "--with", "bundle:chest"], catch_exceptions=False)
    assert "with: chest" in found.output
    assert "with chest: Fever since yesterday." in found.output
