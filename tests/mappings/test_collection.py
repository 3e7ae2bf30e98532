from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mappings import collection
from mappings.collection import SHIPPED_KINDS, kinds, load, with_tuned_weights
from mappings.errors import InvalidInput, NotFound
from mappings.stages import PassageParts
from search.ranking import fusion

NOTES = (SHIPPED_KINDS / "notes.toml").read_text(encoding="utf-8")


def own(folder: Path, old: str, new: str) -> Path:
    assert old in NOTES
    (folder / "own.toml").write_text(NOTES.replace(old, new), encoding="utf-8")
    return folder


def test_the_methods_are_those_of_fusion() -> None:
    assert set(collection.FUSION_NORMALISATIONS) == fusion.NORMALISATIONS.keys()


@pytest.mark.parametrize("kind", sorted(kinds()))
def test_every_shipped_kind_loads(kind: str) -> None:
    found = load("mine", kind)
    assert (found.name, found.kind) == ("mine", kind)
    assert set(found.facets) <= set(found.fields)
    assert found.default_labels


def test_collections_of_one_kind_are_told_apart() -> None:
    assert load("abstracts").label == "Research abstracts"
    assert load("claims", "abstracts").label == "Research abstracts: claims"


def test_weights_that_were_measured_may_bring_stages_and_parts() -> None:
    written = {"rerank": {"weight": 0.4, "parts": {"words": 40, "best": 3}}}
    found, kept = with_tuned_weights(load("abstracts"), written).reranking, load("abstracts").reranking
    assert found == replace(kept, weight=0.4, parts=PassageParts(40, 3))
    assert with_tuned_weights(load("abstracts"), {}) == load("abstracts")


def test_an_empty_first_stage_is_none(tmp_path: Path) -> None:
    own(tmp_path, "[rerank]", "[rerank]\nfirst = {}\nparts = {}")
    found = load("own", extra=tmp_path).reranking
    assert (found.first, found.parts) == (None, None)
    assert with_tuned_weights(load("abstracts"), {"rerank": {"first": {}}}).reranking.first is None


def test_the_users_folder_adds_and_replaces(tmp_path: Path) -> None:
    own(tmp_path, 'title = "Clinical notes"', 'title = "Our notes"')
    (tmp_path / "own.toml").rename(tmp_path / "notes.toml")
    assert load("notes", extra=tmp_path).title == "Our notes"
    assert load("articles", extra=tmp_path).title == "Health articles"


def test_an_unknown_kind_names_the_known_ones() -> None:
    with pytest.raises(NotFound, match="abstracts, articles, notes, reports"):
        load("letters")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            'granularity = "section"',
            'granularity = "page"',
            "passages.granularity must be one of document, section, passage",
        ),
        ('sections = "note"', 'sections = "letter"', "passages.sections must be one of"),
        ("max_words = 180", "max_words = 0", "passages.max_words must be a whole number, 1 or more, not 0"),
        ("max_words = 180", 'max_words = "x"', "passages.max_words must be"),
        ("max_words = 180", "", "max_words is missing"),
        ("window_words = 60", "window_words = -1", "passages.window_words must be a whole number"),
        ('group_by = "patient"', 'group_by = "ward"', "group_by must be one of document, patient"),
        ("[fields.date]", "[fields.Datum]", "fields.Datum: a name must start with a lowercase letter"),
        (
            "[fields.date]",
            "[fields.labels]",
            "and not be one of aspects, asserted, concepts, deleted, id, labels, mentioned, mentions, sections, source_version, text, title",
        ),
        ('type = "date"', 'type = "day"', "fields.date.type must be one of keyword, number, date"),
        ('title = "Clinical notes"', "title = ", "own.toml"),
        ("[bm25]", "[bm52]", "bm52 is not a known key; the known keys are title, group_by,"),
        (
            "[rerank]",
            "[rerank]\nparts = { words = 0, best = 2 }",
            "rerank.parts.words must be a whole number, 1 or more, not 0",
        ),
        (
            "[rerank]",
            '[rerank]\nparts = { words = 60, best = "x" }',
            "rerank.parts.best must be a whole number, 1 or more, not 'x'",
        ),
        ("[rerank]", "[rerank]\nparts = { words = 60 }", "best"),
        (
            "[rerank]",
            "[feedback]\npassages = 0\nshare = 0.5\n[rerank]",
            "feedback.passages must be a whole number, 1 or more, not 0",
        ),
        (
            "[rerank]",
            "[feedback]\npassages = 5\nshare = 1.1\n[rerank]",
            "feedback.share must be a number from 0 to 1, not 1.1",
        ),
        (
            "[rerank]",
            "[feedback]\npassages = 5\nshare = '.6'\n[rerank]",
            "feedback.share must be a number from 0 to 1, not '.6'",
        ),
        ("[rerank]", "[feedback]\npassages = 5\n[rerank]", "feedback.share is missing"),
        ("[rerank]", "[feedbak]\npassages = 5\n[rerank]", "feedbak is not a known key; the known keys are title,"),
        (
            "[rerank]",
            "[rerank]\nwieght = 0.3",
            "rerank.wieght is not a known key; the known keys are model, candidates,",
        ),
        ("candidates = 50", 'candidates = "50"', "rerank.candidates must be a whole number, 0 or more, not '50'"),
        ("candidates = 50", "", "rerank.candidates is missing"),
        ("candidates = 50", "candidates = -1", "rerank.candidates must be a whole number, 0 or more, not -1"),
        ("[rerank]", "[rerank]\nfirst = { keep = 3 }", "rerank.first.model is missing"),
        ('dense = "medley', 'bm25 = "medley', "vectors.bm25: bm25 is the lexical leg"),
        ("bm25 = 0.85", "bm25 = nan", "fusion.weights.bm25 must be a number, 0 or more, not nan"),
        ('context = ["title", "heading"]', 'context = "title"', "passages.context must be a list, not 'title'"),
        ('granularity = "section"', "", "passages.granularity is missing"),
        ("title_boost = ", "# ", "bm25.title_boost is missing"),
        ("deadline_ms = 500", 'deadline_ms = "fast"', "rerank.deadline_ms must be a whole number, 0 or more"),
        ("weight = 0.2 ", "weight = 7 ", "rerank.weight must be a number from 0 to 1, not 7"),
        ('model = "medley-crossencoder"', "model = 5", "rerank.model must be a string in quotes, not 5"),
        ('method = "weighted"', 'method = "rff"', "fusion.method must be one of weighted, rrf, not 'rff'"),
        (
            'normalisation = "floor"',
            'normalisation = "flor"',
            "fusion.normalisation must be one of floor, minmax, zscore",
        ),
        ("bm25 = 0.85", 'bm25 = "x"', "fusion.weights.bm25 must be a number, 0 or more, not 'x'"),
        ("bm25 = 0.85", "bm25 = -3", "fusion.weights.bm25 must be a number, 0 or more, not -3"),
        ("bm25 = 0.85", "bm = 0.85", "fusion.weights.bm: there is no such leg; the legs are bm25, dense"),
        ('dense = "medley-biencoder"', "dense = 1", "vectors.dense must be a string in quotes, not 1"),
        ("title_boost = ", 'title_boost = "a" # ', "bm25.title_boost must be a number, 0 or more, not 'a'"),
        ('title = "Clinical notes"', 'title = ""', "title must be a non-empty string, not ''"),
        ("private_queries = true", "private_queries = 1", "private_queries must be true or false, not 1"),
        ("private_queries = true", 'private_queries = "yes"', "private_queries must be true or false, not 'yes'"),
        ('title = "Clinical notes"', "title = 3", "title must be a string in quotes, not 3"),
        ('title = "Date"', "title = 3", "fields.date.title must be a string in quotes, not 3"),
        (
            'title = "Date"',
            'title = "Date"\nfacets = true',
            "fields.date.facets is not a known key; the known keys are type, title, facet, in_hits, identifies",
        ),
        (
            "[rerank]",
            '[opensearch]\nreplicas = "all"\n[rerank]',
            "opensearch.replicas must be a whole number, or a range such as '0-2', not 'all'",
        ),
        ("facet = true", "facet = true\nin_hits = 0", "in_hits must be true or false, not 0"),
        ("facet = true", 'facet = "no"', "facet must be true or false, not 'no'"),
        (
            'default_labels = ["clinical"]',
            'default_labels = "clinical"',
            "default_labels must be a list of non-empty strings, not 'clinical'",
        ),
        ("[rerank]", '[rerank]\nfirst = { model = "m", keep = 0, weight = 0.1 }', "rerank.first.keep must be"),
    ],
)
def test_a_wrong_file_says_what_is_wrong(tmp_path: Path, old: str, new: str, words: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        load("own", extra=own(tmp_path, old, new))
    assert words in caught.value.message
    assert caught.value.message.startswith("own.toml: ")
