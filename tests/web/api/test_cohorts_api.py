"""`/v1/cohorts`: patients with their evidence, comparisons, rights, limits and the access log."""

from dataclasses import replace

import pytest
from cohort_notes import fill_cohort_notes, written
from portal_home import settings_of

from search.bootstrap import Medley
from web import create_app
from web.serving.cohort_limits import MAX_STANDINGS

DEFINITION = {"collection": "cohorts", "all": ["pneumonia"]}


@pytest.fixture
def client(app):
    fill_cohort_notes(app.extensions["medley"].medley)
    return app.test_client()


def post(client, body, path="", headers=None):
    return client.post(f"/v1/cohorts{path}", json=body, headers=headers)


def patients(answer):
    return [item["patient"] for item in answer.json["patients"]]


def standings(answer):
    return {item["patient"]: [one["standing"] for one in item["standings"]] for item in answer.json["patients"]}


def test_a_page_whole(client):
    answer = post(client, {**DEFINITION, "all": ["pneumonia", {"concept": "fever", "assertion": "ruled-out"}]})
    assert answer.status_code == 200
    assert answer.json == {
        "collection": "cohorts",
        "criteria": [
            {
                "group": "all",
                "criterion": "pneumonia",
                "concept": "pneumonia",
                "name": "pneumonia",
                "assertion": "present",
                "patients": 3,
            },
            {
                "group": "all",
                "criterion": "ruled-out: fever",
                "concept": "fever",
                "name": "fever",
                "assertion": "ruled-out",
                "patients": 1,
            },
        ],
        "total": 1,
        "patients_known": 4,
        "patients": [
            {
                "patient": "a",
                "documents": 2,
                "standings": [
                    {
                        "standing": "met",
                        "evidence": [evidence("a/1", "2022-01-01", "Radiology", "pneumonia", "present")],
                    },
                    {"standing": "met", "evidence": [evidence("a/2", "2022-02-02", "Discharge", "fever", "ruled-out")]},
                ],
            }
        ],
        "next": "",
        "notes": [],
        "degraded": [],
        "index": "cohorts-1",
        "invented": False,
    }


def evidence(document, day, kind, concept, assertion):
    text, mark = ("Pneumonia of the left lung.", [0, 9]) if concept == "pneumonia" else ("No fever.", [3, 8])
    return {
        "document": document,
        "passage": f"{document}@1#0",
        "date": day,
        "type": kind,
        "title": "Chest radiograph",
        "heading": "FINDINGS",
        "text": text,
        "start": 0,
        "end": len(text),
        "mark": mark,
        "concept": concept,
        "assertion": assertion,
    }


def test_what_is_ruled_out_is_apart_from_what_is_not_mentioned(client):
    answer = post(client, {"collection": "cohorts", "any": ["pneumonia", "fever", {"words": "left lung"}, "gout"]})
    assert standings(answer) == {
        "a": ["met", "ruled-out", "met", "other"],
        "c": ["met", "met", "not-mentioned", "not-mentioned"],
        "d": ["met", "not-mentioned", "not-mentioned", "not-mentioned"],
    }
    everyone = post(client, {"collection": "cohorts"})
    assert (patients(everyone), everyone.json["total"]) == (["a", "b", "c", "d"], 4)
    absent = post(client, {"collection": "cohorts", "none": ["pneumonia"]})
    assert standings(absent) == {"b": ["ruled-out"]}


def test_pages_follow_each_other(client):
    first = post(client, {**DEFINITION, "size": 2})
    assert (patients(first), first.json["next"], first.json["total"]) == (["a", "c"], "c", 3)
    last = post(client, {**DEFINITION, "size": 2, "after": "c"})
    assert (patients(last), last.json["next"], last.json["total"]) == (["d"], "", 3)


def test_a_patient_is_what_the_caller_may_see_of_them(client, token):
    ward_7, ward_8 = token("ada", "ward-7"), token("bob", "ward-8")
    asked = {"collection": "cohorts", "any": ["pneumonia", "fever"]}
    assert standings(post(client, asked, headers=ward_7)) == {
        "a": ["met", "not-mentioned"],
        "d": ["met", "not-mentioned"],
    }
    seen = post(client, {"collection": "cohorts"}, headers=ward_7).json
    assert [(item["patient"], item["documents"]) for item in seen["patients"]] == [("a", 1), ("b", 1), ("d", 1)]
    assert seen["patients_known"] == 3
    other = post(client, {"collection": "cohorts", "none": ["pneumonia"]}, headers=ward_8)
    assert (standings(other), other.json["patients_known"]) == ({"a": ["not-mentioned"]}, 2)
    for path, body in (
        ("", {**DEFINITION, "collection": "cohorts"}),
        ("/export", {**DEFINITION, "format": "csv"}),
        ("/compare", {"a": DEFINITION, "b": DEFINITION}),
    ):
        hidden = post(client, body, path, token("eve", "nowhere"))
        assert hidden.status_code == 400
        assert hidden.json["error"]["message"] == "there is no collection 'cohorts'; there are: none that you may see"


def test_a_deleted_document_counts_for_nobody(client, app):
    from mappings.documents import Deletion

    app.extensions["medley"].medley.collections.store("cohorts").put([Deletion("c/1")])
    assert patients(post(client, DEFINITION)) == ["a", "d"]


def test_two_cohorts_are_compared(client, token, logged):
    a, b = DEFINITION, {"collection": "cohorts", "any": ["fever", {"concept": "fever", "assertion": "uncertain"}]}
    answer = post(client, {"a": a, "b": b}, "/compare")
    assert answer.json == {
        "both": {"total": 1, "patients": ["c"], "next": ""},
        "only_a": {"total": 2, "patients": ["a", "d"], "next": ""},
        "only_b": {"total": 1, "patients": ["b"], "next": ""},
        "degraded": [],
    }
    page = post(client, {"a": a, "b": b, "size": 1}, "/compare").json
    assert page["only_a"] == {"total": 2, "patients": ["a"], "next": "a"}
    page = post(client, {"a": a, "b": b, "size": 1, "after": "a"}, "/compare").json
    assert page["only_a"] == {"total": 2, "patients": ["d"], "next": ""}
    assert page["both"] == {"total": 1, "patients": ["c"], "next": ""}
    record = logged()[0]
    assert (record["action"], record["collection"], record["status"], record["ids"]) == (
        *("compare-cohorts", "cohorts", 200),
        [],
    )
    assert record["asked"] == {
        "a": {"collection": "cohorts", "all": [{"concept": "pneumonia", "assertion": "present"}]},
        "b": {
            "collection": "cohorts",
            "any": [{"concept": "fever", "assertion": "present"}, {"concept": "fever", "assertion": "uncertain"}],
        },
        "patients": ["c", "a", "d", "b"],
    }
    seen = post(client, {"a": a, "b": b}, "/compare", token("ada", "ward-7")).json
    assert [seen[name]["patients"] for name in ("both", "only_a", "only_b")] == [[], ["a", "d"], ["b"]]


def test_every_page_is_logged_with_what_it_showed(client, logged):
    post(client, {**DEFINITION, "size": 1, "after": "a"})
    (record,) = logged()
    assert record["action"] == "cohort"
    assert record["asked"] == {
        "definition": {"collection": "cohorts", "all": [{"concept": "pneumonia", "assertion": "present"}]},
        "page": "next",
        "patients": ["c"],
    }
    assert (record["ids"], record["status"]) == (["c/1"], 200)


BAD = [
    ({"all": ["pneumonia"]}, "collection", "collection is missing"),
    ({"collection": "nothing"}, "collection", "there is no collection 'nothing'"),
    (
        {"collection": "cohorts", "some": []},
        "some",
        "there is no field 'some'; known are collection, all, any, none, kept",
    ),
    ({**DEFINITION, "size": 0}, "size", "greater than or equal to 1"),
    ({**DEFINITION, "size": 501}, "size", "less than or equal to 500"),
    ({**DEFINITION, "after": 7}, "after", "valid string"),
    ({"collection": "cohorts", "all": "pneumonia"}, "all", "valid list"),
    ({"collection": "cohorts", "all": ["fever"] * 201}, "all", "at most 200"),
    ({"collection": "cohorts", "all": ["fever", "fever", "pnuemonia"]}, "all.2.concept", "did you mean pneumonia"),
    ({"collection": "cohorts", "none": [{}]}, "none.0", "asks for nothing"),
    ({"collection": "cohorts", "any": [["fever"]]}, "any.0", "valid dictionary"),
    ({"collection": "cohorts", "any": [{"concept": "fever", "assertion": "maybe"}]}, "any.0.assertion", "'present'"),
    (
        {"collection": "cohorts", "any": [{"idea": "fever"}]},
        "any.0.idea",
        "known are concept, bundle, assertion, words",
    ),
    ({"collection": "cohorts", "all": [{"words": "of the"}]}, "all.0.words", "only words that every text has"),
    ({"collection": "cohorts", "all": [{"concept": "fever", "since": "2020"}]}, "all.0.since", "pattern"),
    ({"collection": "cohorts", "all": [{"concept": "fever", "since": "2020-02-30"}]}, "all.0.since", "YYYY-MM-DD"),
    ({"collection": "cohorts", "all": [{"filters": {"ward": "7"}}]}, "all.0.filters.ward", "there is no field 'ward'"),
    ({"collection": "cohorts", "all": [{"filters": {"date": {"gt": 1}}}]}, "all.0.filters.date", "'gte' and 'lte'"),
    (
        {"collection": "cohorts", "all": [{"concept": "fever", "within_days": 1.5, "of": 0}]},
        "all.0.within_days",
        "integer",
    ),
    ([], "body", "valid dictionary"),
]


@pytest.mark.parametrize(("body", "field", "message"), BAD)
def test_an_error_names_the_criterion(client, body, field, message):
    answer = post(client, body)
    assert answer.status_code == 400
    assert answer.json["error"]["code"] == "invalid_input"
    assert answer.json["error"]["field"] == field
    assert message in answer.json["error"]["message"]


def test_an_error_names_the_side_of_a_comparison(client):
    for body, field in (
        ({"a": DEFINITION, "b": {"collection": "cohorts", "any": ["pnuemonia"]}}, "b.any.0.concept"),
        ({"a": {"collection": "none"}, "b": DEFINITION}, "a.collection"),
        ({"a": DEFINITION}, "b"),
        ({"a": DEFINITION, "b": {**DEFINITION, "size": 3}}, "b.size"),
    ):
        answer = post(client, body, "/compare")
        assert (answer.status_code, answer.json["error"]["field"]) == (400, field)


def test_only_json_is_read_and_only_with_a_token(client, token):
    token("ada", "ward-7")
    for path in ("", "/compare", "/export"):
        assert post(client, DEFINITION, path).status_code == 401
        sent = client.post(f"/v1/cohorts{path}", data="{}", headers=token("bob", "*"))
        assert (sent.status_code, sent.json["error"]["code"]) == (415, "unsupported_media_type")
        assert client.get(f"/v1/cohorts{path}", headers=token("cy", "*")).status_code == 405


def test_a_page_has_a_limit_of_evidence(client):
    asked = {"collection": "cohorts", "any": ["fever"] * 100}
    allowed = MAX_STANDINGS // 100
    assert post(client, {**asked, "size": allowed}).status_code == 200
    answer = post(client, {**asked, "size": allowed + 1})
    assert (answer.status_code, answer.json["error"]["field"]) == (400, "size")
    assert f"can have {allowed} patients" in answer.json["error"]["message"]


def test_a_cohort_that_is_compared_has_a_limit(home, logged):
    settings = replace(settings_of(home), cohort_patients=2)
    medley = Medley.open(settings)
    fill_cohort_notes(medley, documents=[written(f"{name}/1", "ward-7", name, "Fever.") for name in "abc"])
    client = create_app(medley).test_client()
    small, large = {"collection": "cohorts", "all": ["pneumonia"]}, {"collection": "cohorts", "all": ["fever"]}
    assert post(client, {"a": small, "b": small}, "/compare").status_code == 200
    answer = post(client, {"a": small, "b": large}, "/compare")
    assert (answer.status_code, answer.json["error"]["field"]) == (400, "b.all")
    assert "3 patients" in answer.json["error"]["message"]
    assert [record["status"] for record in logged()] == [200, 400]


def test_nothing_is_shown_that_cannot_be_logged(client, home):
    (home / "access.log").mkdir()
    for path, body in (
        ("", DEFINITION),
        ("/compare", {"a": DEFINITION, "b": DEFINITION}),
        ("/export", {**DEFINITION, "format": "csv"}),
    ):
        answer = post(client, body, path)
        assert (answer.status_code, answer.json["error"]["code"]) == (503, "unavailable")
        assert "Pneumonia of" not in answer.get_data(as_text=True)


def keep(client, headers, **changes):
    content = {"all": ["pneumonia"], "none": [{"concept": "fever"}]}
    item = {"kind": "cohort", "name": "lungs", "collection": "cohorts", "content": content} | changes
    answer = client.post("/v1/kept", json=item, headers=headers)
    assert answer.status_code == 201, answer.text
    return answer.json["id"]


def test_a_kept_cohort_is_run_compared_and_exported_by_its_id(client, token, logged):
    ada = token("ada", "ward-7", "ward-8")
    kept = keep(client, ada)
    assert patients(post(client, {"kept": kept}, headers=ada)) == ["a", "d"]
    compared = post(client, {"a": {"kept": kept}, "b": DEFINITION}, "/compare", ada).json
    assert [compared[name]["patients"] for name in ("both", "only_a", "only_b")] == [["a", "d"], [], ["c"]]
    exported = post(client, {"kept": kept, "format": "csv"}, "/export", ada)
    assert exported.get_data(as_text=True).count("pneumonia") == 3
    records = [item for item in logged() if item["action"] == "export-cohort"]
    assert records[0]["asked"]["definition"] == {
        "collection": "cohorts",
        "all": [{"concept": "pneumonia", "assertion": "present"}],
        "none": [{"concept": "fever", "assertion": "present"}],
    }


def test_a_kept_cohort_shows_a_colleague_only_their_own_patients(client, token):
    kept = keep(client, token("ada", "ward-7", "ward-8", "study"), shared_with=["study"])
    assert patients(post(client, {"kept": kept}, headers=token("bob", "study", "ward-8"))) == []
    assert patients(post(client, {"kept": kept}, headers=token("cy", "study", "ward-7"))) == ["a", "d"]
    answer = post(client, {"kept": kept}, headers=token("eve", "ward-7"))
    assert (answer.status_code, answer.json["error"]["code"]) == (404, "not_found")


def test_what_is_kept_must_be_a_cohort_that_fits(client, token):
    ada = token("ada", "*")
    for changes, asked, field in (
        ({"kind": "bundle"}, {}, "kept"),
        ({}, {"all": ["fever"]}, "kept"),
        ({"content": {"all": ["pnuemonia"]}}, {}, "kept.all.0.concept"),
        ({"content": {"age": 65}}, {}, "kept.age"),
        ({"content": {"kept": "0" * 16}}, {}, "kept.kept"),
        ({"content": {"all": []}, "collection": ""}, {}, "kept.collection"),
        ({"content": {"collection": "notes"}, "collection": "notes"}, {"after": 3}, "after"),
    ):
        kept = keep(client, ada, **{"name": f"item {field}"} | changes)
        answer = post(client, {"kept": kept} | asked, headers=ada)
        assert (answer.status_code, answer.json["error"]["field"]) == (400, field)
    assert post(client, {"kept": "nothing"}, headers=ada).status_code == 404
