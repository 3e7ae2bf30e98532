"""Invented documents are never mixed with a reader's own, and say so wherever they are shown."""

import csv
import io
import json
from datetime import date

import pytest
from click.testing import CliRunner
from portal_home import note

from mappings.documents import Section
from web.cli.indexing import fill_quietly
from web.cli.main import cli
from web.demo_collections import demo_files

BADGE = '<span class="badge">invented</span>'
SAID = "Invented: this document was made up for a demonstration. It is not a publication."


@pytest.fixture
def portal(app):
    """The portal of a newcomer, who has notes and the demo's."""
    medley = app.extensions["medley"].medley
    medley.collections.create("demo-notes", "notes", invented=True)
    text = Section("FINDINGS", "Pneumonia of the left lung.")
    medley.collections.store("demo-notes").put(
        [
            note(f"demo-n{number}", "Radiograph", "clinical", "p9", "Radiology", date(2020, 1, 5), text)
            for number in (1, 2)
        ]
    )
    fill_quietly(medley, "demo-notes")
    return app.test_client()


def hits(client, collection):
    return client.get(f"/search?collection={collection}&text=pneumonia").get_data(as_text=True)


def test_an_invented_hit_did_not_say_that_it_is_invented(portal):
    page = hits(portal, "demo-notes")
    assert page.count('<li class="hit"') == " ".join(page.split()).count(f'<div class="line"> {BADGE}') == 1
    assert "Every document of this collection is <strong>invented</strong>" in page
    document = portal.get("/document?collection=demo-notes&id=demo-n1").get_data(as_text=True)
    assert BADGE in document
    assert "This document is <strong>invented</strong>: do not use it as medical evidence" in document
    for own in (hits(portal, "notes"), portal.get("/document?collection=notes&id=p1/n1").get_data(as_text=True)):
        assert own.count(BADGE) == own.count(f"demo-notes {BADGE}")  # only in the navigation


def test_the_page_begins_with_the_readers_own_documents(portal):
    page = portal.get("/").get_data(as_text=True)
    assert page.index("Clinical notes</") < page.index(f"Clinical notes: demo-notes {BADGE}")


def test_every_answer_of_the_api_says_whether_documents_are_invented(portal):
    listed = {item["name"]: item["invented"] for item in portal.get("/v1/collections").json["collections"]}
    assert listed == {"abstracts": False, "demo-notes": True, "notes": False}
    for collection, identifier, invented in (("demo-notes", "demo-n1", True), ("notes", "p1/n1", False)):
        asked = {"collection": collection, "text": "pneumonia"}
        assert portal.get("/v1/search", query_string=asked).json["invented"] is invented
        assert portal.post("/v1/search", json=asked).json["invented"] is invented
        batch = portal.post("/v1/search/batch", json={"searches": [asked]}).json["answers"]
        assert [answer["invented"] for answer in batch] == [invented]
        assert portal.get(f"/v1/documents/{identifier}?collection={collection}").json["invented"] is invented


@pytest.mark.parametrize("name", ["ris", "bibtex", "csv"])
def test_a_citation_of_an_invented_document_could_be_taken_for_one_of_a_study(portal, name):
    for path in (
        "/v1/documents/demo-n1?collection=demo-notes&format=",
        "/cite?collection=demo-notes&id=demo-n1&format=",
    ):
        assert SAID in portal.get(path + name).get_data(as_text=True)
    found = portal.get(f"/v1/search?collection=demo-notes&text=pneumonia&format={name}").get_data(as_text=True)
    assert found.count(SAID) == 1
    assert SAID not in portal.get(f"/v1/documents/p1/n1?collection=notes&format={name}").get_data(as_text=True)
    if name == "csv":
        assert next(csv.DictReader(io.StringIO(found)))["note"] == SAID


def test_nobody_can_add_documents_of_their_own_to_invented_ones(portal, app):
    line = b'{"id": "mine", "text": "my own note"}\n'
    sent = portal.post("/v1/documents?collection=demo-notes", data=line, content_type="application/x-ndjson")
    assert (sent.status_code, sent.json["error"]["field"]) == (409, "collection")
    assert "give yours a collection of their own" in sent.json["error"]["message"]


@pytest.fixture
def medley(tmp_path, monkeypatch):
    """Runs commands over a fresh home."""
    for name, value in {"HOME": str(tmp_path / "home"), "ENCODER": "hashing-256", "RERANKER": "none"}.items():
        monkeypatch.setenv(f"MEDLEY_{name}", value)

    def run(*arguments):
        done = CliRunner().invoke(cli, arguments)
        return done, done.stdout

    return run


def test_a_newcomers_documents_were_mixed_with_the_demos(medley, tmp_path):
    assert medley("demo")[1].splitlines() == [
        "demo-abstracts: 90 invented documents",
        "demo-notes: 80 invented documents",
        "delete them with `medley demo --remove`",
    ]
    file = tmp_path / "mine.jsonl"
    file.write_text('{"id": "mine", "text": "aspirin and bleeding"}\n')
    assert medley("ingest", str(file), "-c", "abstracts")[0].exit_code == 0
    found = json.loads(medley("search", "aspirin", "-c", "abstracts", "--json")[1])
    assert ([hit["document"] for hit in found["hits"]], found["invented"]) == (["mine"], False)
    refused, _ = medley("ingest", str(file), "-c", "demo-abstracts")
    assert "invented: give yours a collection of their own" in refused.exception.message

    shown = medley("search", "aspirin", "-c", "demo-abstracts", "--size", "3")[1]
    assert shown.count("    invented · demo-a") == 3
    assert shown.count(" · randomised trial · ") == 1
    assert "invented" not in medley("search", "aspirin", "-c", "abstracts")[1]

    assert medley("demo")[0].exit_code == 0  # a second time changes nothing
    refused, _ = medley("demo", "--remove")
    assert refused.exception.message.endswith("without a terminal, confirm it with --yes")
    assert medley("demo", "--remove", "--yes")[1].splitlines() == [
        "deleted demo-abstracts: 90 documents, 1 index",
        "deleted demo-notes: 80 documents, 1 index",
    ]
    assert [path.name for path in (tmp_path / "home").rglob("demo-*")] == []
    assert medley("demo", "--remove", "--yes")[1] == "there is no demo collection: nothing was deleted\n"
    assert json.loads(medley("collection", "list", "--json")[1])["collections"][0]["collection"] == "abstracts"


def test_the_demo_leaves_a_collection_of_its_name_alone(medley, tmp_path):
    file = tmp_path / "mine.jsonl"
    file.write_text('{"id": "mine", "text": "aspirin"}\n')
    medley("ingest", str(file), "-c", "demo-abstracts", "--kind", "abstracts")
    refused, _ = medley("demo")
    assert "already exists, with documents that are not invented" in refused.exception.message
    assert medley("demo", "--remove", "--yes")[1] == "there is no demo collection: nothing was deleted\n"
    assert list(demo_files()) == ["demo-abstracts", "demo-notes"]
