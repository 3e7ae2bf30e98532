"""Exported encoders on the candidates of a suite: alone or in whole documents, and what the difference is worth."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from test_poly import poly
from test_published_rows import settings  # noqa: F401 - a fixture
from tiny import write_artifact

from encoders.artifact import Artifact, Reading
from encoders.poly import PolyEncoder
from encoders.runtime import BiEncoder
from evaluation.baselines.encoders import compare_exported, find_ways_of_reading
from evaluation.baselines.transformers import TaskTexts, describe_transformers, rank_transformers
from evaluation.breakdown.surroundings import LONG, TOKENS, UNNAMED, compare_surroundings, count_tokens, split_questions
from evaluation.run import _judged as judged
from evaluation.run import run_suite
from evaluation.suite import SuiteOptions
from evaluation.task import Corpus, Question, Task
from mappings.analysis.window_text import place_passage, read_window
from mappings.datasets.scifact import SentenceAbstract
from mappings.documents import Document, Section
from mappings.errors import ModelError
from search.models.registry import Models
from search.settings import Settings

AROUND = Reading("cls", query_tokens=64, passage_tokens=600, windows="surroundings")
ALONE = Reading("mean", query_tokens=64, passage_tokens=512)
WHOLE = [
    {"stroke-0": "stroke heart stroke", "stroke-1": "pain dose"},
    {"fever-0": "fever lung fever", "fever-1": "pain dose"},
]
ANSWERS = {"stroke dose": {"stroke-1": 1}, "fever dose": {"fever-1": 1}, "stroke heart": {"stroke-0": 1}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model that reads surroundings, one that does not, beside what is no model."""
    write_artifact(tmp_path / "systems/far", reading=AROUND)
    write_artifact(tmp_path / "systems/near", reading=ALONE)
    write_artifact(tmp_path / "systems/judge", "cross-encoder")
    (tmp_path / "systems/empty").mkdir()
    return tmp_path / "systems"


def make_task() -> Task:
    documents = [
        Document(id=key, title="", sections=(Section("", text),)) for item in WHOLE for key, text in item.items()
    ]
    questions = tuple(Question(name, entity=name.split()[0], aspect=name.split()[1]) for name in ANSWERS)
    corpus = Corpus("small", "articles", lambda: documents)
    return Task(
        "small", corpus, questions, ANSWERS, ("Success@1",), candidates=4, variant="slots", leads=True, whole=WHOLE
    )


def chosen(task: Task) -> dict[str, frozenset[str]]:
    return {question.id: frozenset(key for item in WHOLE for key in item) for question in task.questions}


def rank(task: Task, folder: Path, home: Path) -> dict[str, dict[str, list[str]]]:
    own = Settings(home=home, form="fp32")
    return {name: dict(run) for name, run in rank_transformers(task, folder, chosen(task), own)}


def test_a_poly_encoder_scores_what_an_index_stores_of_a_passage(tmp_path: Path) -> None:
    encoder = PolyEncoder(poly(tmp_path / "poly", codes="tokens"), form="fp32")
    texts, wanted = (
        ["heart pain of the lung", "cough", "fever dose"],
        np.array([[True, True, False], [False, True, True]]),
    )
    models = Models(Settings(home=tmp_path / "home", form="fp32"))
    scores = compare_exported(models, tmp_path / "poly", ["stroke heart", "fever"], texts, wanted)
    stored, asked = encoder.compress_passages(texts), encoder.encode_queries(["stroke heart", "fever"])
    expected = np.stack([encoder.score_compressed(query, stored) for query in asked])
    np.testing.assert_allclose(scores, np.where(wanted, expected, -np.inf), atol=1e-6)
    assert not np.allclose(expected[0], encoder.score(asked[0], encoder.encode_passages(texts)), atol=1e-6)


def test_a_model_that_reads_surroundings_tells_passages_of_the_same_words_apart(folder: Path, tmp_path: Path) -> None:
    task = make_task()
    runs = rank(task, folder, tmp_path / "home")
    assert [*runs] == ["far", "judge", "near"]
    assert all(set(keys) == chosen(task)[question] for run in runs.values() for question, keys in run.items())
    near = runs["near"]["fever dose"]
    assert near.index("stroke-1") == near.index("fever-1") + 1  # the same words, the same score: in order of id
    encoder, texts = BiEncoder(Artifact.open(folder / "far"), form="fp32"), TaskTexts.of(task).placed()
    keys = sorted(texts)
    scores = encoder.encode_passages([texts[key] for key in keys]) @ encoder.encode_queries(["fever dose"])[0]
    assert runs["far"]["fever dose"] == [keys[at] for at in np.argsort(-scores, kind="stable")]
    by_key = dict(zip(keys, scores, strict=True))
    assert abs(by_key["fever-1"] - by_key["stroke-1"]) > 0.01


def test_only_candidates_are_read_and_kept_so_that_an_interrupted_evaluation_goes_on(
    folder: Path, tmp_path: Path, monkeypatch
) -> None:
    task, read = make_task(), []
    plain = BiEncoder.encode_passages
    monkeypatch.setattr(BiEncoder, "encode_passages", lambda self, texts: read.extend(texts) or plain(self, texts))
    for _ in range(2):
        rank(task, folder, tmp_path / "home")
    assert len(read) == 4 + 3  # in documents four are different, alone three
    assert read_window(read[0]).after or read_window(read[0]).before
    scores = compare_exported(
        Models(Settings(home=tmp_path / "other", form="fp32")),
        folder / "near",
        ["fever", "stroke"],
        ["fever", "lung", "heart"],
        np.array([[True, False, False], [True, False, True]]),
    )
    assert read[7:] == ["fever", "heart"]
    assert np.isinf(scores).tolist() == [[False, True, True], [False, True, False]]


def test_models_are_found_and_a_damaged_one_is_named(folder: Path) -> None:
    assert find_ways_of_reading(folder) == {"far": "surroundings", "near": "separate"}
    for kind, windows in (("bi-encoder", "surroundings"), ("cross-encoder", "separate"), ("matcher", "")):
        (folder / kind).mkdir()
        (folder / kind / "report.json").write_text(f'{{"recipe": {{"kind": "{kind}", "windows": "{windows}"}}}}')
    assert find_ways_of_reading(folder) == {"bi-encoder": "surroundings", "far": "surroundings", "near": "separate"}
    (folder / "empty/report.json").write_text("{")
    (folder / "far/model.json").write_text("{")
    with pytest.raises(ModelError, match="is not valid JSON"):
        find_ways_of_reading(folder)


def test_a_twin_that_is_no_candidate_is_not_missed() -> None:
    judgements = {"q": {"answer": 1, "twin": 1, "elsewhere": 1}}
    runs = {"bm25": {"q": ["other", "answer"]}, "dense": {"q": ["answer", "twin"]}}
    task = replace(make_task(), judgements=judgements)
    assert judged(task, runs) == {"q": {"answer": 1, "twin": 1}}
    assert judged(replace(task, candidates=None), runs) == judgements


def test_abstracts_have_their_labels_as_in_training_and_passages_no_heading() -> None:
    written = ("METHODS: Aspirin or nothing.", "RESULTS: No stroke.")
    sections = tuple(Section(*sentence.split(": ")) for sentence in written)
    task = replace(make_task(), whole=())
    for kind, told in (
        ("abstracts", SentenceAbstract("1", "T", written).text),
        ("articles", "Aspirin or nothing. No stroke."),
    ):
        documents = (Document("1", "T", sections),)
        texts = TaskTexts.of(
            replace(task, corpus=replace(task.corpus, kind=kind, documents=lambda found=documents: found))
        )
        assert texts.bare["1"].split() == told.split()
        assert texts.titled["1"].split() == ["T", *told.split()]


def test_a_passage_outside_of_all_documents_stands_alone() -> None:
    task = replace(make_task(), whole=WHOLE[:1])
    assert TaskTexts.of(task).placed() == {
        "stroke-0": place_passage("", "stroke heart stroke", "pain dose"),
        "stroke-1": place_passage("stroke heart stroke", "pain dose", ""),
        **WHOLE[1],
    }


def test_questions_are_parted_by_what_all_of_their_answers_are() -> None:
    long = "pain " * (TOKENS - 2)
    assert count_tokens([long, f"{long} pain", "pain"]) == [TOKENS, TOKENS + 1, 3]
    whole = [{"a": long, "b": f"Stroke: {long} pain", "c": "a strokes", "d": "a STROKE, too", "e": ""}]
    answers = {
        "1": {"a": 1},
        "2": {"b": 1},
        "3": {"b": 1, "c": 1},
        "4": {"c": 2, "d": 0},
        "5": {"c": 1, "d": 1},
        "6": {"x": 1},
    }
    questions = tuple(Question(name, entity="stroke") for name in answers)
    task = replace(make_task(), whole=whole, questions=questions, judgements=answers)
    assert split_questions(task) == {LONG: {"2"}, UNNAMED: {"1", "4"}}
    unasked = replace(task, questions=tuple(replace(item, entity="") for item in questions))
    assert split_questions(unasked)[UNNAMED] == frozenset()
    strict = replace(task, strict={"1": {"b": 1}})  # twins are no answers of their own
    assert split_questions(strict) == {LONG: {"1"}, UNNAMED: frozenset()}


def test_each_part_has_rows_and_each_pair_of_models_a_test() -> None:
    task = make_task()
    right = {question: [*answers] for question, answers in ANSWERS.items()}
    wrong = right | {"stroke dose": ["fever-1"], "stroke heart": ["fever-0"]}
    ways = {"far": "surroundings", "late": "late", "near": "separate", "gone": "separate"}
    rows, tests = compare_surroundings(task, {"far": right, "late": wrong, "near": wrong, "bm25": wrong}, ANSWERS, ways)
    part = f"{UNNAMED} (2)"
    assert {row["system"]: row["measures"]["Success@1"]["value"] for row in rows} == {
        f"far, slots, {part}": 1.0,
        f"late, slots, {part}": 0.5,
        f"near, slots, {part}": 0.5,
    }
    assert [(test["system"], test["against"], round(test["difference"]["value"], 3)) for test in tests] == [
        ("far, slots", "late, slots", 0.667),
        ("far, slots", "near, slots", 0.667),
        (f"far, slots, {part}", f"late, slots, {part}", 0.5),
        (f"far, slots, {part}", f"near, slots, {part}", 0.5),
    ]
    assert all(0 < test["p"] <= 1 and test["difference"]["low"] <= test["difference"]["high"] for test in tests)
    assert compare_surroundings(task, {"near": wrong}, ANSWERS, ways) == ([], [])
    assert compare_surroundings(replace(task, whole=()), {"far": right, "near": wrong}, ANSWERS, ways) == ([], [])


def test_medquad_has_their_rows_with_its_note_before_those_of_other_questions(
    folder: Path,
    settings: Settings,  # noqa: F811
) -> None:
    report = run_suite("medquad", SuiteOptions(systems=folder), settings)
    rows = {row["system"]: row for row in report["rows"]}
    assert {name for name in rows if name.startswith(("far", "near"))} == {
        "far, entity + aspect",
        "near, entity + aspect",
    }  # every answer names its entity
    assert "not zero-shot" in rows["far, entity + aspect"]["note"]
    assert ("far, entity + aspect", "near, entity + aspect") in {
        (test["system"], test["against"]) for test in report["tests"]
    }
    assert report["models"]["systems"] == describe_transformers(folder)
