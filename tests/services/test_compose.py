"""docker-compose.yml: what it says, and its services' commands run as processes here, against the tests' node."""

import re
import secrets
import shutil
import subprocess
import time
import urllib.error
from pathlib import Path

import composed
import pytest
from composed import ROOT, Process, composition

from search.engines.opensearch.client import Cluster, Connection
from web.access import tokens
from workers.queueing.queue import Queue

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed"),
]

SERVICES = composition()["services"]
OURS = ("gateway", "worker", "inference", "inference-gpu")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return composed.make_secrets(tmp_path_factory.mktemp("made"))


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_is_pinned_and_watched(name):
    service = SERVICES[name]
    assert re.search(r":\d+\.\d+\.\d+(-gpu|-alpine)?$", service["image"])
    assert service["restart"] == "unless-stopped"
    assert service["healthcheck"]["test"][0] == "CMD"
    assert {"interval", "timeout", "retries", "start_period"} <= set(service["healthcheck"])


def test_images_are_built_from_a_pinned_python():
    bases = re.findall(r"^FROM (\S+)", (ROOT / "Dockerfile").read_text(encoding="utf-8"), re.MULTILINE)
    assert set(bases) == {"python:3.12-slim-bookworm"}
    assert {SERVICES[name]["build"]["args"]["EXTRA"] for name in OURS} == {"cpu", "gpu"}


def test_every_mounted_file_is_there(made):
    files = {path: file for name in SERVICES for path, file in composed.mounted(name, made).items()}
    assert [path for path, file in files.items() if not file.exists()] == []
    declared = {Path(item["file"]) for item in composition()["secrets"].values()}
    assert {file.parent for file in declared} == {Path("secrets")}
    kept = {"ca-key.pem", "opensearch-admin-password"}  # on the host alone
    assert {path.name for path in made.secrets.iterdir()} == {file.name for file in declared} | kept


def test_no_secret_stands_in_the_environment(made):
    known = [path.read_text(encoding="utf-8") for path in made.secrets.iterdir()]
    for service in SERVICES.values():
        for name, value in service["environment"].items():
            assert not re.search(r"PASSWORD$|TOKEN$|KEY$", name)
            assert value not in known


def test_secrets_are_their_owners_and_are_kept(made):
    files = [*made.secrets.iterdir(), made.home / "tokens.json"]
    assert {oct(path.stat().st_mode & 0o777) for path in files} == {"0o600"}
    before = {path: path.read_bytes() for path in files}
    again = composed.make_secrets(made.secrets.parent)
    assert {path: path.read_bytes() for path in files} == before
    assert "made" not in again.printed


def test_a_removed_password_is_made_anew_with_the_users(made, tmp_path):
    copied = composed.make_secrets(tmp_path)
    for name in ("opensearch-password", "internal_users.yml"):
        (copied.secrets / name).unlink()
    before = copied.read("opensearch-admin-password")
    printed = composed.make_secrets(tmp_path).printed
    assert printed.count("made ") == 2
    assert copied.read("opensearch-admin-password") == before


@pytest.mark.parametrize(("gone", "said"), [("ca.pem", "node.pem was signed by it"), ("ca-key.pem", "bring it back")])
def test_half_an_authority_is_no_authority(tmp_path, gone, said):
    copied = composed.make_secrets(tmp_path)
    (copied.secrets / gone).unlink()
    if gone == "ca-key.pem":
        (copied.secrets / "node.pem").unlink()
    with pytest.raises(subprocess.CalledProcessError) as refused:
        composed.make_secrets(tmp_path)
    assert said in refused.value.stderr


def test_tokens_open_the_doors_they_are_for(made, tmp_path):
    admin = tokens.verify(tokens.list_tokens(made.home), made.token)
    assert (admin.user, admin.operator) == ("admin", True)
    (tmp_path / "tokens.json").write_bytes((made.secrets / "inference-tokens.json").read_bytes())
    gateway = tokens.verify(tokens.list_tokens(tmp_path), made.read("inference-token"))
    assert (gateway.user, gateway.operator) == ("gateway", False)


@pytest.fixture(scope="module")
def prefix(node):
    """A beginning of the names on the cluster of the test's own."""
    name = f"t{secrets.token_hex(5)}"
    yield name
    cluster = Cluster(Connection((node.url,), prefix=name))
    cluster.write("DELETE", f"/{name}.*")
    cluster.close()


@pytest.fixture(scope="module")
def inference(made, tmp_path_factory):
    """The model server."""
    process = Process("inference", made, tmp_path_factory.mktemp("inference"), {}, {"MEDLEY_FORM": "int8"}.items())
    yield process
    process.end()


@pytest.fixture(scope="module")
def surroundings(node, prefix, made, inference, tmp_path_factory):
    """Addresses and settings of the gateway and the worker; the tests' node has neither TLS nor users: none is shown."""
    inference.wait()
    process, queue = composed.redis(made, tmp_path_factory.mktemp("redis"))
    addresses = {
        "https://opensearch:9200": node.url,
        "http://inference:8081": f"http://127.0.0.1:{inference.port}",
        "redis://redis:6379/0": queue,
    }
    without = dict.fromkeys(("MEDLEY_OPENSEARCH_USER", "MEDLEY_OPENSEARCH_PASSWORD_FILE", "MEDLEY_OPENSEARCH_CA"), "")
    given = without | {
        "MEDLEY_OPENSEARCH_PREFIX": prefix,
        "MEDLEY_ENCODER": "hashing-256",
        "MEDLEY_DEADLINE_MS": "60000",
    }
    yield addresses, given
    process.terminate()
    process.wait(10)


@pytest.fixture(scope="module")
def gateway(made, surroundings, tmp_path_factory):
    addresses, given = surroundings
    process = Process("gateway", made, tmp_path_factory.mktemp("gateway"), addresses, given.items())
    yield process
    process.end()


@pytest.fixture(scope="module")
def worker(made, surroundings, tmp_path_factory):
    addresses, given = surroundings
    process = Process("worker", made, tmp_path_factory.mktemp("worker"), addresses, given.items())
    yield process
    process.end()


def test_the_model_server_answers_the_gateways_token(inference, made):
    inference.wait()
    assert inference.get("/info", made.read("inference-token"))["model_id"]
    with pytest.raises(urllib.error.HTTPError, match="401"):
        inference.get("/info", made.token)


@pytest.mark.opensearch
def test_the_gateway_finds_what_was_ingested(gateway, made):
    gateway.wait()
    gateway.run("demo")
    found = gateway.get("/v1/search?collection=demo-abstracts&text=aspirin&size=3", made.token)
    assert found["hits"]
    assert found["degraded"] == []
    assert found["reranked"]["scored"] > 0  # by the model server, which knows the gateway's token
    with pytest.raises(urllib.error.HTTPError, match="401"):
        gateway.get("/v1/search?collection=abstracts&text=aspirin", "medley_no_token")


@pytest.mark.opensearch
@pytest.mark.skipif(not shutil.which("redis-server"), reason="redis-server is not installed")
def test_the_worker_indexes_what_the_gateway_announced(gateway, worker, made, tmp_path):
    gateway.wait()
    worker.wait()
    file = tmp_path / "in.jsonl"
    file.write_text('{"id": "queued/1", "title": "Quokkas", "text": "Quokkas smile.", "labels": ["public"]}\n')
    gateway.run("index", "create", "abstracts")
    gateway.run("ingest", str(file), "--collection", "abstracts", "--queue")
    until = time.monotonic() + 60
    while "queued/1" not in [
        hit["document"] for hit in gateway.get("/v1/search?collection=abstracts&text=quokkas", made.token)["hits"]
    ]:
        assert time.monotonic() < until, worker.log.read_text()
        time.sleep(0.3)


def test_redis_asks_for_its_password(made, tmp_path):
    if not shutil.which("redis-server"):
        pytest.skip("redis-server is not installed")
    process, url = composed.redis(made, tmp_path)
    try:
        line, known = Queue(url), Queue(url.replace("//", f"//:{made.read('redis-password')}@"))
        until = time.monotonic() + 20
        while not known.announce("abstracts", ["a"]):
            assert time.monotonic() < until
        assert not line.announce("abstracts", ["a"])
        known.close()
        line.close()
    finally:
        process.terminate()
        process.wait(10)


def test_a_token_is_needed_before_others_are_served(made, tmp_path):
    process = Process(
        "gateway", made, tmp_path, {}, {"MEDLEY_HOME": str(tmp_path / "empty"), "MEDLEY_OPENSEARCH": ""}.items()
    )
    assert process.process.wait(60) == 1
    assert "no token protects it" in process.log.read_text()
