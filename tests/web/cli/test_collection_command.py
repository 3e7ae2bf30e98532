"""`medley collection` as an operator uses it: nothing goes without being named twice, and what goes is logged."""

import json
import os
import pty

import pytest
from click.testing import CliRunner
from command_line import medley as process

from search.bootstrap import Medley
from search.settings import Settings
from web import create_app
from web.cli.main import cli


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


@pytest.fixture
def medley(home, monkeypatch):
    """Runs a command in this process, without a terminal."""
    for name, value in {"HOME": str(home), "ENCODER": "hashing-256", "RERANKER": "none"}.items():
        monkeypatch.setenv(f"MEDLEY_{name}", value)
    return lambda *arguments: CliRunner().invoke(cli, arguments)


@pytest.fixture
def ingest(medley, tmp_path):
    """Makes a collection of abstracts with two documents."""

    def run(name):
        file = tmp_path / "in.jsonl"
        file.write_text('{"id": "a", "title": "Asthma", "text": "asthma xylophone"}\n{"id": "b", "text": "fever"}\n')
        done = medley("ingest", str(file), "-c", name, "--kind", "abstracts")
        file.unlink()
        assert done.exit_code == 0, done.exception

    return run


def logged(home, *actions):
    lines = map(json.loads, (home / "access.log").read_text().splitlines())
    return [
        (item["action"], item["collection"], item["asked"], item["status"])
        for item in lines
        if item["action"] in actions
    ]


def names(medley):
    return [item["collection"] for item in json.loads(medley("collection", "list", "--json").stdout)["collections"]]


def message(done):
    assert done.exception is not None, done.stdout
    return getattr(done.exception, "message", str(done.exception))


def test_a_mistyped_collection_stayed_for_ever(medley, ingest, home, tmp_path):
    ingest("jurnal")
    done = medley("collection", "delete", "jurnal", "--yes")
    assert (done.exit_code, done.stdout) == (0, "deleted jurnal: 2 documents, 1 index\n")
    assert names(medley) == []
    assert sorted(path.name for path in (home / "collections").iterdir()) == [".generation", ".generation.lock"]
    left = [path for path in home.rglob("*") if path.is_file() and path.name != "access.log"]
    assert [path.name for path in left if b"jurnal" in path.read_bytes() or b"xylophone" in path.read_bytes()] == []
    assert logged(home, "delete-collection", "deleted-collection") == [
        ("delete-collection", "jurnal", {}, 200),
        ("deleted-collection", "jurnal", {"documents": 2, "indexes": ["jurnal-1"]}, 200),
    ]
    assert message(medley("collection", "delete", "jurnal", "--yes")) == (
        "there is no collection 'jurnal'; there are: none yet"
    )


def test_what_show_and_list_print(medley, ingest):
    ingest("journal")
    found = json.loads(medley("collection", "show", "journal", "--json").stdout)
    (generation,) = found.pop("generations")
    assert generation["index"] == found["index"] == "journal-1"
    assert (generation["published"], generation["documents"], list(generation["encoders"])) == (True, 2, ["dense"])
    assert found.pop("bytes") > 10_000
    assert found == {
        "collection": "journal",
        "kind": "abstracts",
        "documents": 2,
        "deleted": 0,
        "indexed": 2,
        "waiting": 0,
        "failed": 0,
        "passages": 2,
        "index": "journal-1",
        "building": [],
        "damage": "",
        "invented": False,
    }
    shown = medley("collection", "show", "journal").stdout
    for line in (
        "kind        abstracts",
        "failed      0",
        "invented    no",
        "index       journal-1, published: 2 documents",
    ):
        assert line in shown
    head, _, row = medley("collection", "list").stdout.splitlines()
    assert head.split() == ["collection", "kind", "documents", "passages", "waiting", "failed", "size", "invented"]
    assert row.split()[:6] == ["journal", "abstracts", "2", "2", "0", "0"]


def test_without_a_terminal_it_must_be_confirmed_by_an_option(medley, ingest):
    ingest("journal")
    assert message(medley("collection", "delete", "journal")) == (
        "this deletes journal for ever: without a terminal, confirm it with --yes"
    )
    assert message(medley("collection", "rename", "journal", "other")) == (
        "this renames journal to other: without a terminal, confirm it with --yes"
    )
    assert names(medley) == ["journal"]


@pytest.mark.slow
def test_on_a_terminal_the_name_must_be_typed(medley, ingest, home):
    ingest("journal")
    for answer, code, left in ((b"y\n", 1, ["journal"]), (b"jurnal\n", 1, ["journal"]), (b"journal\n", 0, [])):
        master, terminal = pty.openpty()
        os.write(master, answer)
        done = process(home, "collection", "delete", "journal", "--json", standard_input=terminal)
        os.close(master)
        os.close(terminal)
        assert done.returncode == code, done.stderr
        assert "journal: 2 documents, with all indexes, will be deleted for ever." in done.stderr
        assert ("nothing was deleted" in done.stderr) is bool(code)
        assert names(medley) == left
        assert (json.loads(done.stdout)["documents"] if not code else None) == (2 if not code else None)


@pytest.mark.parametrize("name", ["list", "delete", "show", "rename", "all"])
def test_a_collection_can_be_called_like_a_command(medley, ingest, name):
    ingest(name)
    assert json.loads(medley("collection", "show", name, "--json").stdout)["documents"] == 2
    assert medley("collection", "delete", name, "--yes").exit_code == 0
    assert names(medley) == []


@pytest.mark.parametrize("name", ["", "a/b", "../journal", "j" * 300, "Journal", "*"])
@pytest.mark.parametrize("command", [["show"], ["delete", "--yes"], ["rename", "--yes", "other"]])
def test_a_name_that_cannot_be_one_is_refused(medley, ingest, command, name):
    ingest("journal")
    arguments = [*command[:-1], name, command[-1]] if command[0] == "rename" else [*command, name]
    assert "is not a valid collection name: use 1 to 63" in message(medley("collection", *arguments))
    assert names(medley) == ["journal"]


def test_a_rename_is_logged_and_says_which_tokens_do_not_follow(medley, ingest, home):
    ingest("jurnal")
    assert medley("tokens", "add", "feeder", "--label", "public", "--write", "jurnal").exit_code == 0
    done = medley("collection", "rename", "jurnal", "journal", "--yes")
    first, second = done.stdout.splitlines()
    assert first == "renamed jurnal to journal: 2 documents"
    assert second.startswith("the token of feeder (")
    assert "may write to jurnal, not to journal" in second
    assert logged(home, "rename-collection", "renamed-collection") == [
        ("rename-collection", "jurnal", {"to": "journal"}, 200),
        ("renamed-collection", "jurnal", {"to": "journal"}, 200),
    ]
    assert names(medley) == ["journal"]
    assert "did you mean 'journal'" in message(medley("collection", "rename", "jurnal", "other", "--yes"))
    assert len(logged(home, "rename-collection")) == 1


def test_an_open_gateway_no_longer_shows_a_deleted_collection(medley, ingest, home):
    for name in ("journal", "letters"):
        ingest(name)
    client = create_app(Settings(home=home, encoder="hashing-256", reranker="none")).test_client()
    assert client.get("/v1/search?collection=journal&text=asthma").json["hits"]
    assert client.get("/v1/documents/a?collection=journal").status_code == 200
    assert medley("collection", "delete", "journal", "--yes").exit_code == 0
    assert [item["name"] for item in client.get("/v1/collections").json["collections"]] == ["letters"]
    page = client.get("/").get_data(as_text=True)
    assert "Research abstracts: letters" in page or "letters" in page
    assert "journal" not in page
    for path in ("/v1/search?collection=journal&text=asthma", "/v1/documents/a?collection=journal"):
        error = client.get(path)
        assert (error.status_code, error.json["error"]["field"]) == (400, "collection")
        assert "there is no collection 'journal'; there are: letters" in error.json["error"]["message"]
    assert client.get("/document?collection=journal&id=a").status_code == 400
    line = b'{"id": "late", "text": "late"}\n'
    sent = client.post("/v1/documents?collection=journal", data=line, content_type="application/x-ndjson")
    assert sent.status_code == 404
    assert medley("collection", "show", "journal").exit_code == 1
    assert not (home / "collections" / "journal").exists()


def test_a_collection_that_vanishes_during_a_request_tells_no_other_name(medley, ingest, home, monkeypatch):
    """The caller may not know of the others, which the command line lists."""
    for name in ("journal", "psychiatry"):
        ingest(name)
    app = create_app(Settings(home=home, encoder="hashing-256", reranker="none"))
    portal = app.extensions["medley"].medley
    whole = type(portal).search

    def search(self, query):
        assert medley("collection", "delete", "journal", "--yes").exit_code == 0
        return whole(self, query)

    monkeypatch.setattr(type(portal), "search", search)
    error = app.test_client().get("/v1/search?collection=journal&text=asthma")
    assert (error.status_code, error.json["error"]["message"]) == (404, "there is no collection 'journal'")


def test_a_collection_of_an_earlier_version_has_no_id_and_can_be_renamed(medley, ingest, home):
    ingest("jurnal")
    (home / "collections" / "jurnal" / "collection.json").write_text('{"kind": "abstracts"}')
    assert medley("collection", "rename", "jurnal", "journal", "--yes").exit_code == 0
    (home / "collections" / "journal" / "collection.json").write_text('{"kind": "abstracts"}')
    assert json.loads(medley("collection", "show", "journal", "--json").stdout)["documents"] == 2
    assert medley("collection", "delete", "journal", "--yes").exit_code == 0


def test_what_an_interrupted_command_left_is_listed(medley, ingest, home):
    from dataclasses import replace

    ingest("journal")
    catalog = Medley.open(Settings(home=home)).engines.catalog
    catalog.add("journal", replace(catalog.read("journal"), phase="leaving"))
    done = medley("collection", "list")
    assert "journal: unfinished; run `medley collection delete journal` again" in done.stdout
    assert medley("collection", "delete", "journal", "--yes").exit_code == 0
    assert "unfinished" not in medley("collection", "list").stdout


def test_a_redis_that_does_not_answer_does_not_keep_a_collection(medley, ingest, monkeypatch):
    ingest("journal")
    monkeypatch.setenv("MEDLEY_REDIS", "redis://127.0.0.1:9/0")
    done = medley("collection", "delete", "journal", "--yes")
    assert done.exit_code == 0
    assert "Redis at 127.0.0.1:9/0 does not answer" in done.stdout
    assert names(medley) == []
