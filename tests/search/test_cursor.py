import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mappings.documents import Access
from mappings.errors import Forbidden, InvalidInput
from search.pipeline.paging.cursor import (
    MAX_CHARACTERS,
    Cursor,
    FrozenHit,
    access_mark,
    group_mark,
    query_mark,
    sign,
    verify,
)
from search.query import Query

KEY = b"k" * 32
ALICE = Access("alice", frozenset({"clinical"}))
QUERY = Query("notes", ALICE, "chest pain")


def cursor(
    query: Query = QUERY,
    items: tuple[FrozenHit, ...] = (FrozenHit("n1@1#0", 0.5, None), FrozenHit("n2@3#1", 0.25, 1.5)),
) -> Cursor:
    return Cursor("notes-1", query_mark(query), access_mark(query.access), items, (group_mark("n9"),), 1_000_000)


def test_a_cursor_comes_back_whole():
    text = sign(cursor(), KEY)
    assert verify(text, QUERY, KEY, 60, now=1_000_010) == cursor()
    assert set(text) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")


def test_an_expired_cursor_says_what_to_do():
    with pytest.raises(InvalidInput, match="older than 60 minutes: search again from the first page"):
        verify(sign(cursor(), KEY), QUERY, KEY, 60, now=1_000_000 + 3_601)


def test_a_foreign_cursor_is_refused():
    bob = dataclasses.replace(QUERY, access=Access("bob", frozenset({"research"})))
    with pytest.raises(Forbidden, match="issued to another caller"):
        verify(sign(cursor(), KEY), bob, KEY, 60, now=1_000_000)


def test_a_cursor_of_another_query_is_refused():
    with pytest.raises(InvalidInput, match="belongs to another query"):
        verify(sign(cursor(), KEY), dataclasses.replace(QUERY, text="back pain"), KEY, 60, now=1_000_000)


def test_page_size_and_explain_may_change_between_pages():
    later = dataclasses.replace(QUERY, size=50, explain=True, cursor="anything")
    assert verify(sign(cursor(), KEY), later, KEY, 60, now=1_000_000) == cursor()


def test_another_key_is_a_forgery():
    with pytest.raises(InvalidInput, match="not issued by this service"):
        verify(sign(cursor(), KEY), QUERY, b"x" * 32, 60, now=1_000_000)


@pytest.mark.parametrize("text", ["", "a", "abc", "=" * 5, "ü", "A" * 5_000, "\ud800", "../../etc"])
def test_what_is_no_cursor_is_refused(text):
    with pytest.raises(InvalidInput, match="not issued by this service"):
        verify(text, QUERY, KEY, 60)


@given(st.integers(0, 10_000), st.integers(1, 255))
def test_any_altered_byte_is_noticed(position, change):
    text = sign(cursor(), KEY)
    position %= len(text)
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    # The last character of base64 may carry unused bits: a change there need not alter a byte.
    other = alphabet[(alphabet.index(text[position]) + 1 + change % 63) % 64]
    altered = text[:position] + other + text[position + 1 :]
    if position == len(text) - 1 or altered == text:
        return
    with pytest.raises(InvalidInput):
        verify(altered, QUERY, KEY, 60, now=1_000_000)


@given(st.lists(st.tuples(st.text(max_size=200), st.floats(-1, 1)), max_size=150))
@pytest.mark.slow
def test_a_cursor_is_never_too_long_and_keeps_the_first_items(drawn):
    items = tuple(
        FrozenHit(f"{name}@1#0", score, None)
        for name, score in drawn
        if max(name, default="a") < "\ud800" or max(name) > "\udfff"
    )
    text = sign(cursor(items=items), KEY)
    back = verify(text, QUERY, KEY, 60, now=1_000_000)
    assert len(text) <= MAX_CHARACTERS or not back.items
    assert [item.passage for item in back.items] == [item.passage for item in items[: len(back.items)]]


def test_a_thousand_groups_that_were_shown_fit_into_a_url():
    marks = tuple(group_mark(f"n{number}") for number in range(1_000))
    assert len(set(marks)) == 1_000
    text = sign(dataclasses.replace(cursor(items=()), shown=marks), KEY)
    assert len(text) < 7_500, "servers take request lines of 8,190 characters"
    assert verify(text, QUERY, KEY, 60, now=1_000_000).shown == marks
