"""The node as docker-compose.yml configures it: TLS, users, and Medley as a user with only the permissions it needs."""

import json
import shutil
import ssl
import subprocess
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import composed
import opensearch_node
import pytest
import urllib3
from backends import COLLECTION, EVERYBODY, Backend, axis, random_drafts

from mappings.collection import load
from mappings.documents import Document, Section
from mappings.errors import Conflict, Unavailable
from search.catalog import CatalogEntry
from search.engines.opened import open_engines
from search.settings import Settings
from search.storage import Purged, State, StateRecord, StoreCounts

pytestmark = [pytest.mark.security, pytest.mark.opensearch, pytest.mark.slow]

WORD = "heart"


@pytest.fixture(scope="module")
def made():
    """The files of `make secrets`, outside the folders of pytest, which only their owner can enter."""
    folder = Path(tempfile.mkdtemp(prefix="medley-secrets-"))
    yield composed.make_secrets(folder)
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def secured(made):
    """The node with compose's configuration; on this machine it listens on loopback, at a free port."""
    settings, files = composed.configuration(made)
    secure = opensearch_node.Secure(files, made.secrets / "ca.pem", "admin", made.read("opensearch-admin-password"))
    settings |= {"network.host": "127.0.0.1"}
    with opensearch_node.running(settings=settings, secure=secure, profiles=opensearch_node.SECURITY) as node:
        yield node


@pytest.fixture
def settings(secured, made, tmp_path):
    """The gateway's settings, as compose gives them."""
    return Settings(
        home=tmp_path,
        opensearch=secured.url,
        opensearch_user="medley",
        opensearch_password_file=made.secrets / "opensearch-password",
        opensearch_ca=made.secrets / "ca.pem",
    )


@pytest.fixture
def administrator(secured, made):
    """Requests as the user `admin`: (status, JSON)."""
    pool = urllib3.PoolManager(ca_certs=str(made.secrets / "ca.pem"))

    def ask(method, path, body=None):
        answer = pool.request(method, secured.url + path, json=body, headers=secured.secure.headers())
        return answer.status, json.loads(answer.data)

    yield ask
    ask("DELETE", "/medley.*,foreign*")
    pool.clear()


def opened(settings):
    engines = open_engines(settings, lambda name: load(name, COLLECTION.name))
    return engines, Backend(engines.store(COLLECTION.name), engines.engine, lambda: None)


def refused(node):
    """How often the log of the node reports a missing permission, even if no answer did."""
    return sum(path.read_text(errors="replace").count("perm match") for path in (node.folder / "logs").glob("*.log"))


def document(name):
    return Document(name, "A title", (Section("Aim", WORD),), frozenset({"public"}), {})


def test_an_index_lives_its_whole_life(settings, secured, administrator):
    before = refused(secured)
    engines, backend = opened(settings)
    engines.catalog.add(COLLECTION.name, CatalogEntry(COLLECTION.name))
    assert engines.catalog.names() == [COLLECTION.name]
    assert engines.engine.published(COLLECTION.name) is None
    drafts = random_drafts(seed=7, count=40)
    first = backend.index([draft.entry() for draft in drafts])
    answer = backend.ask(first.index, WORD, axis(0), facets=("journal",))
    assert answer.total.value == sum(
        any(WORD in text.split() for text in [d.title, *d.texts]) for d in drafts if d.labels
    )
    assert {name for name, leg in answer.rankings.items() if leg} == {"bm25", "dense"}
    backend.write(first.index, [], [drafts[0].id])
    assert engines.engine.meta(first.index).documents == first.documents - 1
    assert engines.engine.drift(first.index) == []
    assert engines.engine.erase(first.index)

    second = backend.index([draft.entry() for draft in drafts])
    engines.engine.drop(first.index)
    assert engines.engine.names(COLLECTION.name) == [second.index]
    assert [meta.index for meta, published in engines.engine.list() if published] == [second.index]
    seen = next(draft for draft in drafts if draft.labels)
    assert engines.engine.fields(second.index, [seen.id], EVERYBODY) == {seen.id: dict(seen.fields)}
    assert refused(secured) == before


def test_documents_are_stored_and_settled(settings, secured, administrator):
    before = refused(secured)
    _, backend = opened(settings)
    store, index = backend.store, "abstracts-1"
    store.put([document("a"), document("b"), document("c")])
    assert store.latest(["a"])["a"].document == document("a")
    store.settle(index, [StateRecord("a", 1, State.INDEXED, 1), StateRecord("b", 1, State.FAILED, 0, cause="why")])
    assert [record.cause for record in store.states(index, State.FAILED)] == ["why"]
    assert store.retry(index) == 1
    store.delete(["c"])
    assert store.counts(index) == StoreCounts(2, 1, {State.INDEXED: 1, State.RECEIVED: 1}, pending_deletes=1)
    assert store.recorded(index) == (1, 1)
    store.forget(index)
    assert store.recorded(index) == (0, 0)
    assert store.purge(time.time(), []) == Purged(versions=1, tombstones=1)
    store.wipe()
    assert refused(secured) == before


def test_a_collection_is_removed(settings, secured, administrator):
    before = refused(secured)
    engines, backend = opened(settings)
    engines.catalog.add(COLLECTION.name, CatalogEntry(COLLECTION.name))
    backend.store.put([document("a")])
    backend.index([draft.entry() for draft in random_drafts(seed=7, count=4)])
    assert engines.catalog.size(COLLECTION.name) > 0
    with engines.engine.exclusive(COLLECTION.name):
        backend.store.seal()
        with pytest.raises(Conflict, match="being renamed or deleted"):
            backend.store.put([document("b")])
        backend.store.seal(False)
        backend.store.put([document("b")])
        engines.engine.remove(COLLECTION.name)
        engines.catalog.remove(COLLECTION.name)
    assert set(administrator("GET", "/medley.*")[1]) == {"medley.admin"}
    assert refused(secured) == before


def test_a_wrong_password_names_the_settings(settings, tmp_path):
    wrong = tmp_path / "password"
    wrong.write_text("wrong")
    engines, _ = opened(replace(settings, opensearch_password_file=wrong))
    with pytest.raises(Unavailable, match="MEDLEY_OPENSEARCH_USER and MEDLEY_OPENSEARCH_PASSWORD_FILE"):
        engines.catalog.names()


def test_an_untrusted_certificate_authority_is_reported(settings):
    engines, _ = opened(replace(settings, opensearch_ca=None))
    with pytest.raises(Unavailable, match="MEDLEY_OPENSEARCH_CA"):
        engines.catalog.names()


def test_no_connection_without_tls(secured, settings):
    engines, _ = opened(replace(settings, opensearch=secured.url.replace("https:", "http:")))
    with pytest.raises(Unavailable):
        engines.catalog.names()


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/foreign/_search"),
        ("GET", "/foreign/_doc/1"),
        ("PUT", "/foreign/_doc/1"),
        ("DELETE", "/foreign"),
        ("PUT", "/another"),
        ("PUT", "/medley"),
        ("GET", "/_search"),
        ("GET", "/.opendistro_security/_search"),
        ("POST", "/_cluster/reroute"),
        ("GET", "/_plugins/_security/api/internalusers"),
        ("POST", "/medley.x/_close"),
    ],
)
def test_medley_has_no_other_permissions(settings, administrator, method, path):
    assert administrator("PUT", "/foreign/_doc/1?refresh=true", {"secret": "of somebody else"})[0] == 201
    engines, _ = opened(settings)
    with pytest.raises(Unavailable, match=r"denies access|403"):
        engines.engine.cluster.write(method, path, {} if method == "PUT" else None)
    assert administrator("GET", "/foreign/_doc/1")[1]["_source"] == {"secret": "of somebody else"}


def test_an_alias_opens_no_foreign_index(settings, secured, administrator):
    administrator("PUT", "/foreign/_doc/1?refresh=true", {"secret": "of somebody else"})
    engines, _ = opened(settings)
    actions = {"actions": [{"add": {"index": "foreign", "alias": "medley.search.abstracts"}}]}
    before = refused(secured)
    with pytest.raises(Unavailable, match="denies access"):
        engines.engine.cluster.write("POST", "/_aliases", actions)
    assert refused(secured) > before


def test_the_gateway_of_compose_serves_over_tls(secured, made, administrator, tmp_path):
    light = {"MEDLEY_INFERENCE": "", "MEDLEY_ENCODER": "hashing-256", "MEDLEY_RERANKER": "none"}
    gateway = composed.Process("gateway", made, tmp_path, {"https://opensearch:9200": secured.url}, light.items())
    try:
        gateway.wait()
        gateway.run("demo")
        found = gateway.get("/v1/search?collection=demo-abstracts&text=aspirin&size=3", made.token)
        assert (len(found["hits"]), found["degraded"]) == (3, [])
    finally:
        gateway.end()
    assert administrator("GET", "/medley.search.demo-abstracts/_count")[1]["count"] > 0


def test_the_health_check_of_compose(secured, made):
    check = composed.composition()["services"]["opensearch"]["healthcheck"]["test"]
    files = composed.mounted("opensearch", made)
    command = [str(files.get(part, part)) for part in check[1:]]
    command[-1] = command[-1].replace("https://localhost:9200", secured.url)
    assert json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["status"] == "UP"
    without = [part for part in command if part not in ("--cacert", str(made.secrets / "ca.pem"))]
    assert subprocess.run(without, capture_output=True).returncode != 0


def test_a_password_is_changed_while_the_node_runs(settings, administrator, tmp_path):
    opened(settings)[0].catalog.names()
    new = tmp_path / "new"
    new.write_text("another-long-password-of-the-test")
    change = [{"op": "add", "path": "/password", "value": new.read_text()}]
    path = "/_plugins/_security/api/internalusers/medley"
    assert administrator("PATCH", path, change)[0] == 200
    with pytest.raises(Unavailable, match="MEDLEY_OPENSEARCH_PASSWORD_FILE"):
        opened(settings)[0].catalog.names()
    assert opened(replace(settings, opensearch_password_file=new))[0].catalog.names() == []
    change[0]["value"] = settings.opensearch_password_file.read_text()
    assert administrator("PATCH", path, change)[0] == 200


def test_the_certificate_is_the_nodes_own(secured, made):
    trusted = ssl.create_default_context(cafile=made.secrets / "ca.pem")
    trusted.verify_flags |= ssl.VERIFY_X509_STRICT
    pool = urllib3.PoolManager(ssl_context=trusted)
    for host in ("localhost", "127.0.0.1"):
        assert pool.request("GET", f"https://{host}:{secured.port}/").status == 401
    pool.clear()
