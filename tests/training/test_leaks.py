from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from encoders.labels.leaks import Twins, normalise, shingles
from encoders.labels.split import HELD_OUT, TRAIN, bucket, is_test_note, split_of


def test_normalised_texts_print_alike() -> None:
    assert normalise("  COVID-19: a Review. ") == normalise("covid 19 a review") == "covid 19 a review"


def test_a_short_text_is_one_shingle() -> None:
    assert shingles("Two words", 3) == {("two", "words")}
    assert shingles("a b c d", 3) == {("a", "b", "c"), ("b", "c", "d")}


def test_a_claim_and_its_opposite_are_twins() -> None:
    guarded = Twins(["0-dimensional biomaterials show inductive properties."], 1, 0.6)
    assert "0-dimensional biomaterials lack inductive properties." in guarded
    assert "Biomaterials are used in bone repair." not in guarded
    assert "" not in guarded


def test_a_quoted_sentence_is_found_in_a_longer_text() -> None:
    sentence = "Honey at low dilutions inhibits bacterial attachment to tissue"
    guarded = Twins([sentence], 3, 0.7, contained=True)
    assert f"Aims were stated. {sentence}. More was done." in guarded
    assert "Honey is sweet. Bacterial attachment was measured." not in guarded


@settings(max_examples=40)
@given(st.text(min_size=1, max_size=80))
def test_a_guarded_text_is_always_its_own_twin(text: str) -> None:
    assert text in Twins([text, "something else entirely"], 2, 1.0)


def test_about_a_tenth_is_held_out_and_about_a_fifth_of_notes_is_for_testing() -> None:
    sides = [split_of(f"group {number}") for number in range(2000)]
    assert set(sides) == {TRAIN, HELD_OUT}
    assert 150 < sides.count(HELD_OUT) < 250
    assert 340 < sum(is_test_note(f"mts{number:04}") for number in range(2000)) < 460


def test_the_split_never_moves() -> None:
    assert [bucket(key, 1000) for key in ("a", "b", "scifact:31715818")] == [250, 946, 400]
    assert [number for number in range(1, 9) if is_test_note(f"mts{number:04}")] == [5]
