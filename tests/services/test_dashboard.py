"""deploy/grafana/medley.json: its queries are PromQL, over metrics and labels that the servers' `/metrics` really have."""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import urllib3
from portal_home import fill, settings_of
from prometheus_client.parser import text_string_to_metric_families
from running import server
from worlds import note

from search.settings import Settings
from search.storage import State, StateRecord
from web import create_app
from web.inference.meter import ModelMeter
from web.inference.models import RunOptions, artifacts, load
from web.inference.server import Limits, make_inference_app
from workers.delivery import Delivery
from workers.messages import QueueTarget
from workers.queueing.worker import IndexWorker

ROOT = Path(__file__).parents[2]
SCRAPED = {"job", "instance"}
"""Labels that Prometheus adds to whatever it reads."""

Labels = dict[str, set[str]]
"""Name of a sample -> the names of its labels."""


@cache
def dashboard() -> dict[str, Any]:
    return json.loads((ROOT / "deploy/grafana/medley.json").read_text(encoding="utf-8"))


def panels() -> list[dict[str, Any]]:
    return [item for item in dashboard()["panels"] if item["type"] != "row"]


def expressions() -> list[str]:
    return [target["expr"] for item in panels() for target in item["targets"]]


def parsed(expression: str) -> Any:
    """A query as Prometheus gets it: Grafana replaces its variables before."""
    written = expression.replace("$__rate_interval", "5m")
    return promql_parser.parse(re.sub(r"\$(\w+)", ".+", written))


def parts(expression: Any) -> Iterator[Any]:
    """An expression with all that it consists of."""
    yield expression
    for name in ("expr", "lhs", "rhs", "param", "vector_selector"):
        if (below := getattr(expression, name, None)) is not None:
            yield from parts(below)
    for argument in getattr(expression, "args", None) or ():
        yield from parts(argument)


def samples(page: str) -> Labels:
    found: Labels = defaultdict(set)
    for family in text_string_to_metric_families(page):
        for sample in family.samples:
            found[sample.name] |= sample.labels.keys()
    return found


def gateway_page(home: Path, url: str) -> str:
    """The metrics of a gateway that searched, with a queue, a worker that indexed, and a document that failed."""
    app = create_app(replace(settings_of(home), redis=url))
    portal, client = app.extensions["medley"], app.test_client()
    assert client.get("/v1/search?collection=notes&text=pneumonia").status_code == 200
    store = portal.medley.collections.store("notes")
    Delivery(store, "notes", portal.queue).accept([note("n1"), note("n2")])
    IndexWorker(portal.medley, portal.queue).index(QueueTarget("notes"), ["n1", "n2"], "task")
    store.settle(portal.medley.engine.published("notes"), [StateRecord("n1", 1, State.FAILED, cause="damaged")])
    page = client.get("/metrics").text
    portal.queue.close()
    return page


def model_server_page(home: Path) -> str:
    settings, meter, limits = Settings(home=home), ModelMeter(), Limits(requests=8, waiting=64)
    models = load(artifacts(["hashing-256"], settings), settings, RunOptions(limits.waiting, True, meter.count_run))
    client = make_inference_app(models, home, limits, meter).test_client()
    assert client.post("/embed", json={"inputs": ["fever"]}).status_code == 200
    return client.get("/metrics").text


@pytest.fixture
def pages(tmp_path, redis):
    """The samples of the gateway's page, in which workers are, and of the model server's."""
    home = fill(tmp_path / "home")
    return {
        "gateway": samples(gateway_page(home, redis.url)),
        "inference": samples(model_server_page(tmp_path / "models")),
    }


def test_every_query_asks_for_metrics_and_labels_that_a_page_has(pages):
    for expression in expressions():
        every = list(parts(parsed(expression)))
        selectors = [item for item in every if isinstance(item, promql_parser.VectorSelector)]
        assert selectors, expression
        (page,) = {name for name in pages if f'job=~"${name}"' in expression}
        for selector in selectors:
            assert selector.name in pages[page], f"{expression}: {selector.name} is on no page of the {page}"
            known = pages[page][selector.name] | SCRAPED
            asked = {matcher.name for matcher in selector.matchers.matchers}
            grouped = {
                label
                for item in every
                if isinstance(item, promql_parser.AggregateExpr) and item.modifier
                for label in item.modifier.labels
            }
            assert asked | grouped <= known, expression


def test_the_dashboard_shows_what_an_operator_asks_for():
    shown = {selector.name for expression in expressions() for selector in parts(parsed(expression))
             if isinstance(selector, promql_parser.VectorSelector)}  # fmt: skip
    assert {
        "medley_search_seconds_count",
        "medley_search_seconds_bucket",
        "medley_searches_degraded_total",
        "medley_searches_partial_total",
        "medley_queue_documents",
        "medley_documents",
        "medley_worker_documents_total",
        "medley_inference_waiting",
        "medley_requests_total",
    } <= shown


def test_a_broken_query_would_be_noticed():
    with pytest.raises(ValueError, match=r"parenthesis|unexpected"):
        parsed("sum(rate(medley_requests_total[$__rate_interval])")


def test_panels_have_ids_and_places_of_their_own_and_say_what_they_show():
    every = dashboard()["panels"]
    assert len({item["id"] for item in every}) == len(every)
    taken: set[tuple[int, int]] = set()
    for item in every:
        at = item["gridPos"]
        assert at["x"] + at["w"] <= 24
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & taken, item["title"]
        taken |= cells
    assert len({item["title"] for item in panels()}) > len(panels()) - 2  # both servers have a "Time of a request"
    assert all(item["description"].endswith(".") for item in panels())
    for item in panels():
        references = [target["refId"] for target in item["targets"]]
        assert len(set(references)) == len(references)


def test_the_data_source_is_a_variable_and_every_variable_is_used():
    variables = {item["name"]: item for item in dashboard()["templating"]["list"]}
    assert variables["datasource"]["type"] == "datasource"
    sources = [item["datasource"] for item in panels()]
    sources += [target["datasource"] for item in panels() for target in item["targets"]]
    sources += [item["datasource"] for name, item in variables.items() if name != "datasource"]
    assert {item["uid"] for item in sources} == {"${datasource}"}
    used = {name for expression in expressions() for name in re.findall(r"\$(\w+)", expression)}
    assert used == variables.keys() - {"datasource"} | {"__rate_interval"}
    assert "__inputs" not in dashboard()  # it is provisioned as it is, without questions


def test_variables_ask_for_labels_that_exist(pages):
    queries = [item["query"]["query"] for item in dashboard()["templating"]["list"] if item["type"] == "query"]
    every = pages["gateway"] | pages["inference"]
    for query in queries:
        name, label = re.fullmatch(r"label_values\((\w+), (\w+)\)", query).groups()
        assert label in every[name] | SCRAPED


@pytest.mark.slow
def test_a_gateway_of_several_processes_shows_their_sum(tmp_path):
    home = fill(tmp_path / "home")
    variables = {
        "MEDLEY_HOME": str(home),
        "MEDLEY_ENCODER": "hashing-256",
        "MEDLEY_RERANKER": "none",
        "TMPDIR": str(tmp_path),
    }
    # A process of its own: the library of the metrics looks only when it is imported.
    with server("serve", "--workers", "2", command=(sys.executable, "-m", "web.cli"), **variables) as address:
        for _ in range(20):
            with urllib3.PoolManager() as pool:  # a connection of its own, which any of the processes accepts
                answer = pool.request("GET", f"{address}/v1/search?collection=notes&text=pneumonia")
                assert answer.status == 200
        (folder,) = tmp_path.glob("medley-metrics-*")
        for _ in range(5):
            with urllib3.PoolManager() as pool:
                page = pool.request("GET", f"{address}/metrics").data.decode()
            assert 'medley_search_seconds_count{collection="notes"} 20.0' in page
            assert 'medley_searches_degraded_total{collection="notes"} 0.0' in page
            assert 'medley_documents{collection="notes",state="indexed"} 3.0' in page
    assert not folder.exists()
