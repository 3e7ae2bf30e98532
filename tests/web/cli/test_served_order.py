"""A gateway of two processes gives one search one order, whichever process answers and however busy it is."""

import json
import urllib.parse
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import pytest
from command_line import start, stop, wait_for_line
from opensearch_node import free_port
from portal_home import abstract, settings_of

from search.bootstrap import Medley
from web.cli.indexing import fill_quietly

WORDS = [
    "aspirin",
    "dose",
    "stroke",
    "heart",
    "adults",
    "bleeding",
    "risk",
    "trial",
    "placebo",
    "ward",
    "age",
    "sleep",
    "salt",
    "weight",
    "blood",
    "bone",
    "lung",
]
ASKED, AT_ONCE = 24, 4


def text(number):
    """A long text of its own, so that reading it takes time."""
    return " ".join(WORDS[(number * step + step * step) % len(WORDS)] for step in range(1, 180)) + "."


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    home = tmp_path_factory.mktemp("served") / "home"
    medley = Medley.open(settings_of(home))
    medley.collections.create("abstracts")
    documents = [
        abstract(f"d{number:02}", f"Trial {number}", "public", 2000, "Heart", text(number)) for number in range(60)
    ]
    medley.collections.store("abstracts").put(documents)
    fill_quietly(medley, "abstracts")
    return home


@pytest.fixture
def ask(home):
    port = free_port()
    process = start(
        home,
        "serve",
        "--port",
        str(port),
        "--workers",
        "2",
        MEDLEY_RERANKER="medley-crossencoder",
        MEDLEY_STANCE="none",
        MEDLEY_THREADS="1",
    )

    def answer(milliseconds):
        asked = {"collection": "abstracts", "text": "does aspirin prevent stroke", "deadline_ms": milliseconds}
        address = f"http://127.0.0.1:{port}/v1/search?{urllib.parse.urlencode(asked)}"
        with urllib.request.urlopen(address, timeout=60) as response:
            return json.load(response)

    try:
        wait_for_line(process, "ready")
        yield answer
    finally:
        stop(process)


@pytest.mark.slow
def test_both_processes_of_a_gateway_give_a_permalink_one_order(ask):
    for milliseconds in (300, 600, 1_000, 1_600, 2_500, 4_000):
        first = ask(milliseconds)
        if 4 < first["reranked"]["scored"] < 46:
            break
    else:
        pytest.skip("this machine reads everything at once, or nothing")
    with ThreadPoolExecutor(AT_ONCE) as pool:  # at once, so that both processes answer
        for again in pool.map(ask, [milliseconds] * ASKED):
            for name in ("hits", "partial", "reranked"):
                assert again[name] == first[name]
