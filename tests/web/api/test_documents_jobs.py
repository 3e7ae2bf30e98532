"""Deletions by id, the progress of a delivery, and a full backlog."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from urllib.parse import quote

import pytest
from portal_home import settings_of
from posting import error, good, outcomes, post, refused, told, total

from mappings.documents import Document, Section
from mappings.errors import Unavailable
from search.bootstrap import Medley
from search.settings import Settings
from search.storage import State, StateRecord
from web import create_app
from web.api import ingestion_answers, record_stream
from web.cli.indexing import fill_quietly
from workers.delivery import Delivery

# Deletions


def test_a_document_is_deleted_by_its_id(client, store, logged):
    answer = client.delete("/v1/documents/pm/1?collection=abstracts")
    job = answer.json["job"]
    ingestion_answers.DeletionAnswer.model_validate(answer.json)
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


def test_deleting_an_unknown_document_keeps_late_copies_out_where_the_source_has_versions(client):
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
def test_a_bad_deletion_names_what_is_wrong(client, address, expected):
    assert error(client.delete(f"/v1/documents/{address}")) == expected


@pytest.mark.parametrize("name", ["a//b", "/a", "a/", "ä/ö?#%", "a@1#2", "'; --"])
def test_any_id_can_be_added_read_and_deleted(client, name):
    outcomes(post(client, [good(name) | {"labels": ["public"]}]))
    address = f"/v1/documents/{quote(name)}?collection=abstracts"
    assert client.get(address).json["document"] == name
    assert client.delete(address).json["id"] == name
    assert client.get(address).status_code == 404


# Jobs


def test_a_job_shows_the_progress_of_its_documents(client, app, store):
    answer = post(client, [good("a"), good("a", "Fever rose."), good("b"), good("c"), {"id": "pm/1", "deleted": True}])
    job = json.loads(answer.data.splitlines()[-1])["job"]
    outcomes(post(client, [good("c", "Fever fell again.")]))
    medley = app.extensions["medley"].medley
    index = medley.engine.resolve("abstracts").index
    store.settle(index, [StateRecord("b", 1, State.FAILED, cause="no words")])
    shown = client.get(f"/v1/jobs/{job}").json
    ingestion_answers.JobAnswer.model_validate(shown)
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


def test_a_job_whose_records_still_arrive_is_receiving(client, app, store):
    delivery = Delivery(store, "abstracts")
    shown = client.get(f"/v1/jobs/{delivery.job.id}").json
    assert (shown["state"], shown["finished"]) == ("receiving", None)


@pytest.mark.parametrize("name", ["abstracts.0123", "nothing.0123", "abstracts", ".", "a b.c"])
def test_an_unknown_job_is_not_found(client, name):
    assert error(client.get(f"/v1/jobs/{name}")) == (404, "not_found", "job")


# Backlog


def overloaded_at(home, limit):
    return create_app(replace(settings_of(home), backlog=limit)).test_client()


def test_a_full_backlog_is_reported_before_the_body_is_read(home, logged):
    client = overloaded_at(home, 2)
    outcomes(post(client, [good("a"), good("b")]))
    client = overloaded_at(home, 2)
    answer = post(client, [good("c")])
    assert error(answer) == (429, "overloaded", None)
    assert answer.headers["Retry-After"] == "10"
    assert logged()[-1]["status"] == 429
    assert client.delete("/v1/documents/pm/1?collection=abstracts").status_code == 200
    assert post(client, [], "/v1/documents?collection=notes").status_code == 200


def test_once_the_backlog_is_full_the_rest_is_rejected_in_order(home, monkeypatch):
    monkeypatch.setattr("web.backlog._FRESH_SECONDS", 0.0)
    monkeypatch.setattr("web.backlog._SHARE", 0)
    monkeypatch.setattr(record_stream, "BATCH_DOCUMENTS", 2)
    client = overloaded_at(home, 3)
    sent = [good("a"), good("b"), good("c"), good("d"), good("a", "Fever rose."), b"{"]
    records, whole = outcomes(post(client, sent))
    message = "4 changes of 'abstracts' are waiting to be indexed, and the limit is 3: try again in 10 seconds"
    assert [record["status"] for record in records] == ["accepted"] * 4 + ["rejected"] * 2
    assert records[4] == refused(5, "a", message, code="overloaded")
    assert records[5]["error"]["code"] == "invalid_input"
    assert whole == total(accepted=4, rejected=2, retry_after=10)


def test_before_the_first_index_everything_is_waiting(tmp_path):
    medley = Medley.open(Settings(home=tmp_path, encoder="hashing-256", reranker="none", backlog=1))
    medley.collections.create("abstracts")
    medley.collections.store("abstracts").put(
        [Document("a", "A title", (Section("", "a text"),), frozenset({"public"}))]
    )
    assert post(create_app(medley).test_client(), [good("b")]).status_code == 429


def test_a_store_that_fails_halfway_keeps_what_it_accepted(client, store, monkeypatch):
    monkeypatch.setattr(record_stream, "BATCH_DOCUMENTS", 2)
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
