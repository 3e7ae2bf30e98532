"""The years beside the hits: bars with true counts, each of which is a filter."""

import pytest
from browsing import Page, get, send

FORM = {"collection": "notes", "text": "pneumonia"}


def counted(page):
    """The years and counts beside the hits, as text."""
    return page.text.partition("Apply the bounds of Date")[2].split(" Counts are")[0].split()


def test_each_year_has_a_bar_and_its_count(client):
    page = Page(send(client, "/search", FORM).text)
    assert counted(page) == ["2021", "1", "2020", "2"]
    assert [attrs["width"] for attrs in page.all("rect", height="8")] == ["50", "100"]


def test_a_year_is_a_filter_that_can_be_given_up(client):
    states = [attrs["value"] for attrs in Page(send(client, "/search", FORM).text).all("button", name="state")]
    (year,) = [state for state in states if "2021-01-01..2021-12-31" in state]
    page = Page(send(client, "/search", {"text": "pneumonia", "state": year}).text)
    assert "1 document matches the words" in page.text
    assert (page.value("from.date"), page.value("to.date")) == ("2021-01-01", "2021-12-31")
    assert counted(page)[:3] == ["2021", "1", ","]
    assert "collection=notes" in [attrs["value"] for attrs in page.all("button", name="state")]


def test_hidden_documents_are_in_no_year(client, token):
    page = Page(send(client, "/search", FORM, headers=token("ada", "ward-7")).text)
    assert counted(page) == ["2020", "2"]


def test_the_year_of_a_publication_is_counted_once(client):
    page = get(client, "/search?collection=abstracts&text=statins")
    assert not page.all("rect", height="8")


@pytest.mark.parametrize("facet", ["type:year", "year:year", "colour:year", ":year"])
def test_only_dates_are_counted_by_year(client, facet):
    collection = "abstracts" if facet == "year:year" else "notes"
    answer = client.post("/v1/search", json={"collection": collection, "text": "a", "facets": [facet]})
    assert (answer.status_code, answer.json["error"]["field"]) == (400, "facets")
