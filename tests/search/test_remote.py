"""The clients of model servers against a real HTTP server that behaves well, badly, or as text-embeddings-inference."""

import hashlib
import time
from dataclasses import replace

import numpy as np
import pytest
from model_server import DIMENSION, TEI_EMBED, TEI_RERANK, ModelServer, axis, offered, ours, score

from mappings.analysis.window_text import place_passage, read_window
from mappings.documents import Access
from mappings.errors import InvalidInput, ModelError, Unavailable
from search.bootstrap import Medley
from search.models import calls, connection
from search.models.connection import Breaker
from search.models.remote import RemoteEncoder, RemoteReranker
from search.models.servers import Servers
from search.protocols import Encoder, Reranker
from search.query import Query
from search.ranking.anytime import AnytimeReranker, Pace, ScoreCache
from search.settings import Settings
from search.startup import warm_up
from search.timed_models import TimedOut, TimedReranker

BI, CROSS = offered("bi"), offered("cross", "cross-encoder")
EVERYTHING = Access("test", frozenset({"*"}))
TEXTS = ["a", "bb", "", "dddd", "ee", "ff \ud800", "g"]


@pytest.fixture
def serve():
    """Starts servers: `serve(info, made_by)`."""
    started = []

    def make(info, made_by=None):
        started.append(ModelServer(info, made_by))
        return started[-1]

    yield make
    for server in started:
        server.stop()


@pytest.fixture
def bi(serve):
    return serve(ours(BI), BI["fingerprint"])


@pytest.fixture
def cross(serve):
    return serve(ours(CROSS), CROSS["fingerprint"])


def encoder(*servers, fingerprint=BI["fingerprint"], token=""):
    return RemoteEncoder(Servers([server.address for server in servers], token), fingerprint)


def reranker(*servers, name="cross"):
    return RemoteReranker(Servers([server.address for server in servers]), name)


def test_vectors_come_in_input_order_in_requests_of_the_servers_size(bi):
    client = encoder(bi)
    assert isinstance(client, Encoder)
    vectors = client.encode_passages(TEXTS)
    assert vectors.dtype == np.float32
    assert vectors.tolist() == [axis(text) for text in TEXTS]
    assert [len(body["inputs"]) for path, body, _ in bi.asked if path == "/embed"] == [3, 3, 1]
    assert {body["prompt_name"] for path, body, _ in bi.asked if path == "/embed"} == {"passage"}
    assert client.encode_queries(["x"]).tolist() == [axis("x")]
    assert bi.asked[-1][1]["prompt_name"] == "query"
    assert (client.dimension, client.form) == (DIMENSION, "fp32")
    assert client.encode_passages([]).shape == (0, DIMENSION)


def test_long_texts_are_cut_and_large_requests_split_by_their_size(bi, monkeypatch):
    encoder(bi).encode_passages(["x" * 5_000_000])
    assert len(bi.asked[-1][1]["inputs"][0]) == 16 * 100
    monkeypatch.setattr(calls, "REQUEST_CHARACTERS", 2_000)
    encoder(bi).encode_passages(["x" * 1_500, "y" * 1_500])
    assert [len(body["inputs"]) for path, body, _ in bi.asked[-2:]] == [1, 1]


def test_a_model_that_reads_surroundings_says_so_and_its_texts_keep_the_nearest(serve):
    info = BI | {"windows": "surroundings"}
    server = serve(ours(info), BI["fingerprint"])
    client = encoder(server)
    assert client.reads_surroundings
    before, after = f"{'far ' * 1_000}near", f"near{' far' * 1_000}"
    client.encode_passages([place_passage(before, "passage", after), place_passage("", "alone", "")])
    found, alone_ = server.asked[-1][1]["inputs"]
    parts = read_window(found)
    assert parts.window == "passage"
    assert (len(parts.before), len(parts.after)) == (1_600, 1_600)
    assert parts.before.endswith(" near ")
    assert parts.after.startswith(" near")
    assert alone_ == "alone"
    assert not encoder(serve(ours(BI), BI["fingerprint"])).reads_surroundings  # a server of an earlier version


def test_long_passages_have_more_time(serve, monkeypatch):
    allowed = []
    for tokens in (16, 512, 4_096, 10_000_000):
        server = serve(ours(BI | {"max_input_length": tokens}), BI["fingerprint"])
        client = encoder(server)
        monkeypatch.setattr(client, "_encode", lambda texts, prompt, seconds: allowed.append(seconds))
        client.encode_passages(["a"])
    assert allowed == [120, 120, 960, 960]


def test_scores_come_in_input_order(cross):
    client = reranker(cross)
    assert isinstance(client, Reranker)
    assert isinstance(client, TimedReranker)
    assert client.score("q", TEXTS).tolist() == [score(text) for text in TEXTS]
    assert all(body["raw_scores"] for path, body, _ in cross.asked if path == "/rerank")
    assert client.score("q", []).shape == (0,)
    assert client.fingerprint == CROSS["fingerprint"]


def test_a_connection_is_kept_and_the_token_and_the_deadline_go_along(bi):
    client = encoder(bi, token="secret")
    for _ in range(3):
        client.encode_queries(["a"])
    headers = bi.asked[-1][2]
    assert headers["Authorization"] == "Bearer secret"
    assert headers["X-Medley-Model"] == BI["fingerprint"]
    assert 1_000 < int(headers["X-Medley-Deadline-Ms"]) <= 2_000


def test_text_embeddings_inference_serves_an_encoder(serve):
    server = serve(TEI_EMBED)
    mark = hashlib.sha256(f"{TEI_EMBED['model_id']} {TEI_EMBED['model_sha']}".encode()).hexdigest()
    client = encoder(server, fingerprint=mark)
    assert client.dimension == DIMENSION
    assert client.encode_passages(["aa", ""]).tolist() == [axis("aa"), axis(" ")]
    assert "prompt_name" not in next(body for path, body, _ in server.asked if path == "/embed")
    assert Servers([server.address]).fingerprint("bi-encoder", TEI_EMBED["model_id"]) == mark
    server.info = TEI_EMBED | {"model_sha": "other"}
    with pytest.raises(ModelError, match="responded with another mod"):
        client.encode_queries(["a"])


def test_text_embeddings_inference_serves_a_reranker(serve):
    server = serve(TEI_RERANK)
    assert reranker(server, name="BAAI/bge-reranker-base").score("q", TEXTS[:4]).tolist() == [-2.5, -1.5, -2.5, 0.5]


def test_another_model_behind_the_address_is_refused(bi):
    client = encoder(bi)
    client.encode_queries(["a"])
    bi.made_by = "f" * 64
    with pytest.raises(ModelError, match="responded with ffffffffffff, not with bi"):
        client.encode_queries(["a"])
    bi.made_by = None
    with pytest.raises(ModelError, match="responded with no fingerpr"):
        client.encode_queries(["a"])


def test_a_model_that_no_server_has_is_named(bi, cross):
    servers = Servers([bi.address, cross.address])
    with pytest.raises(ModelError, match="no model server has the bi-encoder 'third'; they have bi, cross"):
        servers.fingerprint("bi-encoder", "third")
    assert not servers.may_have("0" * 64)


@pytest.mark.parametrize(
    "value",
    [
        b"<html>", b"", {}, None, [[1, 0, 0, 0]] * 2, [[1, 0, 0]], [["a"] * 4], [[None] * 4], [[2, 0, 0, 0]], [[0] * 4],
        [[1, 0, 0, 0], [1]], [1, 0, 0, 0], [[1e39, 0, 0, 0]], [[10**400, 0, 0, 0]],
    ],
)  # fmt: skip
def test_invalid_vectors_are_refused(bi, value):
    bi.before = lambda path, body: None if path == "/info" else (200, value, {"X-Medley-Fingerprint": bi.made_by})
    with pytest.raises(ModelError, match=f"{bi.address} sent an invalid response"):
        encoder(bi).encode_queries(["a"])


@pytest.mark.parametrize(
    "value",
    [
        b"NaN", {}, None, [], [{"index": 0, "score": None}], [{"index": 0}], [{"index": 7, "score": 1}],
        [{"index": "0", "score": 1}], [{"index": 0, "score": 1e39}], [{"index": 0, "score": 1}] * 2, [0.5], 3,
    ],
)  # fmt: skip
def test_invalid_scores_are_refused(cross, value):
    cross.before = lambda path, body: None if path == "/info" else (200, value, {"X-Medley-Fingerprint": cross.made_by})
    with pytest.raises(ModelError, match=f"{cross.address} sent an invalid response"):
        reranker(cross).score("q", ["a"])


@pytest.mark.parametrize("info", [b"<html>", {}, [], ours({"name": "bi"}), TEI_EMBED | {"model_type": None}])
def test_an_invalid_info_is_refused(serve, info):
    with pytest.raises(Unavailable, match="sent an invalid response"):
        encoder(serve(info)).encode_queries(["a"])


def test_a_request_to_a_busy_server_is_retried_while_time_remains(bi):
    refusals = iter([429, 503])

    def busy(path, body):
        status = next(refusals, None) if path == "/embed" else None
        return status and (status, {"error": "full", "error_type": "Overloaded"}, {"Retry-After": "0"})

    bi.before = busy
    assert encoder(bi).encode_queries(["a"]).tolist() == [axis("a")]
    assert bi.paths() == ["/embed"] * 3


def test_a_server_that_stays_busy_is_given_up_in_time(cross):
    cross.before = lambda path, body: None if path == "/info" else (429, {"error": "full"}, {"Retry-After": "30"})
    started = time.monotonic()
    with pytest.raises(TimedOut, match=r"is busy \(429: full\)"):
        reranker(cross).score_within("q", ["a"], 5)
    assert time.monotonic() - started < 1
    assert cross.paths() == ["/rerank"]


def test_a_refusal_is_not_repeated(bi):
    bi.before = lambda path, body: (
        None if path == "/info" else (413, {"error": "too many", "error_type": "Validation"}, {})
    )
    with pytest.raises(ModelError, match=r"rejected the request \(413: too many\)"):
        encoder(bi).encode_queries(["a"])
    bi.before = lambda path, body: None if path == "/info" else (401, {"error": "who are you"}, {})
    with pytest.raises(Unavailable, match="rejects the token in MEDLEY_INFERENCE_TOKEN_FILE"):
        encoder(bi).encode_queries(["a"])
    assert bi.paths() == ["/embed"] * 2


def test_a_slow_server_is_given_up_at_the_deadline(cross):
    client = reranker(cross)
    client.score("q", ["a"])
    cross.delay = 1.0
    started = time.monotonic()
    with pytest.raises(TimedOut, match=r"did not respond within 0\.2 s"):
        client.score_within("q", ["a"], 0.2)
    assert time.monotonic() - started < 0.8


def test_an_endless_response_is_given_up(bi, monkeypatch):
    monkeypatch.setattr(connection, "MAX_REPLY_BYTES", 100_000)
    bi.before = lambda path, body: None if path == "/info" else (200, b" " * 300_000, {})
    with pytest.raises(Unavailable, match="its response is longer than 100,000 bytes"):
        encoder(bi).encode_queries(["a"])


def test_a_server_that_is_down_fails_immediately_after_a_while_and_recovers(bi):
    client = encoder(bi)
    client.encode_queries(["a"])
    server = client._servers.servers[0]
    server.connection.breaker = Breaker(rest=0.3)
    bi.stop()
    with pytest.raises(Unavailable, match="can't be reached"):
        client.encode_queries(["a"])
    for _ in range(6):
        with pytest.raises(Unavailable):
            client.encode_queries(["a"])
    with pytest.raises(Unavailable, match="is not contacted for another"):
        client.encode_queries(["a"])
    bi.restart()
    time.sleep(0.35)
    assert client.encode_queries(["a"]).tolist() == [axis("a")]


def test_the_breaker_lets_one_probe_through():
    breaker = Breaker(failures=2, rest=0.05)
    breaker.fail("it fell")
    breaker.check("there")
    breaker.fail("it fell")
    with pytest.raises(Unavailable, match=r"there is not contacted for another .* because it fell"):
        breaker.check("there")
    time.sleep(0.06)
    breaker.check("there")
    with pytest.raises(Unavailable):
        breaker.check("there")
    breaker.succeed()
    breaker.check("there")


@pytest.mark.parametrize(("status", "said"), [(429, "is busy"), (401, "rejects the token"), (400, "rejected")])
def test_a_server_that_refuses_is_not_down(bi, status, said):
    client = encoder(bi)
    client.encode_queries(["a"])
    breaker = client._servers.servers[0].connection.breaker = Breaker(failures=1, rest=0.2)
    breaker.fail("it fell")
    time.sleep(0.25)
    bi.before = lambda path, body: None if path == "/info" else (status, {"error": "no"}, {})
    with pytest.raises((Unavailable, ModelError), match=said):  # the probe
        client.encode_queries(["b"])
    breaker.check("there")
    bi.before = lambda path, body: None
    assert client.encode_queries(["b"]).tolist() == [axis("b")]


def test_the_other_server_answers_where_one_is_down(serve):
    one, other = (serve(ours(BI), BI["fingerprint"]) for _ in range(2))
    client = encoder(one, other)
    for _ in range(4):
        client.encode_queries(["a"])
    assert len(one.paths()) == len(other.paths()) == 2
    one.before = lambda path, body: None if path == "/info" else (500, {"error": "broken"}, {})
    assert all(client.encode_queries(["a"]).tolist() == [axis("a")] for _ in range(4))


def test_an_invalid_address_is_named():
    with pytest.raises(InvalidInput, match="MEDLEY_INFERENCE takes addresses such as http://host:8081, not 'host:1'"):
        Servers(["host:1"])


def test_reranking_keeps_what_it_has_when_the_server_turns_slow(cross):
    anytime = AnytimeReranker(reranker(cross), ScoreCache(), Pace(1e-6))
    anytime.score("q", ["warm"], None)
    calls = iter(range(100))

    def stall(path, body):
        if path == "/rerank" and next(calls) > 2:
            time.sleep(2)

    cross.before = stall
    started = time.perf_counter()
    scores = anytime.score("q", [f"text {number}" for number in range(40)], started + 0.5)
    assert time.perf_counter() - started < 1
    reached = [found is not None for found in scores]
    assert reached == sorted(reached, reverse=True)
    assert 0 < sum(reached) < 40


def settings(home, **changes):
    return replace(Settings(home=home, encoder="bi", reranker="cross"), **changes)


def ask(medley, text="aspirin"):
    return medley.search(Query(text=text, collection="abstracts", access=EVERYTHING))


def test_indexing_and_search_with_models_on_servers(tmp_path, bi, cross, index_abstracts):
    medley = Medley.open(settings(tmp_path, inference=f"{bi.address}, {cross.address}/"))
    index_abstracts(medley)
    results = ask(medley)
    assert results.degraded == ()
    assert results.reranked.scored == results.reranked.candidates > 0
    stored = list((tmp_path / "vectors").glob(f"{BI['fingerprint'][:16]}-fp32.sqlite"))
    assert len(stored) == 1
    asked = len(bi.paths())
    for _ in range(3):
        medley.models.encoder("bi").encode_passages(["the same passage"])
    assert len(bi.paths()) == asked + 1


def test_servers_that_are_down_are_named_in_the_answer_and_used_when_back(tmp_path, bi, cross, index_abstracts):
    both = settings(tmp_path, inference=f"{bi.address},{cross.address}")
    index_abstracts(Medley.open(both))
    bi.stop()
    cross.stop()
    medley = Medley.open(both)
    warm_up(medley)
    results = ask(medley)
    assert results.hits
    assert [line.split(" (")[0] for line in results.degraded] == [
        "the encoder for 'dense' failed",
        "the reranker failed",
    ]
    assert bi.address in results.degraded[0]
    bi.restart()
    cross.restart()
    for server in medley.models.servers.servers:
        server.connection.breaker.succeed()
    assert ask(medley, "aspirin again").degraded == ()


def test_a_token_file_that_is_missing_stops_the_start(tmp_path):
    with pytest.raises(InvalidInput, match="MEDLEY_INFERENCE_TOKEN_FILE"):
        Medley.open(settings(tmp_path, inference="http://127.0.0.1:1", inference_token_file=tmp_path / "none"))
