"""Adding documents over HTTP: every record has its outcome, and what an outcome says is in the store."""

import gzip
from datetime import UTC, datetime, timedelta

import pytest
from posting import ADDRESS, NDJSON, error, good, lines, outcomes, post, refused, told, total

from web.api import record_stream


def test_every_record_has_its_outcome_in_order(client, store):
    sent = [
        good("a/1") | {"source_version": 5},
        good("a/1", "Fever rose.") | {"source_version": 6},
        good("a/1", "Fever rose.") | {"source_version": 6},
        good("a/1") | {"source_version": 5},
        {"id": "pm/1", "deleted": True},
        {"id": "no/1", "deleted": True},
        {"id": "x", "year": "soon", "text": "a"},
    ]
    records, whole = outcomes(post(client, sent))
    assert records == [
        told(1, "a/1", "accepted", 1),
        told(2, "a/1", "accepted", 2),
        told(3, "a/1", "unchanged", 2),
        told(4, "a/1", "stale", 2),
        told(5, "pm/1", "deleted", 2),
        told(6, "no/1", "unknown", None),
        refused(7, "x", "year must be a number, not a string", "year"),
    ]
    assert whole == total(accepted=2, unchanged=1, stale=1, deleted=1, unknown=1, rejected=1)
    kept = store.latest(["a/1", "pm/1", "x"])
    assert kept["a/1"].document.sections[0].text == "Fever rose."
    assert kept["pm/1"].document is None
    assert "x" not in kept


def test_the_same_again_changes_nothing(client):
    sent = [good("a"), good("b")]
    outcomes(post(client, sent))
    records, whole = outcomes(post(client, sent))
    assert records == [told(1, "a", "unchanged", 1), told(2, "b", "unchanged", 1)]
    assert whole == total(unchanged=2)


def test_an_empty_body_adds_nothing(client):
    assert outcomes(post(client, b"")) == ([], total())
    assert outcomes(post(client, b"\n \r\n\n")) == ([], total())


def test_bad_lines_are_rejected_and_the_rest_goes_on(client, monkeypatch):
    monkeypatch.setattr(record_stream, "MAX_LINE_BYTES", 2_000)
    body = b"\xef\xbb\xbf" + lines(
        good("a"),
        b"{",
        b"[1]",
        b'{"id": "\xff"}',
        b"",
        {"id": "big", "text": "x" * 5_000},
        good("c\x01"),
        good("i" * 1_500),
        good("n\u0085m"),
        {"id": 7, "text": "A number.\x00"},
        {"text": "Nobody."},
        {"id": ["a"], "text": "A list."},
    )
    records, whole = outcomes(post(client, body + b'{"id": "cut", "te'))
    assert records == [
        told(1, "a", "accepted", 1),
        refused(2, None, "the line is not a JSON object (unexpected end of data: line 1 column 2 (char 1))"),
        refused(3, None, "the line is JSON, but not an object in { }"),
        refused(4, None, "the line is not valid UTF-8 (byte 9)"),
        refused(6, None, "the line has 5,025 bytes; at most 2,000 are accepted"),
        refused(7, "c\x01", "a document id must have printable characters only", "id"),
        refused(8, "i" * 512, "the document id has 1,500 bytes; at most 512 are accepted", "id"),
        refused(9, "n\u0085m", "a document id must have printable characters only", "id"),
        told(10, "7", "accepted", 1),
        refused(11, None, "id must be a string or a whole number; it is missing", "id"),
        refused(12, None, "id must be a string or a whole number; not a list", "id"),
        refused(13, "", "", None) | records[-1],
    ]
    assert records[-1]["error"]["message"].startswith("the line is not a JSON object (")
    assert whole == total(accepted=2, rejected=10)


def test_an_id_of_ten_thousand_bytes_is_rejected(client):
    records, _ = outcomes(post(client, [good("i" * 10_000), good("a//b/../c?d=e#f")]))
    message = "the document id has 10,000 bytes; at most 512 are accepted"
    assert records == [refused(1, "i" * 512, message, "id"), told(2, "a//b/../c?d=e#f", "accepted", 1)]


def test_dates_in_the_future_are_accepted_except_as_source_versions(client):
    ahead = (datetime.now(UTC) + timedelta(days=400)).isoformat()
    sent = [
        good("a") | {"published": ahead[:10]},
        good("b") | {"source_version": ahead},
        good("c") | {"published": "2300-01-01"},
    ]
    records, _ = outcomes(post(client, sent))
    message = f"source_version: {ahead[:40]} is in the future; no later copy could replace this one"
    bounds = "published: 2300-01-01 is out of range; dates run from 1677-09-22 to 2262-04-11"
    assert records == [
        told(1, "a", "accepted", 1),
        refused(2, "b", message, "source_version"),
        refused(3, "c", bounds, "published"),
    ]


@pytest.mark.parametrize("headers", [{"Content-Encoding": "gzip"}, {}])
def test_undeclared_gzip_is_decompressed(client, headers):
    two_parts = gzip.compress(lines(good("a"))) + gzip.compress(lines(good("b")))
    records, _ = outcomes(post(client, two_parts, **headers))
    assert records == [told(1, "a", "accepted", 1), told(2, "b", "accepted", 1)]


def test_a_gzip_bomb_is_one_rejected_line(client):
    bomb = gzip.compress(b"x" * 50_000_000 + b"\n" + lines(good("a")))
    records, whole = outcomes(post(client, bomb))
    assert records == [
        refused(1, None, "the line has 50,000,000 bytes; at most 16,777,216 are accepted"),
        told(2, "a", "accepted", 1),
    ]
    assert whole == total(accepted=1, rejected=1)


def broken(answer, client):
    """The job of a request that broke off, from its answer."""
    assert (answer.status_code, answer.json["error"]["code"]) == (400, "broken_off")
    name = answer.json["error"]["message"].rpartition(" ")[2]
    return client.get(f"/v1/jobs/{name}").json


@pytest.mark.parametrize(
    ("spoil", "words", "taken"),
    [
        (lambda body: body[:-9], "the gzip ends early", 2),
        (lambda body: body[:-8] + b"\0" * 8, "the gzip is damaged", 0),
        (lambda body: body + b"no gzip", "the gzip is damaged", 2),
    ],
)
def test_a_damaged_gzip_keeps_the_records_before_the_damage(client, store, spoil, words, taken):
    answer = post(client, spoil(gzip.compress(lines(good("a"), good("b")))))
    assert words in answer.json["error"]["message"]
    job = broken(answer, client)
    assert (job["accepted"], job["broken"]) == (taken, True)
    assert len(store.latest(["a", "b"])) == taken


def test_a_body_wrongly_declared_as_gzip_is_refused(client):
    answer = post(client, lines(good("a")), **{"Content-Encoding": "gzip"})
    assert "the gzip is damaged" in answer.json["error"]["message"]
    assert broken(answer, client)["accepted"] == 0


@pytest.mark.parametrize(("environ", "words"), [({}, "bytes"), ({"wsgi.input_terminated": True}, "of 105 bytes")])
def test_a_body_that_is_cut_keeps_its_complete_lines(client, store, environ, words):
    body = lines(good("a"), good("b"), good("c"))
    cut = body[:-4]
    length = {"CONTENT_LENGTH": str(len(body))}
    answer = client.post(ADDRESS, data=cut, content_type=NDJSON, environ_overrides=length | environ)
    assert answer.json["error"]["message"].startswith(
        f"the request broke off after {len(cut)} {words}; the records accepted"
    )
    job = broken(answer, client)
    assert (job["accepted"], job["broken"], job["state"]) == (2, True, "waiting")
    assert set(store.latest(["a", "b", "c"])) == {"a", "b"}
    records, _ = outcomes(post(client, body))
    assert records[-1] == told(3, "c", "accepted", 1)


@pytest.mark.parametrize(
    ("kind", "headers", "field"),
    [
        ("application/json", {}, "Content-Type"),
        ("text/plain", {}, "Content-Type"),
        ("multipart/form-data; boundary=x", {}, "Content-Type"),
        ("", {}, "Content-Type"),
        (NDJSON, {"Content-Encoding": "zstd"}, "Content-Encoding"),
    ],
)
def test_another_media_type_is_refused_with_the_right_one(client, store, kind, headers, field):
    answer = post(client, [good("a")], kind=kind, **headers)
    assert error(answer) == (415, "unsupported_media_type", field)
    assert ("application/x-ndjson" if field == "Content-Type" else "gzip") in answer.json["error"]["message"]
    assert store.latest(["a"]) == {}


def test_the_other_media_type_is_accepted_with_a_charset(client):
    records, _ = outcomes(post(client, [good("a")], kind="application/jsonl; charset=utf-8"))
    assert records == [told(1, "a", "accepted", 1)]


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("/v1/documents", (400, "invalid_input", "collection")),
        ("/v1/documents?collection=", (400, "invalid_input", "collection")),
        ("/v1/documents?collection=nothing", (404, "not_found", "collection")),
        ("/v1/documents?collection=a&collection=b", (400, "invalid_input", "collection")),
        ("/v1/documents?collection=abstracts&kind=notes", (400, "invalid_input", "kind")),
    ],
)
def test_the_collection_must_be_there(client, address, expected):
    assert error(post(client, [good("a")], address)) == expected


def test_other_addresses_keep_their_size_limit(client):
    assert post(client, b"x" * 2_100_000, "/v1/search", "application/json").status_code == 413
    body = lines(*(good(f"d{number}", "word " * 2_000) for number in range(300)))
    assert len(body) > 2_900_000
    _, whole = outcomes(post(client, body))
    assert whole == total(accepted=300)
