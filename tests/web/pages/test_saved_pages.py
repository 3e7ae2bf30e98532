"""What users save on pages: searches that run again, bundles that become rows, sharing, and deleting."""

import pytest
from browsing import Page, get, send

SEARCH = "collection=notes&text=pneumonia&without=effusion&filter.patient=p1"


def save(client, address, form, status=303, **sent):
    answer = send(client, address, form, **sent)
    assert answer.status_code == status, answer.text
    return answer.headers["Location"] if status == 303 else Page(answer.text)


def revision(page):
    return page.value("revision")


def test_a_search_is_saved_on_its_page_and_runs_again_from_an_address_without_its_text(client):
    asked = Page(send(client, "/search", {"collection": "notes", "text": "pneumonia", "without": "effusion"}).text)
    (sent,) = [attrs["value"] for attrs in asked.all("input", name="search")]
    address = save(client, "/saved/searches", {"search": sent, "name": "Dry pneumonia"})
    assert address.startswith("/saved/")
    assert "pneumonia" not in address
    page = get(client, address)
    assert "Saved search “Dry pneumonia”" in page.text
    assert page.links("/document?") == asked.links("/document?")
    assert address in get(client, "/saved").links("/saved/")


def test_every_parameter_of_a_search_is_kept(client):
    address = save(client, "/saved/searches", {"search": f"{SEARCH}&cursor=zzz", "name": "One"})
    page = get(client, address)
    (kept,) = [attrs["value"] for attrs in page.all("input", name="search")]
    assert sorted(kept.split("&")) == sorted(SEARCH.split("&"))


@pytest.mark.parametrize(
    ("form", "status", "words"),
    [
        ({"search": SEARCH, "name": ""}, 400, "a name has 1 to 200"),
        ({"search": SEARCH, "name": "taken"}, 409, "choose another name"),
        ({"search": "collection=notes", "name": "new"}, 400, "there is nothing to save"),
        ({"search": "collection=none&text=x", "name": "new"}, 400, "there is no collection"),
    ],
)
def test_a_search_that_can_not_be_saved_says_why(client, form, status, words):
    save(client, "/saved/searches", {"search": SEARCH, "name": "taken"})
    assert words in save(client, "/saved/searches", form, status).text.lower()


def test_a_bundle_becomes_a_row_of_a_cohort(client):
    save(client, "/saved/bundles", {"name": "Chest", "terms": "pneumonia\n\n effusion \npneumonia"})
    (option,) = [attrs["value"] for attrs in get(client, "/cohorts").all("option") if len(attrs["value"]) == 16]
    form = {"collection": "notes", "do": "bundle", "bundle": option}
    page = Page(send(client, "/cohorts", form).text)
    assert [attrs["value"] for attrs in page.all("input") if attrs.get("name", "").startswith("concept.")] == [
        "bundle:Chest"
    ]
    assert "2 of 2 patients meet these rows" in page.text
    assert "Bundle “Chest”: any of pneumonia, effusion" in page.text
    assert "1. with bundle Chest met" in page.text
    begun = get(client, f"/cohorts?bundle={option}")
    assert begun.value("concept.0") == "bundle:Chest"
    assert "2 of 2 patients meet these rows" in begun.text
    get(client, "/cohorts?bundle=0123456789abcdef", status=404)


def test_a_bundle_is_searched_for_from_the_list_of_bundles(client):
    save(client, "/saved/bundles", {"name": "Chest", "terms": "pneumonia\neffusion"})
    page = get(client, "/saved")
    assert (page.value("with"), len(page.links("/cohorts?bundle="))) == ("bundle:Chest", 1)
    answer = Page(send(client, "/search", {"collection": "notes", "with": page.value("with")}).text)
    assert "3 documents match the criteria" in answer.text
    assert "with Chest any of 2 Change with Chest Any of pneumonia, effusion" in answer.text
    assert "with Chest FINDINGS Right lower lobe pneumonia . present" in answer.text.replace(
        "pneumonia.", "pneumonia ."
    )


def test_a_saved_search_keeps_its_bundle_by_id(client, token):
    ada, bob = token("ada", "ward-7"), token("bob", "ward-7")
    save(client, "/saved/bundles", {"name": "Chest", "terms": "gout\npneumonia", "share": "ward-7"}, headers=ada)
    search = {"search": "collection=notes&with=fever, uncertain:bundle:Chest", "name": "One", "share": "ward-7"}
    address = save(client, "/saved/searches", search, headers=ada)
    (bundle,) = client.get("/v1/kept?kind=bundle", headers=ada).json["items"]
    kept = client.get(address.replace("/saved", "/v1/kept"), headers=ada).json["content"]
    assert kept == {"parameters": {"with": [f"fever, uncertain:bundle:{bundle['id']}"]}}
    assert "uncertain: Chest any of 2" in get(client, address, headers=bob).text
    lost = {"search": "collection=notes&with=bundle:none", "name": "Two"}
    assert "There is no bundle 'none'" in save(client, "/saved/searches", lost, status=400, headers=ada).text


def test_an_item_is_renamed_shared_and_deleted(client):
    address = save(client, "/saved/searches", {"search": SEARCH, "name": "Old"})
    changed = {"name": "New", "share-other": "ward-7", "revision": revision(get(client, "/saved"))}
    assert save(client, address, changed) == "/saved"
    page = get(client, "/saved")
    assert "New notes" in page.text
    assert "shared with ward-7" in page.text
    stale = save(client, address, changed, status=409)
    assert "has revision 2, not 1" in stale.text
    save(client, f"{address}/delete", {"revision": "1"}, status=409)
    assert save(client, f"{address}/delete", {"revision": revision(page)}) == "/saved"
    assert not get(client, "/saved").links("/saved/")
    get(client, address, status=404)


def test_a_bundle_is_changed_and_keeps_a_term(client):
    save(client, "/saved/bundles", {"name": "Chest", "terms": "pneumonia"})
    page = get(client, "/saved")
    (address,) = [attrs["action"] for attrs in page.all("form") if attrs["action"].endswith("/delete")]
    address = address.removesuffix("/delete")
    refused = save(client, address, {"name": "Chest", "terms": " \n", "revision": "1"}, status=400)
    assert "a bundle has at least one term" in refused.text.lower()
    save(client, address, {"name": "Chest", "terms": "fever", "revision": "1"})
    assert "fever" in get(client, "/saved").text


def test_what_is_shared_is_seen_and_not_changed_by_others(client, token):
    ada, bob, eve = token("ada", "ward-7"), token("bob", "ward-7"), token("eve", "ward-8")
    address = save(client, "/saved/searches", {"search": SEARCH, "name": "Ours", "share": "ward-7"}, headers=ada)
    page = get(client, "/saved", headers=bob)
    assert "Ours" in page.text
    assert "from ada" in page.text
    assert not [attrs for attrs in page.all("form") if attrs["action"].startswith(address)]
    assert get(client, address, headers=bob)
    save(client, address, {"name": "Mine", "revision": "1"}, status=403, headers=bob)
    save(client, f"{address}/delete", {"revision": "1"}, status=403, headers=bob)
    assert not get(client, "/saved", headers=eve).links("/saved/")
    get(client, address, status=404, headers=eve)
    save(client, address, {"name": "Mine", "revision": "1"}, status=404, headers=eve)
    foreign = {"search": SEARCH, "name": "Theirs", "share": "ward-8"}
    save(client, "/saved/searches", foreign, status=403, headers=ada)


def test_an_item_of_another_kind_does_not_open_as_a_search_or_a_cohort(client):
    search = save(client, "/saved/searches", {"search": SEARCH, "name": "One"})
    get(client, search.replace("/saved/", "/cohorts/"), status=404)
    form = {"collection": "notes", "concept.0": "pneumonia", "name": "Two"}
    cohort = save(client, "/cohorts/save", form).removesuffix("?saved=now")
    get(client, cohort.replace("/cohorts/", "/saved/"), status=404)


def test_a_long_list_has_pages(client, monkeypatch):
    monkeypatch.setattr("web.pages.saved.routes.ON_A_PAGE", 2)
    for number in range(3):
        save(client, "/saved/searches", {"search": SEARCH, "name": f"Search {number}"})
    page = get(client, "/saved")
    assert len(page.links("/saved/")) == 2
    (more,) = page.links("/saved?kind=search")
    assert len(get(client, more).links("/saved/")) == 1
