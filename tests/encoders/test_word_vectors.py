"""Vectors of words: read as fastText's own program reads them, kept in one file that is whole or refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from encoders.words.vectors import WordVectors, has_word, hash_ngram, ngrams_of, split_words
from mappings.errors import ModelError

WORDS = ["fever", "cough"]


def some_vectors(buckets: int = 50) -> WordVectors:
    draw = np.random.default_rng(3)
    return WordVectors(
        WORDS,
        draw.normal(size=(2, 4)).astype(np.float16),
        draw.normal(size=(buckets, 4)).astype(np.float16),
    )


def test_words_are_letters_and_digits_in_lowercase() -> None:
    assert split_words("IL-6 in Alzheimer's; 2.5 mg (p53).") == ["il-6", "in", "alzheimer's", "2", "5", "mg", "p53"]
    assert split_words("--- 漢字") == []
    assert split_words("Sjögren's, Guillain-Barré, 10² mg") == ["sjogren's", "guillain-barre", "10", "mg"]


def test_greek_letters_tell_names_apart() -> None:
    assert split_words("α-Thalassemia, β-thalassaemia") == ["alpha-thalassemia", "beta-thalassaemia"]
    assert split_words("Α1-antitrypsin; σς λ") == ["alpha1-antitrypsin", "sigmasigma", "lambda"]
    assert split_words("5 µg") == ["5", "ug"]
    assert split_words("Crohn’s, Guillain‑Barré") == ["crohn's", "guillain-barre"]
    assert (has_word("É"), has_word("漢字 —")) == (True, False)


def test_n_grams_are_of_the_word_in_brackets() -> None:
    assert ngrams_of("flu", 3, 4) == [b"<fl", b"<flu", b"flu", b"flu>", b"lu>"]
    assert ngrams_of("a", 1, 1) == [b"a"]  # a bracket alone is none
    assert ngrams_of("é", 3, 3) == ["<é>".encode()]


def test_hashes_are_those_of_the_reference_program() -> None:
    assert hash_ngram(b"") == 2166136261
    assert hash_ngram(b"a") == 0xE40C292C  # the published test vector of FNV-1a, for bytes below 128
    assert hash_ngram("é".encode()) != hash_ngram(b"e")


def test_a_known_word_has_its_vector_and_another_the_mean_of_its_n_grams() -> None:
    vectors = some_vectors()
    found = vectors.lookup(["cough", "fevers", "fevers"])
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found[0], vectors._vectors[1].astype(np.float32))
    places = [hash_ngram(part) % 50 for part in ngrams_of("fevers", 3, 6)]
    np.testing.assert_allclose(found[1], vectors._ngrams[places].astype(np.float32).mean(0), rtol=1e-6)
    np.testing.assert_array_equal(found[1], found[2])
    assert vectors.lookup([]).shape == (0, 4)


def test_without_n_grams_an_unknown_word_is_at_the_origin() -> None:
    assert not some_vectors(buckets=0).lookup(["fevers"]).any()


def test_the_vectors_are_those_of_gensim(tmp_path: Path) -> None:
    models = pytest.importorskip("gensim.models")
    text = [["fever", "and", "cough"], ["cough", "and", "müde"]] * 5
    model = models.FastText(text, vector_size=8, min_count=1, bucket=200, workers=1, seed=1)
    kept = model.wv
    ours = WordVectors(list(kept.index_to_key), kept.vectors.astype(np.float16), kept.vectors_ngrams.astype(np.float16))
    ours.save(tmp_path / "words.npz")
    words = ["cough", "müde", "coughing", "ungemütlich", "x"]
    np.testing.assert_allclose(
        WordVectors.load(tmp_path / "words.npz").lookup(words), np.stack([kept[word] for word in words]), atol=1e-4
    )


def test_a_text_has_the_mean_of_its_first_words() -> None:
    vectors = some_vectors()
    fever, cough = vectors.lookup(WORDS)
    found = vectors.mean(["Fever, cough!", "fever cough", "..."], most_words=2)
    np.testing.assert_allclose(found[0], (fever + cough) / 2, rtol=1e-6)
    np.testing.assert_array_equal(found[0], found[1])
    assert not found[2].any()
    np.testing.assert_array_equal(vectors.mean(["fever cough"], most_words=1)[0], fever)


@given(st.text(max_size=40))
def test_any_text_has_a_finite_vector(text: str) -> None:
    assert np.isfinite(some_vectors().mean([text], 96)).all()


def test_a_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    vectors = some_vectors()
    vectors.save(tmp_path / "words.npz")
    again = WordVectors.load(tmp_path / "words.npz")
    assert (again.words, again.dimension, again.lengths) == (WORDS, 4, (3, 6))
    assert again.fingerprint == vectors.fingerprint
    np.testing.assert_array_equal(again.lookup(["coughs"]), vectors.lookup(["coughs"]))
    assert list(tmp_path.iterdir()) == [tmp_path / "words.npz"]
    other = WordVectors(["fever", "coughs"], vectors._vectors, vectors._ngrams)
    assert other.fingerprint != vectors.fingerprint


def test_a_missing_or_damaged_file_is_named(tmp_path: Path) -> None:
    some_vectors().save(tmp_path / "words.npz")
    whole = (tmp_path / "words.npz").read_bytes()
    for name, content in (("cut.npz", whole[: len(whole) // 2]), ("empty.npz", b""), ("text.npz", b"fever 1 2 3")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ModelError, match=name):
            WordVectors.load(tmp_path / name)
    with pytest.raises(ModelError, match=r"missing\.npz"):
        WordVectors.load(tmp_path / "missing.npz")
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    with pytest.raises(ModelError, match=r"other\.npz"):
        WordVectors.load(tmp_path / "other.npz")


def test_vectors_of_two_dimensions_are_refused() -> None:
    with pytest.raises(ModelError, match="n-grams"):
        WordVectors(WORDS, np.zeros((2, 4), np.float16), np.zeros((5, 3), np.float16))
    with pytest.raises(ModelError, match="1 words"):
        WordVectors(["fever"], np.zeros((2, 4), np.float16), np.zeros((5, 4), np.float16))


def test_vectors_that_are_no_numbers_are_refused(tmp_path: Path) -> None:
    vectors = some_vectors()
    with pytest.raises(ModelError, match="NaN or infinite"):
        WordVectors(vectors.words, np.full_like(vectors._vectors, np.nan), vectors._ngrams)
    vectors.save(tmp_path / "words.npz")
    with np.load(tmp_path / "words.npz") as found:
        np.savez(tmp_path / "scalar.npz", **{**found, "lengths": np.asarray(3)})
    with pytest.raises(ModelError, match=r"scalar\.npz can't be read"):
        WordVectors.load(tmp_path / "scalar.npz")
