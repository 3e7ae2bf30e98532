"""What users keep, over HTTP: shapes, bad input, isolation, revisions, and the access log."""

from __future__ import annotations

import re

import pytest

from web.access import tokens

BUNDLE = {"kind": "bundle", "name": "anticoagulants", "content": {"terms": ["warfarin"]}}
COHORT = {"kind": "cohort", "name": "over 65", "content": {"age": {"gte": 65}}, "collection": "abstracts"}
MOMENT = re.compile(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00")


@pytest.fixture
def ann(token):
    return token("ann", "public", "study")


@pytest.fixture
def bob(token):
    return token("bob", "public")


def keep(client, headers, **changes):
    answer = client.post("/v1/kept", json=BUNDLE | changes, headers=headers)
    assert answer.status_code == 201, answer.text
    return answer.json


def listed(client, headers, parameters=""):
    answer = client.get(f"/v1/kept{parameters}", headers=headers)
    assert answer.status_code == 200, answer.text
    return answer.json


def error(answer):
    return answer.status_code, answer.json["error"]["code"], answer.json["error"]["field"]


def test_an_item_is_kept_read_changed_and_deleted(client, ann):
    answer = client.post("/v1/kept", json=COHORT | {"shared_with": ["study", "public"]}, headers=ann)
    made = answer.json
    assert answer.status_code == 201
    assert answer.headers["Location"] == f"/v1/kept/{made['id']}"
    assert made == COHORT | {
        "id": made["id"],
        "owner": "ann",
        "own": True,
        "shared_with": ["public", "study"],
        "revision": 1,
        "created": made["created"],
        "changed": made["created"],
    }
    assert MOMENT.fullmatch(made["created"])
    assert client.get(answer.headers["Location"], headers=ann).json == made
    assert listed(client, ann) == {"items": [made], "next": None}
    changed = client.put(f"/v1/kept/{made['id']}", json=COHORT | {"name": "over 70", "revision": 1}, headers=ann)
    assert changed.json == made | {
        "name": "over 70",
        "shared_with": [],
        "revision": 2,
        "changed": changed.json["changed"],
    }
    gone = client.delete(f"/v1/kept/{made['id']}?revision=2", headers=ann)
    assert (gone.status_code, gone.json) == (200, {"id": made["id"], "status": "deleted"})
    assert error(client.get(f"/v1/kept/{made['id']}", headers=ann)) == (404, "not_found", "id")


def test_the_owner_is_always_the_caller(client, ann):
    assert error(client.post("/v1/kept", json=BUNDLE | {"owner": "bob"}, headers=ann)) == (
        400,
        "invalid_input",
        "owner",
    )
    assert keep(client, ann)["owner"] == "ann"


def test_what_another_user_keeps_answers_as_what_does_not_exist(client, ann, bob):
    mine, unknown = keep(client, ann)["id"], "0" * 16
    for headers in (bob, {"Authorization": ann["Authorization"] + "x"}):
        answers = []
        for name in (mine, unknown):
            calls = (
                client.get(f"/v1/kept/{name}", headers=headers),
                client.put(f"/v1/kept/{name}", json=BUNDLE | {"revision": 1}, headers=headers),
                client.delete(f"/v1/kept/{name}", headers=headers),
            )
            answers.append([(call.status_code, call.text.replace(name, "ID")) for call in calls])
        assert answers[0] == answers[1]
        assert {status for status, _ in answers[0]} == ({404} if headers is bob else {401})
    assert listed(client, bob) == {"items": [], "next": None}
    assert client.get(f"/v1/kept/{mine}", headers=ann).status_code == 200


def test_a_shared_item_is_seen_and_not_changed_by_others(client, ann, bob):
    mine = keep(client, ann, shared_with=["public", "study"])
    theirs = mine | {"own": False, "shared_with": ["public"]}
    assert client.get(f"/v1/kept/{mine['id']}", headers=bob).json == theirs
    assert listed(client, bob)["items"] == [theirs]
    for answer in (
        client.put(f"/v1/kept/{mine['id']}", json=BUNDLE | {"revision": 1}, headers=bob),
        client.delete(f"/v1/kept/{mine['id']}", headers=bob),
    ):
        assert error(answer) == (403, "forbidden", "id")
    assert error(client.post("/v1/kept", json=BUNDLE | {"shared_with": ["study"]}, headers=bob)) == (
        403,
        "forbidden",
        "shared_with",
    )


def test_an_item_tells_nobody_of_a_collection_that_they_do_not_see(client, ann, token):
    ward = token("ward", "ward-7", "study")
    mine = keep(client, ward, collection="notes", shared_with=["study"])
    open_to_all = keep(client, ward, name="of no collection", shared_with=["study"])
    assert [item["id"] for item in listed(client, ann)["items"]] == [open_to_all["id"]]
    assert listed(client, ann, "?collection=notes")["items"] == []
    for method in ("get", "delete"):
        assert error(getattr(client, method)(f"/v1/kept/{mine['id']}", headers=ann)) == (404, "not_found", "id")
    hidden, absent = (
        client.post("/v1/kept", json=BUNDLE | {"collection": name}, headers=ann) for name in ("notes", "absent")
    )
    assert error(hidden) == error(absent) == (400, "invalid_input", "collection")
    assert hidden.text.replace("notes", "NAME") == absent.text.replace("absent", "NAME")


def test_two_tabs_never_overwrite_each_other(client, ann):
    mine = keep(client, ann)["id"]
    tabs = [
        client.put(f"/v1/kept/{mine}", json=BUNDLE | {"content": {"tab": tab}, "revision": 1}, headers=ann)
        for tab in (1, 2)
    ]
    assert [tab.status_code for tab in tabs] == [200, 409]
    assert error(tabs[1]) == (409, "conflict", "revision")
    assert error(client.delete(f"/v1/kept/{mine}?revision=1", headers=ann)) == (409, "conflict", "revision")
    assert client.get(f"/v1/kept/{mine}", headers=ann).json["content"] == {"tab": 1}


def test_a_name_that_is_taken_is_a_conflict(client, ann, bob):
    keep(client, ann)
    keep(client, bob)
    assert error(client.post("/v1/kept", json=BUNDLE, headers=ann)) == (409, "conflict", "name")


def test_a_listing_is_paged_and_narrowed(client, ann):
    made = [keep(client, ann, name=f"bundle {number}")["id"] for number in range(5)]
    cohort = client.post("/v1/kept", json=COHORT, headers=ann).json["id"]
    first = listed(client, ann, "?size=4")
    second = listed(client, ann, f"?size=4&after={first['next']}")
    assert [item["id"] for page in (first, second) for item in page["items"]] == [cohort, *made[::-1]]
    assert second["next"] is None
    assert [item["id"] for item in listed(client, ann, "?kind=cohort")["items"]] == [cohort]
    assert [item["id"] for item in listed(client, ann, "?collection=abstracts&kind=cohort")["items"]] == [cohort]
    assert len(listed(client, ann, "?collection=")["items"]) == 5


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"kind": "note"}, "kind"),
        ({"kind": None}, "kind"),
        ({"name": ""}, "name"),
        ({"name": "x" * 201}, "name"),
        ({"name": "a\nb"}, "name"),
        ({"name": 7}, "name"),
        ({"content": []}, "content"),
        ({"content": None}, "content"),
        ({"content": {"x": "y" * 64_000}}, "content"),
        ({"content": {"x": 10**30}}, "content"),
        ({"collection": "NOT A NAME"}, "collection"),
        ({"shared_with": "public"}, "shared_with"),
        ({"shared_with": ["*"]}, "shared_with"),
        ({"shared_with": ["public"] * 51}, "shared_with"),
        ({"revision": 1}, "revision"),
        ({"id": "0" * 16}, "id"),
    ],
)
def test_bad_input_is_refused_with_its_field(client, ann, body, field):
    assert error(client.post("/v1/kept", json=BUNDLE | body, headers=ann)) == (400, "invalid_input", field)
    assert listed(client, ann)["items"] == []


@pytest.mark.parametrize(
    ("parameters", "field"),
    [
        ("kind=note", "kind"),
        ("size=0", "size"),
        ("size=51", "size"),
        ("size=x", "size"),
        ("after=x", "after"),
        ("after=" + "1" * 61, "after"),
        ("kind=bundle&kind=search", "kind"),
        ("owner=bob", "owner"),
    ],
)
def test_bad_parameters_are_refused(client, ann, parameters, field):
    assert error(client.get(f"/v1/kept?{parameters}", headers=ann)) == (400, "invalid_input", field)


@pytest.mark.parametrize("revision", [None, 0, -1, "1", 1.5, True])
def test_a_change_names_its_revision(client, ann, revision):
    mine = keep(client, ann)["id"]
    body = BUNDLE | ({} if revision is None else {"revision": revision})
    assert error(client.put(f"/v1/kept/{mine}", json=body, headers=ann)) == (400, "invalid_input", "revision")


def test_a_body_is_json(client, ann):
    answer = client.post("/v1/kept", data={"kind": "bundle"}, headers=ann)
    assert error(answer) == (415, "unsupported_media_type", "Content-Type")
    answer = client.post("/v1/kept", data=b"{", headers=ann | {"Content-Type": "application/json"})
    assert error(answer) == (400, "invalid_input", "body")


def test_nobody_keeps_anything_without_a_token_once_there_is_one(client, ann):
    mine = keep(client, ann)["id"]
    for method, address in (
        ("get", ""),
        ("post", ""),
        ("get", f"/{mine}"),
        ("put", f"/{mine}"),
        ("delete", f"/{mine}"),
    ):
        assert error(getattr(client, method)(f"/v1/kept{address}")) == (401, "unauthorized", None)


def test_the_user_of_this_machine_keeps_items_without_a_token(client):
    assert keep(client, {})["owner"] == "local"
    foreign = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors"}
    assert error(client.post("/v1/kept", json=BUNDLE, headers=foreign)) == (403, "forbidden", None)


def log_in(client, home, user):
    token = tokens.add(home, user, ["public"])
    page = client.get("/login").text
    csrf = re.search(r'name="csrf" value="([^"]+)"', page)[1]
    client.post("/login", data={"csrf": csrf, "token": token})
    return re.search(r'name="csrf" value="([^"]+)"', client.get("/").text)[1]


def test_a_session_writes_with_the_form_token_of_its_pages_only(app, home):
    client, other = app.test_client(), app.test_client()
    own, foreign = log_in(client, home, "ann"), log_in(other, home, "bob")
    for headers in ({}, {"X-CSRF-Token": ""}, {"X-CSRF-Token": foreign}, {"X-CSRF-Token": "ä"}):
        assert error(client.post("/v1/kept", json=BUNDLE, headers=headers)) == (403, "csrf", "csrf")
    right = {"X-CSRF-Token": own}
    mine = keep(client, right)["id"]
    for method in ("put", "delete"):
        call = getattr(client, method)
        assert error(call(f"/v1/kept/{mine}", json=BUNDLE | {"revision": 1})) == (403, "csrf", "csrf")
    changed = client.put(f"/v1/kept/{mine}", json=BUNDLE | {"revision": 1}, headers=right)
    assert (changed.status_code, changed.json["owner"], changed.json["revision"]) == (200, "ann", 2)
    assert client.delete(f"/v1/kept/{mine}", headers=right).status_code == 200
    for address in ("/v1/documents?collection=abstracts", "/v1/search", "/v1/search/batch"):  # nothing else than before
        assert error(client.post(address, json={}, headers=right))[0] == 401


def test_each_action_is_logged_without_names_and_contents(client, ann, bob, logged):
    mine = keep(client, ann, name="secret name", content={"terms": ["secret term"]}, shared_with=["study"])["id"]
    client.get("/v1/kept?kind=bundle", headers=ann)
    client.get(f"/v1/kept/{mine}", headers=bob)
    client.put(
        f"/v1/kept/{mine}",
        json=BUNDLE | {"collection": "abstracts", "shared_with": ["public"], "revision": 1},
        headers=ann,
    )
    client.delete(f"/v1/kept/{mine}", headers=bob)
    client.delete(f"/v1/kept/{mine}", headers=ann)
    found = [
        (line["user"], line["action"], line["collection"], line["asked"], line["status"])
        for line in logged()
        if line["action"].startswith("kept")
    ]
    assert found == [
        ("ann", "kept add", "", {"kind": "bundle", "shared_with": ["study"], "item": mine}, 200),
        ("ann", "kept list", "", {"kind": "bundle", "items": [mine]}, 200),
        ("bob", "kept read", "", {"item": mine}, 404),
        (
            "ann",
            "kept replace",
            "abstracts",
            {"item": mine, "kind": "bundle", "shared_with": ["public"], "revision": 2},
            200,
        ),
        ("bob", "kept delete", "", {"item": mine}, 403),
        ("ann", "kept delete", "", {"item": mine, "kind": "bundle", "shared_with": ["public"]}, 200),
    ]
    assert "secret" not in str(logged())
