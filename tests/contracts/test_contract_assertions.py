"""What documents assert, in the index: filters, facets, totals, scores and proofs, the same on every engine."""

from __future__ import annotations

from dataclasses import replace

import pytest
from backends import EVERYBODY, Backend, Draft, axis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mappings.documents import Access, Passage, PassageMention
from mappings.errors import InvalidInput
from search.protocols import IndexEntry, LegsRequest
from search.query import ASPECT, PROVES, LexicalQuery, NoneOf, Terms
from search.understanding.criteria import MAX_BUNDLED
from search.understanding.understand import MAX_TERMS

relaxed = settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

EVERYTHING = LexicalQuery((), everything=True)
PUBLIC = Access("u", frozenset({"public"}))
EFFUSION = PassageMention("pleural-effusion", "present", 6, 14, 0, 15)
NO_EFFUSION = PassageMention("pleural-effusion", "ruled-out", 3, 11, 0, 12)
OEDEMA = PassageMention("edema", "family", 0, 5, 0, 5)
WIDER = {"pleural-effusion|present": ["effusion|present"], "edema|family": ["swelling|family"]}


def entry(draft: Draft, *mentions: tuple[PassageMention, ...]) -> IndexEntry:
    """The draft's entry, of which passage n asserts `mentions[n]`, and what follows from it."""
    plain = draft.entry()
    passages = tuple(replace(item, mentions=own) for item, own in zip(plain.passages, mentions, strict=True))
    keys = [[f"{item.concept}|{item.assertion}" for item in own] for own in mentions]
    asserted = tuple(frozenset(own).union(*(WIDER.get(key, []) for key in own)) for own in keys)
    return replace(plain, passages=passages, asserted=asserted)


ENTRIES = (
    entry(Draft("with", ["Small effusion.", "Edema"], heading="FINDINGS"), (EFFUSION,), (OEDEMA,)),
    entry(Draft("without", ["No effusion."], heading="Impression"), (NO_EFFUSION,)),
    entry(Draft("both", ["No effusion.", "Small effusion."]), (NO_EFFUSION,), (EFFUSION,)),
    entry(Draft("silent", ["Clear lungs."]), ()),
    entry(Draft("hidden", ["Small effusion."], labels=frozenset({"ward-a"})), (EFFUSION,)),
    Draft("unread", ["Small effusion."]).entry(),
)


@pytest.fixture
def index(backend: Backend) -> str:
    meta = backend.engine.create("abstracts", {"dense": ("fingerprint-of-the-test", 8)}, reading="reading-9+abc")
    backend.write(meta.index, ENTRIES)
    return meta.index


def ask(backend: Backend, index: str, *filters, lexical: LexicalQuery = EVERYTHING, **more):
    return backend.engine.legs(LegsRequest(index, lexical, {"dense": axis(0)}, PUBLIC, 10, filters, **more))


def documents(answer, leg: str = "bm25") -> set[str]:
    return {item.document for item in answer.rankings[leg]}


def test_an_index_names_the_version_that_read_its_documents(backend, index):
    assert backend.engine.meta(index).reading == "reading-9+abc"
    assert backend.engine.meta(backend.index([]).index).reading == ""


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ((Terms("asserted", ("pleural-effusion|present",)),), {"with", "both"}),
        ((Terms("asserted", ("effusion|present",)),), {"with", "both"}),
        ((Terms("asserted", ("pleural-effusion|ruled-out",)),), {"without", "both"}),
        ((Terms("asserted", ("effusion|ruled-out",)),), set()),
        ((NoneOf("asserted", ("pleural-effusion|present",)),), {"without", "silent", "unread"}),
        ((NoneOf("asserted", ("swelling|family", "pleural-effusion|ruled-out")),), {"silent", "unread"}),
        (
            (Terms("asserted", ("effusion|present",)), NoneOf("asserted", ("pleural-effusion|ruled-out",))),
            {"with"},
        ),
    ],
)
def test_filters_hold_in_every_leg_and_in_the_total(backend, index, filters, expected):
    answer = ask(backend, index, *filters)
    assert documents(answer) == expected
    assert documents(answer, "dense") == expected
    assert (answer.total.value, answer.total.relation) == (len(expected), "exact")


def test_facets_count_what_is_mentioned_alone(backend, index):
    facets = ask(backend, index, facets=("mentioned",)).facets["mentioned"]
    assert [(item.value, item.count) for item in facets] == [
        ("pleural-effusion|present", 2),
        ("pleural-effusion|ruled-out", 2),
        ("edema|family", 1),
    ]


def test_keywords_rank_the_passages_that_prove_something_and_add_their_weight(backend, index):
    query = LexicalQuery((), everything=True, keywords=((PROVES, "effusion|present", 5.0), (ASPECT, "findings", 2.0)))
    answer = ask(backend, index, lexical=query)
    scores = {item.passage: item.score for item in answer.rankings["bm25"]}
    assert scores["with@1#0"] == pytest.approx(8.0)
    assert scores["with@1#1"] == pytest.approx(2.0)
    assert scores["both@1#1"] == pytest.approx(5.0)
    assert scores["both@1#0"] == scores["silent@1#0"] == pytest.approx(1.0)
    assert answer.total.value == 5


def test_keywords_find_passages_without_the_words_and_totals_count_the_words(backend, index):
    query = LexicalQuery((("clear", 1.0),), keywords=((PROVES, "effusion|present", 5.0),))
    answer = ask(backend, index, lexical=query)
    assert [item.passage for item in answer.rankings["bm25"]] == ["both@1#1", "with@1#0", "silent@1#0"]
    assert answer.total.value == 1


def test_proofs_are_the_passages_that_assert_it_whole(backend, index):
    found = backend.engine.proofs(index, [item.document for item in ENTRIES], ["effusion|present"], PUBLIC)
    assert found == {
        "with": [Passage("with", 1, 0, "", "FINDINGS", "Small effusion.", mentions=(EFFUSION,))],
        "both": [Passage("both", 1, 1, "", "", "Small effusion.", mentions=(EFFUSION,))],
    }
    either = backend.engine.proofs(index, ["both"], ["effusion|present", "pleural-effusion|ruled-out"], PUBLIC)
    assert [item.ordinal for item in either["both"]] == [0, 1]
    assert set(backend.engine.proofs(index, ["hidden"], ["effusion|present"], EVERYBODY)) == {"hidden"}
    assert backend.engine.proofs(index, [], ["effusion|present"], PUBLIC) == {}
    assert backend.engine.proofs(index, ["both"], [], PUBLIC) == {}


def test_proofs_are_also_the_passages_that_have_one_of_some_phrases(backend, index):
    def ordinals(*phrases, keys=(), documents=("with", "without", "both", "silent", "hidden")):
        found = backend.engine.proofs(index, documents, keys, PUBLIC, phrases)
        return {name: [item.ordinal for item in own] for name, own in found.items()}

    assert ordinals(("clear",), ("edema",)) == {"with": [1], "silent": [0]}
    assert ordinals(("small", "effus")) == {"with": [0], "both": [1]}
    assert ordinals(("effus", "small")) == {}
    assert ordinals(("clear",), keys=["effusion|present"]) == {"with": [0], "both": [1], "silent": [0]}
    many = [(f"word{number}", f"word{number + 1}") for number in range(1_500)]
    assert ordinals(*many, ("clear", "lung"), ("small", "effus")) == {"with": [0], "both": [1], "silent": [0]}


def test_passages_come_back_with_their_mentions(backend, index):
    found = backend.engine.passages(index, ["with@1#0", "silent@1#0"], PUBLIC)
    assert found["with@1#0"].mentions == (EFFUSION,)
    assert found["silent@1#0"].mentions == ()


def test_a_replaced_document_asserts_only_what_it_says_now(backend, index):
    newer = entry(Draft("with", ["No effusion."], version=2), (NO_EFFUSION,))
    backend.write(index, [newer], removed=["both"])
    assert documents(ask(backend, index, Terms("asserted", ("effusion|present",)))) == set()
    assert documents(ask(backend, index, Terms("asserted", ("pleural-effusion|ruled-out",)))) == {"with", "without"}


def test_none_of_works_on_any_keyword_and_refuses_an_unknown_field(backend, index):
    assert documents(ask(backend, index, NoneOf("journal", ("BMJ",)))) == {
        "with",
        "without",
        "both",
        "silent",
        "unread",
    }
    with pytest.raises(InvalidInput):
        ask(backend, index, NoneOf("nothing", ("x",)))


CONCEPTS = ("a", "b-c", "d")
ASSERTED = st.sets(st.tuples(st.sampled_from(CONCEPTS), st.sampled_from(["present", "ruled-out"])), max_size=4)


@relaxed
@given(st.lists(ASSERTED, min_size=1, max_size=6), st.sampled_from(CONCEPTS), st.sampled_from(CONCEPTS))
def test_any_documents_are_filtered_as_their_keys_say(backend, stated, wanted, unwanted):
    entries = []
    for number, own in enumerate(stated):
        mentions = tuple(PassageMention(concept, how, 0, 1, 0, 1) for concept, how in sorted(own))
        entries.append(entry(Draft(f"d{number}", ["x"]), mentions))
    index = backend.index(entries).index
    filters = (Terms("asserted", (f"{wanted}|present",)), NoneOf("asserted", (f"{unwanted}|present",)))
    expected = {
        f"d{number}"
        for number, own in enumerate(stated)
        if (wanted, "present") in own and (unwanted, "present") not in own
    }
    assert documents(ask(backend, index, *filters)) == expected


def test_the_largest_bundles_of_a_search_are_answered(backend, index):
    """As many clauses as a text of 128 terms with phrases and bundles of 120 concepts can have."""
    terms = (("effus", 1.0), *((f"word{number}", 1.0) for number in range(MAX_TERMS - 1)))
    phrases = tuple(((f"long{number}", "form"), 0.25) for number in range(MAX_TERMS // 2))
    keys = [
        f"concept-{number}|{said}"
        for number in range(MAX_BUNDLED)
        for said in ("present", "found", "uncertain", "past")
    ]
    keywords = ((PROVES, "pleural-effusion|present", 20.0), *((PROVES, key, 20.0) for key in keys[1:]))
    lexical = LexicalQuery(terms, phrases, everything=True, keywords=keywords)
    answer = ask(backend, index, Terms("asserted", ("pleural-effusion|present", *keys)), lexical=lexical)
    assert documents(answer) == {"with", "both"}
    assert answer.missing == {}
