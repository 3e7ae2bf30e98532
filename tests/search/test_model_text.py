"""What the models read of a query: its opening, and long forms where it has short ones."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mappings.analysis.abbreviations import expansions
from mappings.documents import Access
from search.query import Query
from search.understanding.model_text import MODEL_WORDS, opening, write_out
from search.understanding.understand import understand

READER = Access("reader", frozenset({"public"}))


def written(text):
    return write_out(text, expansions(text.split()))


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Is CF mucus abnormal?", "Is cystic fibrosis mucus abnormal?"),
        ("outlook of COPD and of COPD again", "outlook of chronic obstructive pulmonary disease and of chronic obstructive pulmonary disease again"),  # fmt: skip
        ("a trial in two ICUs", "a trial in two intensive care units"),
        ("lasers (COPD)", "lasers (chronic obstructive pulmonary disease)"),
    ],
)
def test_a_short_form_is_written_out(text, read):
    assert written(text) == read


@pytest.mark.parametrize(
    "text",
    [
        "graduated compression stockings (GCS) and how GCS are worn",  # defined, as something else than the coma scale
        "outlook of COPD, which is chronic obstructive pulmonary disease",
        "deaths due to COVID-19",
        "non-CF bronchiectasis",
        "who has MS",  # several meanings
        "a cDC in blood",
        "who gets a heart attack",
        "",
    ],
)
def test_other_short_forms_stay(text):
    assert written(text) == text


def test_only_collections_searched_by_other_names_have_them_written_out_and_never_what_is_searched_as_typed():
    def model_text(weight, **more):
        return understand(Query("abstracts", READER, "Is CF mucus abnormal?", **more), name_weight=weight).model_text

    assert model_text(0.5) == "Is cystic fibrosis mucus abnormal?"
    assert model_text(0.0) == "Is CF mucus abnormal?"
    assert model_text(0.5, as_typed=("CF",)) == "Is CF mucus abnormal?"


def test_the_opening_ends_with_a_sentence_and_has_at_least_one():
    short = "Coffee protects the heart. "
    assert opening(short * 30) == (short * (MODEL_WORDS // 4)).strip()
    long = " ".join(["coffee"] * 200) + "."
    assert opening(f"{long} And tea.") == long
    assert opening("") == ""


@given(st.text(max_size=80), st.sampled_from(["CF", "COPD", "c(", "a.b", "\\"]), st.text(max_size=12))
def test_any_text_and_any_pair_can_be_written_out(text, short, long):
    assert isinstance(write_out(text, [(short, long)]), str)
