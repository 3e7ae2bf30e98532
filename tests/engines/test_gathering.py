"""From the rows of a search to the passages of enough distinct documents."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.engines.gathering import Rows, gather
from search.query import Ranking, Scored


def passage_ids(slots: list[int], own: list[str]) -> list[str]:
    return [own[slot] for slot in slots]


@given(
    rows=st.lists(st.tuples(st.integers(0, 30), st.integers(0, 2), st.integers(0, 6)), max_size=300),
    documents=st.integers(1, 40),
    spread=st.sampled_from([0.5, 1.0, 4.0]),
)
def test_a_ranking_is_what_sorting_all_rows_gives(rows, documents, spread):
    """Rows are (document, passage, score), with many ties."""
    rows = sorted(rows, key=lambda row: -row[2])
    own = [f"d{document}@1#{passage}" for document, passage, _ in rows]
    asked: list[int] = []

    def fetch(limit: int) -> Rows:
        asked.append(limit)
        return list(range(len(rows)))[:limit], np.array([float(row[2]) for row in rows])[:limit]

    found = gather(fetch, lambda slots: passage_ids(slots, own), documents, spread)

    best: dict[str, float] = {}
    for name, (_, _, score) in zip(own, rows, strict=True):
        best.setdefault(name, float(score))
    every = Ranking(Scored(name, name.partition("@")[0], score) for name, score in best.items())
    assert list(found) == list(every.first(every.holding(documents)))
    assert asked == sorted(asked)


def test_no_more_rows_are_read_than_documents_need():
    own, read = [f"d{slot}@1#0" for slot in range(1_000)], list[int]()

    def read_ids(slots: list[int]) -> list[str]:
        read.extend(slots)
        return passage_ids(slots, own)

    found = gather(lambda limit: (list(range(limit)), -np.arange(limit) / 7.0), read_ids, 100, 4.0)
    assert [item.document for item in found] == [f"d{number}" for number in range(100)]
    assert len(read) == 128


@pytest.mark.parametrize("spread", [1.0, 4.0])
def test_nothing_found_is_an_empty_ranking(spread):
    assert list(gather(lambda limit: ([], np.empty(0)), lambda slots: [], 10, spread)) == []
