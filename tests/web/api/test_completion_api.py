"""`/v1/complete`: whole answers, wrong requests, and what the log keeps."""

import pytest

from web.completions import CompletionAnswer


def post(client, headers=None, **body):
    return client.post("/v1/complete", json={"collection": "notes", **body}, headers=headers)


def names(response):
    assert response.status_code == 200, response.json
    return [(item["name"], item["documents"]) for item in response.json["completions"]]


def test_a_complete_answer(client):
    response = post(client, text="pnuemonia", limit=1)
    assert response.status_code == 200
    expected = {
        "completions": [
            {"name": "pneumonia", "matched": "pneumonia", "concept": "pneumonia", "group": "diagnoses", "documents": 3}
        ],
        "notes": [],
    }
    assert response.json == expected
    assert CompletionAnswer.model_validate(response.json, strict=True).model_dump() == expected
    assert response.headers["Cache-Control"] == "no-store"


def test_an_address_gets_the_same_answer_as_a_body(client):
    for form in ({"text": "pneu", "limit": 2}, {"text": "hosp", "slot": "aspect"}, {"text": "RAD", "slot": "type"}):
        by_address = client.get("/v1/complete", query_string={"collection": "notes", **form})
        assert by_address.json == post(client, **form).json
        assert by_address.json["completions"]


def test_a_value_has_no_concept(client):
    assert post(client, text="disc", slot="type").json["completions"] == [
        {"name": "Discharge", "matched": "Discharge", "concept": None, "group": None, "documents": 1}
    ]


def test_callers_see_completions_of_their_own_documents_alone(client, token):
    seven, eight = token("ada", "ward-7"), token("ben", "ward-8")
    assert names(post(client, seven, text="pneumonia", limit=1)) == [("pneumonia", 2)]
    assert names(post(client, eight, text="pneumonia", limit=1)) == [("pneumonia", 1)]
    assert names(post(client, eight, text="discharge", slot="type")) == []
    assert names(post(client, eight, text="antibiotic")) == []
    assert names(post(client, eight, text="antibitic")) == []
    assert ("antibiotic", 1) in names(post(client, seven, text="antibiotic"))


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"text": ""}, "text"),
        ({"text": "  "}, "text"),
        ({"text": "\x00"}, "text"),
        ({"text": "a" * 10_000}, "text"),
        ({"text": 7}, "text"),
        ({}, "text"),
        ({"text": "a", "slot": "colour"}, "slot"),
        ({"text": "a", "slot": "patient"}, "slot"),
        ({"text": "a", "slot": "s" * 65}, "slot"),
        ({"text": "a", "limit": 0}, "limit"),
        ({"text": "a", "limit": 21}, "limit"),
        ({"text": "a", "limit": "7"}, "limit"),
        ({"text": "a", "labels": ["*"]}, "labels"),
        ({"text": "a", "collection": "absent"}, "collection"),
    ],
)
def test_wrong_bodies_name_the_field_and_do_not_repeat_the_text(client, body, field):
    response = post(client, **body)
    assert response.status_code == 400
    assert response.json["error"]["field"] == field
    assert "aaaa" not in response.text


@pytest.mark.parametrize(
    ("address", "field"),
    [
        ("text=a", "collection"),
        ("collection=notes", "text"),
        ("collection=notes&text=", "text"),
        ("collection=notes&text=a&text=b", "text"),
        ("collection=notes&text=a&limit=x", "limit"),
        ("collection=notes&text=a&size=3", "size"),
    ],
)
def test_wrong_addresses_name_the_parameter(client, address, field):
    response = client.get(f"/v1/complete?{address}")
    assert (response.status_code, response.json["error"]["field"]) == (400, field)


@pytest.mark.parametrize(
    "text", [".*", "pneu.*", "(((", "\\", "pneu%", "𝔭neu", "pneu\x00\x1b[2J", "<b>pneu</b>", "a" * 500]
)
def test_odd_texts_are_answered(client, text):
    assert post(client, text=text).status_code == 200
    assert client.get("/v1/complete", query_string={"collection": "notes", "text": text}).status_code == 200


def test_a_body_of_another_type_and_without_a_token(client, token):
    assert client.post("/v1/complete", data="text=a").status_code == 415
    token("ada", "ward-7")
    assert post(client, text="pneu").status_code == 401
    assert client.get("/v1/complete?collection=notes&text=pneu").status_code == 401


def test_the_log_has_each_completion_but_never_what_was_typed(client, logged, home):
    post(client, text="fitzwilliam")
    client.get("/v1/complete?collection=notes&text=fitzwilliam&slot=aspect")
    post(client, text="fitzwilliam", slot="colour")
    post(client, text="fitzwilliam", collection="absent")
    assert [(line["action"], line["collection"], line["asked"], line["status"]) for line in logged()] == [
        ("complete", "notes", {"slot": "entity"}, 200),
        ("complete", "notes", {"slot": "aspect"}, 200),
        ("complete", "notes", {"slot": "colour"}, 400),
        ("complete", "absent", {}, 400),
    ]
    assert not [file for file in home.rglob("*") if file.is_file() and b"fitzwilliam" in file.read_bytes()]
