"""The hashing encoder: the same everywhere, and near where spellings are near."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from encoders.hashing import HashingEncoder, features
from mappings.errors import ModelError
from search.protocols import Encoder


def test_features_are_words_pairs_and_pieces():
    assert list(features("No fever")) == [
        "no",
        "fever",
        "no fever",
        "#<no",
        "#no>",
        "#<fe",
        "#fev",
        "#eve",
        "#ver",
        "#er>",
    ]
    assert list(features("")) == []


def test_it_is_an_encoder_and_near_for_near_texts():
    encoder = HashingEncoder()
    assert isinstance(encoder, Encoder)
    query = encoder.encode_queries(["acute myocardial infarction"])[0]
    near, spelled, far = encoder.encode_passages(
        ["myocardial infarction, acute phase", "acutely infarcted myocardium", "tinnitus after antibiotics"]
    )
    assert query @ near > query @ spelled > query @ far


def test_the_fingerprint_names_the_dimension():
    assert HashingEncoder(256).fingerprint == HashingEncoder().fingerprint
    assert HashingEncoder(128).fingerprint != HashingEncoder(256).fingerprint
    assert HashingEncoder(128).encode_queries(["x"]).shape == (1, 128)


@pytest.mark.parametrize("dimension", [0, 7, 70_000])
def test_a_dimension_out_of_range(dimension):
    with pytest.raises(ModelError, match="8 to 65,536"):
        HashingEncoder(dimension)


def test_every_process_agrees():
    code = "from encoders.hashing import HashingEncoder as H; print(H(16).encode_queries(['chest pain'])[0].tolist())"
    environment = {"PYTHONPATH": ":".join(sys.path), "PYTHONHASHSEED": "77"}
    printed = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert printed.stdout.strip() == str(HashingEncoder(16).encode_queries(["chest pain"])[0].tolist())


@given(st.lists(st.text(st.characters(codec=None), max_size=40), max_size=6))
def test_any_text_gives_unit_rows_in_order(texts):
    encoder = HashingEncoder(32)
    vectors = encoder.encode_passages(texts)
    assert vectors.shape == (len(texts), 32)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    for text, row in zip(texts, vectors, strict=True):
        assert np.array_equal(encoder.encode_queries([text])[0], row)
