"""One patient whose documents have different labels: what a caller may not see counts nowhere."""

from datetime import date

import pytest
from portal_home import note, settings_of

from mappings.documents import Section
from search.bootstrap import Medley
from web import create_app
from web.access import tokens
from web.cli.indexing import fill_quietly

NOTES = [
    ("m/1", "Ward", "ward-7", "Known asthma."),
    ("m/2", "Psychiatry", "psych", "Schizophrenia. No asthma."),
    ("m/3", "Ward", "ward-8", "Gout."),
]


@pytest.fixture(scope="module")
def portal(tmp_path_factory):
    home = tmp_path_factory.mktemp("mixed")
    medley = Medley.open(settings_of(home))
    medley.collections.create("notes")
    medley.collections.store("notes").put(
        note(name, kind, label, "mix", kind, date(2022, 1, 1), Section("FINDINGS", text))
        for name, kind, label, text in NOTES
    )
    fill_quietly(medley, "notes")
    client = create_app(settings_of(home)).test_client()

    def ask(label, method, address, **sent):
        secret = tokens.add(home, label, [label])
        return getattr(client, method)(address, headers={"Authorization": f"Bearer {secret}"}, **sent)

    return ask


@pytest.mark.parametrize(
    ("label", "criterion", "patients"),
    [
        ("ward-7", "asthma", 1),
        ("ward-7", "schizophrenia", 0),
        ("ward-7", {"concept": "asthma", "assertion": "ruled-out"}, 0),
        ("ward-8", "asthma", 0),
        ("psych", "schizophrenia", 1),
        ("psych", {"concept": "asthma", "assertion": "ruled-out"}, 1),
    ],
)
def test_a_cohort_counts_what_the_caller_may_see(portal, label, criterion, patients):
    answer = portal(label, "post", "/v1/cohorts", json={"collection": "notes", "all": [criterion]}).get_json()
    assert (answer["total"], answer["criteria"][0]["patients"]) == (patients, patients)
    assert all(item["documents"] == 1 for item in answer["patients"])


@pytest.mark.parametrize(
    ("label", "own", "others"),
    [("ward-7", "asthma", "schizophrenia"), ("psych", "schizophrenia", "gout"), ("ward-8", "gout", "asthma")],
)
def test_searches_facets_and_completions_do_too(portal, label, own, others):
    def counted(text):
        asked = {"collection": "notes", "text": text}
        answer = portal(label, "get", "/v1/search", query_string=asked).get_json()
        values = [item["count"] for item in answer["facets"]["type"]]
        found = portal(label, "get", "/v1/complete", query_string=asked | {"slot": "concept"}).get_json()["completions"]
        return answer["total"]["value"], values, [item["documents"] for item in found if item["name"] == text]

    assert counted(own) == (1, [1], [1])
    assert counted(others) == (0, [], [])


@pytest.mark.parametrize(("label", "own"), [("ward-7", "m/1"), ("psych", "m/2"), ("ward-8", "m/3")])
def test_the_page_of_the_patient_has_one_document(portal, label, own):
    for name, *_ in NOTES:
        answer = portal(label, "get", "/patient", query_string={"collection": "notes", "document": name})
        assert answer.status_code == (200 if name == own else 404)
        assert name != own or "1 document" in answer.text
