"""The oracle of look-ups: the documents that hold words and phrases, as a plain loop over all of them finds them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lookup_documents import ABSTRACTS

from evaluation.suites.lookups.oracle import Phrase, WordIndex, parts, phrase_of
from mappings.analysis.words import terms, tokens
from mappings.documents import Document, Section

INDEX = WordIndex(ABSTRACTS)


@pytest.mark.parametrize(
    ("text", "holders"),
    [
        ("zelvastatin", {"a1", "a6"}),
        ("night breath", {"a2"}),
        ("shortness", {"a2", "a5", "a6"}),
        ("heart failure", {"a1", "a5"}),
        ("results", {"a1", "a2", "a3", "a4", "a5", "a6"}),  # the heading
        ("night", {"a2"}),  # the title
        ("unheard", set()),
        ("of the", set()),
    ],
)
def test_words_are_held_by_their_stems_anywhere_in_a_document(text: str, holders: set[str]) -> None:
    assert INDEX.holding(terms(text)) == holders


@pytest.mark.parametrize(
    ("text", "holders"),
    [
        ("shortness of breath", {"a2"}),
        ("breath shortness", set()),
        ("heart failure", {"a1"}),
        ("failure of the heart", {"a5"}),
        ("myocardial infarction", {"a5"}),
        ("stroke results", set()),  # from the title into the heading
        ("failure of unheard", set()),
        ("of the", set()),
        ("", set()),
    ],
)
def test_a_phrase_stands_in_order_with_its_stop_words_counted(text: str, holders: set[str]) -> None:
    assert INDEX.holding_phrase(phrase_of(text)) == holders


def test_a_spelling_counts_as_whole_words_only() -> None:
    assert INDEX.holding(["ad"]) == {"a2", "a4"}
    assert INDEX.holding_spelling("AD") == {"a2"}
    assert INDEX.holding_spelling("A") == frozenset()


def test_the_order_of_documents_does_not_matter() -> None:
    other = WordIndex(reversed(ABSTRACTS))
    assert other.documents == INDEX.documents
    assert other.spellings == INDEX.spellings


def held_by_loop(documents: list[Document], phrase: Phrase) -> set[str]:
    found = set()
    for document in documents:
        for part in parts(document):
            words = tokens(part)
            placed = {word.position: word.term for word in words}
            length = max(placed, default=-1) + 1
            for start in range(length - len(phrase) + 1):
                if all(not stem or placed.get(start + step) == stem for step, stem in enumerate(phrase)):
                    found.add(document.id)
    return found


TEXTS = st.lists(st.sampled_from(["heart", "failing", "of", "the", "lung", "Lungs", "."]), max_size=9).map(" ".join)


@given(st.lists(st.tuples(TEXTS, TEXTS, TEXTS), min_size=1, max_size=5), TEXTS)
def test_the_index_finds_what_a_loop_over_all_documents_finds(written: list[tuple[str, str, str]], asked: str) -> None:
    documents = [
        Document(f"d{number}", f"{title} x", (Section(heading, text),))
        for number, (title, heading, text) in enumerate(written)
    ]
    index, phrase = WordIndex(documents), phrase_of(asked)
    expected = held_by_loop(documents, phrase) if phrase else set()
    assert index.holding_phrase(phrase) == expected
    stems = set(terms(asked))
    everywhere = {item.id for item in documents if stems <= {term for part in parts(item) for term in terms(part)}}
    assert index.holding(stems) == (everywhere if stems else set())
