"""Tuning sees only the held-out tenth of the training side, never a test record."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from encoders.labels.leaks import normalise
from encoders.labels.split import HELD_OUT, is_test_note, split_of
from evaluation.suites import tuning_judgements as training
from search.settings import Settings

NOTE = (
    "SUBJECTIVE:,  This woman number {0} has had hay fever since she was a child and comes for advice about it today.,"
    "MEDICATIONS:,  She takes loratadine {0} every morning and a nasal spray in the evening when the pollen is bad."
)


def write(data: Path, name: str, records: Iterable[dict[str, Any]]) -> None:
    path = data / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, records)).encode()))


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return replace(Settings(), data=tmp_path)


def test_claims_of_the_held_out_tenth_without_twins_of_development_claims(settings: Settings, tmp_path: Path) -> None:
    abstracts = [
        {"doc_id": number, "cord_id": str(number), "title": f"T{number}", "abstract": ["A."]} for number in range(60)
    ]
    claims = [{"id": n, "claim": f"alpha{n} beta{n} gamma{n}", "evidence": {}, "cited_doc_ids": [n]} for n in range(60)]
    held_out = [n for n in range(60) if split_of(f"scifact:{n}") == HELD_OUT]
    write(tmp_path, "scifact/corpus.jsonl.gz", abstracts)
    write(tmp_path, "scifact/claims_train.jsonl.gz", claims)
    write(tmp_path, "scifact/claims_dev.jsonl.gz", [claims[held_out[0]]])
    news = [
        {
            "id": f"c{n}",
            "claim": f"delta{n} epsilon{n}",
            "cord_id": str(n),
            "evidence_set": [{"sent_index": 0}],
            "label": "SUPPORT",
        }
        for n in range(60)
    ]
    write(tmp_path, "check_covid/corpus.jsonl.gz", abstracts)
    write(tmp_path, "check_covid/claims_train.jsonl.gz", news)
    write(tmp_path, "check_covid/claims_dev.jsonl.gz", [])
    pooled = {"doc_id": "p1", "title": "T of the pool", "sections": [{"label": "", "text": "A."}]}
    write(tmp_path, "abstracts/abstracts.jsonl.gz", [pooled])
    first, second, *within = training.abstracts(settings)
    assert [item.text for item in first.questions] == [claims[n]["claim"] for n in held_out[1:]]
    assert [*first.judgements.values()] == [{str(n): 1} for n in held_out[1:]]
    assert {key for grades in second.judgements.values() for key in grades} == {
        str(n) for n in range(60) if split_of(f"check-covid:{n}") == HELD_OUT
    }
    assert len(list(first.corpus.documents())) == 60
    assert [task.suite for task in within] == ["scifact-distractors-train", "check-covid-distractors-train"]
    assert [(task.questions, task.judgements) for task in within] == [
        (task.questions, task.judgements) for task in (first, second)
    ]
    assert {item.id for item in within[0].corpus.documents()} == {*map(str, range(60)), "pool:p1"}


def test_articles_leave_out_every_judged_document_and_entity(settings: Settings, tmp_path: Path) -> None:
    def article(number: int) -> dict[str, Any]:
        text = f"Disease{number} is rare{number} and harms organ{number} of child{number} early{number}."
        row = {
            "id": f"D{number}-1",
            "question": f"What is disease{number}?",
            "question_type": "information",
            "text": text,
        }
        return {"id": f"D{number}", "title": f"Disease{number}", "passages": [row]}

    write(tmp_path, "medquad/documents.jsonl.gz", [article(number) for number in range(120)])
    write(tmp_path, "medquad/cdv_test_passages.jsonl.gz", [{"passage": "D0-1", "document": "D0", "entity": "Disease1"}])
    query = {"id": "q", "question": "?", "entity": "Disease2", "aspect": "", "aspect_heading": "", "relevant": []}
    write(tmp_path, "medquad/cdv_test_queries.jsonl.gz", [query])
    plain, candidates, titled, _ = training.articles(settings)
    assert (candidates.candidates, candidates.corpus, candidates.questions) == (64, plain.corpus, plain.questions)
    held_out = {f"D{n}-1" for n in range(3, 120) if split_of(normalise(f"Disease{n}")) == HELD_OUT}
    assert {key for grades in plain.judgements.values() for key in grades} == held_out
    ranked = {item.id for item in plain.corpus.documents()}
    assert held_out < ranked
    assert not ranked & {"D0-1", "D1-1", "D2-1"}
    assert {item.title for item in plain.corpus.documents()} == {""}
    assert "Disease5" in {item.title for item in titled.corpus.documents()} or len(ranked) < 117


def test_notes_ask_held_out_training_notes_only(settings: Settings, tmp_path: Path) -> None:
    rows = [
        {
            "id": f"n{n}",
            "name": f"Visit {n}",
            "description": f"Allergy visit {n}.",
            "specialties": [],
            "text": NOTE.format(n),
        }
        for n in range(150)
    ]
    write(tmp_path, "mtsamples/notes.jsonl.gz", rows)
    (task,) = training.clinical(settings)
    training_side = {f"n{n}" for n in range(150) if not is_test_note(f"n{n}")}
    asked = {key.rpartition("#")[0] for grades in task.judgements.values() for key in grades}
    assert asked == {name for name in training_side if split_of(name) == HELD_OUT}
    assert asked < {item.id for item in task.corpus.documents()} < training_side
