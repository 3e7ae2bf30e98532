"""The door by which documents come in: every record has its outcome, and what was told is in the store."""

import gzip
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from portal_home import settings_of

from mappings.documents import Document, Section
from mappings.errors import Unavailable
from search.bootstrap import Medley
from search.settings import Settings
from search.storage import State, StateRecord
from web import create_app, upload, wire_feeding
from web.commands.filling import fill_quietly

NDJSON = "application/x-ndjson"
ADDRESS = "/v1/documents?collection=abstracts"


def lines(*records):
    return b"".join((item if isinstance(item, bytes) else json.dumps(item).encode()) + b"\n" for item in records)


def good(identifier, text="Fever fell."):
    return {"id": identifier, "text": text}


def post(client, body, address=ADDRESS, kind=NDJSON, **headers):
    data = body if isinstance(body, bytes) else lines(*body)
    return client.post(address, data=data, headers={"Content-Type": kind} | headers)


def outcomes(answer):
    """The outcome of each record, and the line for all without the job's name."""
    assert (answer.status_code, answer.mimetype) == (200, NDJSON)
    assert answer.content_length == len(answer.data)
    *records, total = [json.loads(line) for line in answer.data.splitlines()]
    for record in records:
        wire_feeding.Outcome.model_validate(record)
    wire_feeding.FeedAnswer.model_validate(total)
    return records, {name: value for name, value in total.items() if name != "job"}


def told(line, identifier, status, version, error=None):
    return {"line": line, "id": identifier, "status": status, "version": version, "error": error}


def refused(line, identifier, message, field=None, code="invalid_input"):
    return told(line, identifier, "rejected", None, {"code": code, "message": message, "field": field})


def total(queued=False, retry_after=None, **counts):
    names = ("accepted", "unchanged", "stale", "deleted", "unknown", "rejected")
    return {name: counts.get(name, 0) for name in names} | {"queued": queued, "retry_after": retry_after}


def error(answer):
    return answer.status_code, answer.json["error"]["code"], answer.json["error"]["field"]


@pytest.fixture
def store(app):
    return app.extensions["medley"].medley.store("abstracts")


def test_every_record_has_its_outcome_in_order(client, store):
    sent = [
        good("a/1") | {"source_version": 5},
        good("a/1", "Fever rose.") | {"source_version": 6},
        good("a/1", "Fever rose.") | {"source_version": 6},
        good("a/1") | {"source_version": 5},
        {"id": "pm/1", "deleted": True},
        {"id": "no/1", "deleted": True},
        {"id": "x", "year": "soon", "text": "a"},
    ]
    records, whole = outcomes(post(client, sent))
    assert records == [
        told(1, "a/1", "accepted", 1),
        told(2, "a/1", "accepted", 2),
        told(3, "a/1", "unchanged", 2),
        told(4, "a/1", "stale", 2),
        told(5, "pm/1", "deleted", 2),
        told(6, "no/1", "unknown", None),
        refused(7, "x", "year must be a number, not a text", "year"),
    ]
    assert whole == total(accepted=2, unchanged=1, stale=1, deleted=1, unknown=1, rejected=1)
    kept = store.latest(["a/1", "pm/1", "x"])
    assert kept["a/1"].document.sections[0].text == "Fever rose."
    assert kept["pm/1"].document is None
    assert "x" not in kept


def test_the_same_again_changes_nothing(client):
    sent = [good("a"), good("b")]
    outcomes(post(client, sent))
    records, whole = outcomes(post(client, sent))
    assert records == [told(1, "a", "unchanged", 1), told(2, "b", "unchanged", 1)]
    assert whole == total(unchanged=2)


def test_an_empty_body_is_no_documents(client):
    assert outcomes(post(client, b"")) == ([], total())
    assert outcomes(post(client, b"\n \r\n\n")) == ([], total())


def test_bad_lines_are_rejected_and_the_rest_goes_on(client, monkeypatch):
    monkeypatch.setattr(upload, "MAX_LINE_BYTES", 2_000)
    body = b"\xef\xbb\xbf" + lines(
        good("a"),
        b"{",
        b"[1]",
        b'{"id": "\xff"}',
        b"",
        {"id": "big", "text": "x" * 5_000},
        good("c\x01"),
        good("i" * 1_500),
        good("n\u0085m"),
        {"id": 7, "text": "A number.\x00"},
        {"text": "Nobody."},
        {"id": ["a"], "text": "A list."},
    )
    records, whole = outcomes(post(client, body + b'{"id": "cut", "te'))
    assert records == [
        told(1, "a", "accepted", 1),
        refused(2, None, "the line is no JSON object (unexpected end of data: line 1 column 2 (char 1))"),
        refused(3, None, "the line is JSON, but no object in { }"),
        refused(4, None, "the line is not valid UTF-8 (byte 9)"),
        refused(6, None, "the line has 5,025 bytes; at most 2,000 are taken"),
        refused(7, "c\x01", "a document id has printable characters only", "id"),
        refused(8, "i" * 512, "the document id has 1,500 bytes; at most 512 are taken", "id"),
        refused(9, "n\u0085m", "a document id has printable characters only", "id"),
        told(10, "7", "accepted", 1),
        refused(11, None, "id must be a text or a whole number; it is missing", "id"),
        refused(12, None, "id must be a text or a whole number; not a list", "id"),
        refused(13, "", "", None) | records[-1],
    ]
    assert records[-1]["error"]["message"].startswith("the line is no JSON object (")
    assert whole == total(accepted=2, rejected=10)


def test_an_id_of_ten_thousand_bytes_is_rejected(client):
    records, _ = outcomes(post(client, [good("i" * 10_000), good("a//b/../c?d=e#f")]))
    message = "the document id has 10,000 bytes; at most 512 are taken"
    assert records == [refused(1, "i" * 512, message, "id"), told(2, "a//b/../c?d=e#f", "accepted", 1)]


def test_dates_in_the_future_are_taken_but_for_source_versions(client):
    ahead = (datetime.now(UTC) + timedelta(days=400)).isoformat()
    sent = [
        good("a") | {"published": ahead[:10]},
        good("b") | {"source_version": ahead},
        good("c") | {"published": "2300-01-01"},
    ]
    records, _ = outcomes(post(client, sent))
    message = f"source_version: {ahead[:40]} lies in the future; no later copy could replace this one"
    bounds = "published: 2300-01-01 is out of range; dates run from 1677-09-22 to 2262-04-11"
    assert records == [
        told(1, "a", "accepted", 1),
        refused(2, "b", message, "source_version"),
        refused(3, "c", bounds, "published"),
    ]


@pytest.mark.parametrize("headers", [{"Content-Encoding": "gzip"}, {}])
def test_gzip_is_unpacked_also_where_nobody_says_so(client, headers):
    two_parts = gzip.compress(lines(good("a"))) + gzip.compress(lines(good("b")))
    records, _ = outcomes(post(client, two_parts, **headers))
    assert records == [told(1, "a", "accepted", 1), told(2, "b", "accepted", 1)]


def test_a_gzip_that_blows_up_is_one_rejected_line(client):
    bomb = gzip.compress(b"x" * 50_000_000 + b"\n" + lines(good("a")))
    records, whole = outcomes(post(client, bomb))
    assert records == [
        refused(1, None, "the line has 50,000,000 bytes; at most 16,777,216 are taken"),
        told(2, "a", "accepted", 1),
    ]
    assert whole == total(accepted=1, rejected=1)


def broken(answer, client):
    """The job of a request that broke off; its answer names it."""
    assert (answer.status_code, answer.json["error"]["code"]) == (400, "broken_off")
    name = answer.json["error"]["message"].rpartition(" ")[2]
    return client.get(f"/v1/jobs/{name}").json


@pytest.mark.parametrize(
    ("spoil", "words", "taken"),
    [
        (lambda body: body[:-9], "the gzip ends early", 2),
        (lambda body: body[:-8] + b"\0" * 8, "the gzip is damaged", 0),
        (lambda body: body + b"no gzip", "the gzip is damaged", 2),
    ],
)
def test_a_damaged_gzip_keeps_what_came_before(client, store, spoil, words, taken):
    answer = post(client, spoil(gzip.compress(lines(good("a"), good("b")))))
    assert words in answer.json["error"]["message"]
    job = broken(answer, client)
    assert (job["accepted"], job["broken"]) == (taken, True)
    assert len(store.latest(["a", "b"])) == taken


def test_what_is_no_gzip_but_says_so_is_refused(client):
    answer = post(client, lines(good("a")), **{"Content-Encoding": "gzip"})
    assert "the gzip is damaged" in answer.json["error"]["message"]
    assert broken(answer, client)["accepted"] == 0


@pytest.mark.parametrize(("environ", "words"), [({}, "bytes"), ({"wsgi.input_terminated": True}, "of 105 bytes")])
def test_a_body_that_is_cut_keeps_its_whole_lines(client, store, environ, words):
    body = lines(good("a"), good("b"), good("c"))
    cut = body[:-4]
    length = {"CONTENT_LENGTH": str(len(body))}
    answer = client.post(ADDRESS, data=cut, content_type=NDJSON, environ_overrides=length | environ)
    assert answer.json["error"]["message"].startswith(f"the request broke off after {len(cut)} {words}; what was taken")
    job = broken(answer, client)
    assert (job["accepted"], job["broken"], job["state"]) == (2, True, "waiting")
    assert set(store.latest(["a", "b", "c"])) == {"a", "b"}
    records, _ = outcomes(post(client, body))
    assert records[-1] == told(3, "c", "accepted", 1)


@pytest.mark.parametrize(
    ("kind", "headers", "field"),
    [
        ("application/json", {}, "Content-Type"),
        ("text/plain", {}, "Content-Type"),
        ("multipart/form-data; boundary=x", {}, "Content-Type"),
        ("", {}, "Content-Type"),
        (NDJSON, {"Content-Encoding": "zstd"}, "Content-Encoding"),
    ],
)
def test_another_type_says_what_is_right(client, store, kind, headers, field):
    answer = post(client, [good("a")], kind=kind, **headers)
    assert error(answer) == (415, "unsupported_media_type", field)
    assert ("application/x-ndjson" if field == "Content-Type" else "gzip") in answer.json["error"]["message"]
    assert store.latest(["a"]) == {}


def test_the_other_type_is_taken_with_its_charset(client):
    records, _ = outcomes(post(client, [good("a")], kind="application/jsonl; charset=utf-8"))
    assert records == [told(1, "a", "accepted", 1)]


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("/v1/documents", (400, "invalid_input", "collection")),
        ("/v1/documents?collection=", (400, "invalid_input", "collection")),
        ("/v1/documents?collection=nothing", (404, "not_found", "collection")),
        ("/v1/documents?collection=a&collection=b", (400, "invalid_input", "collection")),
        ("/v1/documents?collection=abstracts&kind=notes", (400, "invalid_input", "kind")),
    ],
)
def test_the_collection_must_be_there(client, address, expected):
    assert error(post(client, [good("a")], address)) == expected


def test_other_addresses_keep_their_bound(client):
    assert post(client, b"x" * 2_100_000, "/v1/search", "application/json").status_code == 413
    body = lines(*(good(f"d{number}", "word " * 2_000) for number in range(300)))
    assert len(body) > 2_900_000
    _, whole = outcomes(post(client, body))
    assert whole == total(accepted=300)


# The write right


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


def test_a_writer_changes_and_deletes_what_they_may_not_see(client, token, store):
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


def test_the_log_says_who_wrote_how_many_and_no_texts(client, logged):
    answer = post(client, [good("a", "Secret words."), b"{"])
    job = json.loads(answer.data.splitlines()[-1])["job"]
    first, last = logged()
    assert (first["action"], first["asked"]) == ("feed", {"job": job})
    assert (last["user"], last["action"], last["collection"], last["ids"]) == ("local", "fed", "abstracts", [])
    counts = {
        name: value for name, value in total(accepted=1, rejected=1).items() if name not in ("queued", "retry_after")
    }
    assert last["asked"] == {"job": job, **counts}
    assert "Secret" not in json.dumps(logged())


def test_what_can_not_be_written_down_is_not_taken(client, home, store):
    (home / "access.log").mkdir()
    assert error(post(client, [good("a")])) == (503, "unavailable", None)
    assert store.latest(["a"]) == {}


# Deletions


def test_a_document_is_deleted_by_its_id(client, store, logged):
    answer = client.delete("/v1/documents/pm/1?collection=abstracts")
    job = answer.json["job"]
    wire_feeding.DeletionAnswer.model_validate(answer.json)
    assert answer.json == {"id": "pm/1", "status": "deleted", "version": 2, "job": job, "queued": False}
    assert job.startswith("abstracts.")
    assert store.latest(["pm/1"])["pm/1"].document is None
    assert logged()[-1]["asked"] == {"id": "pm/1", "job": job}
    again = client.delete("/v1/documents/pm/1?collection=abstracts")
    assert error(again) == (404, "not_found", "id")
    assert logged()[-1]["status"] == 404


def test_a_deletion_of_an_older_version_is_refused(client, store):
    outcomes(post(client, [good("a") | {"source_version": 7}]))
    address = "/v1/documents/a?collection=abstracts&source_version="
    assert error(client.delete(f"{address}6")) == (409, "conflict", "source_version")
    assert store.latest(["a"])["a"].document is not None
    assert client.delete(f"{address}8").json["status"] == "deleted"
    records, _ = outcomes(post(client, [good("a") | {"source_version": 7}]))
    assert records == [told(1, "a", "stale", 2)]


def test_a_deletion_of_the_unknown_keeps_late_copies_out_where_the_source_counts(client):
    assert error(client.delete("/v1/documents/no/1?collection=abstracts")) == (404, "not_found", "id")
    answer = client.delete("/v1/documents/no/1?collection=abstracts&source_version=2021-02-28T10:00:00Z")
    assert (answer.status_code, answer.json["status"], answer.json["version"]) == (200, "deleted", 1)
    records, _ = outcomes(post(client, [good("no/1") | {"source_version": "2021-02-28T09:00:00Z"}]))
    assert records == [told(1, "no/1", "stale", 1)]


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("pm/1", (400, "invalid_input", "collection")),
        ("pm/1?collection=nothing", (404, "not_found", "collection")),
        ("pm/1?collection=abstracts&source_version=soon", (400, "invalid_input", "source_version")),
        ("pm/1?collection=abstracts&source_version=1.5", (400, "invalid_input", "source_version")),
        (f"pm/1?collection=abstracts&source_version={2**63}", (400, "invalid_input", "source_version")),
        ("a%00b?collection=abstracts", (400, "invalid_input", "id")),
        (f"{'i' * 5_000}?collection=abstracts", (400, "invalid_input", "id")),
        ("%20?collection=abstracts", (400, "invalid_input", "id")),
    ],
)
def test_a_bad_deletion_says_what_is_wrong(client, address, expected):
    assert error(client.delete(f"/v1/documents/{address}")) == expected


@pytest.mark.parametrize("name", ["a//b", "/a", "a/", "ä/ö?#%", "a@1#2", "'; --"])
def test_ids_of_any_form_go_in_and_out(client, name):
    from urllib.parse import quote

    outcomes(post(client, [good(name) | {"labels": ["public"]}]))
    address = f"/v1/documents/{quote(name)}?collection=abstracts"
    assert client.get(address).json["document"] == name
    assert client.delete(address).json["id"] == name
    assert client.get(address).status_code == 404


# Jobs


def test_a_job_says_how_far_its_documents_are(client, app, store):
    answer = post(client, [good("a"), good("a", "Fever rose."), good("b"), good("c"), {"id": "pm/1", "deleted": True}])
    job = json.loads(answer.data.splitlines()[-1])["job"]
    outcomes(post(client, [good("c", "Fever fell again.")]))
    medley = app.extensions["medley"].medley
    index = medley.engine.resolve("abstracts").index
    store.settle(index, [StateRecord("b", 1, State.FAILED, cause="no words")])
    shown = client.get(f"/v1/jobs/{job}").json
    wire_feeding.JobAnswer.model_validate(shown)
    moments = {name: shown.pop(name) for name in ("started", "finished")}
    assert [datetime.fromisoformat(moment).tzinfo for moment in moments.values()] == [UTC, UTC]
    assert shown == {
        "job": job,
        "collection": "abstracts",
        "broken": False,
        "accepted": 4,
        "unchanged": 0,
        "stale": 0,
        "deleted": 1,
        "rejected": 0,
        "documents": {"indexed": 0, "waiting": 2, "failed": 1, "superseded": 2},
        "failures": [{"id": "b", "cause": "no words"}],
        "state": "waiting",
    }
    fill_quietly(medley, "abstracts")
    shown = client.get(f"/v1/jobs/{job}").json
    assert shown["documents"] == {"indexed": 2, "waiting": 0, "failed": 1, "superseded": 2}
    assert shown["state"] == "done"


def test_a_job_that_still_comes_in_says_so(client, app, store):
    from workers.delivery import Delivery

    delivery = Delivery(store, "abstracts")
    shown = client.get(f"/v1/jobs/{delivery.job.id}").json
    assert (shown["state"], shown["finished"]) == ("receiving", None)


@pytest.mark.parametrize("name", ["abstracts.0123", "nothing.0123", "abstracts", ".", "a b.c"])
def test_an_unknown_job_is_not_found(client, name):
    assert error(client.get(f"/v1/jobs/{name}")) == (404, "not_found", "job")


# Backlog


def overloaded_at(home, limit):
    return create_app(replace(settings_of(home), backlog=limit)).test_client()


def test_a_full_backlog_is_told_before_the_body_is_read(home, logged):
    client = overloaded_at(home, 2)
    outcomes(post(client, [good("a"), good("b")]))
    client = overloaded_at(home, 2)
    answer = post(client, [good("c")])
    assert error(answer) == (429, "overloaded", None)
    assert answer.headers["Retry-After"] == "10"
    assert logged()[-1]["status"] == 429
    assert client.delete("/v1/documents/pm/1?collection=abstracts").status_code == 200
    assert post(client, [], "/v1/documents?collection=notes").status_code == 200


def test_a_backlog_that_fills_up_rejects_the_rest_in_order(home, monkeypatch):
    monkeypatch.setattr("web.backlog._FRESH_SECONDS", 0.0)
    monkeypatch.setattr("web.backlog._SHARE", 0)
    monkeypatch.setattr(upload, "BATCH_DOCUMENTS", 2)
    client = overloaded_at(home, 3)
    sent = [good("a"), good("b"), good("c"), good("d"), good("a", "Fever rose."), b"{"]
    records, whole = outcomes(post(client, sent))
    message = (
        "4 changes of 'abstracts' wait to be indexed, and no more are taken from 3 on: send it again in 10 seconds"
    )
    assert [record["status"] for record in records] == ["accepted"] * 4 + ["rejected"] * 2
    assert records[4] == refused(5, "a", message, code="overloaded")
    assert records[5]["error"]["code"] == "invalid_input"
    assert whole == total(accepted=4, rejected=2, retry_after=10)


def test_before_anything_was_indexed_all_waits(tmp_path):
    medley = Medley.open(Settings(home=tmp_path, encoder="hashing-256", reranker="none", backlog=1))
    medley.create("abstracts")
    medley.store("abstracts").put([Document("a", "A title", (Section("", "a text"),), frozenset({"public"}))])
    assert post(create_app(medley).test_client(), [good("b")]).status_code == 429


def test_a_store_that_fails_in_the_middle_keeps_what_it_took(client, store, monkeypatch):
    monkeypatch.setattr(upload, "BATCH_DOCUMENTS", 2)
    put, left = store.put, [1]

    def some(changes, job=""):
        if not left:
            raise Unavailable("the disk is full")
        left.pop()
        return put(changes, job)

    monkeypatch.setattr(type(store), "put", lambda self, changes, job="": some(changes, job))
    answer = post(client, [good("a"), good("b"), good("c")])
    assert error(answer) == (503, "unavailable", None)
    name = answer.json["error"]["message"].rpartition(" ")[2]
    job = client.get(f"/v1/jobs/{name}").json
    assert (job["accepted"], job["broken"]) == (2, True)
