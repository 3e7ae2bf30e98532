from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mappings.documents import Access, Deletion, Document, Passage, Section, clean, document_of, parse_passage_id
from mappings.errors import InvalidInput

LABELS = st.frozensets(st.sampled_from("abc"))


@given(st.text(alphabet=st.characters(exclude_categories=[])))
def test_cleaning_keeps_every_place_and_can_be_encoded(text: str) -> None:
    cleaned = clean(text)
    assert len(cleaned) == len(text)
    cleaned.encode()
    assert clean(cleaned) == cleaned
    assert all(before == after or after == " " for before, after in zip(text, cleaned, strict=True))


def test_line_breaks_and_tabs_stay() -> None:
    assert clean("a\n\tb\x00\x1b\ud800c\x85") == "a\n\tb   c "


@given(st.text(min_size=1), st.integers(0, 99), st.integers(0, 99))
def test_a_passage_id_parses_back(document: str, version: int, ordinal: int) -> None:
    passage = Passage(document, version, ordinal, "", "", "")
    assert parse_passage_id(passage.id) == (document, version, ordinal)
    assert document_of(passage.id) == document


@pytest.mark.parametrize(
    "identifier", ["", "a", "a@1", "a#1", "a@x#1", "a@1#", "@1#1", "a@1#-1", "a@²#1", "a@1#" + "9" * 5000]
)
def test_what_is_no_passage_id(identifier: str) -> None:
    with pytest.raises(InvalidInput, match="passage id"):
        parse_passage_id(identifier)


@given(LABELS, LABELS)
def test_one_sees_what_shares_a_label(mine: frozenset[str], theirs: frozenset[str]) -> None:
    assert Access("u", mine).may_see(theirs) == bool(mine & theirs)
    assert Access("u", mine | {"*"}).may_see(theirs) == bool(theirs)


@given(LABELS, LABELS)
def test_cache_keys_are_equal_only_for_equal_access(one: frozenset[str], other: frozenset[str]) -> None:
    assert (Access("u", one).key == Access("v", other).key) == (one == other)


@pytest.mark.parametrize("labels", [frozenset({"*"}), frozenset({""})])
def test_reserved_labels(labels: frozenset[str]) -> None:
    with pytest.raises(InvalidInput, match="reserved"):
        Document("a", "t", (), labels)


def test_a_text_beyond_the_bound_is_refused() -> None:
    with pytest.raises(InvalidInput, match="20,000,001"):
        Document("a", "", (Section("", "x" * 20_000_001),))


@pytest.mark.parametrize("identifier", ["", " a", "x" * 10_000, "a\x00"])
def test_a_deletion_names_a_document(identifier: str) -> None:
    with pytest.raises(InvalidInput, match="document id"):
        Deletion(identifier)


def test_a_source_version_has_64_bits() -> None:
    for version in (-(2**63), 2**63 - 1, None):
        assert Document("a", "t", (), source_version=version).source_version == version
        assert Deletion("a", version).source_version == version
    for version in (-(2**63) - 1, 2**63):
        with pytest.raises(InvalidInput, match="64 bits"):
            Document("a", "t", (), source_version=version)
        with pytest.raises(InvalidInput, match="64 bits"):
            Deletion("a", version)
