"""The model server: its request forms and errors in this process, and the complete server as a process of its own."""

import io
import json
import os
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import urllib3
from command_line import quick_command

sys.path.append(str(Path(__file__).parents[2] / "encoders"))
from tiny import WIDTH, sentences, write_artifact

from encoders.artifact import SHIPPED, Artifact, Reading
from encoders.pooling import unit
from encoders.runtime import BiEncoder, CrossEncoder
from mappings.analysis.window_text import place_window
from mappings.collection import kinds
from mappings.collection import load as load_kind
from mappings.errors import ModelError
from search.models.remote import RemoteEncoder, RemoteReranker
from search.models.servers import Servers
from search.settings import Settings
from web.access import tokens
from web.inference.meter import ModelMeter
from web.inference.models import DEFAULT, RunOptions, artifacts, load
from web.inference.server import Limits, make_inference_app

ROOT = Path(__file__).parents[3]
QUERY = "renal risk"
TEXTS = ["aspirin fever", "", "stroke of the heart in patients with renal risk", "fever", "\ud800\x00 fever"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two tiny models."""
    folder = tmp_path_factory.mktemp("models")
    write_artifact(folder / "tiny-bi")
    write_artifact(folder / "tiny-cross", "cross-encoder")
    write_artifact(folder / "tiny-late", reading=Reading("mean", True, 4, 32, windows="late"))
    return folder


@pytest.fixture
def bi(folder):
    return BiEncoder(Artifact.open(folder / "tiny-bi"), form="fp32")


@pytest.fixture
def cross(folder):
    return CrossEncoder(Artifact.open(folder / "tiny-cross"), form="fp32")


LIMITS = Limits(requests=8, waiting=64)


def app_of(folder, home, *names, limits=LIMITS, batching=True):
    settings = Settings(home=home, models=folder, form="fp32")
    meter = ModelMeter()
    models = load(artifacts(names, settings), settings, RunOptions(limits.waiting, batching, meter.count_run))
    return make_inference_app(models, home, limits, meter)


@pytest.fixture
def client(folder, tmp_path):
    return app_of(folder, tmp_path, "tiny-bi", "tiny-cross").test_client()


@pytest.mark.parametrize("batching", [True, False])
def test_windows_of_one_passage_have_the_vectors_that_this_process_gives_them(folder, tmp_path, batching):
    client = app_of(folder, tmp_path, "tiny-late", batching=batching).test_client()
    local = BiEncoder(Artifact.open(folder / "tiny-late"), form="fp32")
    text = "fever in patients of risk with acute renal pain"
    texts = [place_window("aspirin trial", text, start, end) for start, end in ((0, 17), (18, 25), (25, 47))]
    texts += ["fever", "", "cough " * 90]
    for prompt, encode in (("passage", local.encode_passages), ("query", local.encode_queries)):
        found = client.post("/embed", json={"inputs": texts, "prompt_name": prompt}).get_json()
        assert np.allclose(found, encode(texts), atol=1e-6)
    found = client.post("/embed", json={"inputs": texts, "normalize": False}).get_json()
    assert np.allclose(unit(np.asarray(found, np.float32)), local.encode_passages(texts), atol=1e-6)


def test_a_server_serves_by_default_every_model_that_a_shipped_collection_names():
    named = set()
    for name in kinds():
        collection = load_kind(name)
        named |= {*collection.vectors.values(), collection.reranking.model}
        named |= {collection.reranking.first.model} if collection.reranking.first else set()
    assert set(DEFAULT) == named


def vectors(answer):
    assert answer.status_code == 200, answer.json
    return np.asarray(answer.json, dtype=np.float32)


def scores(answer):
    assert answer.status_code == 200, answer.json
    return [item["score"] for item in sorted(answer.json, key=lambda item: item["index"])]


def refused(answer, status, kind="Validation"):
    assert (answer.status_code, answer.json["error_type"], set(answer.json)) == (status, kind, {"error", "error_type"})
    return answer.json["error"]


def test_vectors_are_those_of_the_model_in_this_process(client, bi):
    answer = client.post("/embed", json={"inputs": TEXTS})
    assert np.allclose(vectors(answer), bi.encode_passages(TEXTS), atol=1e-5)
    assert answer.headers["X-Medley-Fingerprint"] == bi.fingerprint
    assert vectors(client.post("/embed", json={"inputs": "fever"})).shape == (1, WIDTH)
    long = "trial dose risk " * 20
    asked = vectors(client.post("/embed", json={"inputs": [long], "prompt_name": "query"}))
    assert np.allclose(asked, bi.encode_queries([long]), atol=1e-5)
    assert not np.allclose(asked, bi.encode_passages([long]), atol=1e-3)


def test_normalising_is_the_callers_choice(client):
    raw = vectors(client.post("/embed", json={"inputs": TEXTS, "normalize": False}))
    assert not np.allclose(np.linalg.norm(raw, axis=1), 1)
    assert np.allclose(unit(raw), vectors(client.post("/embed", json={"inputs": TEXTS})), atol=1e-6)


def test_scores_come_best_first_and_ties_by_index(client, cross):
    logits = cross.score(QUERY, TEXTS)
    answer = client.post("/rerank", json={"query": QUERY, "texts": TEXTS, "raw_scores": True, "return_text": True})
    assert np.allclose(scores(answer), logits, atol=1e-5)
    assert answer.headers["X-Medley-Fingerprint"] == cross.fingerprint
    assert [item["score"] for item in answer.json] == sorted((item["score"] for item in answer.json), reverse=True)
    assert {item["index"]: item["text"] for item in answer.json} == dict(enumerate([*TEXTS[:4], "   fever"]))
    order = [item["index"] for item in answer.json]
    assert order.index(3) < order.index(4)
    plain = client.post("/rerank", json={"query": QUERY, "texts": TEXTS})
    assert np.allclose(scores(plain), 1 / (1 + np.exp(-logits)), atol=1e-5)
    assert set(plain.json[0]) == {"index", "score"}


def test_info_has_the_keys_of_text_embeddings_inference_and_lists_all(client, bi, cross):
    info = client.get("/info").json
    assert {name: info[name] for name in ("model_id", "model_sha", "model_dtype", "model_type")} == {
        "model_id": "tiny-bi",
        "model_sha": bi.fingerprint,
        "model_dtype": "fp32",
        "model_type": {"embedding": {"pooling": "mean"}},
    }
    assert (info["max_concurrent_requests"], info["max_client_batch_size"], info["max_input_length"]) == (8, 64, 32)
    assert [(model["name"], model["fingerprint"], model["dimension"]) for model in info["models"]] == [
        ("tiny-bi", bi.fingerprint, WIDTH),
        ("tiny-cross", cross.fingerprint, 1),
    ]


@pytest.mark.parametrize(
    ("path", "body", "status", "message"),
    [
        ("/embed", b"{", 422, "the body is not valid JSON"),
        ("/embed", b"[" * 100_000, 422, "the body is not valid JSON"),
        ("/embed", [], 422, "the body must be a JSON object"),
        ("/embed", {}, 422, "`inputs` must be a text or a list of texts"),
        ("/embed", {"inputs": []}, 422, "`inputs` is empty"),
        ("/embed", {"inputs": [1]}, 422, "`inputs` must be a text or a list of texts"),
        ("/embed", {"inputs": "a", "normalize": "yes"}, 422, "`normalize` must be true or false"),
        ("/embed", {"inputs": "a", "prompt_name": "poem"}, 422, "'query' or 'passage', not 'poem'"),
        ("/embed", {"inputs": "a", "model": "tiny-cross"}, 422, "no bi-encoder 'tiny-cross' here; there are: tiny-bi"),
        ("/embed", {"inputs": "a", "model": 3}, 422, "`model` must be"),
        ("/embed", {"inputs": ["a"] * 65}, 413, "`inputs` holds 65 texts; one request can hold 64"),
        ("/embed", {"inputs": ["a", "dose " * 40], "truncate": False}, 413, "text 1 has more than the 32 tokens"),
        ("/rerank", {"texts": ["a"]}, 422, "`query` must be a text"),
        ("/rerank", {"query": "a", "texts": "a"}, 422, "`texts` must be a list of texts"),
        ("/rerank", {"query": "a", "texts": []}, 422, "`texts` is empty"),
        ("/rerank", {"query": "a", "texts": ["dose " * 40], "truncate": False}, 413, "text 0 has more than"),
    ],
)
def test_the_error_of_a_wrong_request_says_what_would_be_right(client, path, body, status, message):
    data = body if isinstance(body, bytes) else json.dumps(body)
    assert message in refused(client.post(path, data=data), status)


def test_texts_that_fit_are_read_completely(client):
    assert client.post("/embed", json={"inputs": ["dose " * 30], "truncate": False}).status_code == 200


def test_an_unknown_address_and_a_wrong_method(client):
    assert "/embed, /rerank" in refused(client.get("/predict"), 404)
    assert refused(client.get("/embed"), 405)


def test_a_body_beyond_the_limit_is_refused_unread(client):
    class Unread(io.BytesIO):
        def read(self, size=-1):
            raise AssertionError("the body was read")

    answer = client.post("/embed", input_stream=Unread(), environ_overrides={"CONTENT_LENGTH": "100000000"})
    assert "larger than 10,000,000 bytes" in refused(answer, 413)


def test_one_of_several_models_is_chosen_by_name_or_fingerprint(folder, tmp_path, bi):
    client = app_of(folder, tmp_path, "tiny-bi", "hashing-256").test_client()
    assert "there are several" in refused(client.post("/embed", json={"inputs": "a"}), 422)
    by_name = client.post("/embed", json={"inputs": "a", "model": "hashing-256"})
    assert vectors(by_name).shape == (1, 256)
    by_mark = client.post("/embed", json={"inputs": "a"}, headers={"X-Medley-Model": bi.fingerprint})
    assert by_mark.headers["X-Medley-Fingerprint"] == bi.fingerprint
    assert "there is no cross-encoder here; there are: none" in refused(
        client.post("/rerank", json={"query": "a", "texts": ["a"]}), 422
    )


def test_a_deadline_that_has_passed_or_is_invalid(client):
    late = client.post("/embed", json={"inputs": "a"}, headers={"X-Medley-Deadline-Ms": "0"})
    assert "deadline" in refused(late, 504, "Overloaded")
    wrong = client.post("/embed", json={"inputs": "a"}, headers={"X-Medley-Deadline-Ms": "soon"})
    assert "whole number of milliseconds, not 'soon'" in refused(wrong, 422)
    assert client.post("/embed", json={"inputs": "a"}, headers={"X-Medley-Deadline-Ms": "5000"}).status_code == 200


def test_once_there_are_tokens_one_is_needed(client, tmp_path):
    token = tokens.add(tmp_path, "portal", ["*"])
    for path in ("/info", "/metrics"):
        assert "an access token is required" in refused(client.get(path), 401, "Unauthorized")
    assert "an access token is required" in refused(client.post("/embed", json={"inputs": "a"}), 401, "Unauthorized")
    shown = {"Authorization": f"Bearer {token}"}
    assert client.post("/embed", json={"inputs": "a"}, headers=shown).status_code == 200
    assert client.get("/info", headers={"Authorization": "Bearer medley_x_y"}).status_code == 401
    assert {client.get(path).status_code for path in ("/health", "/healthz", "/readyz")} == {200}


def test_a_refused_token_is_in_the_application_log_without_its_secret(client, tmp_path, caplog):
    known = tokens.add(tmp_path, "portal", ["*"]).split("_")[1]
    client.get("/info", headers={"Authorization": f"Bearer medley_{known}_guess"})
    assert "/info: wrong secret from 127.0.0.1" in caplog.text
    assert "guess" not in caplog.text


def test_without_tokens_the_page_of_another_site_is_refused(client):
    answer = client.post("/embed", json={"inputs": "a"}, headers={"Host": "evil.example"})
    refused(answer, 403, "Unauthorized")


def test_metrics_count_requests_runs_and_tokens(client):
    client.post("/embed", json={"inputs": ["fever", "dose"]})
    client.post("/embed", json={"inputs": []})
    page = client.get("/metrics").text
    for line in (
        'medley_requests_total{endpoint="embed",status="200"} 1.0',
        'medley_requests_total{endpoint="embed",status="422"} 1.0',
        'medley_inference_waiting{model="tiny-bi"} 0.0',
    ):
        assert line in page
    assert 'medley_inference_tokens_total{model="tiny-bi"}' in page
    assert 'medley_inference_batch_inputs_count{model="tiny-bi"}' in page


def test_without_batching_the_answers_are_the_same(folder, tmp_path, client):
    alone = app_of(folder, tmp_path, "tiny-bi", "tiny-cross", batching=False).test_client()
    body = {"inputs": sentences(40)}
    assert np.allclose(vectors(alone.post("/embed", json=body)), vectors(client.post("/embed", json=body)), atol=1e-5)


def test_many_requests_at_once_each_get_their_own(folder, tmp_path, bi):
    app = app_of(folder, tmp_path, "tiny-bi", limits=Limits(16, 512))
    texts = sentences(96)
    expected = bi.encode_passages(texts)
    with ThreadPoolExecutor(16) as pool:
        made = pool.map(lambda start: vectors(app.test_client().post("/embed", json={"inputs": texts[start : start + 3]})), range(0, 96, 3))  # fmt: skip
        assert np.allclose(np.concatenate(list(made)), expected, atol=1e-5)


def test_a_model_that_is_missing_is_named_before_anything_starts(folder, tmp_path):
    with pytest.raises(ModelError, match=r"there is no model 'none'; known are .*tiny-bi"):
        artifacts(["none"], Settings(home=tmp_path, models=folder))


class Process:
    """`medley inference` with some options, as a process of its own."""

    def __init__(self, home, *options, port=0, **variables):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = port or free.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}"
        environment = os.environ | {"MEDLEY_HOME": str(home)} | variables
        command = quick_command("inference", "--port", str(self.port), *options)
        self._process = subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True)

    def wait(self):
        end = time.monotonic() + 120
        while time.monotonic() < end and self._process.poll() is None:
            try:
                if urllib3.request("GET", f"{self.address}/readyz", retries=False).status == 200:
                    return self
            except urllib3.exceptions.HTTPError:
                time.sleep(0.1)
        pytest.fail(f"the model server did not start: {self.stop()}")

    def runs(self):
        return self._process.poll() is None

    def stop(self):
        self._process.send_signal(signal.SIGTERM)
        _, errors = self._process.communicate(timeout=60)
        return errors


@pytest.fixture
def start(tmp_path):
    started = []

    def make(*options, port=0, **variables):
        started.append(Process(tmp_path, *options, port=port, **variables))
        return started[-1].wait()

    yield make
    for process in started:
        if process.runs():
            assert "Traceback" not in process.stop()


@pytest.mark.slow
def test_served_models_give_the_results_of_this_process(start):
    server = start(MEDLEY_FORM="fp32")
    servers = Servers([server.address])
    here = BiEncoder(Artifact.open(SHIPPED / "medley-biencoder"), form="fp32")
    there = RemoteEncoder(servers, servers.fingerprint("bi-encoder", "medley-biencoder"))
    texts = ["Aspirin lowered mortality.", "", "x " * 2_000, "lone \ud800 surrogate"]
    assert (there.fingerprint, there.dimension, there.form) == (here.fingerprint, here.dimension, "fp32")
    assert np.allclose(there.encode_passages(texts), here.encode_passages(texts), atol=1e-5)
    assert np.allclose(there.encode_queries(texts), here.encode_queries(texts), atol=1e-5)
    scorer = CrossEncoder(Artifact.open(SHIPPED / "medley-crossencoder"), form="fp32")
    far = RemoteReranker(servers, "medley-crossencoder")
    assert np.allclose(far.score("aspirin", texts), scorer.score("aspirin", texts), atol=1e-3)


@pytest.mark.slow
def test_past_capacity_requests_are_refused_at_once(start):
    server = start("--model", "medley-biencoder", "--threads", "4", "--max-waiting", "40")
    texts = [
        f"{number} " + "aspirin lowers the risk of stroke " * 40 for number in range(20)
    ]  # equal ones are read once
    body = json.dumps({"inputs": texts}).encode()
    pool = urllib3.PoolManager(maxsize=16, retries=False)

    def ask(_):
        began = time.monotonic()
        answer = pool.request("POST", f"{server.address}/embed", body=body)
        return answer.status, answer.headers.get("Retry-After"), time.monotonic() - began

    with ThreadPoolExecutor(12) as threads:
        answers = list(threads.map(ask, range(12)))
    refusals = [(after, seconds) for status, after, seconds in answers if status == 429]
    assert {status for status, _, _ in answers} == {200, 429}
    assert {after for after, _ in refusals} == {"1"}
    slowest = max(seconds for status, _, seconds in answers if status == 200)
    assert sorted(seconds for _, seconds in refusals)[len(refusals) // 2] < min(0.25, slowest)
    assert ask(0)[0] == 200
    pool.clear()


@pytest.mark.slow
def test_a_client_that_leaves_or_is_late_frees_its_place(start):
    server = start("--model", "medley-biencoder", "--max-waiting", "128")
    texts = [
        f"{number} " + "aspirin lowers the risk of stroke " * 40 for number in range(128)
    ]  # equal ones are read once
    body = json.dumps({"inputs": texts}).encode()
    late = urllib3.request("POST", f"{server.address}/embed", body=body, headers={"X-Medley-Deadline-Ms": "100"})
    assert (late.status, late.json()["error_type"]) == (504, "Overloaded")
    request = b"POST /embed HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        client.sendall(request)
        time.sleep(0.2)
    end = time.monotonic() + 5
    while "waiting{model=\"medley-biencoder\"} 0.0" not in urllib3.request("GET", f"{server.address}/metrics").data.decode():  # fmt: skip
        assert time.monotonic() < end
        time.sleep(0.05)
    began = time.monotonic()
    assert urllib3.request("POST", f"{server.address}/embed", body=b'{"inputs": "a"}').status == 200
    assert time.monotonic() - began < 1
    counted = urllib3.request("GET", f"{server.address}/metrics").data.decode()
    assert 'medley_requests_total{endpoint="embed",status="499"} 1.0' in counted


@pytest.mark.slow
def test_a_hundred_megabytes_are_refused_quickly(start):
    server = start("--model", "hashing-256")
    began = time.monotonic()
    answer = urllib3.request("POST", f"{server.address}/embed", body=bytes(100_000_000), retries=False)
    assert (answer.status, answer.json()["error_type"]) == (413, "Validation")
    assert time.monotonic() - began < 2
    assert urllib3.request("POST", f"{server.address}/embed", body=b'{"inputs": "a"}').status == 200


@pytest.mark.slow
def test_a_restart_with_another_model_is_noticed(start, folder):
    server = start("--model", "hashing-256")
    servers = Servers([server.address])
    client = RemoteEncoder(servers, servers.fingerprint("bi-encoder", "hashing-256"))
    assert client.encode_queries(["a"]).shape == (1, 256)
    server.stop()
    start("--model", "tiny-bi", port=server.port, MEDLEY_MODELS=str(folder))
    with pytest.raises(ModelError, match=r"rejected the request \(422: there is no bi-encoder"):
        client.encode_queries(["a"])
    with pytest.raises(ModelError, match="they have tiny-bi"):
        client.encode_queries(["a"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--host", "0.0.0.0", "--model", "hashing-256"), "0.0.0.0 can be reached from other machines, and no token"),
        (("--model", "no-such-model"), "there is no model 'no-such-model'; known are"),
    ],
)
def test_what_cannot_be_served_is_reported(tmp_path, options, message):
    process = Process(tmp_path, *options)
    _, errors = process._process.communicate(timeout=60)
    assert process._process.returncode == 1
    assert message in errors
    assert "Traceback" not in errors


@pytest.mark.slow
def test_a_missing_gpu_is_reported(tmp_path):
    _, errors = Process(tmp_path, "--model", "hashing-256", MEDLEY_DEVICE="cuda")._process.communicate(timeout=60)
    assert "the device 'cuda' was requested" in errors
