"""Three nodes of a cluster: each is killed, each is restarted, and a snapshot is restored elsewhere, all under load.

It takes minutes, and runs where MEDLEY_TEST_LONG=1.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest
from opensearch_cluster import NodeCluster, cluster

from evaluation.bench.load.events import Load, LoadLog, find_lost
from evaluation.stages import ACCESS
from mappings.documents import Document, Section
from search.bootstrap import Medley
from search.engines.opensearch.client import Cluster
from search.engines.opensearch.engine import OpenSearchEngine
from search.query import Query
from search.settings import Settings
from web.cli.indexing import fill_quietly, rebuild
from workers.backup.restore import CheckedBackup, restore_collection
from workers.backup.save import save

pytestmark = [
    pytest.mark.opensearch,
    pytest.mark.slow,
    pytest.mark.skipif(not os.environ.get("MEDLEY_TEST_LONG"), reason="run with MEDLEY_TEST_LONG=1 alone"),
]

NAME = "abstracts"
TREATED = ("asthma", "migraine", "sepsis", "anaemia", "gout")
QUIET_SECONDS = 3.0


def documents() -> Iterator[Document]:
    for number in count():
        text = f"Drug {number} helps against {TREATED[number % len(TREATED)]}."
        yield Document(f"d{number}", f"Drug {number}", (Section("", text),), frozenset({"public"}), {})


@dataclass(frozen=True)
class World:
    """An installation on three nodes, fed with one stream of documents over all tests; `accepted` is all of it."""

    cluster: NodeCluster
    medley: Medley
    load: Load
    accepted: list[str]

    def during(self, event) -> LoadLog:
        log = self.load.during(event)
        self.accepted.extend(log.accepted)
        return log


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with cluster() as started:
        settings = settings_at(tmp_path_factory.mktemp("home"), started.urls)
        medley = Medley.open(settings, patient=True)
        medley.collections.create(NAME)
        made = World(started, medley, Load(settings, NAME, [f"drug for {name}" for name in TREATED], documents()), [])
        store = medley.collections.store(NAME)
        first = [next(made.load.documents) for _ in range(200)]
        store.put(first)
        made.accepted.extend(document.id for document in first)
        fill_quietly(medley, NAME)
        started.wait_until_green()
        yield made


def settings_at(home: Path, urls: tuple[str, ...], prefix: str = "") -> Settings:
    prefix = prefix or f"t{secrets.token_hex(5)}"
    return Settings(
        home=home, encoder="hashing-256", reranker="none", opensearch=",".join(urls), opensearch_prefix=prefix
    )


def test_each_node_is_killed_and_no_search_fails_and_no_document_is_lost(world: World) -> None:
    def kill_each() -> None:
        for node in world.cluster.nodes:  # one of them holds the primaries, one is the cluster manager
            time.sleep(QUIET_SECONDS)
            node.kill()
            time.sleep(QUIET_SECONDS)
            node.start(wait=False)
            world.cluster.wait_until_green()

    log = world.during(kill_each)
    assert log.failures == []
    assert len(log.times) > 100
    assert len(log.accepted) > 100
    assert find_lost(world.medley, NAME, world.accepted) == []


def test_nodes_are_restarted_one_by_one_and_nothing_is_noticed(world: World) -> None:
    log = world.during(world.cluster.restart_one_by_one)
    assert log.failures == []
    assert log.interruptions == []
    assert len(log.times) > 100
    assert find_lost(world.medley, NAME, world.accepted) == []


def test_a_snapshot_and_a_backup_are_restored_on_another_cluster(world: World, tmp_path: Path) -> None:
    """Both taken under load: they hold at least what was accepted before."""
    prefix, source, before = world.medley.settings.opensearch_prefix, cluster_of(world.medley), list(world.accepted)
    repository = {"type": "fs", "settings": {"location": str(world.cluster.repository)}}
    what = {"indices": f"{prefix}.admin,{prefix}.store.*", "include_global_state": False}

    def keep() -> None:
        source.write("PUT", "/_snapshot/kept", repository)
        taken = source.write("PUT", "/_snapshot/kept/first", what, {"wait_for_completion": "true"})
        assert taken["snapshot"]["state"] == "SUCCESS"
        save(world.medley, tmp_path / "saved", [NAME], [], lambda count: None)

    assert world.during(keep).failures == []
    with cluster(1, world.cluster.repository) as other:
        restored = Medley.open(settings_at(tmp_path / "restored", other.urls, prefix), patient=True)
        target = cluster_of(restored)
        target.write("PUT", "/_snapshot/kept", repository)
        report = target.write("POST", "/_snapshot/kept/first/_restore", None, {"wait_for_completion": "true"})
        assert report["snapshot"]["shards"]["failed"] == 0
        list(rebuild(restored, NAME))
        saved = Medley.open(settings_at(tmp_path / "from-backup", other.urls), patient=True)
        restore_collection(saved, CheckedBackup.open(tmp_path / "saved"), NAME, NAME, lambda count: None)
        for medley in (restored, saved):
            assert find_lost(medley, NAME, before) == []
            hits = medley.search(Query(NAME, ACCESS, "drug 7 sepsis", rerank=False)).hits
            assert "Drug 7 helps" in " ".join(hit.text for hit in hits)


def cluster_of(medley: Medley) -> Cluster:
    assert isinstance(medley.engine, OpenSearchEngine)
    return medley.engine.cluster
