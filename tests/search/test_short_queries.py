"""What a short query asks for, and the documents that have it: they rank above all others."""

import pytest

from search.understanding.lookups import MAX_ASKED, asked, has, meanings_in


def forms(text):
    return [item.forms for item in asked(text)]


def test_an_abbreviation_is_asked_for_in_all_its_forms():
    (chf,) = asked("CHF")
    assert chf.forms == (("chf",), ("congest", "heart", "failur"), ("chronic", "heart", "failur"))
    assert (chf.short, chf.meanings) == ("CHF", ("congestive heart failure", "chronic heart failure"))


def test_a_long_form_is_asked_for_with_a_short_form_that_means_nothing_else():
    assert forms("shortness of breath") == [(("short", "", "breath"), ("sob",))]
    assert forms("mitral stenosis") == [(("mitral", "stenosi"),)]


def test_words_and_names_are_asked_for_one_by_one():
    assert forms("heart failure metformin") == [(("heart", "failur"), ("hf",)), (("metformin",),)]
    assert forms("statin after stroke") == [(("statin",),), (("stroke",),)]


def test_no_name_ends_with_of():
    assert [item.typed for item in asked("treatment of asthma")] == ["treatment", "asthma"]
    assert [item.typed for item in asked("shortness of breath")] == ["shortness of breath"]


def test_pt_is_a_patient_unless_in_capitals():
    assert asked("pt")[0].meanings == ("patient",)
    assert asked("PT")[0].meanings == ("physical therapy", "prothrombin time")


@pytest.mark.parametrize(
    "text",
    ["what is glaucoma", "is coffee bad", "glaucoma?", "one two three four", "the of", "", "a", "-", "word " * 5_000],
)
def test_a_question_a_longer_text_and_stop_words_are_no_look_up(text):
    assert MAX_ASKED == 3
    assert asked(text) == ()


def test_a_look_alike_of_an_abbreviation_does_not_count():
    sad, sob = asked("SAD")[0], asked("SOB")[0]
    assert has(sad, "Winter depression (SAD) in the north")
    assert has(sad, "Seasonal affective disorders are common")
    assert not has(sad, "a sad day")
    assert not has(sad, "Sad news")
    assert not has(sob, "She was sobbing")
    assert has(sob, "no sob, no cough")
    assert has(sob, "no form of it is here at all")


def test_two_letters_in_another_name_do_not_count():
    (item,) = asked("PD")
    assert has(item, "PD, dyskinesia")
    assert has(item, "PD-related falls")
    assert not has(item, "PD-1 and PD-L1 inhibitors")
    assert has(asked("HIV")[0], "HIV-1")


def test_a_unit_after_a_number_does_not_count():
    (item,) = asked("MS")
    assert not has(item, "QRS 164 ms, QTcF 418ms")
    assert has(item, "h/o ms, stable")
    assert has(item, "In 2010 MS was found")


def test_the_meaning_that_a_text_spells_out():
    (item,) = asked("MS")
    assert meanings_in(item, "Relapsing multiple sclerosis (MS)") == ("multiple sclerosis",)
    assert meanings_in(item, "severe MS") == ()
