"""Patients who meet criteria over all of their documents: the same on every engine, as a plain loop finds them."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import contract_patients as plain
import pytest
from backends import EVERYBODY, LABELS, WORDS, Backend, Draft
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mappings.documents import Access
from mappings.errors import InvalidInput, NotFound
from search.document_criteria import DocumentCriterion
from search.protocols import PatientDocuments, PatientsRequest
from search.query import NoneOf, Range, Terms

relaxed = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
PUBLIC = Access("u", frozenset({"public"}))


def ask(backend: Backend, index: str, **more):
    more = {"group_by": "journal", "access": EVERYBODY, "date": "published"} | more
    return backend.engine.patients(PatientsRequest(index, **more))


def has(*words: str) -> DocumentCriterion:
    return DocumentCriterion(wanted=tuple(((word,),) for word in words))


days = st.integers(1, 28).map(lambda day: date(2000, 1, day))
filters = st.lists(
    st.one_of(
        st.builds(Terms, st.just("year"), st.just(("2001", "2003"))),
        st.builds(NoneOf, st.just("journal"), st.lists(st.sampled_from(("p01", "p02", "p03")), min_size=1).map(tuple)),
        st.builds(Range, st.just("published"), days, st.none() | days),
    ),
    max_size=2,
).map(tuple)
phrases = st.lists(st.sampled_from(WORDS), min_size=1, max_size=2).map(tuple)
criteria = st.builds(
    DocumentCriterion, filters, st.lists(st.lists(phrases, min_size=1, max_size=2).map(tuple), max_size=2).map(tuple)
)
groups = st.lists(criteria, max_size=2).map(tuple)


accesses = st.builds(Access, st.just("someone"), st.frozensets(st.sampled_from((*LABELS, "unknown", "*"))))


@st.composite
def requests(draw) -> PatientsRequest:
    """A request to the ward, as yet without the name of its index."""
    everything = draw(groups)
    if len(everything) == 2 and draw(st.booleans()):
        near = replace(everything[0], within_days=draw(st.integers(0, 10)), of=1)
        everything = (near, everything[1])
    return PatientsRequest(
        index="",
        group_by=draw(st.sampled_from(("journal", "journal", "document"))),
        access=draw(accesses),
        all=everything,
        any=draw(groups),
        none=draw(groups),
        date="published",
        withheld=tuple(f"doc/{number}@x#y" for number in sorted(draw(st.sets(st.integers(0, 89), max_size=3)))),
        after=draw(st.sampled_from(("", "", "p03", "id:", "zzz"))),
        size=draw(st.integers(1, 8)),
    )


@given(request=requests())
@relaxed
def test_patients_counts_and_pages_are_those_of_a_plain_loop(ward, request):
    backend, index, drafts = ward
    request = replace(request, index=index)
    answer = backend.engine.patients(request)
    known = plain.all_patients(drafts, request)
    expected = plain.chosen_patients(known, request)
    later = [item for item in expected if item.patient > request.after]
    assert answer.patients == tuple(later[: request.size])
    assert (answer.total, answer.known) == (len(expected), len(known))
    assert answer.counts == plain.counts(known, request)
    assert answer.has_more == (len(later) > request.size)


def test_the_pages_together_have_every_patient_once(ward):
    backend, index, drafts = ward
    request = PatientsRequest(index, "journal", EVERYBODY)
    found, after = [], ""
    while True:
        answer = ask(backend, index, after=after, size=7)
        found += [item.patient for item in answer.patients]
        if not answer.has_more:
            break
        after = found[-1]
    assert found == list(plain.all_patients(drafts, request))
    assert answer.total == answer.known == len(found)


STAY = (
    Draft("a1", ["fever"], fields={"journal": "ann", "published": date(2020, 1, 1)}),
    Draft("a2", ["cough"], fields={"journal": "ann", "published": date(2020, 1, 31)}),
    Draft("b1", ["fever"], fields={"journal": "bob", "published": date(2020, 1, 1)}),
    Draft("b2", ["cough"], fields={"journal": "bob", "published": date(2020, 2, 1)}, labels=frozenset({"ward-a"})),
    Draft("c1", ["fever cough"], fields={"journal": "cem"}),
    Draft("d1", ["aspirin"]),
)


@pytest.fixture
def stay(backend: Backend) -> str:
    return backend.index([draft.entry() for draft in STAY]).index


def patients(answer) -> list[str]:
    return [item.patient for item in answer.patients]


def test_what_a_caller_may_not_see_counts_nowhere_not_even_as_a_reason_to_exclude(backend, stay):
    without_cough = {"all": (has("fever"),), "none": (has("cough"),)}
    assert patients(ask(backend, stay, **without_cough)) == []
    hidden = ask(backend, stay, access=PUBLIC, **without_cough)
    assert hidden.patients == (PatientDocuments("bob", ("b1",), (("b1",), ())),)
    assert (hidden.total, hidden.known, hidden.counts) == (1, 4, (3, 2))
    assert ask(backend, stay, access=Access("u", frozenset({"unknown"}))).known == 0


def test_criteria_are_met_by_different_documents_of_a_patient(backend, stay):
    assert patients(ask(backend, stay, all=(has("fever"), has("cough")))) == ["ann", "bob", "cem"]
    assert patients(ask(backend, stay, all=(has("fever", "cough"),))) == ["cem"]
    assert patients(ask(backend, stay, any=(has("cough"), has("aspirin")))) == ["ann", "bob", "cem", "id:d1"]


def test_days_are_counted_exactly_and_only_between_dated_documents(backend, stay):
    near = replace(has("cough"), within_days=30, of=0)
    answer = ask(backend, stay, all=(has("fever"), near))
    assert answer.patients == (PatientDocuments("ann", ("a1", "a2"), (("a1",), ("a2",))),)
    assert answer.counts == (3, 1)
    assert patients(ask(backend, stay, all=(has("fever"), replace(near, within_days=31)))) == ["ann", "bob"]
    assert patients(ask(backend, stay, all=(has("fever"), replace(near, within_days=29)))) == []
    undated = ask(backend, stay, all=(has("fever"),), none=(replace(near, within_days=31),))
    assert patients(undated) == ["cem"]


def test_names_alone_come_without_documents(backend, stay):
    whole = ask(backend, stay, all=(has("fever"),), size=2)
    names = ask(backend, stay, all=(has("fever"),), size=2, names_only=True)
    assert names == replace(whole, patients=(PatientDocuments("ann"), PatientDocuments("bob")))


def test_a_withheld_document_counts_as_absent(backend, stay):
    answer = ask(backend, stay, none=(has("cough"),), withheld=("a2", "d1"))
    assert (patients(answer), answer.known, answer.counts) == (["ann"], 3, (2,))


def test_replaced_and_deleted_documents_no_longer_count(backend, stay):
    assert patients(ask(backend, stay, all=(has("cough"),))) == ["ann", "bob", "cem"]
    moved = replace(STAY[1], version=2, fields={"journal": "dan"})
    healed = replace(STAY[4], version=2, texts=["nothing"])
    backend.write(stay, [moved.entry(), healed.entry()], removed=["b1", "b2"])
    answer = ask(backend, stay, any=(has("fever"), has("cough")))
    assert answer.patients == (
        PatientDocuments("ann", ("a1",), (("a1",), ())),
        PatientDocuments("dan", ("a2",), ((), ("a2",))),
    )
    assert (answer.total, answer.known, answer.counts) == (2, 4, (1, 1))


def test_everybody_is_a_cohort_and_a_contradiction_is_an_empty_one(backend, stay):
    everybody = ask(backend, stay)
    assert (patients(everybody), everybody.total, everybody.counts) == (["ann", "bob", "cem", "id:d1"], 4, ())
    contradiction = ask(backend, stay, all=(has("fever"),), none=(has("fever"),))
    assert (contradiction.patients, contradiction.total, contradiction.counts) == ((), 0, (3, 3))


def test_an_empty_index_knows_nobody(backend):
    answer = ask(backend, backend.index([]).index, all=(has("fever"),))
    assert (answer.patients, answer.total, answer.known, answer.counts) == ((), 0, 0, (0,))


def test_two_hundred_criteria(ward):
    backend, index, drafts = ward
    words = [*WORDS, "absent"]
    many = tuple(has(words[number % 11], words[number // 11 % 11]) for number in range(198))
    request = PatientsRequest(index, "journal", EVERYBODY, any=many, none=(has("fever", "lung", "heart"),), size=50)
    answer = backend.engine.patients(request)
    known = plain.all_patients(drafts, request)
    assert answer.patients == tuple(plain.chosen_patients(known, request))
    assert answer.counts == plain.counts(known, request)


@pytest.mark.parametrize("group_by", ["journal", "document"])
def test_patients_that_a_cluster_counts_in_several_pages(ward, monkeypatch, group_by):
    monkeypatch.setattr("search.engines.opensearch.cohorts.bodies.BUCKETS", 3)
    backend, index, drafts = ward
    near = replace(has("cough"), within_days=3, of=2)
    # A caller of this test alone: nothing is kept of earlier answers.
    caller = Access(f"paged by {group_by}", frozenset({*LABELS, "paged"}))
    some = (near, has("lung"))
    request = PatientsRequest(index, group_by, caller, (has("fever"),), some, date="published", size=50)
    answer = backend.engine.patients(request)
    known = plain.all_patients(drafts, request)
    assert answer.patients == tuple(plain.chosen_patients(known, request))
    assert (answer.known, answer.counts) == (len(known), plain.counts(known, request))


@pytest.mark.parametrize("group_by", ["ward", "patient"])
def test_an_unknown_field_is_an_error(backend, stay, group_by):
    with pytest.raises(InvalidInput, match="no field"):
        ask(backend, stay, group_by=group_by)
    with pytest.raises(InvalidInput, match="no field"):
        ask(backend, stay, all=(DocumentCriterion((Terms(group_by, ("x",)),)),))


def test_an_unknown_index_is_an_error(backend):
    with pytest.raises(NotFound):
        ask(backend, "abstracts-9")


@pytest.mark.parametrize(
    ("distances", "message"),
    [
        ([(3, None)], "together"),
        ([(None, 0)], "together"),
        ([(3, 0)], "itself"),
        ([(3, 1), (3, 0)], "itself"),
        ([(3, 1), (3, 2), (3, 1)], "itself"),
        ([(3, 4)], "no criterion 4"),
        ([(3, -1)], "no criterion -1"),
        ([(-1, 1), (None, None)], "between 0 and"),
        ([(40_001, 1), (None, None)], "between 0 and"),
    ],
)
def test_days_need_another_criterion_that_does_not_lead_back(distances, message):
    items = tuple(DocumentCriterion(within_days=days, of=of) for days, of in distances)
    with pytest.raises(InvalidInput, match=message):
        PatientsRequest("abstracts-1", "journal", EVERYBODY, all=items)


def test_days_can_be_counted_along_a_chain(backend):
    drafts = [
        Draft(f"{name}{word}", [word], fields={"journal": name, "published": date(2020, 1, day)})
        for name, placed in {"x": (1, 6, 11), "y": (1, 6, 20)}.items()
        for word, day in zip(("fever", "cough", "edema"), placed, strict=True)
    ]
    index = backend.index([draft.entry() for draft in drafts]).index
    chain = (replace(has("fever"), within_days=5, of=1), replace(has("cough"), within_days=5, of=2), has("edema"))
    answer = ask(backend, index, all=chain)
    assert (patients(answer), answer.counts) == (["x"], (1, 1, 2))
