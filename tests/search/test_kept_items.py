"""What a user can keep, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mappings.documents import Access
from mappings.errors import InvalidInput
from search.kept.items import KeptDraft, KeptItem, KeptPage, encode_content, restored_name

DRAFT = KeptDraft("bundle", "anticoagulants", {"terms": ["warfarin"]})
ANN = Access("ann", frozenset({"ward-a"}))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("kind", "note"),
        ("kind", ""),
        ("name", ""),
        ("name", " "),
        ("name", "a "),
        ("name", "x" * 201),
        ("name", "two\nlines"),
        ("name", "\u202e"),
        ("name", "\ud800"),
        ("name", "\x00"),
        ("shared_with", frozenset({"*"})),
        ("shared_with", frozenset({""})),
        ("shared_with", frozenset({" ward"})),
        ("shared_with", frozenset({"\x1f"})),
        ("shared_with", frozenset(map(str, range(51)))),
        ("content", []),
        ("content", "text"),
        ("content", None),
        ("content", {"x": float("nan")}),
        ("content", {"x": float("inf")}),
        ("content", {"x": "\ud800"}),
        ("content", {"x": 2**64}),
        ("content", {1: "x"}),
        ("content", {"x": {1, 2}}),
        ("content", {"x": (1, 2)}),
        ("content", {"x": date(2020, 1, 1)}),
        ("content", {"x": b"bytes"}),
        ("content", {"x": "y" * 63_993}),
        ("content", {"x": "ä" * 32_000}),
    ],
)
def test_a_bad_draft_is_refused_with_its_field(field: str, value: Any):
    with pytest.raises(InvalidInput) as refused:
        replace(DRAFT, **{field: value})
    assert refused.value.field == field


def test_a_content_that_is_too_deep_is_refused():
    deep: dict[str, Any] = {}
    for _ in range(2_000):
        deep = {"x": deep}
    with pytest.raises(InvalidInput) as refused:
        replace(DRAFT, content=deep)
    assert refused.value.field == "content"


def test_the_limits_themselves_are_allowed():
    assert len(encode_content({"x": "y" * 63_992})) == 64_000
    replace(DRAFT, content={"x": "y" * 63_992}, name="x" * 200, shared_with=frozenset(map(str, range(50))))


@pytest.mark.parametrize("user", ["", " ", "a\nb", "x" * 201])
def test_a_caller_without_a_usable_name_keeps_nothing(user: str):
    with pytest.raises(InvalidInput) as refused:
        KeptItem.of(Access(user, frozenset({"*"})), DRAFT)
    assert refused.value.field == "user"


@given(
    st.frozensets(st.sampled_from("abc")),
    st.frozensets(st.sampled_from("abc*")),
    st.booleans(),
)
def test_an_item_is_seen_by_its_owner_and_by_those_with_one_of_its_labels(shared, labels, is_owner):
    item = replace(KeptItem.of(ANN, DRAFT), shared_with=shared)
    access = Access("ann" if is_owner else "bob", labels)
    expected = is_owner or bool(shared & labels) or ("*" in labels and bool(shared))
    assert item.may_be_seen(access) == expected
    if expected:
        narrowed = not is_owner and "*" not in labels
        assert item.seen_by(access) == (replace(item, shared_with=shared & labels) if narrowed else item)


@given(st.text(min_size=1, max_size=200))
def test_a_restored_name_is_a_name(name: str):
    item = replace(KeptItem.of(ANN, DRAFT), name=name)
    renamed = restored_name(item)
    assert len(renamed.name) <= 200
    assert renamed.name.endswith(f" (restored {item.id})")
    assert name.startswith(renamed.name[: -len(f" (restored {item.id})")])


def test_a_page_without_a_further_item_is_the_last():
    found = [KeptItem.of(ANN, replace(DRAFT, name=str(number))) for number in range(3)]
    assert KeptPage.of(found, 3) == KeptPage(tuple(found))
    assert KeptPage.of(found, 2) == KeptPage(tuple(found[:2]), found[1].position)
    assert KeptPage.of([], 2) == KeptPage()
