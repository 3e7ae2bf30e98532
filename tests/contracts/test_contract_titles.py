"""A title helps a document to be found, and a document without one is at no disadvantage."""

from __future__ import annotations

import pytest
from backends import Backend, Draft

FOUND = (
    "Sixty adults with diabetes took part for ten weeks. Walks after meals lower the sugar in their blood, and walks of "
    "ten minutes lower it most."
)
OTHERS = [
    Draft("sleep", ["Hours of sleep were recorded by a watch in older adults."], title="Sleep in older adults"),
    Draft("salt", ["Less salt at the table changed nothing that was measured."], title="Salt at the table"),
    Draft("shoes", ["Runners wore one of two kinds of shoes for a season."], title="Shoes for runners"),
    Draft("tea", ["Green tea was drunk every day by half of the people."], title="Green tea every day"),
]


def ranked(backend: Backend, drafts: list[Draft], words: str) -> list[str]:
    index = backend.index([draft.entry() for draft in (*drafts, *OTHERS)]).index
    return [item.document for item in backend.ask(index, words).rankings["bm25"]]


def scored(backend: Backend, drafts: list[Draft], words: str) -> dict[str, float]:
    index = backend.index([draft.entry() for draft in (*drafts, *OTHERS)]).index
    return {item.document: item.score for item in backend.ask(index, words).rankings["bm25"]}


def test_a_document_without_a_title_does_not_lose_to_one_whose_title_has_a_few_of_the_words(backend: Backend):
    text = "Nurses measured whether walks lower it, in ninety people who did not know of each other."
    titled = Draft("titled", [text], title="Blood sugar after meals in diabetes")
    headline = "walks after meals lower blood sugar in diabetes"
    assert ranked(backend, [titled, Draft("untitled", [FOUND])], headline)[:2] == ["untitled", "titled"]


def test_the_same_words_score_the_same_with_a_part_of_them_as_title_or_without(backend: Backend):
    words = "walks lower blood sugar and ninety nurses agree"
    untitled = "Walks after meals. They lower blood sugar, on which ninety nurses agree."
    rest = untitled.removeprefix("Walks after meals. ")
    found = scored(backend, [Draft("untitled", [untitled]), Draft("titled", [rest], title="Walks after meals.")], words)
    assert found["untitled"] == found["titled"]


@pytest.mark.parametrize("title", ["", "The", "***"])
def test_the_first_sentence_stands_in_for_a_title_without_words(backend: Backend, title: str):
    first, later = "Walks lower blood sugar.", "Sixty people took part for ten weeks in spring, and some longer."
    drafts = [Draft("a-last", [f"{later} {first}"], title=title), Draft("b-first", [f"{first} {later}"], title=title)]
    assert ranked(backend, drafts, "walks blood sugar")[:2] == ["b-first", "a-last"]


def test_a_title_that_is_asked_for_comes_before_a_text_that_has_its_words(backend: Backend):
    text = "Walks, and nothing else that we could think of, were used to lower sugar in the blood of sixty people. "
    drafts = [
        Draft("a-text", [text * 2], title="A trial in spring"),
        Draft("b-title", [text * 2], title="Walks and sugar"),
    ]
    assert ranked(backend, drafts, "walks and sugar")[:2] == ["b-title", "a-text"]


def test_passages_that_share_a_title_are_ordered_by_their_texts(backend: Backend):
    draft = Draft("a", ["Sixty people took part.", "Sugar fell."], title="Blood sugar walks")
    index = backend.index([item.entry() for item in (draft, *OTHERS)]).index
    found = backend.ask(index, "blood sugar walks").rankings["bm25"]
    assert [item.passage for item in found][:2] == ["a@1#1", "a@1#0"]


def test_passages_without_any_words_are_indexed_and_not_found(backend: Backend):
    assert ranked(backend, [Draft("nothing", ["*** \N{EM DASH} ..."], title="***")], "walks") == []
