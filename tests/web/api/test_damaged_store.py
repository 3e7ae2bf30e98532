"""A document whose record was changed on the disk, and a damaged index, as callers and operators see them."""

import json
import sqlite3
from contextlib import closing

import pytest
from click.testing import CliRunner
from damage import change_stored

from web.cli.main import cli


@pytest.fixture
def damaged(home, client):
    """The id of a document with a damaged record."""
    file = home / "collections" / "abstracts" / "store.sqlite"
    with closing(sqlite3.connect(file)) as database:
        ((identifier,),) = database.execute("SELECT id FROM latest ORDER BY id LIMIT 1").fetchall()
        database.execute("UPDATE versions SET raw = x'00' WHERE id = ?", (identifier,))
        database.commit()
    return identifier


def read(client, identifier, headers=None):
    return client.get(f"/v1/documents/{identifier}?collection=abstracts", headers=headers)


def test_a_damaged_document_is_an_error_with_a_code_and_what_to_do(client, damaged):
    answer = read(client, damaged)
    assert answer.status_code == 503
    assert answer.json == {
        "error": {
            "code": "damaged",
            "field": "id",
            "message": f"document {damaged!r} is damaged in the store: send it again",
        }
    }


def test_whoever_may_not_see_a_document_does_not_learn_that_it_is_damaged(client, damaged, token):
    # A caller who sees nothing of a collection learns not even that it exists.
    answer = read(client, damaged, token("eve", "no-such-label"))
    assert (answer.status_code, answer.json["error"]["code"]) == (400, "invalid_input")
    assert read(client, damaged, token("ada", "*")).json["error"]["code"] == "damaged"


def test_the_read_of_a_damaged_document_is_logged(client, damaged, logged):
    read(client, damaged)
    assert logged()[-1]["status"] == 503


def test_a_damaged_document_stops_no_list_of_hits(client, damaged):
    answer = client.post("/v1/search", json={"collection": "abstracts", "text": "the", "size": 50})
    assert answer.status_code == 200


def test_a_damaged_pointer_is_503_for_a_search_and_a_line_in_the_status(home, client, monkeypatch):
    (home / "collections" / "abstracts" / "published.json").write_text("{")
    answer = client.post("/v1/search", json={"collection": "abstracts", "text": "aspirin"})
    assert (answer.status_code, answer.json["error"]["code"]) == (503, "damaged")
    monkeypatch.setenv("MEDLEY_HOME", str(home))
    found = CliRunner().invoke(cli, ["status", "--json"])
    assert found.exit_code == 0
    states = {state["collection"]: state for state in json.loads(found.stdout)["collections"]}
    assert "published.json is damaged: write" in states["abstracts"]["damage"]
    assert states["notes"]["damage"] == ""
    assert "abstracts: " in CliRunner().invoke(cli, ["status"]).stdout


def test_verify_ends_with_1_and_lists_the_damage_of_store_and_index(home, damaged, monkeypatch):
    monkeypatch.setenv("MEDLEY_HOME", str(home))
    monkeypatch.setenv("MEDLEY_ENCODER", "hashing-256")
    (vectors,) = home.glob("collections/abstracts/indexes/*/dense.f16")
    vectors.write_bytes(bytes(vectors.stat().st_size))
    found = CliRunner().invoke(cli, ["index", "verify", "abstracts"])
    assert found.exit_code == 1
    first, second = found.stdout.splitlines()
    assert first == f"1 documents are damaged in the store (such as {damaged}): send them again"
    assert second.startswith("index abstracts-1 is damaged: dense.f16 differs from its checksum")
    problems = json.loads(CliRunner().invoke(cli, ["index", "verify", "abstracts", "--json"]).stdout)["problems"]
    assert [item["examples"] for item in problems] == [[damaged], []]
    assert problems[1]["action"] == "run `medley index rebuild abstracts`"


def test_verify_mends_the_numbers_of_documents_by_state(home, client, monkeypatch):
    monkeypatch.setenv("MEDLEY_HOME", str(home))
    monkeypatch.setenv("MEDLEY_ENCODER", "hashing-256")
    before = CliRunner().invoke(cli, ["status", "--json"]).stdout
    change_stored(home / "collections" / "abstracts" / "store.sqlite", "UPDATE counts SET documents = documents + 5")
    assert CliRunner().invoke(cli, ["status", "--json"]).stdout != before
    found = CliRunner().invoke(cli, ["index", "verify", "abstracts"])
    assert (found.exit_code, found.stdout.splitlines()) == (
        1, ["the numbers of documents by state were wrong in the store: they were counted anew"],
    )  # fmt: skip
    assert CliRunner().invoke(cli, ["index", "verify", "abstracts"]).exit_code == 0
    assert CliRunner().invoke(cli, ["status", "--json"]).stdout == before
