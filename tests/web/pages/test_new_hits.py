"""What is new in a saved search: marked on its page, until it is marked as seen."""

from datetime import UTC, datetime

import pytest
from browsing import Page, get, send
from portal_home import abstract

from mappings.documents import Access
from search.kept.items import KeptDraft
from web.cli.indexing import fill_quietly

SEARCH = "collection=abstracts&text=statins"


def asked(client, address=f"/search?{SEARCH}", **sent):
    return get(client, address, **sent)


def saving(page, name="Statins", **further):
    """The form that saves the search of a page, as a browser sends it."""
    forms, fields = [], {}
    for tag, attrs in page.elements:
        if tag == "form":
            fields = {}
            forms.append((attrs.get("action"), fields))
        elif tag == "input" and attrs.get("type") == "hidden":
            fields.setdefault(attrs["name"], []).append(attrs["value"])
    (found,) = [fields for action, fields in forms if action == "/saved/searches"]
    return {"name": name, **found, **further}


def saved(client, page=None, **further):
    form = saving(page or asked(client), **further)
    answer = send(client, "/saved/searches", form)
    assert answer.status_code == 303, answer.text
    return answer.headers["Location"]


def content(client, address, **sent):
    return client.get(address.replace("/saved/", "/v1/kept/"), **sent).json["content"]


def arrive(app, *ids):
    """Documents that came in since."""
    medley = app.extensions["medley"].medley
    rows = [(name, f"Statins, trial {name}", "public", 2026, "Heart", "Statins lowered mortality.") for name in ids]
    medley.collections.store("abstracts").put([abstract(*row) for row in rows])
    fill_quietly(medley, "abstracts")


def marked(page):
    """How many hits have the mark."""
    return len(page.all("span", **{"class": "badge new"}))


def seen_form(page):
    """The form that marks what is shown as seen."""
    return {
        "revision": page.value("revision"),
        "seen": "shown",
        "shown": [attrs["value"] for attrs in page.all("input", name="shown")],
    }


def today():
    day = datetime.now(UTC).date()
    return f"{day.day} {day:%B %Y}"


def test_a_saved_search_marks_what_came_since(client, app):
    address = saved(client)
    kept = content(client, address)
    assert kept["parameters"] == {"text": ["statins"]}
    assert {"pm/1", "pm/4", "secret/1"} <= set(kept["seen"]["ids"])
    page = get(client, address)
    assert f"Nothing new since {today()}." in page.text
    assert marked(page) == 0
    arrive(app, "pm/8", "pm/9")
    page = get(client, address)
    assert f"2 new since {today()}." in page.text
    assert marked(page) == 2
    form = seen_form(page)
    answer = send(client, f"{address}/seen", form)
    assert (answer.status_code, answer.headers["Location"]) == (303, address)
    page = get(client, address)
    assert f"Nothing new since {today()}." in page.text
    assert marked(page) == 0
    assert {"pm/8", "pm/9"} <= set(content(client, address)["seen"]["ids"])
    assert marked(asked(client)) == 0


def test_what_came_after_the_page_was_opened_stays_new(client, app):
    address = saved(client)
    form = seen_form(get(client, address))
    arrive(app, "pm/8")
    send(client, f"{address}/seen", form)
    assert f"1 new since {today()}." in get(client, address).text


def test_a_search_that_was_saved_without_it_says_so_and_can_begin(client, app):
    address = saved(client, seen="")
    assert content(client, address) == {"parameters": {"text": ["statins"]}}
    page = get(client, address)
    assert "Which hits you have seen is not known" in page.text
    assert marked(page) == 0
    send(client, f"{address}/seen", seen_form(page))
    arrive(app, "pm/8")
    assert f"1 new since {today()}." in get(client, address).text


def test_a_search_that_found_nothing_tells_of_its_first_document(client, app):
    nothing = "collection=abstracts&text=statins&filter.year=2026.."
    address = saved(client, asked(client, f"/search?{nothing}"))
    assert content(client, address)["seen"]["ids"] == []
    arrive(app, "pm/8")
    assert f"1 new since {today()}." in get(client, address).text


def test_of_a_later_page_nothing_is_remembered(client):
    (following,) = [link for link in asked(client, f"/search?{SEARCH}&size=1").links("/search?") if "cursor=" in link]
    assert "seen" not in content(client, saved(client, asked(client, following)))


def test_at_most_a_hundred_documents_are_remembered(client):
    address = saved(client, shown=[f"pm/{number}" for number in range(300)] + ["x" * 601])
    assert content(client, address)["seen"]["ids"] == [f"pm/{number}" for number in range(100)]


def test_of_two_tabs_the_second_is_told(client):
    address = saved(client)
    form = seen_form(get(client, address))
    send(client, f"{address}/seen", form)
    answer = send(client, f"{address}/seen", form)
    assert answer.status_code == 409
    assert "has revision 2, not 1" in Page(answer.text).text


def test_renaming_keeps_what_was_seen(client):
    address = saved(client)
    before = content(client, address)
    send(client, address, {"name": "Other", "revision": "1"})
    assert content(client, address) == before


def test_readers_of_a_shared_search_do_not_learn_what_its_owner_saw(client, token):
    ada, bob = token("ada", "public", "embargo", "desk"), token("bob", "public", "desk")
    form = saving(asked(client, headers=ada), share="desk")
    address = send(client, "/saved/searches", form, headers=ada).headers["Location"]
    assert "secret/1" in content(client, address, headers=ada)["seen"]["ids"]
    assert content(client, address, headers=bob) == {"parameters": {"text": ["statins"]}}
    assert "secret/1" not in client.get("/v1/kept", headers=bob).text
    page = get(client, address, headers=bob)
    assert "new since" not in page.text
    assert not page.all("form", action=f"{address}/seen")
    assert send(client, f"{address}/seen", {"revision": "1"}, headers=bob).status_code == 403


def test_only_searches_are_marked_as_seen(client):
    send(client, "/saved/bundles", {"name": "Chest", "terms": "pneumonia"})
    (item,) = client.get("/v1/kept?kind=bundle").json["items"]
    assert send(client, f"/saved/{item['id']}/seen", {"revision": "1"}).status_code == 400
    assert send(client, "/saved/0123456789abcdef/seen", {"revision": "1"}).status_code == 404
    assert client.post(f"/saved/{item['id']}/seen").status_code == 403


@pytest.mark.parametrize("seen", [7, {}, {"ids": "pm/1"}, {"ids": ["pm/1"]}, {"ids": [], "moment": "then"}])
def test_what_a_program_kept_otherwise_is_not_known(client, app, seen):
    address = saved(client)
    medley = app.extensions["medley"].medley
    item = medley.kept.find(address.rpartition("/")[2])
    draft = KeptDraft("search", item.name, {**item.content, "seen": seen}, "abstracts")
    medley.kept.replace(Access(item.owner, frozenset({"*"})), item.id, 1, draft)
    assert "Which hits you have seen is not known" in get(client, address).text


def test_a_claim_is_saved_as_a_search(client):
    page = get(client, "/claim?collection=abstracts&text=Aspirin+reduced+stroke")
    assert "Save this claim" in page.text
    assert page.value("name") == "Aspirin reduced stroke"
    address = saved(client, page, name="Aspirin")
    kept = content(client, address)
    assert kept["parameters"] == {"text": ["Aspirin reduced stroke"]}
    assert "pm/2" in kept["seen"]["ids"]
    assert "Nothing new since" in get(client, address).text


def test_a_private_claim_is_saved_without_an_address(private_client):
    form = {"collection": "studies", "text": "Aspirin reduces the risk of stroke"}
    page = Page(send(private_client, "/claim", form).text)
    assert page.all("form", action="/saved/searches", method="post")
    assert page.all("input", name="search", type="hidden")
