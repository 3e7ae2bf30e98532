"""The benches of a cluster, whole, on the small SciFact, and the names by which benches are run."""

from __future__ import annotations

from dataclasses import replace

import pytest
from test_bench_search import settings  # noqa: F401 - the same small SciFact

from evaluation.bench import bulk, fusion, quantised
from evaluation.bench.agreement import bench_agreement
from evaluation.bench.nodes import bench_nodes
from evaluation.bench.registry import BENCHES, NAMES, ON_CLUSTER, choose_benches, load_benches
from mappings.errors import InvalidInput
from search.engines.opened import open_cluster
from search.settings import Settings


def test_every_name_has_a_bench_and_all_leaves_out_what_can_not_run() -> None:
    assert set(load_benches()) == set(NAMES)
    assert choose_benches("poly", Settings()) == ["poly"]
    assert list(choose_benches("all", Settings())) == list(BENCHES)
    assert list(choose_benches("all", Settings(opensearch="http://127.0.0.1:9200"))) == [*BENCHES, *ON_CLUSTER]


@pytest.mark.parametrize(
    "bench", [bench_agreement, fusion.bench_fusion, bulk.bench_bulk, quantised.bench_quantised, bench_nodes]
)
def test_without_a_cluster_the_setting_is_named(settings, bench):  # noqa: F811
    with pytest.raises(InvalidInput, match="MEDLEY_OPENSEARCH") as found:
        bench(settings)
    assert found.value.field == "MEDLEY_OPENSEARCH"


@pytest.mark.slow
@pytest.mark.opensearch
def test_the_benches_of_a_cluster(settings, node, monkeypatch):  # noqa: F811
    monkeypatch.setattr(fusion, "ROUNDS", {1: 1, 2: 1})
    monkeypatch.setattr(bulk, "ROUNDS", 1)
    settings = replace(settings, opensearch=node.url, opensearch_prefix="bench-test")
    figures = bench_agreement(settings)["figures"]
    assert figures["queries"] == 10
    assert figures["nDCG@10_difference"] <= 0.05
    figures = fusion.bench_fusion(settings)["figures"]
    assert figures["documents"] == 135
    assert {"p50_ratio", "p95_ratio", "p50_ratio_2_clients", "ours_2_p50_ms", "top10_overlap"} <= figures.keys()
    figures = bulk.bench_bulk(settings)["figures"]
    assert figures["documents"] == 130
    assert figures["speed_ratio"] > 0
    assert figures["vector_difference"] == 0
    figures = quantised.bench_quantised(settings)["figures"]
    assert (figures["queries"], figures["rows"]) == (10, 130)
    assert figures["recall_32_bits"] == 1
    assert figures["recall_7_bits"] > 0.9
    assert {"p50_ms_7_bits", "p50_ratio_7_bits", "disk_mb_7_bits", "write_seconds_32_bits"} <= figures.keys()
    assert open_cluster(settings).read("GET", "/_cat/indices/bench-test-bench-*", None, {"format": "json"}) == []


@pytest.mark.parametrize("hosts", ["http://127.0.0.1:9200", "http://127.0.0.1:1,http://127.0.0.1:2,http://search:3"])
def test_no_node_is_killed_but_of_three_on_this_machine(hosts):
    with pytest.raises(InvalidInput, match="this bench kills nodes"):
        bench_nodes(Settings(opensearch=hosts))
