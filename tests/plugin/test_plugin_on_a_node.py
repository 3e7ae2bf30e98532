"""`medley plugin` on a real node with ML Commons, as a user of OpenSearch sees it: with HTTP and JSON alone."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import urllib3

sys.path.append(str(Path(__file__).parents[1] / "evaluation"))
from command_line import medley
from opensearch_node import free_port
from plugin_models import model_server
from plugin_world import NAME, TEXTS, World
from test_bench_search import settings as small_scifact  # noqa: F401

from evaluation.bench import plugin as bench
from evaluation.bench.plugin import bench_plugin
from evaluation.corpus.indexing import index_all
from evaluation.relevance import bulk_lines, judgement_list, rank_eval
from evaluation.task import Corpus, Question, Task
from mappings.documents import EVERY_LABEL, Access, Document, Section
from mappings.errors import InvalidInput
from search.bootstrap import Medley
from search.query import Query
from search.settings import Settings

pytestmark = [pytest.mark.opensearch, pytest.mark.slow]

SETTINGS = [
    f"plugins.ml_commons.{name}" for name in ("connector.private_ip_enabled", "trusted_connector_endpoints_regex")
]
STEPS = ["documents", "queries", "vectors", "scores", "rerank"]
PARTS = [*(["model", f"{NAME}-{step}"] for step in STEPS), *([what, NAME] for what in (
    "ingest pipeline", "search pipeline", "index template"))]  # fmt: skip

CLAIMS = ["Aspirin prevents heart attacks", "Quitting smoking prolongs life with COPD", "Statins cause muscle pain"]


TASK = Task(
    "invented",
    Corpus(
        "invented",
        "abstracts",
        lambda: iter([Document("1", "A title", (Section("AIMS", "One."), Section("", "Two.")))]),
    ),
    (Question("a", CLAIMS[0]), Question("b", CLAIMS[2])),
    {"a": {"1": 1}, "b": {"5": 1}},
    ("nDCG@10",),
)


@pytest.fixture(scope="class")
def installed(world: World) -> Iterator[World]:
    """An installation by `medley plugin install`, with documents; each test outside of a class has its own."""
    world.plugin("install", "--trust")
    for name, (title, text) in TEXTS.items():
        world.put(f"{NAME}-1", name, {"title": title, "text": text, "year": 2000 + int(name)})
    yield world
    world.send("DELETE", f"/{NAME}-1")
    world.plugin("remove")


def test_a_cluster_that_does_not_trust_the_server_says_what_to_set(world: World) -> None:
    message = world.refused("install")
    assert f"the cluster does not trust {world.server}: install with --trust" in message
    assert "plugins.ml_commons.trusted_connector_endpoints_regex" in message
    world.plugin("remove")


def test_a_cluster_that_forbids_models_outside_of_it_says_what_to_set(world: World) -> None:
    forbidding = "plugins.ml_commons.remote_inference.enabled"
    before = world.left()
    world.send("PUT", "/_cluster/settings", {"persistent": {forbidding: False}})
    message = world.refused("install", "--trust")
    assert (
        f'the cluster forbids models outside of it: have an administrator send PUT /_cluster/settings {{"persistent": {{"{forbidding}": true}}}}'
        in message
    )
    world.plugin("remove")
    world.send("PUT", "/_cluster/settings", {"persistent": {forbidding: None}})
    assert world.left() == before


def test_what_is_installed_twice_is_unchanged_and_removed_without_a_trace(world: World) -> None:
    before = world.left()
    assert "nothing of medley-abstracts is installed" in world.refused("upgrade")
    made = world.plugin("install", "--trust")
    assert [[item["what"], item["name"]] for item in made["changes"]] == [["model group", NAME], *PARTS]
    assert {item["action"] for item in made["changes"]} == {"made"}
    parts = [{"what": a, "name": b, "state": "ready"} for a, b in PARTS]
    assert world.plugin("status") == {"parts": parts, "servers": [world.server]}
    again = world.plugin("install", "--trust")
    assert {item["action"] for item in again["changes"]} == {"unchanged"}
    assert again["settings"] == {}
    assert {item["action"] for item in world.plugin("upgrade")["changes"]} == {"unchanged"}
    removed = world.plugin("remove")
    assert [item["name"] for item in removed["changes"] if item["what"] == "cluster setting"] == SETTINGS
    assert world.left() == before
    assert world.plugin("remove") == {"changes": []}


def test_what_others_trust_stays(world: World) -> None:
    theirs = {SETTINGS[1]: ["^https://theirs/.*$"], SETTINGS[0]: True}
    world.send("PUT", "/_cluster/settings", {"persistent": theirs})
    world.plugin("install", "--trust")
    assert len(world.left()["trusted"][SETTINGS[1]]) == 2
    world.plugin("remove")
    assert world.left()["trusted"] == {SETTINGS[0]: "true", SETTINGS[1]: theirs[SETTINGS[1]]}
    world.send("PUT", "/_cluster/settings", {"persistent": dict.fromkeys(theirs)})


def test_the_last_kind_takes_trust_in_a_server_away(world: World) -> None:
    """Each `remove` finds the server's address on the cluster: the one that it would assume is another."""
    before = world.left()
    world.plugin("install", "--trust")
    world.plugin("install", "--trust", "--kind", "articles")
    for kind, expected in (("abstracts", []), ("articles", SETTINGS)):
        ran = medley(world.home, "plugin", "remove", "--opensearch", world.node, "--kind", kind, "--json")
        changes = json.loads(ran.stdout)["changes"]
        assert [item["name"] for item in changes if item["what"] == "cluster setting"] == expected
        if kind == "abstracts":
            states = {item["state"] for item in world.plugin("status", "--kind", "articles")["parts"]}
            assert states == {"ready"}
    assert world.left() == before


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Medley]:
    medley = Medley.open(Settings(home=tmp_path_factory.mktemp("gateway")))
    medley.collections.create("abstracts")
    documents = [
        Document(name, title, (Section("", text),), frozenset(["public"])) for name, (title, text) in TEXTS.items()
    ]
    medley.collections.store("abstracts").put(documents)
    index_all(medley, "abstracts")
    yield medley
    medley.close()


class TestWhatIsInstalled:
    """Tests that share one installation, because they change nothing."""

    def test_a_client_of_its_own_gets_reranked_hits(self, installed: World) -> None:
        hits = installed.search("Aspirin prevents heart attacks")
        assert hits[0]["_id"] == "1"
        assert set(hits[0]["_source"]) == {"title", "text", "year", "medley", "previous_score"}
        assert "windows" not in hits[0]["_source"]["medley"]
        scores = [hit["_score"] for hit in hits]
        assert scores == sorted(scores, reverse=True)
        assert all(0 <= score <= 1 for score in scores)
        assert [hit["_id"] for hit in installed.search("Aspirin prevents heart attacks", size=2)] == [
            hit["_id"] for hit in hits[:2]
        ]

    @pytest.mark.parametrize("claim", CLAIMS)
    def test_the_order_and_the_scores_are_those_of_the_gateway(
        self, installed: World, gateway: Medley, claim: str
    ) -> None:
        query = Query("abstracts", Access("test", frozenset([EVERY_LABEL])), claim, deadline_ms=0, stances=False)
        wanted = [(hit.document, hit.score) for hit in gateway.search(query).hits]
        found = [(hit["_id"], hit["_score"]) for hit in installed.search(claim)]
        assert [name for name, _ in found] == [name for name, _ in wanted]
        assert [score for _, score in found] == pytest.approx([score for _, score in wanted], abs=2e-3)

    def test_what_documents_assert_can_be_asked_for_and_counted(self, installed: World) -> None:
        def ids(query: str) -> list[str]:
            body = {"query": {"query_string": {"query": query}}}
            return [hit["_id"] for hit in installed.send("POST", f"/{NAME}-1/_search", body)["hits"]["hits"]]

        assert ids('medley.ruled_out:"stroke"') == ["2"]
        assert ids('medley.present:"pneumonia"') == ["4"]
        facet = {"size": 0, "aggs": {"present": {"terms": {"field": "medley.present", "size": 100}}}}
        counted = installed.send("POST", f"/{NAME}-1/_search", facet)["aggregations"]["present"]["buckets"]
        assert {"key": "pneumonia", "doc_count": 1} in counted

    def test_filters_hold_in_both_legs(self, installed: World) -> None:
        late = {"range": {"year": {"gte": 2003}}}
        asked = installed.run("query", CLAIMS[0], "--filter", json.dumps(late)).stdout
        inside = installed.send("POST", f"/{NAME}-1/_search", json.loads(asked))["hits"]["hits"]
        around = json.loads(installed.run("query", CLAIMS[0]).stdout)
        around["query"]["hybrid"]["filter"] = late
        outside = installed.send("POST", f"/{NAME}-1/_search", around)["hits"]["hits"]
        assert {hit["_id"] for hit in inside} == {"3", "4", "5", "6"}
        assert [hit["_id"] for hit in inside] == [hit["_id"] for hit in outside]
        assert "--filter is not JSON" in installed.refused("query", "aspirin", "--filter", "{")
        assert "--filter is not a query" in installed.refused("query", "aspirin", "--filter", "[]")

    def test_rank_eval_measures_what_words_find(self, installed: World) -> None:
        found = installed.send("POST", f"/{NAME}-1/_rank_eval", rank_eval(TASK, f"{NAME}-1", ["title", "text"]))
        assert found["failures"] == {}
        assert found["details"]["a"]["hits"][0]["hit"]["_id"] == "1"
        assert found["metric_score"] == pytest.approx(1.0)

    def test_the_reranker_serves_the_processors_of_opensearch_too(self, installed: World) -> None:
        (model,) = [hit["_id"] for hit in installed.send(
            "POST", "/_plugins/_ml/models/_search", {"query": {"term": {"name.keyword": f"{NAME}-rerank"}}})["hits"]["hits"]]  # fmt: skip
        processor = {"rerank": {"ml_opensearch": {"model_id": model}, "context": {"document_fields": ["text"]}}}
        text = "Statins cause muscle pain"
        body = {
            "query": {"match_all": {}},
            "ext": {"rerank": {"query_context": {"query_text": text}}},
            "search_pipeline": {"response_processors": [processor]},
        }
        found = installed.send("POST", f"/{NAME}-1/_search", body)["hits"]["hits"]
        assert found[0]["_id"] == "5"
        assert len(found) == len(TEXTS)

    def test_hits_of_another_encoder_fail_a_search(self, installed: World) -> None:
        path = f"/{NAME}-1/_doc/6?refresh=true"
        whole = installed.send("GET", f"/{NAME}-1/_doc/6")["_source"]
        unknown = {**whole, "medley": {name: value for name, value in whole["medley"].items() if name != "encoder"}}
        for other, reason in (
            ({**whole, "medley": {**whole["medley"], "encoder": "0123456789abcdef"}}, "are of another encoder (0123456789ab)"),
            (unknown, "encoder"),
        ):  # fmt: skip
            installed.send("PUT", f"{path}&pipeline=_none", other)
            body = json.loads(installed.run("query", "salt in heart failure").stdout)
            answer = urllib3.request("POST", f"{installed.node}/{NAME}-1/_search", json=body, retries=False)
            assert answer.status >= 400
            assert reason in answer.data.decode()
        installed.send("PUT", path, {name: whole[name] for name in ("title", "text", "year")})
        assert installed.search("salt in heart failure")[0]["_id"] == "6"

    def test_dashboards_find_whole_titles(self, installed: World) -> None:
        body = {"size": 0, "aggs": {"titles": {"terms": {"field": "title.keyword"}}}}
        counted = installed.send("POST", f"/{NAME}-1/_search", body)["aggregations"]["titles"]["buckets"]
        assert {"key": TEXTS["2"][0], "doc_count": 1} in counted

    def test_a_query_of_another_form_is_refused_by_name(self, installed: World) -> None:
        body = {"query": {"match": {"text": "aspirin"}}, "search_pipeline": NAME}
        answer = installed.send("POST", f"/{NAME}-1/_search", body, status=400)
        assert "query.hybrid.queries[0].bool.must[0].match" in json.dumps(answer)

    def test_documents_are_read_in_whichever_form_they_come(self, installed: World) -> None:
        installed.put(f"{NAME}-1", "list", {"text": ["Gout is painful.", "No fever was seen."]})
        found = installed.send("GET", f"/{NAME}-1/_doc/list")["_source"]
        assert (found["title"], found["text"]) == ("", ["Gout is painful.", "No fever was seen."])
        assert "fever" in found["medley"]["ruled_out"]
        assert len(found["medley"]["windows"][0]["vector"]) == 384
        installed.put(f"{NAME}-1", "number", {"title": 1984, "text": ["Gout in 1984.", None, 7]})
        refused = installed.put(f"{NAME}-1", "empty", {"year": 2000}, status=400)
        assert "the document has no text" in json.dumps(refused)
        installed.send("PUT", f"/{NAME}-1/_doc/past?refresh=true&pipeline=_none", {"text": "Painful gout."}, 201)
        hits = installed.search("painful gout")
        assert hits[0]["_id"] == "list"
        assert {hit["_id"] for hit in hits} == {"list", "number", *TEXTS}  # none that came in past the pipeline
        for name in ("list", "number", "past"):
            installed.send("DELETE", f"/{NAME}-1/_doc/{name}?refresh=true")

    def test_texts_that_look_like_json_or_lists_are_texts(self, installed: World) -> None:
        texts: dict[str, Any] = {
            "brackets": {"title": "[Gout in Lyon]", "text": '{"finding": "gout is painful"}'},
            "lists": {"title": ["[Gout]"], "text": [["Gout is painful.", ["And swollen."]], None, "In the morning."]},
            "formula": {"title": "$${\\rm Ca}$$ ${x}", "text": "Gout is painful, says ${HOME}. \\ \" '"},
        }
        for name, document in texts.items():
            installed.put(f"{NAME}-1", name, document)
            read = installed.send("GET", f"/{NAME}-1/_doc/{name}")["_source"]
            assert read["medley"]["windows"], name
            assert {key: read[key] for key in document} == document
        for query in ("gout is painful", "[gout is painful]", '{"gout": "is painful"}', '["gout", "is painful"]'):
            assert texts.keys() <= {hit["_id"] for hit in installed.search(query)}, query
        for name in texts:
            installed.send("DELETE", f"/{NAME}-1/_doc/{name}?refresh=true")

    @pytest.mark.parametrize("text", ["see ${parameters.texts}", ["see", ["${ml_inference.parameters}"]]])
    def test_a_document_that_would_break_searches_is_refused(self, installed: World, text: Any) -> None:
        refused = installed.put(f"{NAME}-1", "variables", {"title": "Connectors", "text": text}, status=400)
        assert "which ML Commons would replace" in json.dumps(refused)
        refused = installed.put(f"{NAME}-1", "variables", {"title": text, "text": "Connectors"}, status=400)
        assert "which ML Commons would replace" in json.dumps(refused)
        refused = installed.put(f"{NAME}-1", "object", {"title": "", "text": {"a": "b"}}, status=400)
        assert "title and text must be texts" in json.dumps(refused)


def test_what_is_half_there_or_stopped_is_mended(installed: World) -> None:
    model = next(
        hit["_id"]
        for hit in installed.send("POST", "/_plugins/_ml/models/_search", {"query": {"match_all": {}}})["hits"]["hits"]
        if hit["_source"]["name"] == f"{NAME}-scores"
    )
    installed.send("POST", f"/_plugins/_ml/models/{model}/_undeploy")
    installed.send("DELETE", f"/_ingest/pipeline/{NAME}")
    states = {(item["what"], item["name"]): item["state"] for item in installed.plugin("status", code=1)["parts"]}
    assert states["model", f"{NAME}-scores"] == "not deployed"
    assert states["ingest pipeline", NAME] == "missing"
    actions = {(item["what"], item["name"]): item["action"] for item in installed.plugin("install")["changes"]}
    assert actions["model", f"{NAME}-scores"] == "mended"
    assert installed.search(CLAIMS[0])[0]["_id"] == "1"


def test_another_server_or_field_replaces_what_was_made(installed: World) -> None:
    changed = installed.plugin("install", "--title", "headline")["changes"]
    replaced = {item["what"] for item in changed if item["action"] == "replaced"}
    assert replaced == {"ingest pipeline", "search pipeline", "index template"}
    outdated = installed.plugin("status", "--title", "title", code=1)["parts"]
    assert {item["state"] for item in outdated} == {"ready", "outdated"}
    # Whoever upgrades does not have to know how it was installed.
    for command in ("status", "upgrade", "install"):
        found = installed.plugin(command)
        assert {item.get("state", item.get("action")) for item in found.get("parts", found.get("changes"))} <= {
            "ready",
            "unchanged",
        }, command
    elsewhere = installed.run("status", "--server", "http://127.0.0.1:1").stdout.strip().splitlines()
    assert elsewhere[-1] == f"Its models use {installed.server}; states are for --server http://127.0.0.1:1"


def test_nothing_of_someone_else_is_touched(world: World) -> None:
    theirs = {"description": "mine", "processors": []}
    world.send("PUT", "/_ingest/pipeline/medley-articles", theirs)
    before = world.left()
    message = world.refused("install", "--trust", "--kind", "articles")
    assert "has an ingest pipeline medley-articles that `medley plugin` did not make" in message
    assert world.left() == before  # not even trust
    parts = world.plugin("status", "--kind", "articles", code=1)["parts"]
    assert {"what": "ingest pipeline", "name": "medley-articles", "state": "someone else's"} in parts
    world.plugin("remove", "--kind", "articles")
    assert world.send("GET", "/_ingest/pipeline/medley-articles") == {"medley-articles": theirs}
    world.send("DELETE", "/_ingest/pipeline/medley-articles")


def test_a_template_of_someone_else_can_be_in_the_way(world: World) -> None:
    world.send("PUT", "/_index_template/theirs", {"index_patterns": ["medley-*"], "priority": 100})
    message = world.refused("install", "--trust")
    assert "another index template wants medley-abstracts-*" in message
    world.send("PUT", "/_index_template/theirs", {"index_patterns": ["medley-*"], "priority": 150})
    message = world.refused("install")
    assert "another index template is put before ours for medley-abstracts-*" in message
    assert "choose a --priority above 100" in message
    world.plugin("install", "--priority", "200")
    world.send("PUT", "/_index_template/theirs", {"index_patterns": ["medley-*"], "priority": 250})
    assert world.plugin("status", "--priority", "200", code=1)["parts"][-1]["state"] == "overruled"
    world.send("DELETE", "/_index_template/theirs")
    assert world.plugin("status", "--priority", "200")["parts"][-1]["state"] == "ready"
    world.plugin("remove")


def test_a_server_that_is_used_no_more_is_trusted_no_more(world: World, tmp_path: Path) -> None:
    before = world.left()
    world.plugin("install", "--trust")
    with model_server(tmp_path, free_port()) as other:
        moved = World(world.node, other, world.home)
        moved.plugin("install", "--trust")
        trusted = str(moved.left()["trusted"][SETTINGS[1]])
        assert [server.rpartition(":")[2] in trusted for server in (other, world.server)] == [True, False]
        moved.plugin("remove")
    assert world.left() == before


def test_a_model_server_that_is_gone_fails_searches_and_documents_aloud(installed: World, tmp_path: Path) -> None:
    port = free_port()
    with model_server(tmp_path, port) as other:
        world = World(installed.node, other, tmp_path)
        world.plugin("install", "--trust")
    body = json.loads(world.run("query", "aspirin").stdout)
    answer = urllib3.request("POST", f"{world.node}/{NAME}-1/_search", json=body, retries=False)
    assert answer.status >= 400
    refused = urllib3.request("PUT", f"{world.node}/{NAME}-1/_doc/late", json={"text": "Late."}, retries=False)
    assert refused.status >= 400
    world.plugin("remove")
    installed.plugin("install", "--trust")


def test_the_server_wants_its_token(world: World, tmp_path: Path) -> None:
    made = medley(tmp_path, "tokens", "add", "cluster", "--label", "public", "--json")
    token = json.loads(made.stdout)["token"]
    with model_server(tmp_path, free_port()) as server:
        guarded = World(world.node, server, tmp_path)
        assert "wants a token: make one with `medley tokens add`" in guarded.refused("install", "--trust")
        (tmp_path / "token").write_text(token)
        os.environ["MEDLEY_INFERENCE_TOKEN_FILE"] = str(tmp_path / "token")
        try:
            changes = guarded.plugin("install", "--trust")["changes"]
            assert {item["action"] for item in changes if item["what"] == "model"} == {"replaced", "removed"}
            shown = world.send("POST", "/_plugins/_ml/connectors/_search", {"query": {"match_all": {}}})
            assert token not in json.dumps(shown)
        finally:
            del os.environ["MEDLEY_INFERENCE_TOKEN_FILE"]
        # Whoever does not have the token can look, and can change nothing that would lose it.
        assert {part["state"] for part in guarded.plugin("status")["parts"]} == {"ready"}
        assert {item["action"] for item in guarded.plugin("install")["changes"]} == {"unchanged"}
        broken = world.send("POST", "/_plugins/_ml/models/_search", {"query": {"match": {"name": f"{NAME}-scores"}}})
        model = broken["hits"]["hits"][0]["_id"]
        world.send("POST", f"/_plugins/_ml/models/{model}/_undeploy")
        world.send("DELETE", f"/_plugins/_ml/models/{model}")
        assert "name its file in MEDLEY_INFERENCE_TOKEN_FILE" in guarded.refused("install")
        guarded.plugin("remove")


def test_a_node_without_ml_commons_is_named(node: Any, tmp_path: Path) -> None:
    ran = medley(tmp_path, "plugin", "install", "--opensearch", node.url)
    assert ran.returncode != 0
    assert "has no ML Commons: install the plug-in opensearch-ml on its nodes" in ran.stderr


def test_the_bench_compares_both_ways_and_leaves_no_trace(
    world: World,
    small_scifact: Settings,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bench, "WARM_UP", 2)
    before = world.left()
    figures = bench_plugin(dataclasses.replace(small_scifact, opensearch=world.node, opensearch_prefix="bench"))[
        "figures"
    ]
    assert figures["claims"] == 10
    assert 0 < figures["overlap"] <= 1  # the deadline of the kind cuts both on a busy machine
    assert {"p50_ratio", "p95_ratio", "plugin_p50_ms", "gateway_p95_ms", "documents_per_second"} <= figures.keys()
    assert 0 <= figures["as_shipped_same_documents_share"] <= 1
    assert figures["plugin_disk_mb"] > 0 < figures["gateway_disk_mb"]
    assert world.left() == before


def test_judgements_have_the_forms_of_opensearch() -> None:
    ratings = [{"docId": "1", "rating": "1.0"}]
    assert judgement_list(TASK)["judgmentRatings"][0] == {"query": CLAIMS[0], "ratings": ratings}
    assert list(bulk_lines(TASK, "i", "t", "x")) == [
        {"index": {"_index": "i", "_id": "1"}},
        {"t": "A title", "x": "AIMS: One.\n\nTwo."},
    ]
    with pytest.raises(InvalidInput, match="judges passages"):
        judgement_list(dataclasses.replace(TASK, unit="passage"))
