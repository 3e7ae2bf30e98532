"""The page that builds a cohort: rows, counts, evidence, saving, exports; and what it keeps out of addresses."""

import csv
import io

import pytest
from browsing import Page, get, send
from werkzeug.datastructures import MultiDict

from mappings.clinical.concepts import shipped_concepts
from web.pages.cohorts.criteria_form import CriterionRow, as_definition, read_rows, rows_of, without_row

WITH = {"collection": "notes", "group.0": "all", "concept.0": "pneumonia"}
FORM = WITH | {"group.1": "none", "concept.1": "effusion"}


def built(client, form, status=200, address="/cohorts", **sent):
    answer = send(client, address, form, **sent)
    assert answer.status_code == status, answer.text
    return Page(answer.text)


def saved(client, form, **sent):
    answer = send(client, "/cohorts/save", form, **sent)
    assert answer.status_code == 303, answer.text
    return answer.headers["Location"].removesuffix("?saved=now")


def values(page, name):
    return [attrs.get("value", "") for attrs in page.all("input") if attrs.get("name", "").startswith(f"{name}.")]


def test_rows_are_counted_and_patients_shown_with_their_sentences(client):
    page = built(client, FORM)
    assert "1 of 2 patients meets these rows" in page.text
    assert "Row 1 alone finds 2 patients" in page.text
    assert "Row 2 alone leaves out 1 patient" in page.text
    assert (
        "1. with pneumonia met HOSPITAL COURSE Pneumonia treated with antibiotics. present 9 January 2020" in page.text
    )
    assert "2. without effusion ruled out FINDINGS No effusion . ruled out 5 January 2020" in page.text
    assert page.links("/patient?") == ["/patient?collection=notes&document=p1%2Fn2"]
    for link in page.links("/document?"):
        assert get(client, link.partition("#")[0]).all("mark", id="evidence")


def test_what_is_ruled_out_is_told_from_what_is_not_mentioned(client):
    page = built(client, WITH | {"group.1": "none", "concept.1": "gout"})
    assert "2 of 2 patients meet these rows" in page.text
    assert page.text.count("2. without gout not mentioned No sentence speaks of it.") == 2


def test_the_first_button_of_the_form_only_counts(client):
    buttons = get(client, "/cohorts").all("button")
    assert {key: buttons[0].get(key) for key in ("type", "name", "formaction")} == {
        "type": "submit",
        "name": None,
        "formaction": None,
    }


def test_rows_are_added_and_removed(client):
    page = built(client, FORM | {"do": "add"})
    assert values(page, "concept") == ["pneumonia", "effusion", ""]
    page = built(client, FORM | {"do": "remove.0"})
    assert values(page, "concept") == ["effusion"]
    assert values(built(client, WITH | {"do": "remove.0"}), "concept") == [""]


@pytest.mark.parametrize(
    ("given", "row", "words", "field"),
    [
        ({"concept.1": "efusion"}, 2, "did you mean effusion", "concept-1"),
        ({"since.1": "2021-01-02", "until.1": "2020-01-01"}, 2, "is after until", "since-1"),
        ({"since.1": "yesterday"}, 2, "a date is written as YYYY-MM-DD", "since-1"),
        ({"words.0": "the"}, 1, "only words that every text has", "words-0"),
        ({"days.1": "x", "of.1": "1"}, 2, "the days are a whole number", "days-1"),
        ({"days.1": "7"}, 2, "choose another row", "of-1"),
        ({"days.1": "7", "of.1": "2"}, 2, "choose another row", "of-1"),
        ({"days.1": "9999999", "of.1": "1"}, 2, "less than or equal to 40000", "days-1"),
        ({"days.0": "7", "of.0": "2", "days.1": "7", "of.1": "1"}, 1, "never in a circle", "of-0"),
        ({"group.1": "some"}, 2, "a row is one of all, any, none", "group-1"),
    ],
)
def test_an_error_is_shown_at_its_row_and_nothing_typed_is_lost(client, given, row, words, field):
    page = built(client, FORM | given, status=400)
    assert f"Row {row} :" in page.text
    assert words.lower() in page.text.lower()
    assert f"#row-{row}" in page.links("#")
    assert [attrs["id"] for _, attrs in page.elements if attrs.get("aria-invalid")] == [field]
    for name, value in (FORM | given).items():
        if name.startswith(("concept", "words", "since", "until", "days")):
            (attrs,) = page.all("input", name=name)
            assert attrs["value"] == value


def test_patients_are_paged_by_post(client, monkeypatch):
    monkeypatch.setattr("web.pages.cohorts.routes.PATIENTS_ON_A_PAGE", 1)
    page = built(client, WITH)
    assert page.text.count("1. with pneumonia met") == 1
    (after,) = [attrs["value"] for attrs in page.all("button", name="after")]
    later = built(client, WITH | {"after": after})
    assert "Patient p2" in later.text
    assert "First page" in later.text
    assert not later.all("button", name="after")


def test_a_form_without_its_token_is_refused(client):
    for address in ("/cohorts", "/cohorts/save", "/cohorts/export", "/compare", "/saved/searches", "/saved/bundles"):
        assert client.post(address, data=FORM).status_code in (400, 403), address


def test_a_cohort_is_saved_opened_and_changed(client):
    address = saved(client, FORM | {"name": "Dry pneumonia", "share-other": "ward-7"})
    page = get(client, address)
    assert "Dry pneumonia" in page.text
    assert values(page, "concept") == ["pneumonia", "effusion"]
    assert "1 of 2 patients meets these rows" in page.text
    assert [attrs["value"] for attrs in page.all("input", name="share") if "checked" in attrs] == ["ward-7"]
    item = address.removeprefix("/cohorts/")
    again = saved(client, WITH | {"name": "Pneumonia", "item": item, "revision": "1"})
    assert again == address
    assert "2 of 2 patients meet these rows" in get(client, address).text


def test_of_two_tabs_the_second_is_told_and_chooses(client):
    address = saved(client, WITH | {"name": "One"})
    held = {"item": address.removeprefix("/cohorts/"), "revision": "1"}
    saved(client, FORM | {"name": "One"} | held)
    mine = {"collection": "notes", "group.0": "all", "concept.0": "fever", "name": "Mine"} | held
    page = built(client, mine, status=409, address="/cohorts/save")
    assert "This cohort was changed somewhere else" in page.text
    assert "“One”, with pneumonia; without effusion" in page.text
    assert values(page, "concept") == ["fever"]
    assert values(get(client, address), "concept") == ["pneumonia", "effusion"]
    (over,) = [attrs["value"] for attrs in page.all("button", name="over")]
    assert saved(client, mine | {"over": over}) == address
    assert values(get(client, address), "concept") == ["fever"]
    assert saved(client, mine | {"name": "Other", "do": "copy"}) != address


@pytest.mark.parametrize(
    ("form", "status", "words"),
    [
        (WITH | {"name": ""}, 400, "a name has 1 to 200"),
        (WITH | {"name": "taken"}, 409, "choose another name"),
        ({"collection": "notes", "name": "new"}, 400, "there is nothing to save"),
        (WITH | {"name": "new", "concept.0": "efusion"}, 400, "did you mean effusion"),
    ],
)
def test_what_can_not_be_saved_stays_in_the_form(client, form, status, words):
    saved(client, WITH | {"name": "taken"})
    page = built(client, form, status=status, address="/cohorts/save")
    assert words in page.text.lower()
    assert values(page, "concept") == [form.get("concept.0", "")] or values(page, "concept") == [""]


def test_a_shared_cohort_counts_what_its_reader_sees(client, token):
    ada, bob, eve = token("ada", "ward-7", "ward-8"), token("bob", "ward-7"), token("eve", "public")
    address = saved(client, WITH | {"name": "Shared", "share": "ward-7"}, headers=ada)
    assert "2 of 2 patients meet" in get(client, address, headers=ada).text
    page = get(client, address, headers=bob)
    assert "1 of 1 patient meets these rows" in page.text
    assert "This cohort is shared with you" in page.text
    assert "Judged on the documents that you may see" in page.text
    hidden = client.get(address, headers=eve)
    unknown = client.get("/cohorts/0123456789abcdef", headers=eve)
    assert (hidden.status_code, unknown.status_code) == (404, 404)
    held = {"item": address.removeprefix("/cohorts/"), "revision": "1", "name": "Bob's"}
    assert send(client, "/cohorts/save", FORM | held, headers=bob).status_code == 403


def test_exports_are_files_and_in_the_access_log(client, logged):
    answer = send(client, "/cohorts/export", FORM | {"format": "csv"})
    assert (answer.status_code, answer.mimetype) == (200, "text/csv")
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert {row["patient"] for row in rows} == {"p1"}
    assert (logged()[-1]["action"], logged()[-1]["asked"]["format"]) == ("export-cohort", "csv")
    fhir = send(client, "/cohorts/export", FORM | {"format": "fhir"})
    assert fhir.json["resourceType"] == "Bundle"
    assert built(client, FORM | {"format": "exe"}, status=400, address="/cohorts/export")


def test_no_address_names_a_patient_or_a_criterion(client):
    page = built(client, FORM)
    addresses = [
        attrs[name] for _, attrs in page.elements for name in ("href", "action", "formaction") if name in attrs
    ]
    assert addresses
    assert not [item for item in addresses if "pneumonia" in item or "patient=" in item]


def test_the_head_leads_to_cohorts_only_where_there_are_patients(client, token):
    assert get(client, "/").links("/cohorts") == ["/cohorts"]
    get(client, "/cohorts?collection=abstracts", status=404)
    reader = token("eve", "public")
    assert not get(client, "/", headers=reader).links("/cohorts")
    assert get(client, "/", headers=reader).links("/saved") == ["/saved"]
    get(client, "/cohorts", status=404, headers=reader)


def test_two_saved_cohorts_are_compared(client):
    a, b = (saved(client, form | {"name": name}) for form, name in ((WITH, "All"), (FORM, "Dry")))
    first, second = (address.removeprefix("/cohorts/") for address in (a, b))
    page = get(client, f"/compare?a={first}&b={second}")
    assert "Only in “All”: 1" in page.text
    assert "In both: 1" in page.text
    assert "Only in “Dry”: 0" in page.text
    assert "Patients with pneumonia; without effusion" in page.text
    assert [attrs["value"] for attrs in page.all("button", name="patient")] == ["p2", "p1"]
    get(client, f"/compare?a={first}&b=0123456789abcdef", status=404)
    later = Page(send(client, "/compare", {"a": first, "b": second, "after": "p1"}).text)
    assert [attrs["value"] for attrs in later.all("button", name="patient")] == ["p2"]


def test_rows_become_a_definition_and_rows_again():
    rows = [
        CriterionRow("none", "effusion", since="2020-01-01"),
        CriterionRow(),
        CriterionRow("all", "pneumonia", "family", filters='{"type": ["Radiology"]}'),
        CriterionRow("any", words="chest pain", days="7", of="3"),
    ]
    definition, order = as_definition(rows)
    assert order == [2, 3, 0]
    assert definition == {
        "all": [{"concept": "pneumonia", "assertion": "family", "filters": {"type": ["Radiology"]}}],
        "any": [{"words": "chest pain", "within_days": 7, "of": 0}],
        "none": [{"concept": "effusion", "assertion": "present", "since": "2020-01-01"}],
    }
    again = rows_of(definition, shipped_concepts())
    assert again == [rows[2], CriterionRow("any", words="chest pain", days="7", of="1"), rows[0]]
    assert as_definition(again)[0] == definition


def test_a_removed_row_takes_its_references_along():
    rows = [
        CriterionRow(concept=name, days=days, of=of)
        for name, days, of in (("a", "", ""), ("b", "3", "1"), ("c", "4", "2"))
    ]
    assert [(row.days, row.of) for row in without_row(rows, 0)] == [("", ""), ("4", "1")]
    assert [(row.days, row.of) for row in without_row(rows, 1)] == [("", ""), ("", "")]


def test_rows_are_read_in_the_order_of_their_numbers():
    sent = MultiDict(
        [("concept.10", "b"), ("concept.2", " a "), ("concept.x", "c"), ("group.2", "any"), ("other", "d")]
    )
    assert read_rows(sent) == [CriterionRow("any", "a"), CriterionRow("all", "b")]


@pytest.mark.parametrize("content", [{}, {"all": 3}, {"all": [None, 3, {"concept": 5, "of": "x"}]}, {"any": {"a": 1}}])
def test_damaged_content_gives_rows_and_never_an_error(content):
    assert all(isinstance(row, CriterionRow) for row in rows_of(content, shipped_concepts()))


def bundle(client, **changes):
    sent = {"name": "Chest", "terms": "effusion\ngout"} | changes.pop("form", {})
    assert send(client, "/saved/bundles", sent, **changes).status_code == 303
    return client.get("/v1/kept?kind=bundle", **changes).json["items"][0]


def test_a_row_takes_a_bundle_and_a_saved_cohort_follows_it(client):
    kept = bundle(client)
    form = {"collection": "notes", "group.0": "all", "concept.0": "bundle:Chest", "name": "One"}
    page = built(client, form)
    assert "1 of 2 patients meets these rows" in page.text
    assert "1. with bundle Chest met" in page.text
    address = saved(client, form)
    content = client.get(address.replace("/cohorts", "/v1/kept")).json["content"]
    assert content == {"all": [{"bundle": kept["id"], "assertion": "present"}]}
    changed = {"name": "Lungs", "terms": "pneumonia", "revision": "1"}
    assert send(client, f"/saved/{kept['id']}", changed).status_code == 303
    page = get(client, address)
    assert values(page, "concept") == ["bundle:Lungs"]
    assert "2 of 2 patients meet these rows" in page.text
    other = saved(client, WITH | {"name": "Two"})
    compared = get(client, f"/compare?a={address.rpartition('/')[2]}&b={other.rpartition('/')[2]}")
    assert "with bundle Lungs" in compared.text
    assert send(client, f"/saved/{kept['id']}/delete", {"revision": "2"}).status_code == 303
    gone = get(client, address, status=400)
    assert values(gone, "concept") == [f"bundle:{kept['id']}"]
    assert "Row 1 : There is no bundle" in gone.text
    assert [attrs["id"] for _, attrs in gone.elements if attrs.get("aria-invalid")] == ["concept-0"]


def test_a_bundle_of_a_colleague_is_named_by_its_id_and_shown_with_its_terms(client, token):
    ada, bob = token("ada", "ward-8"), token("bob", "ward-8")
    kept = bundle(client, form={"share": "ward-8"}, headers=ada)
    page = built(client, {"collection": "notes", "do": "bundle", "bundle": kept["id"]}, headers=bob)
    assert values(page, "concept") == [f"bundle:{kept['id']}"]
    assert "Bundle “Chest”: any of effusion, gout" in page.text
    asked = {"collection": "notes", "concept.0": "bundle:Chest"}
    assert "There is no bundle 'Chest' that you may see" in built(client, asked, status=400, headers=bob).text


def test_a_row_is_switched_off_and_on_and_the_rest_is_counted(client):
    page = built(client, FORM | {"do": "switch.1"})
    assert values(page, "concept") == ["pneumonia", "effusion"]
    assert values(page, "off") == ["yes"]
    assert "2 of 2 patients meet these rows" in page.text
    assert "Row 2 off" in page.text
    assert "2. without effusion" not in page.text
    assert "Rows that are off are not saved." in page.text
    again = built(client, FORM | {"off.1": "yes", "do": "switch.1"})
    assert "1 of 2 patients meets these rows" in again.text
    assert not values(again, "off")
    nothing = built(client, WITH | {"off.0": "yes"})
    assert "A row asks for one thing" in nothing.text


def test_what_is_wrong_in_a_row_that_is_off_does_not_matter_and_days_need_one_that_is_on(client):
    assert "2 of 2 patients" in built(client, FORM | {"concept.1": "efusion", "off.1": "yes"}).text
    page = built(client, FORM | {"off.0": "yes", "days.1": "7", "of.1": "1"}, status=400)
    assert "Row 2 : Choose another row that the days are counted from" in page.text


def test_a_saved_cohort_has_the_rows_that_are_on(client):
    address = saved(client, FORM | {"off.1": "yes", "name": "One"})
    assert values(get(client, address), "concept") == ["pneumonia"]
