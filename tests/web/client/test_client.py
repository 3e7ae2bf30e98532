"""The typed client against a real server, with tokens: answers, pages, errors, deliveries."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from portal_home import fill, serve

from mappings.errors import InvalidInput
from web.access import tokens
from web.client.client import MedleyClient
from web.client.errors import ApiError, ConnectionFailed


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fill(tmp_path_factory.mktemp("client"))


@pytest.fixture(scope="module")
def address(home: Path) -> Iterator[str]:
    tokens.add(home, "nobody", ["none"])  # guarded from the start
    yield from serve(home)


@pytest.fixture
def reader(home: Path, address: str) -> Iterator[MedleyClient]:
    with MedleyClient(address, tokens.add(home, "ada", ["public", "ward-7"])) as client:
        yield client


def test_a_search_is_typed_and_shows_what_its_token_may_see(reader: MedleyClient) -> None:
    answer = reader.search("statins", "abstracts", {"size": 10, "explain": True})
    assert {hit.document for hit in answer.hits if hit.lexical} == {"pm/1", "pm/4"}
    first = answer.hits[0]
    assert first.explain is not None
    assert first.explain.score == first.score
    assert "secret/1" not in {hit.document for hit in answer.hits}


def test_pages_go_on_until_there_are_no_more(reader: MedleyClient) -> None:
    pages = list(reader.pages("adults statins", "abstracts", {"size": 1}))
    found = [hit.document for page in pages for hit in page.hits]
    assert len(found) == len(set(found)) == len(pages) == 4


def test_several_searches_are_answered_in_order(reader: MedleyClient) -> None:
    asked = [{"collection": "abstracts", "text": text, "size": 1} for text in ("aspirin", "metformin")]
    assert [answer.hits[0].document for answer in reader.search_batch(asked)] == ["pm/2", "pm/3"]


def test_documents_citations_and_collections(reader: MedleyClient) -> None:
    assert reader.document("pm/2", collection="abstracts").title == "Aspirin for prevention of stroke"
    assert "TI  - Aspirin for prevention of stroke" in reader.citation("pm/2", collection="abstracts")
    assert {"abstracts", "notes"} <= {item.name for item in reader.collections()}


def test_a_cohort_and_what_is_kept(reader: MedleyClient) -> None:
    definition = {"collection": "notes", "all": ["pneumonia"]}
    assert reader.cohort(definition).total >= 1
    both = reader.compare_cohorts(definition, definition)
    assert both.only_a.total == both.only_b.total == 0
    assert reader.export_cohort(definition, "csv").startswith(b"\xef\xbb\xbf") or reader.export_cohort(
        definition, "csv"
    )
    kept = [reader.keep("bundle", f"drugs {number}", {"terms": ["aspirin"]}) for number in range(3)]
    assert {item.id for item in reader.kept("bundle")} >= {item.id for item in kept}


def test_a_writer_delivers_and_deletes(home: Path, address: str) -> None:
    with MedleyClient(address, tokens.add(home, "feeder", ["public"], ["abstracts"])) as writer:
        records = ({"id": f"new/{number}", "title": f"Zinc {number}", "text": "Zinc."} for number in range(3))
        total, outcomes = writer.feed(records, collection="abstracts")
        assert (total.accepted, [item.status for item in outcomes]) == (3, ["accepted"] * 3)
        assert writer.job(total.job).accepted == 3
        assert writer.delete("new/1", collection="abstracts").status == "deleted"


@pytest.mark.parametrize(
    ("ask", "status", "code", "field"),
    [
        (lambda client: client.search("x", collection="none"), 400, "invalid_input", "collection"),
        (lambda client: client.search("x", "abstracts", {"colour": 1}), 400, "invalid_input", "colour"),
        (lambda client: client.document("pm/99", collection="abstracts"), 404, "not_found", "id"),
        (lambda client: client.delete("pm/1", collection="abstracts"), 403, "forbidden", "collection"),
    ],
)
def test_an_error_says_what_the_gateway_says(reader, ask, status, code, field) -> None:
    with pytest.raises(ApiError) as caught:
        ask(reader)
    assert (caught.value.status, caught.value.code, caught.value.field) == (status, code, field)
    assert caught.value.message


def test_a_wrong_token_is_refused(address: str) -> None:
    with MedleyClient(address, "medley_nothing_at-all") as client, pytest.raises(ApiError) as caught:
        client.collections()
    assert (caught.value.status, caught.value.code) == (401, "unauthorized")


@pytest.mark.parametrize("wrong", ["", "localhost:8080", "ftp://localhost", "file:///etc/passwd", "http://"])
def test_an_address_that_is_none_is_named(wrong: str) -> None:
    with pytest.raises(InvalidInput, match="address of a gateway"):
        MedleyClient(wrong)


def test_silence_is_no_answer() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        client = MedleyClient(f"http://127.0.0.1:{free.getsockname()[1]}", timeout=1, retries=0)
        with pytest.raises(ConnectionFailed, match="gave no answer"):
            client.collections()


@pytest.mark.parametrize(
    ("status", "body"), [(200, b"<html>"), (502, b"bad gateway"), (200, b"{}"), (500, b'{"error": 1}')]
)
def test_another_server_is_recognised(status: int, body: bytes) -> None:
    class Other(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Other) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with MedleyClient(f"http://127.0.0.1:{server.server_port}") as client, pytest.raises(ConnectionFailed):
            client.collections()
        server.shutdown()
