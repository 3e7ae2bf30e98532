from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mappings.analysis.nearest import nearest
from mappings.analysis.passages import windows
from mappings.documents import Passage

LONG = Passage(
    "d", 1, 0, "Statins", "",
    "We asked whether statins help. Two hundred people took part in the trial. Nurses visited each of them monthly. "
    "Strokes were rarer with statins than without them. The cost was not measured. Funding came from a charity.",
    "Statins",
)  # fmt: skip


def test_the_parts_that_share_most_stems_stand_as_in_the_passage() -> None:
    assert nearest(LONG, "funding of a trial, cost and charity", 10, 2) == (
        "Statins Two hundred people took part in the trial.",
        "Statins The cost was not measured. Funding came from a charity.",
    )


def test_of_equals_the_first_are_read() -> None:
    assert nearest(LONG, "zebra", 10, 2) == windows(LONG, 10)[:2]


@pytest.mark.parametrize(("words", "best"), [(0, 3), (500, 2)])
def test_what_fits_is_read_once_and_whole(words: int, best: int) -> None:
    assert nearest(LONG, "statins", words, best) == (LONG.model_text,)


@given(st.text(max_size=400), st.text(max_size=40), st.integers(1, 30), st.integers(1, 5))
def test_there_is_always_something_to_read(text: str, query: str, words: int, best: int) -> None:
    passage = Passage("d", 1, 0, "", "", text)
    found, runs = nearest(passage, query, words, best), windows(passage, words)
    assert 1 <= len(found) == min(best, len(runs))
    assert set(found) <= set(runs)
