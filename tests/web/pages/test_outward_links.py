"""PubMed ids and DOIs on the pages: links to other sites, from which nothing is loaded."""

import pytest
from browsing import Page, get

from mappings.collection import load
from mappings.documents import Document
from mappings.formats.jsonl import parse_record
from web.cli.indexing import fill_quietly
from web.pages.formatting import details

AUTHORS = [f"Doe{number}, Ann" for number in range(500)]
TOLD = {
    "id": "soap/1",
    "title": "Soap for grey elbows",
    "authors": AUTHORS,
    "pmid": "900001",
    "doi": ["10.1000/a<b>(1);2", "<script>"],
    "mesh": ["Elbow", "Soaps"],
    "volume": "12",
    "type": "Review",
}


@pytest.fixture
def pages(client, app, store):
    """The page of an answer and the page of its document."""
    store.put([parse_record(TOLD, load("abstracts"))])
    fill_quietly(app.extensions["medley"].medley, "abstracts")
    return [
        client.get("/search?collection=abstracts&text=soap").text,
        client.get("/document?collection=abstracts&id=soap%2F1").text,
    ]


def test_the_identifiers_of_a_document_are_linked_on_both_pages(pages):
    for page in map(Page, pages):
        links = [link for link in page.all("a") if link.get("href", "").startswith("http")]
        assert links == [
            {"href": "https://pubmed.ncbi.nlm.nih.gov/900001/", "rel": "noreferrer noopener"},
            {"href": "https://doi.org/10.1000/a%3Cb%3E(1);2", "rel": "noreferrer noopener"},
        ]
        assert "DOI 10.1000/a<b>(1);2 , <script>" in page.text


def test_identifiers_are_escaped_and_load_nothing(pages):
    for text in pages:
        assert "<script>" not in text
        assert not [tag for tag, attrs in Page(text).elements if attrs.get("src", "").startswith("http")]


def test_a_hit_names_few_authors_and_the_document_all(pages):
    answer, document = map(Page, pages)
    assert "Doe0, Ann; Doe1, Ann; Doe2, Ann and 497 more" in answer.text
    assert "Doe499, Ann" not in answer.text
    assert "; ".join(AUTHORS) in document.text
    assert "Volume 12" in document.text
    assert "Volume 12" not in answer.text


def test_headings_and_types_of_publication_narrow_an_answer(pages, client):
    page = get(client, "/search?collection=abstracts&text=soap&filter.mesh=Soaps&filter.type=Review")
    assert "1 document matches the words" in page.text
    assert get(client, "/search?collection=abstracts&text=soap&filter.authors=Doe499%2C+Ann").links("/document?")


@pytest.mark.parametrize(
    "fields", [{"doi": "see text"}, {"pmid": "draft"}, {"doi": ("a", "b")}, {"authors": "10.1000/a"}]
)
def test_what_is_no_identifier_is_no_link(fields):
    document = Document("a", "T", (), fields=fields)
    assert [item.links for item in details(document.fields, load("abstracts"))] == [()]
