"""The forms in which vectors are sent: each gives back what was written, with the same scores, on a real node."""

import json
from base64 import b64decode
from dataclasses import replace

import numpy as np
import orjson
import pytest
from answering import answering
from backends import COLLECTION, DIMENSION, ENCODERS, EVERYBODY, Backend, Draft, clear, opensearch

from mappings.indexes import index_body
from search.engines.opensearch.client import Cluster, Connection
from search.engines.opensearch.engine import OpenSearchEngine
from search.engines.opensearch.vectors.choice import choose_form, takes_base64
from search.engines.opensearch.vectors.forms import BASE64, FORMS, NUMBERS, WHOLE_NUMBERS

SMALLEST = 2.0**-24
EXTREMES = np.asarray([[1.0, -1.0, SMALLEST, -SMALLEST, 0.0, 0.5, 2.0**-14, -0.33325195]], np.float16)


@pytest.fixture
def backend(node):
    made = opensearch(node.url)
    yield made
    clear(made)


def sent(form, rows):
    return json.loads(orjson.dumps(list(form.encode(rows)), option=orjson.OPT_SERIALIZE_NUMPY))


def drafts(count: int = 30):
    rows = np.random.default_rng(5).standard_normal((count, DIMENSION))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return [Draft(f"d{number}", ["heart failure"], vectors=[row]) for number, row in enumerate(rows)]


# Forms


def test_each_form_is_sent_as_documented():
    rows = np.asarray([[0.5, -0.25]], np.float16)
    assert sent(NUMBERS, rows) == [[0.5, -0.25]]
    assert sent(WHOLE_NUMBERS, rows) == [[8_388_608, -4_194_304]]
    assert sent(BASE64, rows) == ["AAAAPwAAgL4="]
    assert np.frombuffer(b64decode("AAAAPwAAgL4="), "<f4").tolist() == [0.5, -0.25]


@pytest.mark.parametrize("form", [NUMBERS, WHOLE_NUMBERS])
def test_what_is_read_is_what_was_written_and_scores_alike(form):
    rows = np.concatenate([EXTREMES, np.random.default_rng(1).uniform(-1, 1, (500, 8)).astype(np.float16)])
    stored = np.asarray(sent(form, rows), np.float32)
    assert form.decode(stored.tolist()).tolist() == rows.astype(np.float32).tolist()
    query = np.random.default_rng(2).uniform(-1, 1, 8).astype(np.float32)
    for number, row in enumerate(stored):
        assert np.dot(form.query(query), row) == np.dot(query, rows[number].astype(np.float32))


def test_a_form_is_found_by_its_name():
    assert {name: form.name for name, form in FORMS.items()} == {name: name for name in ("numbers", "whole", "base64")}


# The choice


def cluster_of(version, tried=None, status=200):
    """A cluster whose nodes have the versions; reads `tried` back where a vector was sent as base64."""
    seen = []

    def answer(method, path, body):
        seen.append(f"{method} {path.split('?')[0]}")
        if path.startswith("/_cat/nodes"):
            return (403, {"error": "denied"}) if version is None else (200, [{"version": item} for item in version])
        if method == "PUT" and "/_doc/" in path:
            error = {"error": {"type": "mapper_parsing_exception", "reason": "no"}, "status": status}
            return (status, error) if status > 299 else (201, {"result": "created"})
        return 200, {"_source": {"v": tried}} if method == "GET" else {"acknowledged": True}

    return answer, seen


def chosen(answer):
    with answering(answer) as address:
        return choose_form(Cluster(Connection((address,), read_seconds=1, patience=0)))


@pytest.mark.parametrize("versions", [None, ["3.6.0"], ["3.9.0", "3.7.1"], ["odd"], []])
def test_nothing_is_tried_on_nodes_that_can_not_take_base64(versions):
    answer, seen = cluster_of(versions)
    assert chosen(answer) is WHOLE_NUMBERS
    assert seen == ["GET /_cat/nodes"]


@pytest.mark.parametrize(
    ("tried", "status", "form"),
    [
        ([1.0, -2.0], 200, BASE64),
        ([4.6e-41, 8.96e-44], 200, WHOLE_NUMBERS),
        (None, 400, WHOLE_NUMBERS),
        (None, 500, WHOLE_NUMBERS),
    ],
)
def test_base64_is_used_where_it_is_read_as_it_was_meant(tried, status, form):
    answer, seen = cluster_of(["3.9.0", "3.10.1"], tried, status)
    assert chosen(answer) is form
    index = seen[1].removeprefix("PUT ")
    assert index.startswith("/medley.tried.")
    assert seen[-1] == f"DELETE {index}"


# On a node


@pytest.mark.opensearch
def test_a_node_that_refuses_base64_is_left_as_it_was(backend):
    cluster = backend.engine.cluster
    assert takes_base64(cluster) is False
    assert cluster.read("GET", f"/_cat/indices/{cluster.prefix}.*", None, {"format": "json"}) == []


@pytest.mark.opensearch
def test_vectors_come_back_as_they_were_written_and_score_as_numbers_do(backend):
    entries = [draft.entry() for draft in drafts()]
    query = np.random.default_rng(6).standard_normal(DIMENSION).astype(np.float32)
    query /= np.linalg.norm(query)
    whole = backend.index(entries)
    assert backend.engine.describe(whole.index).form is WHOLE_NUMBERS
    body = index_body(COLLECTION, ENCODERS, 9)
    del body["mappings"]["_meta"]["vectors"]
    body["mappings"]["_meta"]["schema"] = 2  # as an earlier version made it
    cluster = backend.engine.cluster
    cluster.write("PUT", f"/{cluster.name('search', COLLECTION.name, '9')}", body)
    backend.write("abstracts-9", entries)
    passages = [passage for entry in entries for passage in entry.passages]
    for index in (whole.index, "abstracts-9"):
        found = backend.engine.vectors(index, passages)
        assert len(found) == len(entries)
        for entry in entries:
            expected = entry.vectors["dense"].astype(np.float16).astype(np.float32)
            assert found[entry.passages[0].id]["dense"].tolist() == expected.tolist()
    asked = [backend.ask(name, vector=query, access=EVERYBODY, documents=30) for name in (whole.index, "abstracts-9")]
    assert asked[0].rankings["dense"] == asked[1].rankings["dense"]
    assert len(asked[0].rankings["dense"]) == 30


@pytest.mark.opensearch
def test_quantised_vectors_find_the_nearest_and_are_read_back_whole(backend):
    bits = 7
    kind = replace(COLLECTION, vector_bits=bits)
    quantised = Backend(backend.store, OpenSearchEngine(backend.engine.cluster, lambda name: kind), lambda: None, kind)
    rows = np.random.default_rng(8).standard_normal((40, 64)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    meta = quantised.engine.create(kind.name, {"dense": ("fingerprint", 64)})
    entries = [Draft(f"d{number}", ["heart"], vectors=[row]).entry() for number, row in enumerate(rows)]
    quantised.write(meta.index, entries)
    description = quantised.engine.describe(meta.index)
    assert (description.bits, description.form) == (bits, NUMBERS)
    for number in range(0, 40, 8):
        found = quantised.ask(meta.index, vector=rows[number]).rankings["dense"]
        assert found[0].document == f"d{number}"
        assert found[0].score == pytest.approx(1.0, abs=0.001)
    kept = quantised.engine.vectors(meta.index, [entry.passages[0] for entry in entries])
    assert kept["d3@1#0"]["dense"].tolist() == [rows[3].astype(np.float16).astype(np.float32).tolist()]
    assert quantised.engine.drift(meta.index) == []
    assert backend.engine.drift(meta.index) == [f"its vectors have {bits} bits; the settings say 32"]


def test_quantised_fields_get_numbers_where_base64_is_not_taken():
    answer, _ = cluster_of(["3.6.0"])
    with answering(answer) as address:
        assert choose_form(Cluster(Connection((address,), read_seconds=1, patience=0)), 7) is NUMBERS
