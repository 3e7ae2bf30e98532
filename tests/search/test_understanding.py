from mappings.documents import Access
from search.query import Query
from search.understanding.understand import EXPANSION_WEIGHT, MAX_TERMS, understand

READER = Access("reader", frozenset({"public"}))


def read(text="", **more):
    return understand(Query("notes", READER, text, **more))


def test_words_are_analysed_once_and_counted():
    assert read("Statins, statins and Strokes").lexical.terms == (("statin", 2.0), ("stroke", 1.0))


def test_an_abbreviation_adds_its_long_form_as_a_phrase_of_less_weight():
    understood = read("MI treatment")
    assert ("myocardi", "infarct") in [phrase for phrase, _ in understood.lexical.phrases]
    assert {weight for _, weight in understood.lexical.phrases} == {EXPANSION_WEIGHT}
    assert ("MI", "myocardial infarction") in understood.expansions


def test_a_long_form_adds_its_abbreviation():
    assert ("copd", EXPANSION_WEIGHT) in read("chronic obstructive pulmonary disease").lexical.terms


def test_slots_and_findings_are_part_of_the_question():
    understood = read(entity="asthma", aspect="treatment", having=("wheeze",), lacking=("effusion",))
    assert {term for term, _ in understood.lexical.terms} >= {"asthma", "treatment", "wheez"}
    assert understood.model_text == "asthma treatment wheeze no effusion"
    assert understood.notes == (
        "the documents of this index were not read: findings are searched as words, not as filters",
    )


def test_a_model_reads_the_opening_of_a_pasted_article():
    understood = read("Coffee protects the heart. " + "Many more words follow in this article. " * 200)
    assert understood.model_text.startswith("Coffee protects the heart.")
    assert len(understood.model_text.split()) <= 70


def test_a_long_text_is_cut_to_its_most_frequent_terms_and_says_so():
    understood = read(" ".join(f"term{number}" for number in range(500)))
    assert len(understood.lexical.terms) == MAX_TERMS
    assert "500 distinct terms" in understood.notes[0]


def test_control_characters_and_surrogates_are_spaces():
    assert read("red\x00flags \ud800").lexical.terms == (("flag", 1.0), ("red", 1.0))


def test_stop_words_alone_search_nothing():
    assert read("the of and").lexical.terms == ()
