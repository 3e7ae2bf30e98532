"""Which texts are DOIs and PubMed ids, and where they lead."""

from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from web.citations.identifiers import doi_address, doi_of, pmid_address, pmid_of

SICI = "10.1000/(SICI)1097-0258(19980815/30)17:15/16<1661::AID-INV968>3.0.CO;2-2"


@pytest.mark.parametrize(
    ("text", "doi"),
    [
        ("10.1000/inv.1", "10.1000/inv.1"),
        (" 10.1000.10/inv.1 ", "10.1000.10/inv.1"),
        ("https://doi.org/10.1000/inv%281%29", "10.1000/inv(1)"),
        ("http://dx.doi.org/10.1000/inv.1", "10.1000/inv.1"),
        ("HTTPS://DOI.ORG/10.1000/inv.1", "10.1000/inv.1"),
        ("doi: 10.1000/inv.1", "10.1000/inv.1"),
        ("10.1000/inv.1 [doi]", "10.1000/inv.1"),
        (SICI, SICI),
        ("S0000-1234(20)12345-6 [pii]", ""),
        ("10.1000/in v", ""),
        ("10.1000/inv\n10.1000/other", ""),
        ("10.1000/\u202evni", ""),
        ("10.1000/\ud800", ""),
        ("10.1000/", ""),
        ("10.1/x", ""),
        ("javascript:alert(1)//10.1000/x", ""),
        ("https://example.org/10.1000/x", ""),
        ("", ""),
    ],
)
def test_a_doi_is_recognised(text, doi):
    assert doi_of(text) == doi
    assert bool(doi_address(text)) == bool(doi)


@pytest.mark.parametrize(
    ("text", "pmid"),
    [
        ("900001", "900001"),
        ("900001.2", "900001"),
        ("PMID: 900001", "900001"),
        ("PMID900001", "900001"),
        ("0", ""),
        ("0900001", ""),
        ("9000010000", ""),
        ("\u0669\u0660", ""),
        ("900001/../x", ""),
        ("9 0", ""),
        ("PMC900001", ""),
        ("", ""),
    ],
)
def test_a_pubmed_id_is_recognised(text, pmid):
    assert pmid_of(text) == pmid
    assert pmid_address(text) == (f"https://pubmed.ncbi.nlm.nih.gov/{pmid}/" if pmid else "")


def test_the_brackets_of_a_doi_are_escaped_in_its_address():
    address = "https://doi.org/10.1000/(SICI)1097-0258(19980815/30)17:15/16%3C1661::AID-INV968%3E3.0.CO;2-2"
    assert doi_address(SICI) == address
    assert doi_address('10.1000/a"b?c#d%e') == "https://doi.org/10.1000/a%22b%3Fc%23d%25e"


@given(st.text(max_size=40))
def test_any_doi_stays_on_its_site(text):
    found = doi_address(f"10.1000/{text}")
    parts = urlsplit(found)
    assert not found or (parts.scheme, parts.netloc, parts.query, parts.fragment) == ("https", "doi.org", "", "")
    assert found.isascii()
    assert not set(found) & set("<>\"' \n\\")
