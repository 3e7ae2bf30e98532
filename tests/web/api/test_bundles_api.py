"""Kept bundles in cohorts and searches over HTTP: whole answers, whose bundle a name is, and what is no longer there."""

from __future__ import annotations

import pytest
from cohort_notes import fill_cohort_notes

CHEST = ["pneumonia", "Pyrexia"]


@pytest.fixture
def client(app):
    fill_cohort_notes(app.extensions["medley"].medley)
    return app.test_client()


def keep(client, headers=None, **changes):
    item = {"kind": "bundle", "name": "chest", "content": {"terms": CHEST}} | changes
    answer = client.post("/v1/kept", json=item, headers=headers)
    assert answer.status_code == 201, answer.text
    return answer.json["id"]


def cohort(client, headers=None, **groups):
    return client.post("/v1/cohorts", json={"collection": "cohorts", **groups}, headers=headers)


def refused(answer):
    assert answer.status_code == 400, answer.text
    return answer.json["error"]["field"], answer.json["error"]["message"]


def standings(answer):
    assert answer.status_code == 200, answer.text
    return {item["patient"]: [one["standing"] for one in item["standings"]] for item in answer.json["patients"]}


def test_a_criterion_that_any_term_of_a_bundle_meets(client, logged):
    kept = keep(client)
    answer = cohort(client, all=[{"bundle": kept, "filters": {"patient": "c"}}])
    assert answer.json == {
        "collection": "cohorts",
        "criteria": [
            {
                "group": "all",
                "criterion": "bundle chest, patient c",
                "concept": "",
                "name": "chest",
                "bundle": {"id": kept, "name": "chest", "terms": CHEST, "concepts": ["pneumonia", "fever"]},
                "assertion": "present",
                "patients": 1,
            }
        ],
        "total": 1,
        "patients_known": 4,
        "patients": [
            {
                "patient": "c",
                "documents": 1,
                "standings": [{"standing": "met", "evidence": [evidence("pneumonia"), evidence("fever")]}],
            }
        ],
        "next": "",
        "notes": [],
        "degraded": [],
        "index": "cohorts-1",
        "invented": False,
    }
    read, record = logged()[-2:]
    assert (read["action"], read["asked"]) == ("kept read", {"kind": "bundle", "item": kept})
    assert record["asked"]["definition"] == {
        "collection": "cohorts",
        "all": [{"bundle": kept, "assertion": "present", "filters": {"patient": ["c"]}}],
    }


def evidence(concept):
    text, start, mark = ("Pneumonia.", 0, [0, 9]) if concept == "pneumonia" else ("Fever since yesterday.", 11, [0, 5])
    return {
        "document": "c/1",
        "passage": "c/1@1#0",
        "date": "2022-02-02",
        "type": "Radiology",
        "title": "Chest radiograph",
        "heading": "FINDINGS",
        "text": text,
        "start": start,
        "end": start + len(text),
        "mark": mark,
        "concept": concept,
        "assertion": "present",
    }


def test_one_s_own_bundle_is_named_by_its_name_and_a_shared_one_by_its_id(client, token):
    ada, bob, eve = token("ada", "ward-7", "study"), token("bob", "ward-7", "study"), token("eve", "ward-7")
    shared = keep(client, ada, shared_with=["study"])
    assert standings(cohort(client, ada, all=["bundle:chest"])) == {"a": ["met"], "d": ["met"]}
    assert standings(cohort(client, bob, all=[{"bundle": shared}])) == {"a": ["met"], "d": ["met"]}
    for headers, reference in ((bob, "chest"), (eve, shared), (eve, "0" * 16)):
        field, message = refused(cohort(client, headers, all=[{"bundle": reference}]))
        assert field == "all.0.bundle"
        assert "there is no bundle" in message
    keep(client, bob, content={"terms": ["gout"]})
    assert standings(cohort(client, bob, all=["bundle:chest"])) == {}


def test_a_kept_cohort_follows_its_bundle_and_says_when_it_is_gone(client):
    kept = keep(client)
    content = {"all": [{"bundle": kept}], "none": [{"concept": "fever"}]}
    made = client.post("/v1/kept", json={"kind": "cohort", "name": "x", "collection": "cohorts", "content": content})
    asked = {"kept": made.json["id"]}
    assert set(standings(client.post("/v1/cohorts", json=asked))) == {"a", "d"}
    changed = {"kind": "bundle", "name": "other", "content": {"terms": ["gout", "fever"]}, "revision": 1}
    assert client.put(f"/v1/kept/{kept}", json=changed).status_code == 200
    answer = client.post("/v1/cohorts", json=asked)
    assert (standings(answer), answer.json["criteria"][0]["criterion"]) == ({}, "bundle other")
    client.delete(f"/v1/kept/{kept}")
    field, message = refused(client.post("/v1/cohorts", json=asked))
    assert field == "kept.all.0.bundle"
    assert f"there is no bundle '{kept}' that you may see: it was deleted or renamed" in message


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"terms": ["pneumonia", "feverr"]}, "the term 'feverr' of the bundle 'chest' names no concept"),
        ({"terms": []}, "has 0 terms"),
        ({"terms": "pneumonia"}, "has 0 terms"),
        ({"terms": [f"term {number}" for number in range(101)]}, "has 101 terms; with 1 to 100 it can be asked for"),
    ],
)
def test_a_bundle_that_can_not_be_asked_for_says_why(client, content, message):
    keep(client, content=content)
    field, found = refused(cohort(client, all=["pneumonia", {"bundle": "chest"}]))
    assert (field, message in found) == ("all.1.bundle", True), found


def test_a_kept_item_of_another_kind_is_no_bundle(client):
    kept = keep(client, kind="search", name="chest")
    for reference in (kept, "chest"):
        assert "there is no bundle" in refused(cohort(client, all=[{"bundle": reference}]))[1]


def test_exports_name_the_bundle(client):
    keep(client)
    body = {"collection": "cohorts", "all": [{"bundle": "chest", "assertion": "ruled-out"}], "format": "csv"}
    rows = client.post("/v1/cohorts/export", json=body).get_data(as_text=True).splitlines()
    assert rows[1].split(",")[3] == '"ruled-out: bundle chest"'


def search(client, headers=None, **asked):
    return client.post("/v1/search", json={"collection": "cohorts", **asked}, headers=headers)


def found(answer):
    assert answer.status_code == 200, answer.text
    return {hit["document"]: [proof and proof["text"] for proof in hit["proofs"]] for hit in answer.json["hits"]}


def test_a_search_with_a_bundle_is_one_criterion(client, logged):
    kept = keep(client)
    answer = search(client, **{"with": ["bundle:chest"], "without": ["gout"]})
    assert answer.json["understood"]["criteria"] == [
        {
            "typed": "bundle:chest",
            "concept": "",
            "name": "chest",
            "assertion": "present",
            "source": "with",
            "bundle": {"id": kept, "name": "chest", "terms": CHEST, "concepts": ["pneumonia", "fever"]},
        },
        {"typed": "gout", "concept": "gout", "name": "gout", "assertion": "not-present", "source": "without"},
    ]
    assert found(answer) == {
        "a/1": ["Pneumonia of the left lung.", None],
        "b/1": ["Possible fever.", None],
        "c/1": ["Pneumonia.", None],
        "d/1": ["=HYPERLINK(1) pneumonia is seen.", None],
    }
    read, record = logged()[-2:]
    assert (read["action"], read["asked"]) == ("kept read", {"kind": "bundle", "item": kept})
    assert (record["action"], record["asked"]) == ("search", {"with": ["bundle:chest"], "without": ["gout"]})


def test_without_a_bundle_no_term_of_it_is_present(client):
    keep(client)
    assert found(search(client, without=["bundle:chest"])) == {"a/2": ["No fever."], "b/1": ["No pneumonia."]}
    assert found(search(client, **{"with": ["ruled-out:bundle:chest"]})).keys() == {"a/2", "b/1"}
    assert found(search(client, **{"with": ["bundle:chest", "fever"]})).keys() == {"b/1", "c/1"}


def test_an_address_names_a_bundle_too(client):
    keep(client)
    answer = client.get("/v1/search?collection=cohorts&with=bundle:chest,fever&without=gout")
    assert found(answer).keys() == {"b/1", "c/1"}


def test_a_search_names_one_s_own_bundle_and_a_shared_one_by_its_id(client, token):
    ada, bob, eve = token("ada", "ward-7", "study"), token("bob", "ward-8", "study"), token("eve", "ward-8")
    shared = keep(client, ada, shared_with=["study"])
    assert found(search(client, bob, **{"with": [f"bundle:{shared}"]})).keys() == {"c/1"}
    for headers, slot, reference in ((bob, "with", "chest"), (eve, "without", shared)):
        field, message = refused(search(client, headers, **{slot: [f"bundle:{reference}"]}))
        assert (field, "there is no bundle" in message) == (slot, True)
    batch = {
        "searches": [{"collection": "cohorts", "text": "fever"}, {"collection": "cohorts", "with": ["bundle:chest"]}]
    }
    field, _ = refused(client.post("/v1/search/batch", json=batch, headers=eve))
    assert field == "searches.1.with"


def test_a_bundle_that_changes_between_two_pages_is_another_search(client):
    kept = keep(client)
    first = search(client, size=1, **{"with": ["bundle:chest"]})
    cursor = first.json["cursor"]
    assert found(search(client, size=1, cursor=cursor, **{"with": ["bundle:chest"]}))
    changed = {"kind": "bundle", "name": "chest", "content": {"terms": ["fever"]}, "revision": 1}
    client.put(f"/v1/kept/{kept}", json=changed)
    field, _ = refused(search(client, size=1, cursor=cursor, **{"with": ["bundle:chest"]}))
    assert field == "cursor"


def test_a_term_that_is_unknown_is_an_error_of_the_search(client):
    keep(client, content={"terms": ["pneumonia", "feverr"]})
    field, message = refused(search(client, **{"with": ["bundle:chest"]}))
    assert (field, "did you mean fever" in message) == ("with", True)
