"""Claims and passages as inputs: what is cut, which sentence each token is of, and that texts are read alike alone and together."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tiny import VOCABULARY, write_artifact

from encoders.artifact import Artifact, Reading
from encoders.stances import NO_SENTENCE, StanceClassifier, claim_inputs
from mappings.stances import ClaimPassage

READING = Reading("mean", False, 6, 20)
WORDS = [word for word in VOCABULARY if word.isalpha()]
TEXTS = st.lists(
    st.one_of(st.sampled_from(WORDS), st.sampled_from([".", "😀", "ﬁ", "İ", "\n", "x" * 40])), max_size=40
).map(" ".join)


@pytest.fixture(scope="module")
def artifact(tmp_path_factory: pytest.TempPathFactory) -> Artifact:
    return write_artifact(Path(tmp_path_factory.mktemp("models")) / "stance", "stance-classifier")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.tuples(TEXTS, TEXTS, TEXTS), max_size=4), st.sampled_from(["end", "middle"]))
def test_inputs_fit_and_are_the_same_alone_and_together(
    artifact: Artifact, found: list[tuple[str, str, str]], cut: str
) -> None:
    tokenizer = StanceClassifier(artifact, threads=1).model.tokenizer.underlying
    reading = replace(READING, cut=cut)
    claims = [claim for claim, _, _ in found]
    passages = [ClaimPassage.of(text, context) for _, context, text in found]
    together = claim_inputs(tokenizer, reading, claims, passages)
    assert len(together) == len(found)
    for item, claim, passage in zip(together, claims, passages, strict=True):
        assert [item] == claim_inputs(tokenizer, reading, [claim], [passage])
        assert len(item.tokens.ids) == len(item.tokens.types) == len(item.places) <= READING.passage_tokens
        assert all(NO_SENTENCE <= place < len(passage.spans) for place in item.places)
        own = [place for place in item.places if place != NO_SENTENCE]
        assert own == sorted(own)


def test_a_long_claim_leaves_room_for_the_passage_and_a_long_passage_loses_only_itself(artifact: Artifact) -> None:
    tokenizer = StanceClassifier(artifact, threads=1).model.tokenizer.underlying
    word = WORDS[0]
    passage = ClaimPassage.of(" ".join([f"{word} {word}."] * 30))
    (item,) = claim_inputs(tokenizer, READING, [" ".join([word] * 50)], [passage])
    first = item.tokens.types.count(0)
    assert (first, len(item.places)) == (READING.query_tokens + 2, READING.passage_tokens)
    assert item.places[:first] == [NO_SENTENCE] * first
    assert item.places[first] == 0


def test_nothing_to_read_gives_nothing(artifact: Artifact) -> None:
    assert claim_inputs(StanceClassifier(artifact, threads=1).model.tokenizer.underlying, READING, [], []) == []
