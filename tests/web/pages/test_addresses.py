"""A search as a URL."""

from urllib.parse import parse_qsl

from hypothesis import given
from hypothesis import strategies as st

from web.pages.addresses import SearchAddress

ASKED = SearchAddress.of(
    [
        ("collection", "notes"),
        ("text", "a & b"),
        ("entity", ""),
        ("filter.type", "x"),
        ("filter.type", "y"),
        ("cursor", "c"),
    ]
)


def test_empty_parameters_are_dropped():
    assert ASKED.url == "/search?collection=notes&text=a+%26+b&filter.type=x&filter.type=y&cursor=c"


def test_a_change_starts_at_page_one():
    assert ASKED.toggle("filter.type", "x").query_string == "collection=notes&text=a+%26+b&filter.type=y"
    assert ASKED.toggle("filter.type", "z").values("filter.type") == ["x", "y", "z"]
    assert ASKED.with_value("filter.type", "z").values("filter.type") == ["z"]
    assert ASKED.first_page().get("cursor") == ""
    assert ASKED.at("d").values("cursor") == ["d"]


def test_an_address_with_a_long_text_does_not_fit_in_a_url():
    long = SearchAddress.of([("text", "a" * 5000), ("collection", "notes")])
    assert (ASKED.fits_in_url, long.fits_in_url) == (True, False)
    assert long.without_text == "collection=notes"


def test_too_many_parameters_are_ignored():
    assert SearchAddress.parse("&".join(["text=a"] * 201)) == SearchAddress(())
    assert len(SearchAddress.parse("&".join(["text=a"] * 200)).pairs) == 200


names = st.sampled_from(["text", "filter.a", "sort"])


@given(
    st.lists(st.tuples(names, st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=1))),
    names,
    st.text("ab ", min_size=1),
)
def test_toggling_twice_changes_nothing_and_an_address_reads_back(pairs, name, value):
    state = SearchAddress.of(pairs)
    assert SearchAddress.parse(state.query_string) == state
    assert parse_qsl(state.query_string) == list(state.pairs)
    if value not in state.values(name):
        assert state.toggle(name, value).toggle(name, value) == state
