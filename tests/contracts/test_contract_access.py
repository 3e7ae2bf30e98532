from __future__ import annotations

from datetime import date

import contract_reference as reference
import numpy as np
import pytest
from backends import EVERYBODY, LABELS, WORDS, Backend, Draft, axis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mappings.documents import Access
from mappings.errors import InvalidInput
from search.query import Range, Terms

relaxed = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
accesses = st.builds(Access, st.just("someone"), st.frozensets(st.sampled_from((*LABELS, "unknown", "*"))))
days = st.integers(1, 28).map(lambda day: date(2000, 1, day))
years = st.integers(1999, 2005).map(float)
filters = st.lists(
    st.one_of(
        st.builds(Terms, st.just("journal"), st.lists(st.sampled_from(("Lancet", "BMJ", "x")), min_size=1).map(tuple)),
        st.builds(Terms, st.just("year"), st.lists(st.sampled_from(("2001", "2003")), min_size=1).map(tuple)),
        st.builds(Range, st.just("year"), st.none() | years, years),
        st.builds(Range, st.just("published"), days, st.none() | days),
    ),
    max_size=2,
).map(tuple)


@given(
    access=accesses,
    chosen=filters,
    words=st.lists(st.sampled_from(WORDS), min_size=1, max_size=3),
    seed=st.integers(0, 99),
)
@relaxed
def test_rankings_totals_and_facets_contain_exactly_what_the_caller_may_see(library, access, chosen, words, seed):
    backend, index, drafts = library
    vector = np.random.default_rng(seed).standard_normal(8).astype(np.float32)
    text = " ".join(words)
    facets = ("journal", "year", "published")
    answer = backend.ask(index, text, vector, access, filters=chosen, facets=facets, documents=100)
    allowed = reference.visible(drafts, access, chosen)
    lexical = reference.matching(allowed, text)
    assert {item.document for item in answer.rankings["bm25"]} == {draft.id for draft in lexical}
    assert {item.document for item in answer.rankings["dense"]} == {draft.id for draft in allowed}
    assert answer.total.value == len(lexical)
    assert answer.total.relation == "exact"
    counted = {name: [(item.value, item.count) for item in values] for name, values in answer.facets.items()}
    assert counted == {name: reference.facet(lexical, name) for name in facets}


@given(access=accesses)
@relaxed
def test_texts_and_fields_are_returned_only_to_those_who_may_see_them(library, access):
    backend, index, drafts = library
    every = [key for draft in drafts for key in reference.passage_ids(draft)]
    allowed = reference.visible(drafts, access)
    found = backend.engine.passages(index, [*every, "absent@1#0"], access)
    assert set(found) == {key for draft in allowed for key in reference.passage_ids(draft)}
    assert all(found[key].id == key for key in found)
    fields = backend.engine.fields(index, [draft.id for draft in drafts], access)
    assert {key: dict(value) for key, value in fields.items()} == {draft.id: dict(draft.fields) for draft in allowed}


@given(access=accesses)
@relaxed
def test_an_index_has_something_visible_to_exactly_those_who_may_see_a_document(library, access):
    backend, index, drafts = library
    assert backend.engine.has_visible(index, access) == bool(reference.visible(drafts, access))


def test_nothing_is_visible_in_an_empty_index_nor_once_the_last_document_is_removed(backend: Backend):
    meta, public = backend.index([]), Access("reader", frozenset({"public"}))
    assert not backend.engine.has_visible(meta.index, EVERYBODY)
    backend.write(meta.index, [Draft("a", ["heart"]).entry(), Draft("b", ["lung"], labels=frozenset()).entry()])
    assert backend.engine.has_visible(meta.index, public)
    backend.write(meta.index, [Draft("a", ["heart"], labels=frozenset({"study"}), version=2).entry()])
    assert not backend.engine.has_visible(meta.index, public)
    backend.write(meta.index, [], ["a"])
    assert not backend.engine.has_visible(meta.index, EVERYBODY)


def test_passages_are_returned_exactly(backend: Backend):
    draft = Draft("ä/b c@2#3", ["Erste.\nZeile \N{GREEK SMALL LETTER BETA}", ""], title="T\u00e9st", heading="PLAN:")
    entry = draft.entry()
    meta = backend.index([entry])
    ids = [passage.id for passage in entry.passages]
    assert backend.engine.passages(meta.index, ids, EVERYBODY) == {passage.id: passage for passage in entry.passages}
    assert backend.engine.passages(meta.index, [], EVERYBODY) == {}
    assert backend.engine.fields(meta.index, ["absent"], EVERYBODY) == {}


def test_a_document_without_labels_is_visible_to_nobody(backend: Backend):
    meta = backend.index([Draft("a", ["heart"], labels=frozenset()).entry()])
    answer = backend.ask(meta.index, "heart", axis(0))
    assert [list(leg) for leg in answer.rankings.values()] == [[], []]
    assert answer.total.value == 0


def test_a_change_of_labels_changes_who_sees_a_document(backend: Backend):
    meta = backend.index([Draft("a", ["heart"], labels=frozenset({"study"})).entry()])
    student = Access("student", frozenset({"public"}))
    assert backend.ask(meta.index, "heart", axis(0), student).total.value == 0
    backend.write(meta.index, [Draft("a", ["heart"], version=2).entry()])
    answer = backend.ask(meta.index, "heart", axis(0), student)
    assert [[item.passage for item in leg] for leg in answer.rankings.values()] == [["a@2#0"], ["a@2#0"]]


def test_dates_before_1677_and_numbers_of_any_size_filter_and_count(backend: Backend):
    old = Draft("old", ["heart"], fields={"published": date(1543, 6, 1), "year": -1e300})
    new = Draft("new", ["heart"], fields={"published": date(9999, 12, 31), "year": 0.5})
    meta = backend.index([old.entry(), new.entry()])
    answer = backend.ask(
        meta.index, "heart", filters=(Range("published", high=date(1600, 1, 1)),), facets=("published", "year")
    )
    assert [item.document for item in answer.rankings["bm25"]] == ["old"]
    assert {name: [item.value for item in values] for name, values in answer.facets.items()} == {
        "published": ["1543-06-01"],
        "year": ["-1e+300"],
    }
    assert backend.ask(meta.index, "heart", filters=(Terms("year", ("0.5",)),)).total.value == 1


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        (Terms("colour", ("red",)), "colour"),
        (Terms("year", ("recent",)), "year"),
        (Terms("published", ("31/12/2020",)), "published"),
        (Range("journal", 1.0, 2.0), "journal"),
        (Range("published", 2000.0, None), "published"),
        (Range("year", date(2000, 1, 1), None), "year"),
        (Range("year", float("nan"), None), "year"),
    ],
)
def test_an_invalid_filter_is_named(library, wrong, field):
    backend, index, _ = library
    with pytest.raises(InvalidInput) as caught:
        backend.ask(index, "heart", filters=(wrong,))
    assert caught.value.field == field


def test_a_filter_without_values_matches_nothing_and_an_open_range_matches_all(library):
    backend, index, drafts = library
    assert backend.ask(index, "heart", filters=(Terms("journal", ()),)).total.value == 0
    wanted = len(reference.matching(reference.visible(drafts, EVERYBODY, (Range("year"),)), "heart"))
    assert backend.ask(index, "heart", filters=(Range("year"),)).total.value == wanted
