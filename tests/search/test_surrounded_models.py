"""Models that read passages in their documents: given to kinds that can show them, refused by name by what can't."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tiny import write_artifact

from encoders.artifact import Artifact, Reading
from encoders.batching import RequestLifetime
from encoders.late.surrounded import SurroundedEncoder, surrounded_fingerprint
from encoders.runtime import BiEncoder
from mappings.analysis.window_text import place_in_document
from mappings.collection import load
from mappings.documents import Access, Passage
from mappings.errors import ModelError
from mappings.stages import Feedback
from search.models.registry import Models
from search.protocols import LegsRequest
from search.query import LexicalQuery
from search.ranking.feedback import move_query
from search.settings import Settings
from web.inference.models import RunOptions, artifacts
from web.inference.models import load as load_served

AROUND = Reading("cls", query_tokens=16, passage_tokens=64, windows="surroundings")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    write_artifact(tmp_path / "models/far", reading=AROUND)
    write_artifact(tmp_path / "models/near")
    return Settings(home=tmp_path / "home", models=tmp_path / "models", encoder="far", reranker="none", form="fp32")


def test_an_index_says_whether_its_passages_were_placed(settings: Settings) -> None:
    models = Models(settings)
    (encoder,) = models.encoders(load("articles")).values()
    assert isinstance(encoder, SurroundedEncoder)
    plain = Artifact.open(settings.models / "far").fingerprint
    assert encoder.fingerprint == surrounded_fingerprint(plain)
    found, alone = models.find_encoder(encoder.fingerprint), models.find_encoder(plain)
    assert isinstance(found, SurroundedEncoder)
    assert not isinstance(alone, SurroundedEncoder)
    np.testing.assert_array_equal(found.encode_queries(["fever"]), alone.encode_queries(["fever"]))
    assert models.find_encoder(f"{plain}+surroundings-0") is None
    assert models.find_encoder(surrounded_fingerprint("unknown")) is None
    (other,) = Models(replace(settings, encoder="near")).encoders(load("articles")).values()
    assert not isinstance(other, SurroundedEncoder)


def test_vectors_on_disk_go_by_what_is_around(settings: Settings) -> None:
    (encoder,) = Models(settings).encoders(load("articles")).values()
    first, second = (encoder.encode_passages(place_in_document(["fever", other])) for other in ("stroke", "lung"))
    again = encoder.encode_passages(place_in_document(["fever", "stroke"]))
    assert np.abs(first[0] - second[0]).max() > 1e-2
    np.testing.assert_allclose(again, first, atol=1e-6)


def test_a_kind_that_marks_texts_refuses_it(settings: Settings) -> None:
    with pytest.raises(
        ModelError, match=r"far reads passages in their documents, and .* marking takes the texts of notes"
    ):
        Models(settings).encoders(load("notes"))


def test_feedback_refuses_it(settings: Settings) -> None:
    encoders = Models(settings).encoders(load("articles"))
    request = LegsRequest("i", LexicalQuery(()), {"dense": np.ones(8, np.float32)}, Access("u", frozenset()), 5)
    passage = Passage("d", 1, 0, "", "", "fever")
    with pytest.raises(ModelError, match="feedback has passages alone"):
        move_query(request, [passage], Feedback(1, 0.5), encoders, 0)


def test_reranking_refuses_it(settings: Settings) -> None:
    with pytest.raises(
        ModelError, match="far reads passages in their documents, and reranking shows it passages alone"
    ):
        Models(settings).reranker("far")


def test_a_model_server_says_how_it_reads_and_reads_what_is_around(settings: Settings) -> None:
    (served,) = load_served(artifacts(["far"], settings), settings, RunOptions(batching=False))
    assert served.as_json()["windows"] == "surroundings"
    texts = place_in_document(["fever", "stroke lung"])
    expected = BiEncoder(Artifact.open(settings.models / "far"), form="fp32").encode_passages(texts)
    np.testing.assert_allclose(served.embed(texts, False, True, RequestLifetime()), expected, atol=1e-5)
    (near,) = load_served(artifacts(["near"], settings), settings, RunOptions(batching=False))
    assert near.as_json()["windows"] == "separate"
