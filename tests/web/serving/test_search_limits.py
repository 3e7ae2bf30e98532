"""What a search and a batch may cost."""

import time
from dataclasses import replace

import pytest
from portal_home import settings_of

from mappings.collection import load
from mappings.documents import Access
from mappings.errors import InvalidInput, Unavailable
from search.query import Query
from web.serving.search_limits import BatchTime, check_cost, limited

KIND = load("abstracts")
ENDLESS = replace(KIND, reranking=replace(KIND.reranking, deadline_ms=0))


def query(deadline_ms=None, rerank=True):
    return Query("abstracts", Access("ada", frozenset()), text="a", deadline_ms=deadline_ms, rerank=rerank)


@pytest.mark.parametrize(
    ("asked", "collection", "most", "expected"),
    [
        (60_000, KIND, 10_000, 10_000),
        (300, KIND, 10_000, 300),
        (None, KIND, 10_000, 500),
        (None, KIND, 100, 100),
        (None, ENDLESS, 10_000, 10_000),
        (60_000, KIND, 0, 60_000),
        (None, KIND, 0, None),
    ],
)
def test_a_deadline_is_at_most_that_of_the_settings(tmp_path, asked, collection, most, expected):
    settings = replace(settings_of(tmp_path), max_deadline_ms=most)
    assert limited(query(asked), collection, settings).deadline_ms == expected


def test_a_batch_has_a_limit_of_candidates(tmp_path):
    settings = replace(settings_of(tmp_path), batch_candidates=70)
    check_cost([query(), query(), query(rerank=False)], [KIND] * 3, settings)
    with pytest.raises(InvalidInput, match="up to 90 candidates, and a batch may have 70") as error:
        check_cost([query()] * 3, [KIND] * 3, settings)
    assert error.value.field == "searches"
    check_cost([query()] * 3, [KIND] * 3, replace(settings, candidates=20))
    check_cost([query()] * 50, [KIND] * 50, replace(settings, batch_candidates=0))
    check_cost([query()] * 50, [KIND] * 50, settings_of(tmp_path))


def test_the_searches_of_a_batch_share_its_time(tmp_path):
    settings = replace(settings_of(tmp_path), batch_deadline_ms=300)
    batch = BatchTime(settings)
    first, notes = batch.allot(query(60_000), KIND)
    assert 0 < first.deadline_ms <= 300
    assert notes == []
    time.sleep(0.3)
    late, notes = batch.allot(query(60_000), KIND)
    assert late.deadline_ms == 1
    assert notes == ["the batch's 0.3 seconds were over before this search: nothing new was reranked"]
    assert batch.allot(query(rerank=False), KIND)[1] == []
    time.sleep(0.3)
    with pytest.raises(Unavailable, match=r"the batch took more than 0.6 seconds: send fewer"):
        batch.allot(query(), KIND)


def test_a_batch_without_a_limit_is_left_alone(tmp_path):
    batch = BatchTime(replace(settings_of(tmp_path), batch_deadline_ms=0))
    assert batch.allot(query(60_000), KIND) == (query(60_000), [])
    assert batch.left() > 60
