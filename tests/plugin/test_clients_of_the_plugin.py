"""OpenSearch's own Python client over an installed plug-in: bulk indexing, filters, pages, a model that is stopped."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from opensearchpy import OpenSearch, helpers
from plugin_world import NAME, World

pytestmark = [pytest.mark.opensearch, pytest.mark.slow]
MANY = f"{NAME}-many"
FINDINGS = ("falls", "stroke", "infarction", "asthma", "migraine", "gout", "anaemia", "sepsis")
DRUGS = ("aspirin", "metformin", "statins", "salbutamol", "iron", "colchicine", "heparin", "insulin", "placebo", "zinc")


def documents(count: int) -> Iterator[dict[str, Any]]:
    for number in range(count):
        drug, finding = DRUGS[number % len(DRUGS)], FINDINGS[number // len(DRUGS) % len(FINDINGS)]
        text = f"In trial {number} {drug} made {finding} rarer than usual care did."
        yield {"_id": str(number), "title": f"{drug} for {finding}", "text": text, "year": 1990 + number % 30}


@pytest.fixture(scope="module")
def client(world: World) -> Iterator[OpenSearch]:
    world.plugin("install", "--trust")
    client = OpenSearch(world.node, timeout=120)
    helpers.bulk(client, documents(300), index=MANY, refresh=True)  # in one request
    yield client
    client.indices.delete(index=MANY)
    client.close()
    world.plugin("remove")


def ask(client: OpenSearch, world: World, text: str, size: int = 10, start: int = 0, **options: Any) -> list[Any]:
    arguments = ["--size", str(size)]
    if options:
        arguments += ["--filter", json.dumps(options["required"])]
    body = json.loads(world.run("query", text, *arguments).stdout)
    found: list[Any] = client.search(body=body | {"from": start}, index=MANY)["hits"]["hits"]
    return found


def test_a_bulk_request_of_hundreds_is_read_whole(client: OpenSearch) -> None:
    unread = {"query": {"bool": {"must_not": {"exists": {"field": "medley.encoder"}}}}}
    assert client.count(index=MANY)["count"] == 300
    assert client.count(body=unread, index=MANY)["count"] == 0


def test_a_search_has_the_hits_that_its_filter_leaves_also_none(client: OpenSearch, world: World) -> None:
    claim = "metformin makes falls rarer"
    assert ask(client, world, claim)[0]["_source"]["title"] == "metformin for falls"
    assert ask(client, world, claim, required={"term": {"year": 1815}}) == []
    of_year = ask(client, world, claim, required={"term": {"year": 1991}})
    assert {hit["_source"]["year"] for hit in of_year} == {1991}


def test_each_page_reranks_hits_of_its_own(client: OpenSearch, world: World) -> None:
    """As the page on the plug-in says: who shows pages should ask for all of them at once."""
    claim = "statins against stroke"
    first, second = ([hit["_id"] for hit in ask(client, world, claim, start=start)] for start in (0, 10))
    assert len(first) == len(second) == 10
    assert {*first} & {*second}, "hits of the first page, reranked again among those of the second"


def test_a_model_that_was_undeployed_is_deployed_when_it_is_used(client: OpenSearch, world: World) -> None:
    every = {"size": 50, "query": {"match_all": {}}}
    found = client.transport.perform_request("POST", "/_plugins/_ml/models/_search", body=every)["hits"]["hits"]
    ids = {hit["_source"]["name"]: hit["_id"] for hit in found if "name" in hit["_source"]}
    for step in ("documents", "queries", "vectors", "scores"):
        client.transport.perform_request("POST", f"/_plugins/_ml/models/{ids[f'{NAME}-{step}']}/_undeploy")
    assert ask(client, world, "statins against stroke")[0]["_source"]["title"] == "statins for stroke"
    assert client.index(index=MANY, id="late", body={"title": "Late", "text": "A late one."})["result"] == "created"
    assert client.get(index=MANY, id="late")["_source"]["medley"]["encoder"]
