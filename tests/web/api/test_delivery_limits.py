"""Deliveries that would cost the gateway far more than their sender: bombs, endless answers, clients that have gone."""

import gzip
import json
import socket
import time
from dataclasses import replace

import pytest
from portal_home import settings_of
from posting import error, good, lines, outcomes, post, refused, told, total

from mappings.collection import load
from mappings.formats.files import numbered_lines
from search.settings import read
from web import create_app
from web.api import delivery_limits, record_batches, record_stream
from web.api.delivery_limits import DeliveryLimits, DeliveryTooLarge
from web.serving import request_watch
from web.serving.request_watch import BrokenOff, RequestWatch
from web.serving.shutdown import SHUTDOWN

ABSTRACTS = load("abstracts")


@pytest.fixture
def limited(home):
    """A client of a portal with these settings."""
    return lambda **settings: create_app(replace(settings_of(home), **settings)).test_client()


def job_of(client, answer):
    """The job that an error names."""
    return client.get(f"/v1/jobs/{answer.json['error']['message'].rpartition(' ')[2]}").json


# Limits of a request


def test_millions_of_empty_lines_are_refused_at_once(client):
    bomb = gzip.compress(b"\n" * 20_000_000)
    assert len(bomb) < 20_000
    before = time.monotonic()
    answer = post(client, bomb)
    assert error(answer) == (413, "too_large", None)
    assert "more than 1,000,000 lines" in answer.json["error"]["message"]
    assert time.monotonic() - before < 3


def test_empty_lines_within_the_limit_cost_next_to_nothing():
    before = time.monotonic()
    pieces = (b"\n" * 65_536 for _ in range(50))
    assert list(numbered_lines("", pieces, 100, skip_blank=True)) == []
    assert (time.monotonic() - before) / (50 * 65_536) < 1e-6


@pytest.mark.parametrize("separator", [b"\n", b"\r\n", b"\n\n \t\n\r\n"])
def test_lines_after_empty_ones_keep_their_numbers(separator):
    body = separator + b'{"id": "a", "deleted": true}' + separator + b"{" + separator + b" \n"
    step = separator.count(b"\n")
    for size in (1, 2, 3, 100):
        pieces = (body[start : start + size] for start in range(0, len(body), size))
        assert [item.line for item in record_stream.records(pieces, ABSTRACTS)] == [step + 1, 2 * step + 1]


def test_records_before_the_limit_of_lines_stay(limited, logged):
    client = limited(delivery_lines=3)
    whole = lines(good("a"), b"", good("b"))
    records, _ = outcomes(post(client, whole))
    assert records == [told(1, "a", "accepted", 1), told(3, "b", "accepted", 1)]
    answer = post(client, lines(good("c"), good("d"), b"{") + lines(good("e")))
    assert error(answer) == (413, "too_large", None)
    assert answer.json["error"]["message"].startswith(
        "the request has more than 3 lines; the records accepted before stay and can be sent again: job abstracts."
    )
    job = job_of(client, answer)
    assert (job["accepted"], job["rejected"], job["broken"]) == (2, 1, True)
    assert (logged()[-1]["action"], logged()[-1]["status"]) == ("fed", 413)


def test_records_before_the_limit_of_bytes_stay(limited, store):
    client = limited(delivery_bytes=len(lines(good("a"), good("b"))))
    outcomes(post(client, lines(good("a"), good("b"))))
    answer = post(client, gzip.compress(lines(good("c"), good("d"), good("e"))))
    assert error(answer) == (413, "too_large", None)
    assert job_of(client, answer)["accepted"] == 2
    assert set(store.latest(["c", "d", "e"])) == {"c", "d"}


def test_a_limit_of_zero_is_no_limit(limited):
    client = limited(delivery_bytes=0, delivery_lines=0)
    assert outcomes(post(client, b"\n" * 1_500_000 + lines(good("a"))))[1] == total(accepted=1)


def test_a_gzip_of_more_than_its_ratio_is_refused(client, monkeypatch):
    monkeypatch.setattr(delivery_limits, "FREE_BYTES", 1_000_000)
    answer = post(client, gzip.compress(lines(good("a")) + b"x" * 5_000_000))
    assert error(answer) == (413, "too_large", None)
    assert "more than 200 times its own size" in answer.json["error"]["message"]
    assert job_of(client, answer)["accepted"] == 1


@pytest.mark.parametrize("value", ["-1", "2e9", "many"])
@pytest.mark.parametrize("name", ["MEDLEY_DELIVERY_BYTES", "MEDLEY_DELIVERY_LINES"])
def test_a_limit_that_is_not_a_number_is_refused_at_the_start(tmp_path, name, value):
    with pytest.raises(Exception, match=f"{name} is '{value}'; it must be a whole number"):
        read({name: value}, tmp_path)


def taken(limits, body, step):
    """What `limits` let through of a body in pieces of `step` bytes, and whether it exceeded them."""
    seen = b""
    try:
        for piece in limits.apply(body[start : start + step] for start in range(0, len(body), step)):
            seen += piece
    except DeliveryTooLarge:
        return seen, True
    return seen, False


@pytest.mark.parametrize("step", [1, 3, 1000])
def test_limits_cut_at_the_same_place_whatever_the_pieces(step):
    body = b"one\ntwo\n\nthree\nfour"
    assert taken(DeliveryLimits(0, 2), body, step) == (b"one\ntwo\n", True)
    assert taken(DeliveryLimits(0, 4), body, step) == (b"one\ntwo\n\nthree\n", True)
    assert taken(DeliveryLimits(0, 4), body[:-4], step) == (body[:-4], False)
    assert taken(DeliveryLimits(6, 0), body, step) == (b"one\ntw", True)
    assert taken(DeliveryLimits(len(body), 5), body, step) == (body, False)


# Bounded answers


@pytest.mark.slow
def test_bad_records_of_two_kilobytes_do_not_make_a_large_answer(client):
    bomb = gzip.compress(b"1\n" * 900_000)
    assert len(bomb) < 2_000
    answer = post(client, bomb)
    records, whole = outcomes(answer)
    assert len(answer.data) < 2_500_000
    assert [item["line"] for item in records] == list(range(1, 10_001))
    assert whole == total(rejected=900_000, omitted=(890_000, 890_000))


@pytest.mark.parametrize(
    ("record", "first", "rest"),
    [({"id": "pm/1", "deleted": True}, "deleted", "unknown"), (good("copy"), "accepted", "unchanged")],
)
def test_copies_of_one_record_are_stored_once_and_listed_in_part(client, monkeypatch, record, first, rest):
    monkeypatch.setattr(record_batches, "LISTED_OUTCOMES", 700)
    bomb = gzip.compress(lines(record) * 20_000)
    answer = post(client, bomb)
    records, whole = outcomes(answer)
    assert [item["status"] for item in records] == [first] + [rest] * 699
    assert {item["version"] for item in records} == {records[0]["version"]}
    assert whole == total(**{first: 1, rest: 19_999}, omitted=(19_300, 0))


def test_rejections_are_listed_after_the_successes_are_cut(client, monkeypatch):
    monkeypatch.setattr(record_batches, "LISTED_OUTCOMES", 1)
    monkeypatch.setattr(record_batches, "LISTED_REJECTIONS", 2)
    records, whole = outcomes(post(client, [good("a"), good("b"), b"{", good("c"), b"[", b"{"]))
    assert [(item["line"], item["status"]) for item in records] == [(1, "accepted"), (3, "rejected"), (5, "rejected")]
    assert whole == total(accepted=3, rejected=3, omitted=(3, 1))


def test_alternating_copies_of_one_id_keep_their_order_and_versions(client, store):
    one, other = good("a", "Fever fell."), good("a", "Fever rose.")
    gone = {"id": "a", "deleted": True}
    sent = [one, one, other, other, one, gone, gone, other | {"source_version": 2}, one | {"source_version": 1}]
    records, _ = outcomes(post(client, [*sent, one | {"source_version": 1}]))
    assert [(item["status"], item["version"]) for item in records] == [
        ("accepted", 1),
        ("unchanged", 1),
        ("accepted", 2),
        ("unchanged", 2),
        ("accepted", 3),
        ("deleted", 4),
        ("unknown", 4),
        ("accepted", 5),
        ("stale", 5),
        ("stale", 5),
    ]
    assert store.latest(["a"])["a"].document.sections[0].text == "Fever rose."


def test_a_reason_is_short_however_long_the_record_is(client, monkeypatch):
    monkeypatch.setattr(record_batches, "_REASON_CHARACTERS", 20)
    records, _ = outcomes(post(client, [good("a") | {"year": "soon"}]))
    assert records == [refused(1, "a", "year must be a numbe", "year")]


# Nobody waits


@pytest.fixture
def pair():
    ours, theirs = socket.socketpair()
    ours.settimeout(60)
    with ours, theirs:
        yield ours, theirs


def test_a_client_that_has_gone_is_noticed_whatever_is_unread(pair, monkeypatch):
    monkeypatch.setattr(request_watch, "CHECK_SECONDS", 0.0)
    ours, theirs = pair
    watch = RequestWatch(ours)
    watch.check()
    theirs.sendall(b"x")
    watch.check()
    theirs.close()
    with pytest.raises(BrokenOff, match="closed the connection"):
        watch.check()


def test_a_closed_socket_counts_as_gone_and_a_missing_one_does_not(pair, monkeypatch):
    monkeypatch.setattr(request_watch, "CHECK_SECONDS", 0.0)
    RequestWatch(None).check()
    watch = RequestWatch(pair[0])
    pair[0].close()
    with pytest.raises(BrokenOff):
        watch.check()


def test_the_connection_is_looked_at_only_once_a_second(pair):
    watch = RequestWatch(pair[0])
    pair[1].close()
    watch.check()


class Worker:
    """What gunicorn's worker tells about itself."""

    alive = True


def test_a_process_that_stops_ends_its_deliveries(client, monkeypatch, store):
    monkeypatch.setattr(request_watch, "CHECK_SECONDS", 0.0)
    worker = Worker()
    monkeypatch.setattr(SHUTDOWN, "_worker", None)
    SHUTDOWN.follow(worker)
    outcomes(post(client, gzip.compress(lines(good("a")))))
    worker.alive = False
    for body in (lines(good("b")), gzip.compress(lines(good("b")))):
        answer = post(client, body)
        assert error(answer) == (503, "unavailable", None)
        assert "shutting down" in answer.json["error"]["message"]
        assert job_of(client, answer)["broken"]
    assert json.loads(client.get("/healthz").data)
