"""A document as CDV reads it: its sentences with the flags of their places, and the parts of an aspect's heading."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("onnx", reason="the train extra is not installed")

from discourse_model import WIDTH, write_discourse_model

from encoders.discourse.artifact import NAMES
from encoders.discourse.encoder import DiscourseEncoder, write_names
from encoders.discourse.reading import FLAGS, MOST_SENTENCES, MOST_WORDS, read_sentences
from encoders.discourse.slots import split_aspect
from encoders.pooling import unit


def test_flags_tell_where_a_sentence_stands() -> None:
    read = read_sentences(["Pain is felt. It lasts.\n\n- Rest helps.", "Salt harms."])
    assert read.sentences == ("Pain is felt.", "It lasts.", "- Rest helps.", "Salt harms.")
    assert read.passages == (0, 0, 0, 1)
    assert FLAGS == ("document begins", "document ends", "paragraph begins", "paragraph ends", "list item")
    assert read.flags.tolist() == [[1, 0, 1, 0, 0], [0, 0, 0, 1, 0], [0, 0, 1, 1, 1], [0, 1, 1, 1, 0]]


def test_a_long_document_is_cut_at_the_papers_396_sentences() -> None:
    assert (MOST_SENTENCES, MOST_WORDS) == (396, 96)
    read = read_sentences(["Pain is felt. " * 400])
    assert (len(read.sentences), len(read.flags), read.left_out) == (396, 396, 4)


@pytest.mark.parametrize(
    ("heading", "parts"),
    [
        ("Signs AND Symptoms", ["signs", "symptoms"]),
        ("Causes & Risk factors!", ["causes", "risk factors"]),
        ("Expand, contract", ["expand", "contract"]),
        ("Diagnosis/Testing", ["diagnosis", "testing"]),
        ("Handling", ["handling"]),
        ("&", []),
    ],
)
def test_a_heading_is_parted_at_and(heading: str, parts: list[str]) -> None:
    assert split_aspect(heading) == parts


def test_a_query_is_the_entity_beside_the_mean_of_the_aspects(tmp_path: Path) -> None:
    encoder = DiscourseEncoder(write_discourse_model(tmp_path / "model"))
    gout, treatment, history = (encoder.words.lookup([word])[0] for word in ("gout", "treatment", "history"))
    by_hand = np.concatenate([gout, (treatment + history) / 2])
    np.testing.assert_allclose(encoder.encode_query("gout", "Treatment & History"), unit(by_hand[None])[0], atol=1e-5)
    alone = np.concatenate([np.zeros(WIDTH), treatment])
    np.testing.assert_allclose(encoder.encode_query("", "treatment"), unit(alone[None])[0], atol=1e-5)
    assert not encoder.encode_query(" ", "&").any()


def test_a_known_entity_has_its_own_vector_and_another_that_of_its_mention(tmp_path: Path) -> None:
    artifact = write_discourse_model(tmp_path / "model")
    write_names(artifact.folder / NAMES, ("gout",), np.full((1, WIDTH), 0.5, np.float32))
    encoder = DiscourseEncoder(artifact)
    assert encoder.encode_entity(" Gout ").tolist() == [0.5] * WIDTH
    assert not np.allclose(encoder.encode_entity("asthma"), 0.5)
