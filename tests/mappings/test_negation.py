from __future__ import annotations

import re
import time
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mappings.analysis.lexicon import rows
from mappings.analysis.mentions.cues import KINDS, cues
from mappings.analysis.mentions.negation import negated, polarity

SENTENCES = [
    line
    for line in (Path(__file__).parent / "negation.txt").read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
]
SAYS = {"-": "absent", "+": "present", "?": "uncertain"}


def marked(sentence: str) -> tuple[str, list[tuple[int, int, str]]]:
    text, mentions = "", []
    for piece in re.split(r"(\[[-+?][^]]+\])", sentence):
        if piece.startswith("["):
            mentions.append((len(text), len(text) + len(piece) - 3, SAYS[piece[1]]))
            text += piece[2:-1]
        else:
            text += piece
    return text, mentions


@pytest.mark.parametrize("sentence", SENTENCES)
def test_what_a_sentence_says_of_each_mention(sentence: str) -> None:
    text, mentions = marked(sentence)
    assert mentions
    for start, end, says in mentions:
        assert (text[start:end], polarity(text, start, end)) == (text[start:end], says)
        assert negated(text, start, end) is (says == "absent")


def test_a_cue_reaches_over_its_own_sentence_only() -> None:
    text = "No fever. Cough for a week. No rash."
    assert [negated(text, text.index(word), text.index(word) + len(word)) for word in ("fever", "Cough", "rash")] == [
        True,
        False,
        True,
    ]


NOUNS = st.lists(
    st.sampled_from(["effusion", "pneumothorax", "edema", "a mass", "rib fracture"]), min_size=1, unique=True
)


def spans(text: str, nouns: list[str]) -> list[tuple[int, int]]:
    return [(text.index(noun), text.index(noun) + len(noun)) for noun in nouns]


def listed(nouns: list[str]) -> str:
    return nouns[0] if len(nouns) == 1 else f"{', '.join(nouns[:-1])} or {nouns[-1]}"


@given(NOUNS, st.sampled_from(["No", "There is no evidence of", "Without", "Negative for", "Free of", "He denies"]))
def test_a_cue_before_rules_out_a_list_of_any_length(nouns: list[str], cue: str) -> None:
    text = f"{cue} {listed(nouns)}."
    assert all(negated(text, *span) for span in spans(text, nouns))


@given(NOUNS, st.sampled_from(["is not seen", "has resolved", "was ruled out", "are no longer present"]))
def test_a_cue_after_rules_out_a_list_of_any_length(nouns: list[str], cue: str) -> None:
    text = f"{listed(nouns)} {cue}."
    assert all(negated(text, *span) for span in spans(text, nouns))


@given(NOUNS, st.sampled_from(["There is", "Persistent", "New", "Unchanged"]))
def test_without_a_cue_nothing_is_ruled_out(nouns: list[str], opening: str) -> None:
    text = f"{opening} {listed(nouns)}."
    assert not any(polarity(text, *span) == "absent" for span in spans(text, nouns))


@given(st.text(alphabet="no ,;.()nt'withoutandeffusion\n", max_size=120), st.integers(-3, 130), st.integers(-3, 130))
def test_any_text_and_span_has_an_answer(text: str, start: int, end: int) -> None:
    assert polarity(text, start, end) in SAYS.values()


def test_a_long_text_is_done_in_linear_time() -> None:
    text = "No effusion, edema or mass, and no fracture but " * 2_000
    began = time.perf_counter()
    for match in list(re.finditer("edema", text))[:200]:
        negated(text, *match.span())
    assert time.perf_counter() - began < 3


def test_cues_are_disjoint_and_in_order() -> None:
    found = cues("No evidence of effusion, not seen previously; cannot be excluded.")
    assert [cue.kind for cue in found] == ["before", "pseudo", "doubt-after"]
    assert all(first.end <= second.start for first, second in pairwise(found))


def test_the_lexicon_has_known_kinds_and_each_once() -> None:
    kinds = [kind for kind, _ in rows("negation")]
    assert len(set(kinds)) == len(kinds)
    assert {kind for kind in kinds if not kind.startswith(":")} == set(KINDS)
