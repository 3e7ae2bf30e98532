"""Spans as a collector receives them; and that nothing of them is there while they are off."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from itertools import pairwise
from pathlib import Path
from typing import get_args

import pytest
from collector import collecting

from mappings.documents import Access
from mappings.errors import InvalidInput
from search.engines.opensearch.client import _operation
from search.query import Query
from search.tracing import spans

ROOT = Path(__file__).parents[2]
ADA = Access("ada", frozenset({"public"}))


@pytest.fixture
def collector():
    with collecting() as made:
        spans.start(made.address, "medley-test")
        yield made
        spans.stop()


def parents(collector):
    """Name of each span -> the name of the one above it."""
    names = {item.id: item.name for item in collector.spans}
    return {item.name: names.get(item.parent, "") for item in collector.spans}


OFF = """
import sys
from pathlib import Path

importers = set()

class NotInstalled:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "opentelemetry":
            frame = sys._getframe(1)
            while frame.f_globals["__name__"].startswith("importlib"):
                frame = frame.f_back
            importers.add(frame.f_globals["__name__"].partition(".")[0])
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, NotInstalled())
from small_collections import abstract, fill
from search.bootstrap import Medley
from search.settings import Settings
from web import create_app
import web.inference.server, workers.queueing.process, workers.queueing.worker, search.engines.opensearch.engine
medley = Medley.open(Settings(home=Path(sys.argv[1]), encoder="hashing-256", reranker="none"))
fill(medley, "abstracts", [abstract("a1", "Aspirin", "Aspirin lowered mortality.", 2015)])
answer = create_app(medley).test_client().post("/v1/search", json={"collection": "abstracts", "text": "aspirin"})
assert answer.status_code == 200 and answer.get_json()["hits"], answer.text
loaded = [name for name in sys.modules if name.partition(".")[0] == "opentelemetry" or name == "search.tracing.otlp"]
print(loaded, importers - {"redis"})
"""


def test_without_the_setting_nothing_imports_opentelemetry(tmp_path):
    """Not a gateway that indexes and answers, nor what a worker and a model server import, and it need not be installed.

    Only the client of Redis looks by itself whether it is.
    """
    paths = os.pathsep.join(map(str, (ROOT, ROOT / "tests/search", ROOT / "tests/services")))
    command = [sys.executable, "-c", OFF, str(tmp_path / "home")]
    ran = subprocess.run(command, env=os.environ | {"PYTHONPATH": paths}, capture_output=True, text=True)
    assert ran.stdout.strip() == "[] set()", ran.stdout + ran.stderr


def test_while_they_are_off_every_span_is_the_same_nothing():
    assert not spans.is_on()
    with spans.span("one") as one, spans.span("two", kind="server") as two, spans.Steps("search") as steps:
        steps.end("understand")
        one.set({"medley.hits": 3})
        one.rename("three")
        one.fail("ValueError")
    assert one is two is spans.NO_SPAN
    assert spans.headers() == {}
    assert list(spans.each("read", [1, 2])) == [1, 2]
    spans.start("", "medley-test")
    assert not spans.is_on()
    spans.stop()


def test_a_search_is_a_span_with_its_steps_in_order_and_its_figures(collector, medley):
    query = Query("abstracts", ADA, "does aspirin lower mortality", size=2)
    results = medley.search(query)
    spans.stop()
    (whole,) = collector.named("search")
    assert whole.attributes == {
        "medley.collection": "abstracts",
        "medley.hits": len(results.hits),
        "medley.degraded": 0,
        "medley.partial": 0,
        "medley.candidates": 0,
        "medley.scored": 0,
    }
    steps = collector.below(whole)
    named = [item.name.removeprefix("search.") for item in steps]
    assert named[-1] == "rest"
    assert set(named[:-1]) == set(results.timings_ms) - {"total"}
    assert [item.start for item in steps] == sorted(item.start for item in steps)
    assert all(left.end <= right.start for left, right in pairwise(steps))
    assert whole.start <= steps[0].start <= steps[-1].end <= whole.end
    assert collector.paths == {"/v1/traces"}
    assert {item.service for item in collector.spans} == {"medley-test"}


def test_no_text_of_a_query_or_document_leaves_by_a_span(collector, medley):
    secret = "Mrs Nightingale of ward seven"
    medley.search(Query("abstracts", ADA, f"aspirin {secret}"))
    with pytest.raises(InvalidInput):
        medley.search(Query("abstracts", ADA, secret, cursor="Nightingale"))
    spans.stop()
    assert len(collector.named("search")) == 2
    every = b"".join(collector.bodies)
    for word in (b"Nightingale", b"ward seven", b"aspirin", b"Aspirin", b"ada"):
        assert word not in every
    known = set(get_args(spans.Attribute))
    assert {name for item in collector.spans for name in item.attributes} <= known


def test_an_error_is_told_by_its_type_alone(collector):
    def search():
        with spans.span("one"), spans.Steps("search") as steps:
            steps.end("understand")
            raise InvalidInput("'Mrs Nightingale' is no year", field="text")

    with pytest.raises(InvalidInput):
        search()
    spans.stop()
    (one,) = collector.named("one")
    assert (one.failed, one.message, one.events, one.attributes) == (True, "", 0, {"error.type": "InvalidInput"})
    assert [item.failed for item in collector.below(one)] == [False, True]
    assert b"Nightingale" not in b"".join(collector.bodies)


def test_a_span_is_current_until_it_is_left_also_by_an_error(collector):
    with spans.span("first"):
        with pytest.raises(ZeroDivisionError), spans.span("second"):
            _ = 1 / 0
        with spans.span("third"):
            pass
    with spans.span("apart"):
        pass
    spans.stop()
    assert parents(collector) == {"first": "", "second": "first", "third": "first", "apart": ""}
    assert len({item.trace for item in collector.spans}) == 2


def test_the_items_of_a_step_belong_to_whoever_began_it_and_their_readers_do_not_belong_to_them(collector):
    with spans.span("batch"):
        for number in spans.each("read", range(2)):
            with spans.span(f"use {number}"):
                pass
    spans.stop()
    assert parents(collector) == {"batch": "", "read": "batch", "use 0": "batch", "use 1": "batch"}
    assert len(collector.named("read")) == 3  # that of the end, too: it can take as long


def test_whoever_stops_reading_the_items_of_a_step_ends_what_makes_them():
    ended = []

    def made():
        try:
            yield from range(5)
        finally:
            ended.append(True)

    source = made()
    items = spans.each("read", source)
    assert next(items) == 0
    items.close()
    assert ended == [True]
    assert source.gi_frame is None


def test_a_thread_continues_the_trace_only_in_a_copied_context(collector):
    def work(name):
        with spans.span(name):
            pass

    with spans.span("batch"), ThreadPoolExecutor(1) as pool:
        pool.submit(copy_context().run, work, "carried").result()
        pool.submit(work, "alone").result()
    spans.stop()
    assert parents(collector) == {"batch": "", "carried": "batch", "alone": ""}


def test_a_call_to_another_server_is_recorded_only_below_another_span(collector):
    with spans.span("call", kind="client") as call:
        assert call is spans.NO_SPAN
        assert spans.headers() == {}
    with spans.span("request", kind="server"), spans.span("call", kind="client"):
        trace = spans.headers()["traceparent"].split("-")[1]
    spans.stop()
    assert parents(collector) == {"request": "", "call": "request"}
    assert {item.trace for item in collector.spans} == {trace}


@pytest.mark.parametrize("given", ["", "no trace", f"00-{'0' * 32}-{'0' * 16}-01", f"00-{'z' * 32}-{'1' * 16}-01"])
def test_a_broken_carrier_starts_a_trace_of_its_own(collector, given):
    with spans.span("request", kind="server", carrier={spans.TRACEPARENT: given}):
        pass
    spans.stop()
    (request,) = collector.spans
    assert request.parent == ""
    assert int(request.trace, 16)


def test_a_caller_that_does_not_sample_is_followed(collector):
    with spans.span("request", carrier={spans.TRACEPARENT: f"00-{'a' * 32}-{'b' * 16}-00"}):
        assert spans.headers()["traceparent"].endswith("-00")
    spans.stop()
    assert collector.spans == []


@pytest.mark.parametrize("address", ["collector:4318", "ftp://collector:4318", "http://", "4318"])
def test_what_is_no_address_is_refused_by_name(address):
    with pytest.raises(InvalidInput, match="MEDLEY_TRACES takes the address") as refused:
        spans.check_setting(address)
    assert refused.value.field == "MEDLEY_TRACES"


@pytest.mark.parametrize(
    ("address", "found"),
    [
        ("http://c:4318", "http://c:4318/v1/traces"),
        ("http://c:4318/", "http://c:4318/v1/traces"),
        ("https://c/otlp/v1/traces", "https://c/otlp/v1/traces"),
        ("", ""),
    ],
)
def test_the_path_of_the_collector_is_added_where_it_is_missing(address, found):
    assert spans.check_setting(address) == found


def test_without_the_extra_the_setting_says_what_to_install(monkeypatch):
    for name in [name for name in sys.modules if name.startswith(("opentelemetry.sdk", "search.tracing.otlp"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr("search.tracing.otlp", raising=False)
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk", None)  # as if it were not installed
    with pytest.raises(InvalidInput, match=r"pip install 'medley\[traces\]'"):
        spans.start("http://127.0.0.1:4318", "medley-test")
    assert not spans.is_on()


def test_a_collector_that_is_down_costs_nobody_time(medley):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # it is bound and does not listen: connections are refused
        spans.start(f"http://127.0.0.1:{taken.getsockname()[1]}", "medley-test")
        assert medley.search(Query("abstracts", ADA, "aspirin")).hits
        began = time.monotonic()
        spans.stop()
        assert time.monotonic() - began < 5


@pytest.mark.parametrize(
    ("path", "operation"),
    [
        ("/medley.notes.1/_search", "_search"),
        ("/_msearch", "_msearch"),
        ("/medley.notes.store/_doc/Nightingale%20_x", "_doc"),
        ("/medley.notes.1", "index"),
        ("/_alias/medley.notes", "_alias"),
    ],
)
def test_an_operation_names_neither_index_nor_document(path, operation):
    assert _operation(path) == operation
