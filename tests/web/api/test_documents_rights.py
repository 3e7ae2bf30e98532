"""Who may add documents, and what the access log holds about it."""

import json

from posting import error, good, outcomes, post, told, total

from web.use_cases import RECORD_STATUSES


def test_only_a_token_with_the_write_right_writes(client, token, logged):
    reader, writer = token("ada", "*"), token("feeder", "nothing", writes=["abstracts"])
    for answer in (
        post(client, [good("a")], **reader),
        client.delete("/v1/documents/pm/1?collection=abstracts", headers=reader),
        client.get("/v1/jobs/abstracts.0123", headers=reader),
        post(client, [good("a")], "/v1/documents?collection=notes", **writer),
        post(client, [good("a")], "/v1/documents?collection=nothing", **writer),
    ):
        assert error(answer) == (403, "forbidden", "collection")
        assert "medley tokens add USER --label LABEL --write COLLECTION" in answer.json["error"]["message"]
    assert post(client, [good("a")]).status_code == 401
    records, _ = outcomes(post(client, [good("a") | {"labels": ["embargo"]}], **writer))
    assert records == [told(1, "a", "accepted", 1)]
    assert [(line["user"], line["action"], line["collection"], line["status"]) for line in logged()] == [
        ("ada", "feed", "abstracts", 403),
        ("ada", "delete", "abstracts", 403),
        ("feeder", "feed", "notes", 403),
        ("feeder", "feed", "nothing", 403),
        ("feeder", "feed", "abstracts", 200),
        ("feeder", "fed", "abstracts", 200),
    ]


def test_a_writer_can_change_and_delete_what_they_cannot_see(client, token, store):
    writer = token("feeder", "nothing", writes=["*"])
    address = "/v1/documents/secret/1?collection=abstracts"
    assert client.get(address, headers=writer).status_code == 404
    outcomes(post(client, [good("secret/1")], **writer))
    assert client.delete(address, headers=writer).json["version"] == 3
    assert store.latest(["secret/1"])["secret/1"].document is None


def test_a_session_never_writes(client, token):
    headers = token("ada", "*", writes=["*"])
    text = headers["Authorization"].removeprefix("Bearer ")
    page = client.get("/login").text
    csrf = page.split('name="csrf" value="')[1].split('"')[0]
    assert client.post("/login", data={"token": text, "csrf": csrf}).status_code == 303
    assert client.get("/v1/collections").status_code == 200
    assert error(post(client, [good("a")])) == (401, "unauthorized", None)
    assert error(client.delete("/v1/documents/pm/1?collection=abstracts")) == (401, "unauthorized", None)


def test_the_log_has_who_wrote_how_many_but_no_texts(client, logged):
    answer = post(client, [good("a", "Secret words."), b"{"])
    job = json.loads(answer.data.splitlines()[-1])["job"]
    first, last = logged()
    assert (first["action"], first["asked"]) == ("feed", {"job": job})
    assert (last["user"], last["action"], last["collection"], last["ids"]) == ("local", "fed", "abstracts", [])
    counts = total(accepted=1, rejected=1)
    assert last["asked"] == {"job": job, **{name: counts[name] for name in RECORD_STATUSES}}
    assert "Secret" not in json.dumps(logged())


def test_what_cannot_be_logged_is_not_accepted(client, home, store):
    (home / "access.log").mkdir()
    assert error(post(client, [good("a")])) == (503, "unavailable", None)
    assert store.latest(["a"]) == {}
