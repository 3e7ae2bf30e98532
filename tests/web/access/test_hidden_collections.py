"""A collection without anything for a caller looks like one that does not exist, at every door."""

from collections import Counter

import pytest
from doors import ABSENT, DOORS, FEED, HIDDEN, asked, listed, tabs
from portal_home import abstract, settings_of

from mappings.errors import NotFound
from search.bootstrap import Medley
from web import create_app
from web.cli.common import open_use_cases
from web.cli.indexing import fill_quietly


@pytest.mark.parametrize("door", DOORS)
def test_a_hidden_collection_answers_like_an_absent_one(client, token, door):
    headers = token("ada", "public")
    hidden, absent = (asked(client, headers, door, name) for name in (HIDDEN, ABSENT))
    assert hidden == absent
    assert hidden[0] >= 400 or door == "start page"


def test_the_message_names_only_collections_that_the_caller_sees(client, token):
    answer = client.get("/v1/search?collection=notes&text=a", headers=token("ada", "public"))
    assert (answer.status_code, answer.json["error"]) == (
        400,
        {
            "code": "invalid_input",
            "message": "there is no collection 'notes'; there are: abstracts",
            "field": "collection",
        },
    )
    answer = client.get("/v1/search?collection=letters&text=a", headers=token("eve", "nowhere"))
    assert answer.json["error"]["message"] == "there is no collection 'letters'; there are: none that you may see"
    writer = token("feeder", "nowhere", writes=["letters"])
    answer = client.post("/v1/documents?collection=letters", **FEED | {"headers": FEED["headers"] | writer})
    assert (answer.status_code, answer.json["error"]["message"]) == (
        404,
        "there is no collection 'letters'; there are: none that you may see",
    )


@pytest.mark.parametrize(
    ("labels", "rights", "seen"),
    [
        (["public"], {}, ["abstracts"]),
        (["embargo", "ward-8"], {}, ["abstracts", "notes"]),
        (["nowhere"], {}, []),
        (["nowhere"], {"writes": ["notes"]}, ["notes"]),
        (["nowhere"], {"writes": ["*"]}, ["abstracts", "empty", "notes"]),
        (["nowhere"], {"operator": True}, ["abstracts", "empty", "notes"]),
        (["*"], {}, ["abstracts", "empty", "notes"]),
        (["nowhere"], {"writes": ["empty"]}, ["empty"]),
    ],
)
def test_who_sees_which_collections(app, client, token, labels, rights, seen):
    app.extensions["medley"].medley.collections.create("empty", "abstracts")
    headers = token("ada", *labels, **rights)
    assert listed(client, headers) == tabs(client, headers) == seen
    for name in ("abstracts", "empty", "notes"):
        answer = client.get(f"/v1/documents/none?collection={name}", headers=headers)
        assert answer.status_code == (404 if name in seen else 400)


def test_the_local_user_sees_every_collection(app, client):
    app.extensions["medley"].medley.collections.create("empty", "abstracts")
    assert listed(client, {}) == tabs(client, {}) == ["abstracts", "empty", "notes"]


def test_a_caller_who_sees_nothing_is_told_so_and_not_how_to_make_collections(client, token):
    page = client.get("/", headers=token("eve", "nowhere")).text
    assert "There is no collection with a document that you may see." in page
    assert "medley ingest" not in page


def test_a_collection_appears_with_its_first_visible_document_and_disappears_with_its_last(app, client, token):
    headers, medley = token("ada", "public"), app.extensions["medley"].medley
    medley.collections.create("mine", "abstracts")
    store = medley.collections.store("mine")

    def hold(*labels):
        store.put([abstract("a", "A title", label, 2020, "Heart", f"Fever {number}.") for number, label in labels])
        fill_quietly(medley, "mine")
        return listed(client, headers)

    assert hold((1, "embargo")) == ["abstracts"]
    assert hold((2, "public")) == ["abstracts", "mine"]
    assert hold((3, "embargo")) == ["abstracts"]


def test_visibility_is_asked_once_for_each_commit(app, client, token, monkeypatch):
    medley, counted = app.extensions["medley"].medley, Counter()
    ask = medley.engine.has_visible

    def counting(index, access):
        counted[index] += 1
        return ask(index, access)

    monkeypatch.setattr(medley.engine, "has_visible", counting)
    for name in (HIDDEN, ABSENT, HIDDEN, "abstracts"):
        client.get(f"/v1/search?collection={name}&text=a", headers=token("ada", "public"))
    assert counted == {"abstracts-1": 1, "notes-1": 1}


def damage(home, name):
    """Leave the index of a collection unreadable."""
    (home / "collections" / name / "indexes" / f"{name}-1" / "index.json").write_text("{")


@pytest.mark.parametrize("door", ["search", "document", "search page", "citation page", "batch"])
def test_an_unreadable_index_does_not_betray_its_collection(home, token, door):
    damage(home, HIDDEN)
    client, headers = create_app(settings_of(home)).test_client(), token("ada", "public")
    hidden, absent = (asked(client, headers, door, name) for name in (HIDDEN, ABSENT))
    assert hidden == absent
    assert hidden[0] == 503
    assert client.get("/v1/search?collection=abstracts&text=aspirin", headers=headers).status_code == 200
    assert listed(client, headers) == tabs(client, headers) == ["abstracts"]
    assert listed(client, token("olga", "*")) == ["abstracts", "notes"]


def test_a_refused_search_of_a_hidden_collection_is_logged_like_one_of_an_absent(client, token, logged):
    headers = token("ada", "public")
    for name in (HIDDEN, ABSENT):
        client.get(f"/v1/search?collection={name}&text=pneumonia", headers=headers)
        client.get(f"/cite?collection={name}&id=p1/n1", headers=headers)
    assert [(line["user"], line["action"], line["collection"], line["status"], line["ids"]) for line in logged()] == [
        ("ada", "search", "notes", 400, []),
        ("ada", "cite", "notes", 400, []),
        ("ada", "search", "letters", 400, []),
        ("ada", "cite", "letters", 400, []),
    ]


def test_the_command_line_with_labels_sees_what_a_reader_sees(home):
    medley = Medley.open(settings_of(home))
    limited, local = open_use_cases(medley, labels=["public"]), open_use_cases(medley)
    assert [item.name for item in limited.collections.all()] == ["abstracts"]
    assert [item.name for item in local.collections.all()] == ["abstracts", "notes"]
    with pytest.raises(NotFound) as hidden:
        limited.collections.get(HIDDEN)
    with pytest.raises(NotFound) as absent:
        limited.collections.get(ABSENT)
    assert hidden.value.message == absent.value.message.replace(ABSENT, HIDDEN)
    assert local.collections.get(HIDDEN).name == HIDDEN
