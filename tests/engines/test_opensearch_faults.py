"""Faults of a cluster: each ends in one error of ours, or in an answer that says what is missing."""

import json
import shutil
import time
from dataclasses import replace

import numpy as np
import pytest
from answering import answering, expired_certificate
from backends import COLLECTION, ENCODERS, EVERYBODY, Draft, axis, clear, opensearch
from opensearchpy.exceptions import ConnectionError as NoConnection

from mappings.errors import Conflict, InvalidInput, NotFound, Unavailable
from mappings.indexes import index_body
from search.engines.opensearch.admin import Admin
from search.engines.opensearch.bulk import Action, send
from search.engines.opensearch.client import Cluster, Connection
from search.engines.opensearch.documents.tables import Row, Table
from search.engines.opensearch.engine import OpenSearchEngine
from search.protocols import LegsRequest
from search.query import LexicalQuery

HEART = LexicalQuery((("heart", 1.0),))


@pytest.fixture
def backend(node):
    made = opensearch(node.url)
    yield made
    clear(made)


def cluster_at(address: str, **rest) -> Cluster:
    return Cluster(Connection((address,), **{"read_seconds": 0.3, "patience": 0.5, **rest}))


def engine_at(address: str, **rest) -> OpenSearchEngine:
    return OpenSearchEngine(cluster_at(address, **rest), lambda name: COLLECTION)


def error(kind: str, reason: str, status: int) -> tuple[int, dict]:
    inner = {"type": kind, "reason": reason}
    return status, {"error": {"root_cause": [inner], **inner}, "status": status}


# Out of reach


def test_a_cluster_that_is_down_is_named_after_a_short_wait():
    started = time.monotonic()
    with pytest.raises(Unavailable, match=r"http://127\.0\.0\.1:9 can't be reached"):
        engine_at("http://127.0.0.1:9").resolve("abstracts")
    assert 0.4 < time.monotonic() - started < 5


def test_a_cluster_that_does_not_respond_is_abandoned():
    with answering(lambda *_: time.sleep(4) or (200, {})) as address, pytest.raises(Unavailable, match="in time"):
        engine_at(address).resolve("abstracts")


def test_a_second_host_answers_for_one_that_is_down():
    with answering(lambda *_: (200, {"abstracts": {}})) as address:
        cluster = Cluster(Connection(("http://127.0.0.1:9", address)))
        for _ in range(4):
            assert cluster.read("GET", "/_alias/x") == {"abstracts": {}}


def test_requests_are_retried_while_the_cluster_is_busy():
    answers = iter([(429, {}), (503, {}), (502, {}), (200, {"acknowledged": True})])
    with answering(lambda *_: next(answers)) as address:
        assert cluster_at(address).write("POST", "/x/_refresh") == {"acknowledged": True}


def test_a_wrong_password_names_the_settings():
    with (
        answering(lambda *_: (401, {"error": "Unauthorized"})) as address,
        pytest.raises(Unavailable, match="MEDLEY_OPENSEARCH_PASSWORD_FILE"),
    ):
        engine_at(address, user="medley", password="wrong").resolve("abstracts")


def test_an_api_key_is_accepted_and_only_our_indexes_are_read(tmp_path):
    seen = []

    with answering(lambda method, path, body: seen.append(path) or (200, {"medley.search.abstracts.4": {}})) as address:
        assert engine_at(address, api_key="abc").published("abstracts") == "abstracts-4"
    assert seen == ["/medley.search.abstracts.*/_alias/medley.search.abstracts"]


@pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed")
def test_an_expired_certificate_is_named(tmp_path):
    certificate = expired_certificate(tmp_path)
    with (
        answering(lambda *_: (200, {}), certificate) as address,
        pytest.raises(Unavailable, match=r"certificate.*expired.*MEDLEY_OPENSEARCH_CA"),
    ):
        engine_at(address, ca=certificate).resolve("abstracts")


@pytest.mark.parametrize(
    ("connection", "field"),
    [({"hosts": ("localhost:9200",)}, "MEDLEY_OPENSEARCH"), ({"hosts": ("https://a",), "ca": "x"}, "_CA")],
)
def test_wrong_settings_are_named(tmp_path, connection, field):
    values = {name: tmp_path / value if name == "ca" else value for name, value in connection.items()}
    with pytest.raises(InvalidInput) as caught:
        Connection(**values)
    assert field in caught.value.field


# Bulk


def bulk_answers(*rounds):
    """A server of `_bulk`: each round is the statuses by item; the last round repeats."""
    sent = []
    waiting = list(rounds)

    def answer(method, path, body):
        lines = [json.loads(line) for line in body.splitlines()]
        names = [next(iter(line.values()))["_id"] for line in lines if {"index", "delete"} & line.keys()]
        sent.append(names)
        statuses = waiting.pop(0) if len(waiting) > 1 else waiting[0]
        items = [_item(name, statuses.get(name, 201)) for name in names]
        return 200, {"errors": any(item["index"]["status"] > 299 for item in items), "items": items}

    return answer, sent


def _item(name, status):
    bad = {"error": {"type": "mapper_parsing_exception", "reason": f"failed to parse {name}"}} if status > 299 else {}
    return {"index": {"_id": name, "status": status, **bad}}


def test_only_postponed_items_are_sent_again():
    answer, sent = bulk_answers({"b": 429, "c": 503}, {"c": 429}, {})
    with answering(answer) as address:
        rejected = send(cluster_at(address), "x", [[Action(name, name, b"{}")] for name in "abc"])
    assert (rejected, sent) == ({}, [["a", "b", "c"], ["b", "c"], ["c"]])


def test_the_connections_get_equal_shares_in_order():
    answer, sent = bulk_answers({})
    names = [f"d{number:02}" for number in range(40)]
    with answering(answer) as address:
        send(
            cluster_at(address, read_seconds=5.0),
            "x",
            [[Action(name, name, b'{"t":"%s"}' % (b"x" * 50_000))] for name in names],
        )
        small = [[Action(name, name, b"{}")] for name in names]
        send(cluster_at(address), "x", small)
    large = sorted(sent[:-1])
    assert [len(own) for own in large] == [10, 10, 10, 10]
    assert [name for own in large for name in own] == names
    assert sent[-1] == names


def test_an_invalid_document_is_named_and_the_others_are_indexed():
    answer, sent = bulk_answers({"b": 400})
    with answering(answer) as address:
        rejected = send(cluster_at(address), "x", [[Action(name, name, b"{}")] for name in "abc"])
    assert list(rejected) == ["b"]
    assert "failed to parse b" in rejected["b"]
    assert sent == [["a", "b", "c"]]


def test_a_document_that_the_index_rejects_fails_alone_and_leaves_nothing(backend):
    kind = replace(COLLECTION, fields={**COLLECTION.fields})
    body = index_body(kind, ENCODERS, 1)
    body["mappings"]["properties"]["fields"]["properties"]["year"] = {"type": "byte"}
    cluster = backend.engine.cluster
    cluster.write("PUT", f"/{cluster.name('search', 'abstracts', '1')}", body)
    with backend.engine.writer("abstracts-1") as writer:
        entries = [Draft("good", ["heart"], fields={"year": 7.0}), Draft("bad", ["heart"] * 3, fields={"year": 2020.0})]
        writer.write([draft.entry() for draft in entries])
        rejected = writer.commit()
    assert list(rejected) == ["bad"]
    assert "year" in rejected["bad"]
    assert [item.document for item in backend.ask("abstracts-1", "heart").rankings["bm25"]] == ["good"]
    assert backend.engine.drift("abstracts-1") == ["fields.year is byte in its mapping, not double"]


# Damaged and misconfigured indexes


def test_a_full_disk_is_named_and_nothing_is_lost(backend):
    meta = backend.index([Draft("a", ["heart"]).entry()])
    physical = backend.engine.describe(meta.index).physical
    block = {"index.blocks.read_only_allow_delete": True}
    with backend.engine.writer(meta.index) as writer:
        backend.engine.cluster.write("PUT", f"/{physical}/_settings", block)
        writer.write([Draft("b", ["heart"]).entry()])
        with pytest.raises(Unavailable, match="disk is full"):
            writer.commit()
    assert [item.document for item in backend.ask(meta.index, "heart").rankings["bm25"]] == ["a"]
    backend.engine.cluster.write("PUT", f"/{physical}/_settings", dict.fromkeys(block))
    backend.write(meta.index, [Draft("b", ["heart"]).entry()])
    assert len(backend.ask(meta.index, "heart").rankings["bm25"]) == 2


def test_a_red_index_is_an_error_never_an_empty_answer(backend):
    body = index_body(COLLECTION, ENCODERS, 1)
    body["settings"]["index"]["routing.allocation.require._name"] = "nowhere"
    cluster = backend.engine.cluster
    name = cluster.name("search", "abstracts", "1")
    cluster.write("PUT", f"/{name}", body, {"wait_for_active_shards": "0", "timeout": "1s"})
    for call in (
        lambda: backend.ask("abstracts-1", "heart", axis(0)),
        lambda: backend.engine.meta("abstracts-1"),
        lambda: backend.engine.passages("abstracts-1", ["a@1#0"], EVERYBODY),
    ):
        with pytest.raises(Unavailable, match="shards"):
            call()
    assert backend.engine.list("abstracts") == []
    assert list(backend.engine.names("abstracts")) == ["abstracts-1"]


def test_an_index_of_another_schema_is_rejected(backend):
    cluster = backend.engine.cluster
    for number, written in enumerate(({"schema": 99}, {}), 1):
        name = cluster.name("search", "abstracts", str(number))
        cluster.write("PUT", f"/{name}", {"mappings": {"_meta": written}})
        with pytest.raises(Conflict, match=r"schema.*rebuild"):
            backend.engine.meta(f"abstracts-{number}")


def test_an_alias_on_two_indexes_is_reported_and_a_publication_repairs_it(backend):
    first, second = backend.index([]), backend.index([], publish=False)
    cluster = backend.engine.cluster
    alias = cluster.name("search", "abstracts")
    cluster.write("PUT", f"/{alias}.2/_alias/{alias}")
    with pytest.raises(Conflict, match=r"abstracts\.1 and .*abstracts\.2"):
        OpenSearchEngine(cluster, lambda name: COLLECTION).resolve("abstracts")
    backend.engine.publish(second.index)
    assert backend.engine.resolve("abstracts").index == second.index != first.index


def test_a_dropped_index_is_not_found_and_forgotten(backend):
    first = backend.index([Draft("a", ["heart"]).entry()])
    cluster = backend.engine.cluster
    other = OpenSearchEngine(cluster, lambda name: COLLECTION)
    second = backend.index([Draft("b", ["heart"]).entry()], publish=False)
    assert other.resolve("abstracts").index == first.index
    backend.engine.publish(second.index)
    backend.engine.drop(first.index)
    with pytest.raises(NotFound, match="abstracts-1"):
        other.legs(LegsRequest(first.index, HEART, {}, EVERYBODY, 5))
    assert other.resolve("abstracts").index == second.index


def test_the_meta_of_an_index_is_read_at_most_once_a_second(backend, monkeypatch):
    first = backend.index([Draft("a", ["heart"]).entry()])
    other = OpenSearchEngine(Cluster(backend.engine.cluster.connection), lambda name: COLLECTION)
    monkeypatch.setattr(other._indexes._metas, "_seconds", 60.0)
    assert other.meta(first.index) == first
    requests: list[str] = []
    monkeypatch.setattr(other.cluster, "read", lambda method, path, *_: requests.append(path))
    assert other.meta(first.index) == first
    assert requests == []
    monkeypatch.undo()
    backend.engine.publish(backend.index([], publish=False).index)
    backend.engine.drop(first.index)
    monkeypatch.setattr(other._indexes._metas, "_seconds", 0.0)
    with pytest.raises(NotFound, match="abstracts-1"):
        other.meta(first.index)
    other.cluster.close()


def test_a_dense_leg_that_fails_is_named_and_bm25_still_answers(backend):
    body = index_body(COLLECTION, {"dense": ("f", 8)}, 1)
    body["mappings"]["_meta"]["encoders"]["dense"]["dimension"] = 5  # its description contradicts its mapping
    cluster = backend.engine.cluster
    cluster.write("PUT", f"/{cluster.name('search', 'abstracts', '1')}", body)
    physical = cluster.name("search", "abstracts", "1")
    entry = Draft("a", ["heart"]).entry()
    lines = {"kind": ["document", "passage"], "passage": "a@1#0", "document": "a", "labels": ["*"], "text": "heart"}
    send(cluster, physical, [[Action(entry.document, "a", json.dumps(lines).encode())]])
    cluster.write("POST", f"/{physical}/_refresh")
    answer = backend.ask("abstracts-1", "heart", np.ones(5, np.float32))
    assert [item.passage for item in answer.rankings["bm25"]] == ["a@1#0"]
    assert set(answer.rankings) == {"bm25"}
    assert "dimension" in answer.missing["dense"]


def test_a_leg_is_cut_at_max_result_window(backend):
    meta = backend.index([Draft(f"{number:03}", ["heart"]).entry() for number in range(30)])
    answer = backend.ask(meta.index, "heart", axis(0), documents=50_000)
    assert [len(leg) for leg in answer.rankings.values()] == [30, 30]


def test_the_expired_lease_of_a_killed_writer_is_taken_over(backend):
    meta = backend.index([])
    admin = Admin(backend.engine.cluster)
    gone = {"holder": "ward-server:17:abc", "until": time.time() + 60}
    admin.change(f"writer:{meta.index}", lambda _: gone)
    with pytest.raises(Conflict, match="written by ward-server:17"):
        backend.write(meta.index, [Draft("a", ["heart"]).entry()])
    admin.change(f"writer:{meta.index}", lambda _: {**gone, "until": time.time() - 1})
    backend.write(meta.index, [Draft("a", ["heart"]).entry()])
    assert [item.document for item in backend.ask(meta.index, "heart").rankings["bm25"]] == ["a"]


def test_a_writer_renews_an_expired_lease_that_nobody_took(backend):
    meta = backend.index([])
    with backend.engine.writer(meta.index) as writer:
        writer.write([Draft("a", ["heart"]).entry()])
        writer._lease._until = 0.0
        writer.commit()
    assert [item.document for item in backend.ask(meta.index, "heart").rankings["bm25"]] == ["a"]


def test_a_writer_that_lost_its_lease_stops_writing(backend):
    meta = backend.index([])
    with backend.engine.writer(meta.index) as writer:
        writer.write([Draft("a", ["heart"]).entry()])
        writer._lease._until = 0.0  # as when the cluster did not answer for half a minute
        gone = {"holder": "ward-server:17:abc", "until": time.time() + 60}
        Admin(backend.engine.cluster).change(f"writer:{meta.index}", lambda _: gone)
        with pytest.raises(Conflict, match="another process took it"):
            writer.commit()
    assert list(backend.ask(meta.index, "heart").rankings["bm25"]) == []


def test_a_writer_that_lost_its_lease_between_retries_stops_writing(backend, monkeypatch):
    """The cluster was down for longer than a lease; when it is back, another writer is first, with a newer version."""
    meta = backend.index([Draft("a", ["heart"]).entry()])
    other = OpenSearchEngine(Cluster(backend.engine.cluster.connection), lambda name: COLLECTION)
    cluster = backend.engine.cluster
    perform = cluster._client.transport.perform_request

    def away(method, path, **rest):
        if not path.endswith("/_bulk"):
            return perform(method, path, **rest)
        monkeypatch.undo()
        late._lease._until = 0.0
        gone = {"holder": "ward-server:17:abc", "until": time.time() - 1}
        Admin(other.cluster).change(f"writer:{meta.index}", lambda _: gone)
        with other.writer(meta.index) as writer:
            writer.write([Draft("a", ["lung"], version=3).entry()])
            writer.commit()
        raise NoConnection("N/A", "refused", OSError("refused"))

    with backend.engine.writer(meta.index) as late:
        late.write([Draft("a", ["kidney"], version=2).entry()])
        monkeypatch.setattr(cluster._client.transport, "perform_request", away)
        with pytest.raises(Conflict, match="another process took it"):
            late.commit()
    other.cluster.write("POST", f"/{cluster.name('abstracts')}.*/_refresh")
    assert list(other.contents(meta.index)) == [("a", 3, 1)]
    other.cluster.close()


def test_a_row_that_changed_since_it_was_read_is_not_overwritten(backend):
    table = Table(backend.engine.cluster, backend.engine.cluster.name("table"), {}, 1)
    row = table.read(["a"])["a"]
    assert table.swap({"a": ({"x": 1}, row)}) == set()
    assert table.swap({"a": ({"x": 2}, row)}) == {"a"}
    assert table.read(["a"])["a"].source == {"x": 1}


def test_a_row_that_could_not_be_read_does_not_count_as_missing():
    lost = {"_id": "a", "error": {"type": "no_shard_available_action_exception", "reason": "No shard available"}}
    found = {"_id": "a", "found": True, "_source": {"x": 1}, "_seq_no": 3, "_primary_term": 1}
    answers = iter([lost, found])
    with answering(lambda method, path, body: (200, {"docs": [next(answers)]})) as address:
        assert Table(cluster_at(address), "x", {}, 1).read(["a"]) == {"a": Row({"x": 1}, 3, 1)}
    with (
        answering(lambda method, path, body: (200, {"docs": [lost]})) as address,
        pytest.raises(Unavailable, match="No shard available"),
    ):
        Table(cluster_at(address, patience=0.1), "x", {}, 1).read(["a"])


def test_reading_an_unwritten_table_returns_nothing_and_does_not_create_it(backend):
    cluster = backend.engine.cluster
    assert Table(cluster, cluster.name("nothing"), {}, 1).read(["a"]) == {"a": Row()}
    assert backend.another_store().latest(["a"]) == {}
    assert not [
        item for item in cluster.read("GET", "/_cat/indices", None, {"format": "json"}) if "nothing" in item["index"]
    ]
