from mappings.documents import Access
from search.pipeline.search import search
from search.query import Query


def test_an_index_of_another_word_analysis_is_searched_and_said_to_be_old(medley, monkeypatch):
    query = Query("abstracts", Access("reader", frozenset({"public"})), "aspirin")
    assert search(query, medley.services).degraded == ()
    monkeypatch.setattr("search.pipeline.freshness.ANALYSIS_VERSION", "words-99")
    results = search(query, medley.services)
    assert {hit.document for hit in results.hits} >= {"a1", "a5"}
    assert [note for note in results.degraded if "words-99" in note and "rebuilt" in note]
