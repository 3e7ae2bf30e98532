"""A preprint and its publication are one hit, on whichever page; other kinds group as before."""

from __future__ import annotations

import pytest
from small_collections import abstract, fill

from mappings.documents import Access, Document, Section
from search.bootstrap import Medley
from search.query import Query
from search.settings import Settings

PUBLIC = Access("reader", frozenset({"public"}))
TITLE = "Seaweed and the length of colds"


def version(identifier: str, text: str, journal: str, title: str = TITLE) -> Document:
    return Document(identifier, title, (Section("", text),), frozenset({"public"}), {"journal": journal})


@pytest.fixture
def medley(tmp_path):
    opened = Medley.open(Settings(home=tmp_path, encoder="hashing-256", reranker="none"))
    documents = [
        version("pre", "Seaweed shortened colds of 80 sailors.", "medRxiv"),
        version("published", "Seaweed shortened colds.", "Ship Medicine", TITLE.upper()),
        *(abstract(f"o{number}", f"Colds {number}", f"Seaweed {'and ' * number} colds.", 2000) for number in range(4)),
    ]
    fill(opened, "abstracts", documents)
    return opened


def test_versions_of_a_work_are_one_hit(medley) -> None:
    hits = medley.search(Query("abstracts", PUBLIC, "seaweed shortened colds")).hits
    (work,) = [hit for hit in hits if hit.document in ("pre", "published")]
    assert {work.document, *work.others} == {"pre", "published"}
    assert len(hits) == 5
    by_id = {hit.document: hit.badges for hit in hits}
    assert by_id.get("pre", ("preprint",)) == ("preprint",)


def test_pages_show_no_version_twice(medley) -> None:
    shown, cursor = list[str](), None
    while True:
        page = medley.search(Query("abstracts", PUBLIC, "seaweed colds", size=1, cursor=cursor))
        shown += [name for hit in page.hits for name in (hit.document, *hit.others)]
        cursor = page.cursor
        if cursor is None:
            break
    assert sorted(shown) == sorted(set(shown))
    assert len(shown) == 6
