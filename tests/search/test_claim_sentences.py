"""Which sentences of a read passage are evidence, and how many passages are read before a deadline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mappings.stances import UNREAD, ClaimPassage, StanceReading
from search.ranking.claims import PLACE_WEIGHT, AnytimeClaimReader, sentence_scores

EVEN = (0.4, 0.3, 0.3)


def order(scores: Sequence[float]) -> list[int]:
    return sorted(range(len(scores)), key=lambda place: (-scores[place], place))


def test_both_models_and_the_place_have_a_say() -> None:
    reading = StanceReading(EVEN, (1.0, -1.0, 0.0))
    assert sentence_scores("a claim", ["x", "y", "z"], reading, [2.0, 3.0, 0.0]) == [
        2.5,
        2.5 + PLACE_WEIGHT / 2,
        PLACE_WEIGHT,
    ]


def test_of_sentences_that_are_alike_the_finding_comes_before_the_aim() -> None:
    reading = StanceReading(EVEN, (0.0, 0.0, 0.0))
    assert order(sentence_scores("a claim", ["x", "y", "z"], reading, [0.0, 0.0, 0.0])) == [2, 1, 0]
    aim, result = "We asked whether walking prevents stroke.", "Walking prevented stroke."
    assert order(sentence_scores("walking prevents stroke", [aim, "We met.", result], reading)) == [2, 0, 1]


def test_words_stand_in_where_the_cross_encoder_did_not_read_all_sentences() -> None:
    reading = StanceReading(EVEN, (0.0, 0.0))
    by_words = sentence_scores("walking prevents stroke", ["Walking prevents stroke.", "We met."], reading)
    assert by_words == sentence_scores(
        "walking prevents stroke", ["Walking prevents stroke.", "We met."], reading, [9.0, None]
    )
    assert order(by_words) == [0, 1]


@given(st.lists(st.tuples(st.floats(-9, 9), st.floats(-9, 9)), min_size=1, max_size=9), st.data())
def test_a_sentence_that_was_cut_off_is_never_better_than_if_it_had_been_read(
    values: list[tuple[float, float]], data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(values) - 1))
    evidence = [value for _, value in values]
    logits = [value for value, _ in values]
    cut = [UNREAD if at == place else value for at, value in enumerate(evidence)]
    texts = [f"Sentence {number}." for number in range(len(values))]
    whole = sentence_scores("a claim", texts, StanceReading(EVEN, tuple(evidence)), logits)
    found = sentence_scores("a claim", texts, StanceReading(EVEN, tuple(cut)), logits)
    assert found[place] <= whole[place]
    assert [value for at, value in enumerate(found) if at != place] == [
        value for at, value in enumerate(whole) if at != place
    ]


@dataclass
class Reader:
    """Reads a passage in a second of the test's own clock."""

    now: float = 0.0
    read_together: list[int] = field(default_factory=list)
    fingerprint: str = "reader"

    def read(self, claim: str, passages: Sequence[ClaimPassage]) -> list[StanceReading]:
        self.now += len(passages)
        self.read_together.append(len(passages))
        return [StanceReading(EVEN, ())] * len(passages)


PASSAGES = [ClaimPassage.of(f"Passage {number} says little.") for number in range(7)]


@pytest.mark.parametrize(("until", "read"), [(None, 7), (100.0, 7), (0.0, 0), (-5.0, 0)])
def test_passages_are_read_in_order_until_the_time_is_over(until: float | None, read: int) -> None:
    reader = Reader()
    found = AnytimeClaimReader(reader, clock=lambda: reader.now).read("a claim", PASSAGES, until)
    assert [item is not None for item in found] == [number < read for number in range(7)]


def test_a_reader_that_turns_out_slow_stops_close_to_the_deadline() -> None:
    reader = Reader()
    found = AnytimeClaimReader(reader, clock=lambda: reader.now).read("a claim", PASSAGES, 3.5)
    count = sum(item is not None for item in found)
    assert 0 < count < len(PASSAGES)
    assert reader.now <= 4.0  # no more than one passage too many
    assert found == [*found[:count], *[None] * (len(PASSAGES) - count)]
