"""The fields of the search form that are completed, and what their script asks."""

import pytest
from browsing import get, send

FIELDS = {"entity": "entity", "aspect": "aspect", "with": "concept", "without": "concept"}


def test_the_fields_say_what_completes_them_and_work_without(client):
    page = get(client, "/?collection=notes")
    found = {name: page.all("input", name=name)[0] for name in FIELDS}
    assert {name: attrs["data-complete"] for name, attrs in found.items()} == FIELDS
    assert [name for name, attrs in found.items() if "data-many" in attrs] == ["with", "without"]
    # Roles are the script's to give: without it, these are plain fields.
    assert not [attrs for attrs in found.values() if "role" in attrs or "list" in attrs]
    assert len([attrs for attrs in page.all("script") if attrs["src"].startswith("/static/completion.js")]) == 1


def test_the_script_is_answered_like_a_program(client):
    form = {"collection": "notes", "slot": "concept", "text": "pnue", "limit": "8"}
    answer = send(client, "/complete", form)
    assert answer.json == client.post("/v1/complete", json={**form, "limit": 8}).json
    assert answer.json["completions"][0]["name"] == "pneumonia"
    assert answer.headers["Cache-Control"] == "no-store"


def test_a_session_sees_its_own_completions(client, token):
    own = token("ada", "ward-8")
    sent = {"collection": "notes", "slot": "concept", "text": "antibiotic"}
    assert send(client, "/complete", sent, headers=own).json == {"completions": [], "notes": []}
    assert send(client, "/complete", sent, headers=token("eve", "ward-7")).json["completions"]


@pytest.mark.parametrize(
    "form", [{"text": "a"}, {"collection": "notes"}, {"collection": "notes", "text": "a", "slot": "no"}]
)
def test_wrong_forms(client, form):
    assert send(client, "/complete", form).status_code == 400


def test_another_site_cannot_ask(client):
    get(client, "/")
    assert client.post("/complete", data={"collection": "notes", "text": "pneu"}).status_code == 403
    assert client.post("/complete", data={"collection": "notes", "text": "pneu", "csrf": "x"}).status_code == 403
    assert client.get("/complete?collection=notes&text=pneu").status_code == 405


def test_typing_leaves_nothing_in_the_log(client, logged):
    send(client, "/complete", {"collection": "notes", "slot": "entity", "text": "fitzwilliam"})
    (line,) = [line for line in logged() if line["action"] == "complete"]
    assert (line["asked"], line["ids"], line["status"]) == ({"slot": "entity"}, [], 200)
