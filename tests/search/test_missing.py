"""What an answer says of words that no document holds."""

from __future__ import annotations

import pytest
from small_collections import abstract, fill

from mappings.documents import Access
from search.pipeline import lookup
from search.query import Query, Terms

PUBLIC = Access("reader", frozenset({"public"}))


def ask(medley, text, access=PUBLIC, **more):
    return medley.search(Query("abstracts", access, text, **more)).missing


@pytest.fixture
def small(monkeypatch):
    """As if the few documents of these tests were enough to say what is missing."""
    monkeypatch.setattr(lookup, "LEAST_DOCUMENTS", 1)


def test_a_small_collection_says_nothing(medley) -> None:
    assert ask(medley, "ivermectin lowered mortality") == ()


@pytest.mark.usefixtures("small")
def test_words_that_nobody_wrote_are_named_as_typed(medley) -> None:
    assert ask(medley, "Ivermectin lowered mortality of Zebras") == ("Ivermectin", "Zebras")
    assert ask(medley, "aspirins lowering mortality") == ()
    assert ask(medley, "62 % of men in 2019 ate it") == ()


@pytest.mark.usefixtures("small")
def test_a_word_of_another_document_than_those_shown_is_not_missing(medley) -> None:
    assert ask(medley, "aspirin vitamin", size=1) == ()


@pytest.mark.usefixtures("small")
def test_at_most_three_words_are_named_and_few_are_looked_up(medley) -> None:
    assert ask(medley, "zebras okapis gnus lemurs otters and aspirin") == ("zebras", "okapis", "gnus")
    assert ask(medley, "aspirin " * 50 + "zebras") == ()


@pytest.mark.usefixtures("small")
def test_what_the_caller_may_not_see_is_missing(tmp_path) -> None:
    from search.bootstrap import Medley
    from search.settings import Settings

    medley = Medley.open(Settings(home=tmp_path, encoder="hashing-256", reranker="none"))
    fill(
        medley,
        "abstracts",
        [
            abstract("1", "Hats", "Hats are worn.", 2000),
            abstract("2", "Seals", "Secretly, seals bark.", 2000, "secret"),
        ],
    )
    assert ask(medley, "hats seals") == ("seals",)
    assert ask(medley, "hats seals", Access("root", frozenset({"*"}))) == ()


@pytest.mark.usefixtures("small")
def test_filters_are_no_reason_and_excluded_words_are_not_meant(medley) -> None:
    assert ask(medley, "aspirin falls", filters=(Terms("source", ("nowhere",)),)) == ()
    assert ask(medley, "aspirin -zebras") == ()


@pytest.mark.usefixtures("small")
def test_an_order_alone_and_a_later_page_say_nothing(medley) -> None:
    assert ask(medley, "zebras aspirin", rerank=False) == ()
    first = medley.search(Query("abstracts", PUBLIC, "zebras aspirin adults", size=1))
    assert first.missing == ("zebras",)
    assert medley.search(Query("abstracts", PUBLIC, "zebras aspirin adults", size=1, cursor=first.cursor)).missing == ()
