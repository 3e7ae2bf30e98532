"""Searches with the leg `discourse`: when it is asked, by which slots, what it adds, and what is said when it can't be."""

from __future__ import annotations

import shutil
from dataclasses import replace

import numpy as np
import pytest
from discourse_home import ARTICLES, NAME, article, fill, settings_in, write_kind
from hypothesis import given
from hypothesis import strategies as st

from mappings import collection as kinds
from mappings.clinical.reading import shipped_reader
from mappings.collection import DISCOURSE
from mappings.documents import Access
from mappings.errors import InvalidInput
from search.bootstrap import Medley
from search.discourse.curve import draw_curves
from search.pipeline.explanation import MOST_DRAWN
from search.query import Query
from search.understanding.slots import QuerySlots, read_slots

PUBLIC = Access("reader", frozenset({"public"}))


@pytest.fixture
def settings(tmp_path):
    return settings_in(tmp_path)


@pytest.fixture
def medley(settings) -> Medley:
    return fill(settings)


def ask(medley: Medley, text: str = "", entity: str = "", aspect: str = "", **rest):
    return medley.search(Query(NAME, PUBLIC, text, entity, aspect, explain=True, **rest))


def of_leg(results) -> dict[str, float]:
    return {hit.passage: hit.explain.legs[DISCOURSE].score for hit in results.hits if DISCOURSE in hit.explain.legs}


@pytest.mark.parametrize(
    ("text", "slots"),
    [
        ("What are the treatments for gout?", ("gout", "treatment")),
        ("What is (are) asthma ?", ("asthma", "overview")),
        ("What are the genetic changes related to cystic fibrosis ?", ("cystic fibrosis", "")),
        ("asthma social history", ("asthma", "social history")),
        ("is metformin effective for type 2 diabetes", ("type 2 diabetes", "treatment")),
        ("does gout lead to asthma", ("gout", "")),
        ("weight and metformin", ("metformin", "")),
        ("what was the temperature that day", ("", "")),
        ("no pneumothorax", ("", "")),
        ("hello world", ("", "")),
    ],
)
def test_slots_are_read_from_what_a_text_names(text, slots):
    assert read_slots(Query("notes", PUBLIC, text), text, shipped_reader(), reads_text=True) == slots


def test_typed_slots_come_before_the_text_and_without_a_reader_no_entity_is_found():
    query = Query("notes", PUBLIC, "asthma treatment", entity=" gout ")
    assert read_slots(query, query.text, shipped_reader()) == ("gout", "treatment")
    assert read_slots(replace(query, aspect="causes"), query.text, shipped_reader()) == ("gout", "causes")
    assert read_slots(replace(query, entity=""), query.text, None) == ("", "treatment")


@given(st.text(max_size=60), st.text(max_size=20), st.text(max_size=20))
def test_any_text_has_slots(text, entity, aspect):
    found = read_slots(Query("notes", PUBLIC, f"of {text}", entity, aspect), text, shipped_reader(), True)
    assert isinstance(found, QuerySlots)


def test_the_leg_scores_are_those_of_the_model_and_the_fused_score_adds_up(medley):
    results = ask(medley, entity="gout", aspect="treatment")
    model = medley.models.discourse.get("by-words")
    query = model.encode_query("gout", "treatment")
    read = dict(zip(ARTICLES, model.encode_documents([*ARTICLES.values()]), strict=True))
    expected = {
        f"{name}@1#{number}": float(vector @ query)
        for name, document in read.items()
        for number, vector in enumerate(document.passage_vectors(len(ARTICLES[name])))
    }
    assert of_leg(results) == pytest.approx({name: expected[name] for name in of_leg(results)}, abs=1e-3)
    assert max(of_leg(results).values()) == pytest.approx(max(expected.values()), abs=1e-3)
    for hit in results.hits:
        shares = [leg.contribution for leg in hit.explain.legs.values()]
        assert sum(shares) == pytest.approx(hit.explain.fused, abs=1e-6)
        assert hit.explain.legs[DISCOURSE].weight == pytest.approx(0.5)
    assert results.degraded == ()


def test_free_text_asks_it_by_what_it_names_and_other_text_does_not(medley):
    assert of_leg(ask(medley, "What are the treatments for gout?")) == pytest.approx(
        of_leg(ask(medley, entity="gout", aspect="treatment")), abs=1e-6
    )
    assert of_leg(ask(medley, "joint rest")) == {}


def test_one_slot_asks_it_if_it_was_typed(medley):
    assert of_leg(ask(medley, entity="gout"))
    assert of_leg(ask(medley, aspect="treatment"))
    assert of_leg(ask(medley, "news about gout")) == {}
    assert of_leg(ask(medley, "new treatments")) == {}
    assert of_leg(ask(medley, "new treatments", entity="gout"))


def test_queries_that_are_understood_alike_but_ask_other_slots_share_no_answer(medley):
    one = ask(medley, entity="gout", aspect="asthma")
    other = ask(medley, entity="gout asthma")
    assert of_leg(one) != of_leg(other)


@pytest.mark.parametrize("weight", [0, 0.0])
def test_without_weight_it_is_not_asked(tmp_path, weight):
    medley = fill(settings_in(tmp_path, weight))
    assert DISCOURSE in medley.engine.resolve(NAME).encoders
    results = ask(medley, entity="gout", aspect="treatment")
    assert (of_leg(results), results.degraded) == ({}, ())
    assert all(hit.explain.discourse is None for hit in results.hits)


def test_a_tuned_weight_asks_it(tmp_path):
    medley = fill(settings_in(tmp_path, 0))
    medley.collections.tune(NAME, '[fusion]\nmethod = "weighted"\nweights = { bm25 = 0.5, discourse = 0.5 }\n')
    assert of_leg(ask(medley, entity="gout"))


def test_an_index_without_it_is_searched_without_it(settings):
    fill(replace(settings, discourse="none"))
    results = ask(Medley.open(settings), entity="gout", aspect="treatment")
    assert (of_leg(results), results.degraded) == ({}, ())
    assert results.hits


def test_a_missing_model_is_told_and_the_other_legs_answer(medley, settings, tmp_path):
    whole = ask(medley, entity="gout", aspect="treatment")
    shutil.rmtree(tmp_path / "models")
    results = ask(Medley.open(settings), entity="gout", aspect="treatment")
    assert {hit.document for hit in results.hits} == {hit.document for hit in whole.hits}
    (said,) = results.degraded
    assert "the leg 'discourse' was not searched" in said
    assert of_leg(results) == {}
    assert ask(Medley.open(settings), "joint rest").degraded == ()  # it would not have been asked


def test_hidden_documents_stay_hidden(settings):
    medley = fill(settings, article("closed", ("Gout is joint pain.", "Allopurinol is treatment."), "ward"))
    seen = {hit.document for hit in ask(medley, entity="gout", aspect="treatment").hits}
    assert "closed" not in seen
    assert "gout" in seen


def test_feedback_moves_the_other_vectors_alone(tmp_path):
    medley = fill(settings_in(tmp_path, 0.5, "[feedback]\npassages = 2\nshare = 0.4\n"))
    results = ask(medley, "asthma", aspect="treatment")
    assert results.feedback
    assert results.degraded == ()
    model = medley.models.discourse.get("by-words")
    (read,) = model.encode_documents([ARTICLES["asthma"]])
    query = model.encode_query("asthma", "treatment")
    assert of_leg(results)["asthma@1#1"] == pytest.approx(float(read.passage_vectors(3)[1] @ query), abs=1e-3)


def test_the_curve_of_a_passage_has_its_score_as_mean(medley):
    results = ask(medley, entity="gout", aspect="treatment")
    for hit in results.hits:
        curve, number = hit.explain.discourse, int(hit.passage.rpartition("#")[2])
        assert (curve.entity, curve.aspect, curve.left_out) == ("gout", "treatment", 0)
        own = [point.whole for point in curve.points if point.passage == number]
        assert np.mean(own) == pytest.approx(hit.explain.legs[DISCOURSE].score, abs=1e-3)
        assert next(point.text for point in curve.points) == ARTICLES[hit.document][0]
        assert all(-1.001 <= value <= 1.001 for point in curve.points for value in point[1:4])
    unasked = medley.search(Query(NAME, PUBLIC, entity="gout"))
    assert all(hit.explain is None for hit in unasked.hits)


def test_an_empty_slot_has_no_line_and_a_document_without_sentences_no_point(medley):
    model = medley.models.discourse.get("by-words")
    whole, empty = draw_curves([ARTICLES["gout"], ["", " "]], QuerySlots("gout", ""), model)
    assert {point.aspect for point in whole.points} == {None}
    assert all(point.entity is not None for point in whole.points)
    assert empty.points == ()


def test_only_the_first_hits_are_drawn(settings):
    long = " ".join(f"Gout number {n} is joint pain." for n in range(MOST_DRAWN - 100))
    medley = fill(settings, *(article(f"long {n}", (long,)) for n in range(4)))
    drawn = [hit.explain.discourse is not None for hit in ask(medley, entity="gout").hits]
    assert drawn[0]
    assert not all(drawn)
    first = drawn.index(False)
    assert not any(drawn[first:])


def test_the_curve_of_a_document_for_a_query(medley):
    document = medley.collections.store(NAME).latest(["gout"])["gout"].document
    drawn = medley.draw_curve(Query(NAME, PUBLIC, entity="gout", aspect="treatment"), document, 1)
    assert len(drawn.points) == 4
    assert medley.draw_curve(Query(NAME, PUBLIC, "joint rest"), document, 1) is None


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ('[discourse]\nmodel = ""', r"discourse\.model must be a non-empty string"),
        ("[discourse]\nmodel = 5", r"discourse\.model must be a string"),
        ("[discourse]", r"discourse\.model is missing"),
        ('[discourse]\nmodel = "a"\nweight = 1', r"discourse\.weight is not a known key"),
    ],
)
def test_a_kind_with_a_wrong_table_is_refused(tmp_path, table, message):
    write_kind(tmp_path, 0.5)
    file = tmp_path / "articles.toml"
    file.write_text(file.read_text().partition("[discourse]")[0] + table)
    with pytest.raises(InvalidInput, match=message):
        kinds.load(NAME, None, tmp_path)


def test_no_bi_encoder_fills_the_field_of_that_name(tmp_path):
    write_kind(tmp_path, 0.5)
    file = tmp_path / "articles.toml"
    file.write_text(file.read_text().replace("[vectors]", '[vectors]\ndiscourse = "medley-biencoder"'))
    with pytest.raises(InvalidInput, match=r"vectors\.discourse: discourse is the leg"):
        kinds.load(NAME, None, tmp_path)
