from __future__ import annotations

from dataclasses import replace

import contract_reference as reference
import numpy as np
import pytest
from backends import EVERYBODY, WORDS, Backend, Draft, axis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mappings.analysis.words import terms
from mappings.documents import Access
from mappings.errors import InvalidInput, ModelError, NotFound
from search.protocols import LegsRequest
from search.query import LexicalQuery, NameAlternatives, Terms

relaxed = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def found(answer, leg="bm25"):
    return [item.passage for item in answer.rankings[leg]]


def test_an_answer_has_a_bm25_leg_and_one_for_each_vector_field(backend: Backend):
    meta = backend.index([Draft("a", ["heart"]).entry()])
    answer = backend.ask(meta.index, "heart", axis(0))
    assert {name: [(item.passage, item.document) for item in leg] for name, leg in answer.rankings.items()} == {
        "bm25": [("a@1#0", "a")],
        "dense": [("a@1#0", "a")],
    }
    assert answer.rankings["dense"][0].score == pytest.approx(1.0, abs=1e-3)
    assert (answer.total.value, answer.total.relation, dict(answer.facets)) == (1, "exact", {})


def test_equal_scores_are_ordered_by_passage_id(backend: Backend):
    names = ["m", "c", "z", "a", "k"]
    meta = backend.index([Draft(name, ["heart failure"]).entry() for name in names])
    answer = backend.ask(meta.index, "heart", axis(0))
    expected = [f"{name}@1#0" for name in sorted(names)]
    assert found(answer) == expected
    assert found(answer, "dense") == expected


def test_a_tie_at_the_cut_goes_to_the_lower_ids(backend: Backend):
    names = [f"{number:03}" for number in reversed(range(60))]
    meta = backend.index([Draft(name, ["heart failure"]).entry() for name in names])
    answer = backend.ask(meta.index, "heart", axis(0), documents=7)
    expected = [f"{name}@1#0" for name in sorted(names)[:7]]
    assert found(answer) == expected
    assert found(answer, "dense") == expected


def test_a_leg_returns_distinct_documents_however_many_passages_they_have(backend: Backend):
    long = Draft("long", ["heart heart heart"] * 40, vectors=[axis(0)] * 40)
    others = [Draft(f"short{n}", ["heart and other words here"], vectors=[axis(0, 1)]) for n in range(8)]
    meta = backend.index([draft.entry() for draft in (long, *others)])
    answer = backend.ask(meta.index, "heart", axis(0), documents=5)
    for leg in ("bm25", "dense"):
        documents = [item.document for item in answer.rankings[leg]]
        assert list(dict.fromkeys(documents)) == ["long", "short0", "short1", "short2", "short3"]
        assert len(documents) == 44


def test_a_passage_scores_as_its_best_row(backend: Backend):
    drafts = [
        Draft("a", ["heart", "lung"], vectors=[axis(1), axis(0, 1), axis(2), axis(0)], windows=(3, 1)),
        Draft("b", ["heart"], vectors=[axis(3), axis(0)], windows=(2,), labels=frozenset({"ward-a"})),
        Draft("c", ["heart"], vectors=[axis(0, 2)], fields={"journal": "BMJ"}),
        Draft("d", ["heart"], vectors=[axis(1)] * 30 + [axis(0, 3)], windows=(31,)),
    ]
    meta = backend.index([draft.entry() for draft in drafts])
    assert (meta.documents, meta.passages, backend.engine.dead(meta.index)) == (4, 5, 0)
    near = pytest.approx(2**-0.5, abs=1e-3)
    ranking = backend.ask(meta.index, "heart", axis(0), documents=10).rankings["dense"]
    assert [(item.passage, item.score) for item in ranking] == [
        ("a@1#1", 1.0),
        ("b@1#0", 1.0),
        ("a@1#0", near),
        ("c@1#0", near),
        ("d@1#0", near),
    ]
    public = backend.ask(meta.index, "heart", axis(0), documents=2, access=Access("u", frozenset({"public"})))
    assert found(public, "dense") == ["a@1#1", "a@1#0", "c@1#0"]
    only = backend.ask(meta.index, "heart", axis(1), documents=10, filters=(Terms("journal", ("BMJ",)),))
    assert found(only, "dense") == ["c@1#0"]


def test_replacing_a_passage_of_many_rows_leaves_none_behind(backend: Backend):
    many = Draft("a", ["heart"], vectors=[axis(0), axis(1), axis(2)], windows=(3,))
    meta = backend.index([many.entry(), Draft("b", ["heart"], vectors=[axis(3)]).entry()])
    kept = backend.engine.vectors(meta.index, many.entry().passages)["a@1#0"]["dense"]
    assert np.allclose(kept, [axis(0), axis(1), axis(2)])
    backend.write(meta.index, [replace(many, version=2, vectors=[axis(1)], windows=()).entry()])
    ranking = backend.ask(meta.index, "heart", axis(0), documents=10).rankings["dense"]
    assert [(item.passage, item.score) for item in ranking] == [("a@2#0", 0.0), ("b@1#0", 0.0)]
    assert backend.engine.dead(meta.index) in (0, 3)  # an engine can remove replaced rows itself


def test_a_passage_that_is_also_found_by_a_long_form_keeps_its_vectors(backend: Backend):
    entry = Draft("a", ["heart", "AF since May"], vectors=[axis(0), axis(1)]).entry()
    first, second = entry.passages
    entry = replace(entry, passages=(first, replace(second, also="atrial fibrillation")))
    meta = backend.index([entry])
    kept = backend.engine.vectors(meta.index, entry.passages)
    assert sorted(kept) == ["a@1#0", "a@1#1"]
    assert np.allclose(kept["a@1#1"]["dense"], [axis(1)])


def test_rarer_words_and_repeated_words_count_more(backend: Backend):
    drafts = [Draft("common", ["heart lung"]), Draft("rare", ["kidney lung"]), Draft("twice", ["heart heart"])]
    meta = backend.index([draft.entry() for draft in drafts])
    assert found(backend.ask(meta.index, "heart kidney")) == ["rare@1#0", "twice@1#0", "common@1#0"]


def test_a_repeated_query_word_counts_as_often_as_it_occurs(backend: Backend):
    meta = backend.index([Draft("a", ["heart"]).entry(), Draft("b", ["lung"]).entry()])
    once = backend.ask(meta.index, "heart").rankings["bm25"][0].score
    twice = backend.ask(meta.index, "heart heart").rankings["bm25"][0].score
    assert twice == pytest.approx(2 * once, rel=1e-3)


def test_a_title_match_weighs_more_than_the_same_word_in_the_body(backend: Backend):
    drafts = [Draft("body", ["heart"], title="lung"), Draft("title", ["lung"], title="heart")]
    meta = backend.index([draft.entry() for draft in drafts])
    assert found(backend.ask(meta.index, "heart")) == ["title@1#0", "body@1#0"]


def test_a_phrase_matches_in_order_only(backend: Backend):
    drafts = [
        Draft("order", ["congestive heart failure"]),
        Draft("apart", ["failure of the congestive heart"]),
        Draft("spanning", ["failure"], title="congestive heart"),
    ]
    meta = backend.index([draft.entry() for draft in drafts])
    words = tuple(terms("congestive heart failure"))
    answer = backend.ask(meta.index, lexical=LexicalQuery((), ((words, 1.0),)))
    assert (found(answer), answer.total.value) == (["order@1#0"], 1)


def test_a_phrase_keeps_the_position_of_a_stop_word(backend: Backend):
    meta = backend.index([Draft("a", ["shortness of breath"]).entry()])
    short, breath = terms("shortness breath")
    assert found(backend.ask(meta.index, lexical=LexicalQuery((), (((short, "", breath), 1.0),)))) == ["a@1#0"]
    assert found(backend.ask(meta.index, lexical=LexicalQuery((), (((short, breath), 1.0),)))) == []


def test_a_phrase_of_one_word_is_a_word(backend: Backend):
    meta = backend.index([Draft("a", ["heart"]).entry()])
    assert found(backend.ask(meta.index, lexical=LexicalQuery((), ((("heart",), 1.0),)))) == ["a@1#0"]
    assert found(backend.ask(meta.index, lexical=LexicalQuery((), (((), 1.0), (("",), 1.0))))) == []


def test_text_that_no_index_can_hold_is_not_found(backend: Backend):
    meta = backend.index([Draft("a", ["heart"]).entry()])
    assert found(backend.ask(meta.index, lexical=LexicalQuery((("\ud800", 1.0), ("he\x00art", 1.0))))) == []
    assert backend.engine.passages(meta.index, ["\ud800@1#0"], EVERYBODY) == {}
    assert backend.engine.fields(meta.index, ["\ud800"], EVERYBODY) == {}
    assert backend.ask(meta.index, "heart", filters=(Terms("journal", ("\ud800",)),)).total.value == 0
    assert backend.ask(meta.index, "heart", access=Access("x", frozenset({"\ud800"}))).total.value == 0


def test_a_phrase_in_a_later_passage_counts_its_document_once(backend: Backend):
    texts = ["nothing here", "congestive heart failure", "congestive heart failure"]
    meta = backend.index([Draft("a", texts).entry(), Draft("b", ["heart"]).entry()])
    words = tuple(terms("heart failure"))
    answer = backend.ask(meta.index, lexical=LexicalQuery((), ((words, 1.0),)))
    assert (sorted(found(answer)), answer.total.value) == (["a@1#1", "a@1#2"], 1)


def test_expansions_are_weighted(backend: Backend):
    meta = backend.index([Draft("full", ["hypertension"]).entry(), Draft("short", ["htn"]).entry()])
    query = LexicalQuery((("htn", 1.0), ("hypertens", 0.5)))
    leg = backend.ask(meta.index, lexical=query).rankings["bm25"]
    assert [item.document for item in leg] == ["short", "full"]
    assert leg[1].score == pytest.approx(leg[0].score / 2, rel=1e-3)


@pytest.mark.parametrize("weight", [1.0, 0.5])
def test_another_name_counts_in_place_of_the_typed_one(backend: Backend, weight):
    texts = {
        "a": "heart attack zzz yyy",
        "b": "myocardial infarction zzz yyy",
        "c": "heart attack myocardial infarction",
    }
    meta = backend.index([Draft(name, [text]).entry() for name, text in texts.items()])
    group = NameAlternatives(("heart", "attack"), ((("myocardi", "infarct"), weight),))
    query = LexicalQuery((("attack", 1.0), ("heart", 1.0)), alternatives=(group,))
    answer = backend.ask(meta.index, lexical=query)
    scores = {item.document: item.score for item in answer.rankings["bm25"]}
    assert (sorted(scores), answer.total.value) == (["a", "b", "c"], 3)
    # Within .02, since the title counts typed words alone.
    assert scores["c"] == pytest.approx(scores["a"], rel=0.02)
    assert scores["b"] == pytest.approx(weight * scores["a"], rel=0.02)


def test_another_name_is_found_in_a_later_passage_and_alone(backend: Backend):
    meta = backend.index(
        [Draft("a", ["nothing here", "myocardial infarction"]).entry(), Draft("b", ["attack"]).entry()]
    )
    group = NameAlternatives(("absent",), ((("myocardi", "infarct"), 0.5), (("attack",), 0.5)))
    answer = backend.ask(meta.index, lexical=LexicalQuery((), alternatives=(group,)))
    assert (sorted(found(answer)), answer.total.value) == (["a@1#1", "b@1#0"], 2)


@pytest.mark.parametrize("words", ["", "the of and", "absentword"])
def test_a_dense_leg_answers_where_no_word_matches(backend: Backend, words):
    meta = backend.index([Draft("a", ["heart"], fields={"journal": "BMJ"}).entry()])
    answer = backend.ask(meta.index, words, axis(0), facets=("journal",))
    assert (found(answer), found(answer, "dense"), answer.total.value) == ([], ["a@1#0"], 0)
    assert dict(answer.facets) == {"journal": ()}


def test_an_empty_index_returns_nothing(backend: Backend):
    meta = backend.index([])
    answer = backend.ask(meta.index, "heart", axis(0), facets=("journal", "year"))
    assert (found(answer), found(answer, "dense"), answer.total.value) == ([], [], 0)
    assert (meta.documents, meta.passages) == (0, 0)


def test_an_unknown_index_is_not_found(backend: Backend):
    for name in ("abstracts-99", "nonsense", "../abstracts-1", ""):
        with pytest.raises(NotFound):
            backend.engine.legs(LegsRequest(name, LexicalQuery((("heart", 1.0),)), {}, EVERYBODY, 5))
        with pytest.raises(NotFound):
            backend.engine.passages(name, ["a@1#0"], EVERYBODY)


def test_a_vector_of_another_encoder_is_rejected(backend: Backend):
    meta = backend.index([Draft("a", ["heart"]).entry()])
    with pytest.raises(ModelError, match="dense"):
        backend.ask(meta.index, "heart", np.ones(DIMENSION_OF_ANOTHER, np.float32))
    request = LegsRequest(meta.index, LexicalQuery(()), {"other": axis(0)}, EVERYBODY, 5)
    with pytest.raises(ModelError, match="other"):
        backend.engine.legs(request)


DIMENSION_OF_ANOTHER = 5


def test_fields_are_no_part_of_the_text(backend: Backend):
    plain = backend.index([Draft("a", ["heart failure"]).entry(), Draft("b", ["lung"]).entry()])
    entries = [Draft("a", ["heart failure"]).entry(), Draft("b", ["lung"]).entry()]
    named = [replace(entry, fields={"journal": ("Heart", "heart failure, Ann B")}) for entry in entries]
    rich = backend.index(named)
    first, second = (backend.ask(meta.index, "heart").rankings["bm25"] for meta in (plain, rich))
    assert list(first) == list(second)


def test_a_field_that_an_older_index_lacks_has_an_empty_facet_and_cannot_be_filtered(backend: Backend):
    meta = backend.index([Draft("a", ["heart"]).entry()])
    answer = backend.ask(meta.index, "heart", facets=("colour", "journal"))
    assert (answer.total.value, answer.facets["colour"]) == (1, ())
    assert set(answer.facets) == {"colour", "journal"}
    with pytest.raises(InvalidInput, match=r"no field 'colour'.*medley index rebuild"):
        backend.ask(meta.index, "heart", filters=(Terms("colour", ("red",)),))


@given(words=st.lists(st.sampled_from(WORDS), min_size=1, max_size=4), documents=st.integers(1, 90))
@relaxed
def test_every_matching_passage_is_found_and_sorted(library, words, documents):
    backend, index, drafts = library
    leg = backend.ask(index, " ".join(words), documents=documents).rankings["bm25"]
    assert [(-item.score, item.passage) for item in leg] == sorted((-item.score, item.passage) for item in leg)
    allowed = reference.matching(reference.visible(drafts, EVERYBODY), " ".join(words))
    known = {key for draft in allowed for key in reference.matching_passages(draft, " ".join(words))}
    assert {item.passage for item in leg} <= known
    assert len({item.document for item in leg}) == min(documents, len(allowed))
    if documents > len(allowed):
        assert {item.passage for item in leg} == known


@given(seed=st.integers(0, 10_000), documents=st.integers(1, 90))
@relaxed
def test_vectors_are_ranked_exactly(library, seed, documents):
    backend, index, drafts = library
    vector = np.random.default_rng(seed).standard_normal(8).astype(np.float32)
    vector /= np.linalg.norm(vector)
    leg = backend.ask(index, "", vector, documents=documents).rankings["dense"]
    expected = reference.nearest(reference.visible(drafts, EVERYBODY), vector, documents)
    assert {item.passage for item in leg} == set(expected)
    assert len({item.document for item in leg}) == min(documents, sum(bool(draft.labels) for draft in drafts))


def test_nobody_sees_anything_without_labels(library):
    backend, index, _ = library
    answer = backend.ask(index, "heart", axis(0), access=Access("nobody", frozenset()), facets=("journal",))
    assert (found(answer), found(answer, "dense"), answer.total.value) == ([], [], 0)
    assert dict(answer.facets) == {"journal": ()}
