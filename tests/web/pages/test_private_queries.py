"""Collections whose searches can name patients: the search page keeps what is searched for out of addresses."""

import pytest
from browsing import Page, get, send

from mappings.collection import load

NAME = "Fitzwilliam"
FORM = {"collection": "notes", "text": f"pneumonia {NAME}", "filter.patient": "p1", "without": "effusion"}


def addresses(page):
    """Every address on a page that a click or a form leads to."""
    return [attrs[name] for _, attrs in page.elements for name in ("href", "action", "formaction") if attrs.get(name)]


@pytest.fixture
def answered(client):
    """The page that the form of the notes is answered with."""
    answer = send(client, "/search", FORM)
    assert answer.status_code == 200
    return Page(answer.text)


def test_clinical_text_is_searched_privately_as_shipped():
    private = {kind: load(kind).private_queries for kind in ("abstracts", "articles", "notes", "reports")}
    assert private == {"abstracts": False, "articles": False, "notes": True, "reports": True}


def test_a_private_search_is_answered_without_an_address_that_contains_it(answered):
    assert "1 more document of this patient" in answered.text
    assert NAME in answered.text
    with_search = [item for item in addresses(answered) if NAME in item or "effusion" in item or "p1" in item]
    (permalink,) = [item for item in with_search if not item.startswith(("/document?", "/patient?"))]
    assert permalink.startswith("/search?collection=notes&text=pneumonia+Fitzwilliam&")
    assert "Link to this search" in answered.text
    documents = answered.links("/document?")
    assert documents
    assert not [item for item in documents if "back=" in item or NAME in item]


def test_the_title_of_a_private_answer_has_no_search_text(answered, client):
    title = answered.words[answered.words.index("Clinical notes · Medley")]
    assert NAME not in title
    assert "aspirin · Medley" in get(client, "/search?collection=abstracts&text=aspirin").words


def test_the_link_of_a_private_search_leads_to_the_same_answer(answered, client):
    (link,) = answered.links("/search?collection=notes&")
    page = get(client, link)
    assert page.links("/document?") == answered.links("/document?")
    assert page.links("/search?collection=notes&") == [link]


def test_filters_pages_and_orders_of_a_private_search_are_sent_by_post(client):
    answer = send(client, "/search", {"collection": "notes", "text": "pneumonia", "size": "1"})
    page = Page(answer.text)
    states = [attrs["value"] for attrs in page.all("button", form="again", name="state")]
    (following,) = [state for state in states if "cursor=" in state]
    second = Page(send(client, "/search", {"text": "pneumonia", "state": following}).text)
    assert second.links("/document?")
    assert not set(second.links("/document?")) & set(page.links("/document?"))
    (choice,) = [state for state in states if state.endswith("filter.type=Discharge")]
    assert "Discharge summary" in send(client, "/search", {"text": "pneumonia", "state": choice}).text
    assert page.all("form", id="again") == [{"id": "again", "method": "post", "action": "/search", "hidden": None}]


def test_another_collection_gets_a_private_question_only_if_it_is_private_too(answered, client):
    switch = [item for item in answered.links("/search") if "collection=abstracts" in item]
    assert switch == ["/search?collection=abstracts"]
    public = get(client, "/search?collection=abstracts&text=pneumonia")
    assert not [item for item in public.links("/search") if "collection=notes" in item]
    assert public.all("button", name="state", value="collection=notes")
    answer = send(client, "/search", {"text": "pneumonia", "state": "collection=notes"})
    assert (answer.status_code, "match the words" in answer.text) == (200, True)


def test_an_empty_private_answer_suggests_no_address_with_its_text(client):
    page = Page(send(client, "/search", FORM | {"filter.type": "Nothing"}).text)
    assert "Nothing was found" in page.text
    assert "Search without the filters" in page.text
    assert "Search research abstracts instead" not in page.text
    assert len([item for item in addresses(page) if NAME in item]) == 1  # the link on request


def test_citations_of_private_hits_are_sent_by_post(answered, client, logged):
    assert not answered.links("/v1/search")
    (button,) = [item for item in answered.all("button", formaction="/search/citations") if "=ris" in item["value"]]
    assert NAME not in button["value"]
    answer = send(client, "/search/citations", {"text": FORM["text"], "state": button["value"]})
    assert answer.status_code == 200
    assert answer.headers["Content-Disposition"] == 'attachment; filename="notes.ris"'
    assert "Chest radiograph" in answer.text or "Discharge summary" in answer.text
    assert logged()[-1]["asked"]["text"] == FORM["text"]


@pytest.mark.parametrize(
    ("form", "status", "words"),
    [
        ({"state": "collection=notes&format=json", "text": "a"}, 400, "ris, bibtex or csv"),
        ({"state": "collection=notes&format=doc", "text": "a"}, 400, "format"),
        ({"state": "collection=nothing&format=ris", "text": "a"}, 400, "nothing"),
        ({"state": "collection=notes&format=ris"}, 400, "text"),
        ({"state": "collection=notes&format=ris&nothing=1", "text": "a"}, 400, "nothing"),
        ({"csrf": "forged", "state": "collection=notes&format=ris", "text": "a"}, 403, "form has expired"),
    ],
)
def test_bad_forms_for_citations_are_refused_on_a_page(client, form, status, words):
    answer = send(client, "/search/citations", form)
    assert (answer.status_code, answer.mimetype) == (status, "text/html")
    assert words in answer.text


def test_a_private_search_is_in_the_access_log(answered, logged):
    assert logged()[-1]["asked"] == {
        "text": FORM["text"],
        "without": ["effusion"],
        "filters": {"patient": ["p1"]},
    }


def test_an_error_of_a_private_search_keeps_it_out_of_addresses(client):
    answer = send(client, "/search", FORM | {"sort": "nothing"})
    assert answer.status_code == 400
    assert not [item for item in addresses(Page(answer.text)) if NAME in item]


def test_a_search_of_a_collection_that_was_removed_gets_no_address(client):
    answer = send(client, "/search", FORM | {"collection": "gone"})
    assert answer.status_code == 400
    assert not [item for item in addresses(Page(answer.text)) if NAME in item]


def test_the_page_of_a_document_has_no_way_back_to_a_private_search(client):
    page = get(client, f"/document?collection=notes&id=p1/n1&back=collection%3Dnotes%26text%3D{NAME}")
    assert not [item for item in addresses(page) if NAME in item]
    assert "/?collection=notes" in page.links("/")


def test_programs_can_still_search_by_address(client):
    answer = client.get("/v1/search?collection=notes&text=pneumonia")
    assert (answer.status_code, len(answer.json["hits"])) == (200, 2)


def test_the_next_page_of_a_search_that_just_fits_in_an_address_is_a_button_that_works(client):
    text = "statins adults " * 233
    page = get(client, "/search", query_string={"collection": "abstracts", "text": text, "size": "2"})
    assert page.links("/v1/search?collection=abstracts&text=statins+adults")  # it fits
    (following,) = [item["value"] for item in page.all("button", form="again") if "cursor=" in item["value"]]
    second = Page(send(client, "/search", {"text": text, "state": following}).text)
    assert second.links("/document?")
    assert not set(second.links("/document?")) & set(page.links("/document?"))
    assert page.all("form", id="again")
