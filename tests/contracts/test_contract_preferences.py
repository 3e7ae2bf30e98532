"""Searches by the name of one concept: documents that assert it come first, the same on every engine."""

from __future__ import annotations

import secrets
from dataclasses import replace

import pytest

from mappings.documents import Access, Document, Section
from search.bootstrap import Medley
from search.query import Query
from search.settings import Settings
from workers.indexing.indexer import Indexer
from workers.indexing.ingest import ingest

READER = Access("reader", frozenset({"clinical"}))


def report(name: str, heading: str, text: str, label: str = "clinical") -> Document:
    fields = {"patient": f"p-{name}", "type": "Chest radiograph"}
    return Document(name, "Chest radiograph", (Section(heading, text),), frozenset({label}), fields)


REPORTS = [
    *(report(f"no{number}", "IMPRESSION", "No pneumothorax.") for number in range(12)),
    report("asked", "INDICATION", "Evaluate for pneumothorax."),
    report("found", "FINDINGS", "The lungs are well expanded. There is a small apical pneumothorax on the left side."),
    report("named", "FINDINGS", "A medial collection of pleural air is seen on the right side, unchanged in size."),
    report("suspected", "IMPRESSION", "Possible pneumothorax."),
    report("hidden", "IMPRESSION", "Pneumothorax.", label="ward-a"),
    report("collapsed", "FINDINGS", "Collapsed lower lobe."),
    report("other", "IMPRESSION", "Clear lungs."),
    report("mother", "HISTORY", "Her mother has asthma. She has a cough."),
    report("child", "HISTORY", "Asthma since childhood."),
    report("wheezes", "FINDINGS", "Wheezing is heard on both sides."),
    replace(report("guide", "ADVICE", "Ask for triggers at home."), title="Wheezing"),
]


@pytest.fixture(scope="module", params=["embedded", pytest.param("opensearch", marks=pytest.mark.opensearch)])
def medley(request, tmp_path_factory):
    chosen = {}
    if request.param == "opensearch":
        node = request.getfixturevalue("node")
        chosen = {"opensearch": node.url, "opensearch_prefix": f"t{secrets.token_hex(5)}"}
    home = tmp_path_factory.mktemp(request.param)
    made = Medley.open(Settings(home=home, encoder="hashing-256", reranker="none", **chosen))
    made.collections.create("reports")
    made.collections.store("reports").put(REPORTS)
    assert not [item.cause for item in ingest(Indexer.of(made, "reports")) if item.cause]
    yield made
    if chosen:
        made.engine.cluster.write("DELETE", f"/{made.engine.cluster.prefix}.*")
        made.engine.cluster.close()


def ask(medley, text, **more):
    return medley.search(Query("reports", READER, text, size=50, **more))


def names(results):
    return [hit.document for hit in results.hits]


def test_a_document_with_that_title_comes_before_those_that_assert_it(medley):
    assert names(ask(medley, "wheezing"))[:2] == ["guide", "wheezes"]
    assert names(ask(medley, "wheeze"))[:2] == ["guide", "wheezes"]  # the same stem


def test_names_that_no_document_has_together_are_searched_by_their_words(medley):
    results = ask(medley, "pneumothorax and asthma")
    assert "no document says that all of this is present: searched by its words" in results.understood.notes
    assert results.understood.criteria == ()
    assert {"found", "child"} <= set(names(results))
    # What is asked for in so many words, or ruled out, has no other answer.
    assert names(ask(medley, "", having=("pneumothorax", "asthma"))) == []
    assert names(ask(medley, "asthma and pneumothorax without cough")) == []


def test_documents_that_assert_it_come_before_those_that_rule_it_out(medley):
    results = ask(medley, "pneumothorax")
    found = names(results)
    assert found[:4] == ["found", "named", "suspected", "asked"]
    assert set(found[4:16]) == {f"no{number}" for number in range(12)}
    assert "hidden" not in found
    assert results.total.value == 15  # by its words: none is left out, and "pleural air" is none of them
    scores = [hit.score for hit in results.hits]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)


def test_their_sentences_are_shown_and_no_others(medley):
    proofs = {hit.document: hit.proofs for hit in ask(medley, "pneumothorax").hits}
    assert [item.text for item in proofs["named"]] == [
        "A medial collection of pleural air is seen on the right side, unchanged in size."
    ]
    assert [item.assertion for item in proofs["suspected"]] == ["uncertain"]
    assert proofs["no1"] == proofs["asked"] == (None,)


def test_who_has_it_under_another_name_is_found_and_nobody_is_said_to_be_missing(medley):
    under_another_name = ask(medley, "atelectasis")
    assert names(under_another_name)[0] == "collapsed"
    assert under_another_name.understood.notes == ()
    nobody = ask(medley, "gout")
    assert nobody.understood.notes == ("no document has “gout”: these are the nearest by words and meaning",)


def test_as_plain_words_nothing_is_preferred(medley):
    results = ask(medley, "pneumothorax", plain=True)
    assert results.understood.preferences == ()
    assert names(results)[0] not in ("found", "named")


def test_a_relative_is_preferred_where_the_text_asks_for_one(medley):
    assert names(ask(medley, "asthma family history"))[0] == "mother"
    assert names(ask(medley, "asthma"))[0] == "child"


def test_the_pages_of_an_answer_go_on_in_one_order(medley):
    whole = names(ask(medley, "pneumothorax"))
    found, cursor = [], None
    while len(found) < len(whole):
        page = medley.search(Query("reports", READER, "pneumothorax", size=5, cursor=cursor))
        found += names(page)
        cursor = page.cursor
        if cursor is None:
            break
    assert found == whole
