"""What the plug-in is to make, without a cluster: names, bodies, and what can't be."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from mappings.collection import load
from mappings.errors import InvalidInput
from mappings.stages import Fusion
from search.engines.opensearch.plugin.example import example_query
from search.engines.opensearch.plugin.marks import has_token, is_ours, is_version, mark
from search.engines.opensearch.plugin.resources import (
    STEPS,
    PluginPlan,
    connector,
    index_template,
    search_pipeline,
)

SERVER = "http://models:8081"
PLAN = PluginPlan(load("abstracts"), SERVER)
MODELS = {step: f"id-{step}" for step in STEPS}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"endpoint": "models:8081"}, "give http://HOST:PORT"),
        ({"title": "a.b"}, "'a.b' can't be read"),
        ({"text": "medley"}, "'medley' can't be read"),
        ({"text": "title"}, "title and text are the same field"),
        ({"pattern": "Upper"}, "no index can have a name like 'Upper'"),
    ],
)
def test_a_plan_that_can_not_be_says_why(changes: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        replace(PLAN, **changes)


def test_a_node_sends_a_document_again_that_found_no_room() -> None:
    wanted = {
        "max_connection": 32,
        "read_timeout": 300,
        "max_retry_times": -1,
        "retry_timeout_seconds": 600,
        "retry_backoff_millis": 500,
    }
    assert connector(PLAN, "documents")["client_config"] == wanted
    assert [step for step in STEPS if "client_config" in connector(PLAN, step)] == ["documents"]


def test_a_mark_tells_versions_and_owners_apart() -> None:
    assert is_ours(mark({"a": 1}))
    assert mark({"a": 1, "b": 2}) == mark({"b": 2, "a": 1}) != mark({"a": 1})
    assert not is_ours(None)
    assert not is_ours("mine")
    marks = {connector(plan, "scores")["description"] for plan in (PLAN, replace(PLAN, token="secret"))}
    assert len(marks) == 2
    assert "secret" not in str(marks)


def test_a_connector_with_a_token_is_current_for_who_does_not_know_it() -> None:
    plain, own, other = (
        connector(replace(PLAN, token=token), "scores")["description"] for token in ("", "secret", "changed")
    )
    assert has_token(own)
    assert not has_token(plain)
    assert "secret" not in own
    assert is_version(own, plain)
    assert is_version(own, own)
    assert not is_version(own, other)
    assert not is_version(plain, own)
    elsewhere = connector(replace(PLAN, endpoint="http://others:8081"), "scores")["description"]
    assert not is_version(own, elsewhere)


@pytest.mark.parametrize(
    ("name", "weights", "factor"), [("abstracts", [0.35, 0.65], 3.0), ("articles", [0.35, 0.65], 3.0), ("notes", [0.85, 0.15], 5.0)]
)  # fmt: skip
def test_a_pipeline_fuses_as_the_kind_does(name: str, weights: list[float], factor: float) -> None:
    body = search_pipeline(PluginPlan(load(name), SERVER), MODELS)
    processor = body["phase_results_processors"][0]["normalization-processor"]
    assert processor["combination"] == {
        "technique": "arithmetic_mean",
        "parameters": {"weights": pytest.approx(weights)},
    }
    floors = [item["min_score"] for item in processor["normalization"]["parameters"]["lower_bounds"]]
    assert floors == [0.0, 1.0]
    assert body["request_processors"][2] == {"oversample": {"sample_factor": factor}}


def test_a_fusion_that_no_pipeline_has_is_refused() -> None:
    kind = replace(load("abstracts"), fusion=Fusion("rrf", "floor", {"bm25": 0.5, "dense": 0.5}))
    with pytest.raises(InvalidInput, match="fuses by rrf of floor scores"):
        search_pipeline(replace(PLAN, kind=kind), MODELS)
    plain = replace(kind, fusion=Fusion("weighted", "minmax", {"bm25": 1.0, "dense": 3.0}))
    processor = search_pipeline(replace(PLAN, kind=plain), MODELS)["phase_results_processors"][0][
        "normalization-processor"
    ]
    assert processor["normalization"] == {"technique": "min_max"}
    assert processor["combination"]["parameters"]["weights"] == [0.25, 0.75]


def test_fields_are_those_of_the_documents() -> None:
    plan = replace(PLAN, title="headline", text="body", pattern="news-*")
    template = index_template(plan, 384)
    properties: dict[str, Any] = template["template"]["mappings"]["properties"]
    assert set(properties) == {"headline", "body", "medley"}
    assert properties["medley"]["properties"]["windows"]["properties"]["vector"]["dimension"] == 384
    assert template["index_patterns"] == ["news-*"]
    asked = example_query(plan, "x", 5, {"term": {"site": "a"}})["query"]["hybrid"]["queries"]
    read = {"exists": {"field": "medley.encoder"}}
    assert asked[0]["bool"] == {
        "must": [{"match": {"body": {"query": "x"}}}],
        "filter": [read, {"term": {"site": "a"}}],
    }
    assert asked[1]["nested"]["query"]["neural"]["medley.windows.vector"]["filter"] == {"term": {"site": "a"}}
