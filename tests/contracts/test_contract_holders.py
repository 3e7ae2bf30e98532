"""Documents that hold a query, that are named, and that have an excluded phrase: the same on every engine."""

from __future__ import annotations

from dataclasses import replace

import pytest
from backends import EVERYBODY, Backend, Draft, axis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mappings.documents import Access
from search.protocols import LegsRequest
from search.query import LexicalQuery, Terms

relaxed = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

DRAFTS = (
    Draft("both", ["heart failure with asthma"]),
    Draft("apart", ["heart rhythm", "asthma since birth"]),
    Draft("one", ["heart heart heart"]),
    Draft("other", ["asthma"]),
    Draft("none", ["fever"], fields={"journal": "BMJ"}),
    Draft("hidden", ["heart asthma"], labels=frozenset({"ward-a"})),
)
HEART, ASTHMA = (("heart",),), (("asthma",),)


@pytest.fixture
def index(backend: Backend) -> str:
    return backend.index([draft.entry() for draft in DRAFTS]).index


def ask(backend: Backend, index: str, query: LexicalQuery, **more):
    request = LegsRequest(index, query, {"dense": axis(0)}, Access("u", frozenset({"public"})), 10)
    return backend.engine.legs(replace(request, **more))


def lexical(*words: str, **more) -> LexicalQuery:
    return LexicalQuery(tuple((word, 1.0) for word in sorted(words)), **more)


def test_passages_that_hold_all_come_before_documents_that_hold_it_in_several(backend, index):
    answer = ask(backend, index, lexical("asthma", "heart", wanted=(HEART, ASTHMA)))
    scores = {item.passage: item.score for item in answer.rankings["bm25"]}
    assert [item.passage for item in answer.holders] == ["both@1#0", "apart@1#0"]
    assert [item.score for item in answer.holders] == [scores["both@1#0"], scores["apart@1#0"]]
    assert answer.total.value == 4


def test_a_form_is_enough_and_a_phrase_wants_its_order(backend, index):
    either = ask(backend, index, lexical("fever", wanted=((("fever",), ("heart", "failur")),)))
    assert [item.document for item in either.holders] == ["none", "both"]
    phrase = ask(backend, index, lexical("failur", "heart", wanted=((("failur", "heart"),),)))
    assert list(phrase.holders) == []


def test_required_counts_holders_alone_in_whichever_passages(backend, index):
    answer = ask(backend, index, lexical("asthma", "heart", wanted=(HEART, ASTHMA), required=True))
    assert answer.total.value == 2


def test_an_excluded_phrase_in_any_passage_makes_its_document_absent(backend, index):
    answer = ask(backend, index, lexical("heart", wanted=(HEART,), excluded=(("asthma",),)), facets=("journal",))
    assert [item.document for item in answer.rankings["bm25"]] == ["one"]
    assert {item.document for item in answer.rankings["dense"]} == {"one", "none"}
    assert [item.document for item in answer.holders] == ["one"]
    assert answer.total.value == 1
    phrase = ask(backend, index, lexical("heart", excluded=(("heart", "failur"),)))
    assert {item.document for item in phrase.rankings["bm25"]} == {"apart", "one"}


def test_a_named_document_is_held_by_its_id_or_by_a_field(backend, index):
    by_id = ask(backend, index, lexical("other", named=(("", "other"),)))
    assert [(item.passage, item.score) for item in by_id.holders] == [("other@1#0", 0.0)]
    assert by_id.total.value == 1
    by_field = ask(
        backend, index, lexical("bmj", wanted=((("bmj",),),), named=(("journal", "BMJ"), ("newer", "BMJ"), ("", "BMJ")))
    )
    assert [item.document for item in by_field.holders] == ["none"]
    assert list(ask(backend, index, lexical("x", named=(("", "hidden"),))).holders) == []
    alone = ask(backend, index, LexicalQuery((), named=(("", "other"),), required=True, everything=True))
    assert (alone.total.value, [item.document for item in alone.holders]) == (1, ["other"])


def test_everything_matches_each_document_once_under_the_filters(backend, index):
    every = ask(backend, index, LexicalQuery((), everything=True), vectors={})
    assert [(item.document, item.score) for item in every.rankings["bm25"]] == [
        (name, 1.0) for name in ("apart", "both", "none", "one", "other")
    ]
    assert every.total.value == 5
    only = ask(backend, index, LexicalQuery((), everything=True), vectors={}, filters=(Terms("journal", ("BMJ",)),))
    assert ([item.document for item in only.rankings["bm25"]], only.total.value) == (["none"], 1)


def test_holders_are_as_many_documents_as_are_asked_for(backend):
    drafts = [Draft(f"d{number:02}", ["heart " * (number + 1), "asthma"]) for number in range(12)]
    index = backend.index([draft.entry() for draft in drafts]).index
    query = lexical("asthma", "heart", wanted=(HEART, ASTHMA))
    request = LegsRequest(index, query, {}, EVERYBODY, 5)
    assert len({item.document for item in backend.engine.legs(request).holders}) == 5


WORDS = ("heart", "asthma", "fever", "rash")


@relaxed
@given(
    st.lists(
        st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=3), min_size=1, max_size=3),
        min_size=1,
        max_size=6,
    ),
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=2, unique=True),
    st.lists(st.sampled_from(WORDS), max_size=1),
)
def test_holders_and_totals_are_those_of_a_plain_loop(backend, texts, wanted, excluded):
    drafts = [Draft(f"d{number}", [" ".join(words) for words in passages]) for number, passages in enumerate(texts)]
    index = backend.index([draft.entry() for draft in drafts]).index
    forms = tuple(((word,),) for word in wanted)
    query = lexical(*wanted, wanted=forms, excluded=tuple((word,) for word in excluded), required=True)
    answer = backend.engine.legs(LegsRequest(index, query, {}, EVERYBODY, 50))
    words = {f"d{number}": {word for passage in passages for word in passage} for number, passages in enumerate(texts)}
    holding = {name for name, own in words.items() if own >= set(wanted) and not own & set(excluded)}
    assert {item.document for item in answer.holders} == holding
    assert answer.total.value == len(holding)
