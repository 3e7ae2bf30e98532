"""What hits, and single documents, say of a claim, over HTTP: with a tiny classifier, whose opinion is its own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from claims_home import claims_settings
from flask.testing import FlaskClient

from search.settings import Settings
from web import create_app

ASKED = {"collection": "abstracts", "text": "does aspirin reduce the number of strokes in adults?"}


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    return claims_settings(tmp_path_factory.mktemp("claims"))


@pytest.fixture
def client(settings: Settings) -> FlaskClient:
    return create_app(settings).test_client()


def hits(client: FlaskClient, **asked: Any) -> list[dict[str, Any]]:
    answer = client.post("/v1/search", json=ASKED | asked)
    assert answer.status_code == 200, answer.json
    assert answer.json["degraded"] == []
    return list(answer.json["hits"])


def test_each_hit_says_what_it_says_of_the_text(client: FlaskClient) -> None:
    found = hits(client)
    assert len(found) > 1
    for hit in found:
        assert set(hit["stance"]) == {"label", "probability"}
        assert hit["stance"]["label"] in ("supports", "refutes", "neither")
        assert 1 / 3 <= hit["stance"]["probability"] <= 1
        assert 1 <= len(hit["evidence"]) <= 2
        assert [hit["text"][item["start"] : item["end"]] for item in hit["evidence"]] == [
            item["text"] for item in hit["evidence"]
        ]
    assert hits(client) == found


@pytest.mark.parametrize(
    "asked",
    [
        {"stances": False},
        {"rerank": False},
        {"text": "aspirin"},  # a word that is looked up claims nothing
        {"text": "aspirin reduces strokes " * 30},  # too long for one claim
        {"text": "", "entity": "stroke"},
    ],
)
def test_what_is_no_claim_is_not_read(client: FlaskClient, asked: dict[str, Any]) -> None:
    assert {hit["stance"] for hit in hits(client, **asked)} == {None}


def test_a_document_is_read_for_a_claim(client: FlaskClient) -> None:
    asked = {"collection": "abstracts", "document": "pm/2", "text": "Aspirin reduces stroke"}
    answer = client.post("/v1/stance", json=asked).json
    stance, evidence = answer.pop("stance"), answer.pop("evidence")
    passage = answer.pop("passage")
    assert (passage.startswith("pm/2@"), passage.endswith("#0")) == (True, True)
    assert answer == {
        "document": "pm/2",
        "collection": "abstracts",
        "invented": False,
        "heading": "",
        "text": "Results: Aspirin reduced stroke in adults. Bleeding was more frequent.",
        "read": 1,
        "passages": 1,
    }
    assert stance["label"] in ("supports", "refutes", "neither")
    assert {item["text"] for item in evidence} <= {
        "Results: Aspirin reduced stroke in adults.",
        "Bleeding was more frequent.",
    }


@pytest.mark.parametrize(
    ("changes", "status", "field"),
    [
        ({"text": " "}, 400, "text"),
        ({"text": "x" * 601}, 400, "text"),
        ({"document": "pm/none"}, 404, "id"),
        ({"collection": "notes", "document": "p1/n1"}, 400, "collection"),
        ({"collection": "nothing"}, 400, "collection"),
        ({"colour": "red"}, 400, "colour"),
    ],
)
def test_what_cannot_be_read_is_told(client: FlaskClient, changes: dict[str, Any], status: int, field: str) -> None:
    asked = {"collection": "abstracts", "document": "pm/2", "text": "Aspirin reduces stroke"}
    answer = client.post("/v1/stance", json=asked | changes)
    assert (answer.status_code, answer.json["error"]["field"]) == (status, field)


def test_without_its_model_an_answer_says_so(settings: Settings) -> None:
    client = create_app(replace(settings, stance="none-such")).test_client()
    answer = client.post("/v1/search", json=ASKED).json
    (told,) = answer["degraded"]
    assert told.startswith("what the hits say of the text was not read (there is no model 'none-such'")
    assert {hit["stance"] for hit in answer["hits"]} == {None}


def test_reading_can_be_switched_off(settings: Settings) -> None:
    client = create_app(replace(settings, stance="none")).test_client()
    assert {hit["stance"] for hit in hits(client)} == {None}
