from search.pipeline.evidence import best, candidates, marks, rarity

TEXT = "Aspirin was given. The weather was fine. Aspirin lowered mortality in all groups."
WANTED = frozenset({"aspirin", "mortal"})


def test_the_sentences_with_most_of_the_wanted_words_in_the_order_of_the_text():
    found = candidates(TEXT, rarity([TEXT, "aspirin"], WANTED), 3)
    assert [item.text for item in found] == [
        "Aspirin lowered mortality in all groups.",
        "Aspirin was given.",
        "The weather was fine.",
    ]
    shown = best(found)
    assert [item.text for item in shown] == ["Aspirin was given.", "Aspirin lowered mortality in all groups."]
    assert all(TEXT[item.start : item.end] == item.text for item in shown)


def test_a_cross_encoder_decides_and_a_further_sentence_needs_a_word():
    found = candidates(TEXT, rarity([TEXT], WANTED), 3)
    assert [item.text for item in best(found, [0.1, 0.0, 9.0])] == [
        "The weather was fine.",
        "Aspirin lowered mortality in all groups.",
    ]
    assert [item.text for item in best(found, [9.0, 0.0, 1.0])] == ["Aspirin lowered mortality in all groups."]


def test_without_any_word_the_first_sentence_stands():
    assert [item.text for item in best(candidates(TEXT, {}, 3))] == ["Aspirin was given."]
    assert best(candidates("", {}, 3)) == ()


def test_marks_cover_the_words_as_written():
    assert [TEXT[span.start : span.end] for span in marks(TEXT, WANTED)] == ["Aspirin", "Aspirin", "mortality"]


def test_a_rare_word_weighs_more():
    weights = rarity(["aspirin", "aspirin", "aspirin mortality"], WANTED)
    assert weights["mortal"] > weights["aspirin"] > 0
