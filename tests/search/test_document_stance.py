"""What one document says of a claim: the sentences that are shown, by both models or by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from claims_home import claims_settings

from encoders.pooling import Floats
from mappings.documents import Document, Section
from mappings.errors import Unavailable
from search.bootstrap import Medley
from search.pipeline.document_stance import DocumentStance, read_document
from search.ranking.anytime import AnytimeReranker, Pace, ScoreCache
from search.ranking.cascade import RerankStages

SENTENCES = [f"Sentence {word} says little." for word in ("one", "two", "three", "four", "five", "six")]
DOCUMENT = Document("d", "A title", (Section("", " ".join(SENTENCES)),), frozenset({"public"}), {})


class Likes:
    """A cross-encoder with a taste for texts that hold a word; it fails where it has none."""

    def __init__(self, word: str) -> None:
        self.word, self.fingerprint = word, f"likes-{word}"

    def score(self, query: str, passages: Sequence[str]) -> Floats:
        if not self.word:
            raise Unavailable("no model server answers", field="inference")
        return np.array([50.0 if self.word in text else 0.0 for text in passages], dtype=np.float32)


@pytest.fixture(scope="module")
def medley(tmp_path_factory: pytest.TempPathFactory) -> Medley:
    return Medley.open(claims_settings(Path(tmp_path_factory.mktemp("claims"))))


def read(medley: Medley, word: str | None) -> DocumentStance:
    stages = None if word is None else RerankStages(AnytimeReranker(Likes(word), ScoreCache(), Pace()))
    services = replace(medley.services, reranker=lambda _: stages)
    return read_document("six ways to say little", DOCUMENT, 1, medley.collections.get("abstracts"), services)


@pytest.mark.parametrize("word", ["one", "three", "five"])
def test_the_cross_encoder_has_a_say_in_the_sentences_and_none_in_the_stance(medley: Medley, word: str) -> None:
    found = read(medley, word)
    assert f"Sentence {word} says little." in [item.text for item in found.evidence]
    assert found.stance == read(medley, None).stance
    assert [item.start for item in found.evidence] == sorted(item.start for item in found.evidence)


def test_without_a_cross_encoder_and_where_it_fails_words_stand_in(medley: Medley) -> None:
    without, failing = read(medley, None), read(medley, "")
    assert without == failing
    assert SENTENCES[5] in [item.text for item in without.evidence]  # the one with a word of the claim
