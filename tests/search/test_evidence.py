import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mappings.analysis.sentences import sentences
from mappings.analysis.words import tokens
from search.pipeline.evidence import ReadPassage, best, candidates, marks, rarity, with_marks

TEXT = "Aspirin was given. The weather was fine. Aspirin lowered mortality in all groups."
WANTED = frozenset({"aspirin", "mortal"})
PIECES = (
    "aspirin",
    "Aspirin",
    "mortality",
    "the",
    "pH 7.4",
    "1,000",
    "naïve",
    "IL-6",
    "e.g.",
    "(p<0.05)",
    "No",
    "心臓",
)
SEPARATORS = (" ", ". ", ".", ", ", "\n", "? ", ".\n\n", ",2. ")


def read(text: str) -> ReadPassage:
    return ReadPassage.of(text)


def test_the_sentences_with_most_of_the_wanted_words_in_the_order_of_the_text():
    found = candidates(read(TEXT), rarity([read(TEXT), read("aspirin")], WANTED), 3)
    assert [item.text for item in found] == [
        "Aspirin lowered mortality in all groups.",
        "Aspirin was given.",
        "The weather was fine.",
    ]
    shown = best(found)
    assert [item.text for item in shown] == ["Aspirin was given.", "Aspirin lowered mortality in all groups."]
    assert all(TEXT[item.start : item.end] == item.text for item in shown)


def test_a_cross_encoder_decides_and_a_further_sentence_needs_a_word():
    found = candidates(read(TEXT), rarity([read(TEXT)], WANTED), 3)
    assert [item.text for item in best(found, [0.1, 0.0, 9.0])] == [
        "The weather was fine.",
        "Aspirin lowered mortality in all groups.",
    ]
    assert [item.text for item in best(found, [9.0, 0.0, 1.0])] == ["Aspirin lowered mortality in all groups."]


def test_without_any_word_the_first_sentence_stands():
    assert [item.text for item in best(candidates(read(TEXT), {}, 3))] == ["Aspirin was given."]
    assert best(candidates(read(""), {}, 3)) == ()


def test_marks_cover_the_words_as_written():
    assert [TEXT[span.start : span.end] for span in marks(TEXT, WANTED)] == ["Aspirin", "Aspirin", "mortality"]


def test_a_rare_word_weighs_more():
    weights = rarity(list(map(read, ("aspirin", "aspirin", "aspirin mortality"))), WANTED)
    assert weights["mortal"] > weights["aspirin"] > 0


def test_the_shown_sentences_have_their_words_marked():
    found = candidates(read(TEXT), rarity([read(TEXT)], WANTED), 3)
    assert all(item.marks == () for item in found)
    shown = [
        (item.text, [item.text[span.start : span.end] for span in item.marks]) for item in with_marks(found, WANTED)
    ]
    assert sorted(shown) == [
        ("Aspirin lowered mortality in all groups.", ["Aspirin", "mortality"]),
        ("Aspirin was given.", ["Aspirin"]),
        ("The weather was fine.", []),
    ]


@given(st.lists(st.tuples(st.sampled_from(PIECES), st.sampled_from(SEPARATORS)), max_size=30))
def test_what_is_read_once_is_what_the_text_says(parts):
    """The weights, scores and marks of a text are those of its tokens, whatever stands between its sentences."""
    text = "".join(word + separator for word, separator in parts)
    wanted = frozenset({"aspirin", "mortal", "7.4", "naïv", "6", "心", "no"})
    weights = rarity([read(text), read("Aspirin")], wanted)
    held = {token.term for token in tokens(text)}
    for term in wanted:
        count = (term in held) + (term == "aspirin")
        assert weights[term] == math.log(1 + 2 / (1 + count))
    found = candidates(read(text), weights, 100)
    assert sorted((item.start, item.end) for item in found) == [(item.start, item.end) for item in sentences(text)]
    for item in with_marks(found, wanted):
        words = tokens(item.text)
        score = sum(weights[term] for term in {word.term for word in words} & wanted) / math.sqrt(8 + len(words))
        assert item.score == pytest.approx(score)
        assert item.marks == tuple((word.start, word.end) for word in words if word.term in wanted)
    assert [item.score for item in found] == sorted((item.score for item in found), reverse=True)


def test_a_word_that_two_sentences_share_is_one_word():
    text = "We gave it to the control.Aspirin lowered mortality."
    assert len(sentences(text)) == 2
    assert rarity([read(text)], frozenset({"aspirin"}))["aspirin"] == math.log(2)  # as "control.Aspirin" is indexed
