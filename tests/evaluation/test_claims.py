"""Headlines to abstracts: the folder's form, the stand-in, and the trials' suite, on files written here."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from encoders.labels.tasks.abstracts import trial_question
from evaluation.suites import claims, evidence
from mappings.datasets.evidence_inference import TrialPrompt
from mappings.errors import InvalidInput, MedleyError, NotFound
from search.settings import Settings

HEADLINES: list[dict[str, Any]] = [
    {"id": 1, "headline": "Coffee wards off gout", "abstracts": ["a", "z"], "split": "test"},
    {"id": 2, "headline": "Sleep mends hearts", "abstracts": ["b"], "split": "train"},
]
ABSTRACTS: list[dict[str, Any]] = [
    {"id": "a", "title": "Coffee and gout", "text": "Coffee was drunk."},
    {"id": "b", "title": "Sleep", "sections": [{"label": "CONCLUSION", "text": "It mends."}, {"text": "More."}]},
]


def folder(path: Path, headlines: Iterable[Any] = HEADLINES, abstracts: Iterable[Any] = ABSTRACTS) -> Path:
    path.mkdir(exist_ok=True)
    (path / "headlines.jsonl").write_text("\n".join(map(json.dumps, headlines)))
    (path / "abstracts.jsonl.gz").write_bytes(gzip.compress("\n".join(map(json.dumps, abstracts)).encode()))
    return path


def test_a_folder_of_headlines_is_a_task(tmp_path: Path) -> None:
    task = claims.task(Settings(), folder(tmp_path / "mine"))
    assert [(item.id, item.text) for item in task.questions] == [("1", "Coffee wards off gout")]
    assert task.judgements == {"1": {"a": 1, "z": 1}}
    assert [
        (item.id, item.title, [(s.heading, s.text) for s in item.sections]) for item in task.corpus.documents()
    ] == [
        ("a", "Coffee and gout", [("", "Coffee was drunk.")]),
        ("b", "Sleep", [("CONCLUSION", "It mends."), ("", "More.")]),
    ]
    assert task.notes[:2] == ("mine: 2 abstracts", "1 cited abstracts are not in the corpus: they count as missed")
    assert (task.measures[0], task.depth, task.reference) == ("RR", 500, True)
    assert claims.task(Settings(), tmp_path / "mine", "train").judgements == {"2": {"b": 1}}


def test_without_splits_every_headline_is_asked(tmp_path: Path) -> None:
    whole = [{key: value for key, value in row.items() if key != "split"} for row in HEADLINES]
    assert list(claims.task(Settings(), folder(tmp_path / "mine", whole)).judgements) == ["1", "2"]


@pytest.mark.parametrize(
    ("headlines", "abstracts", "message"),
    [
        ([{"id": 1, "headline": "x"}], ABSTRACTS, r"headlines\.jsonl, line 1: the key 'abstracts' is missing"),
        ([HEADLINES[0] | {"headline": " "}], ABSTRACTS, r"headlines\.jsonl, line 1: the headline is empty"),
        ([HEADLINES[0] | {"abstracts": []}], ABSTRACTS, r"line 1: abstracts is the list of the cited abstracts' ids"),
        ([HEADLINES[0], HEADLINES[0]], ABSTRACTS, r"line 2: the id '1' occurs twice"),
        (HEADLINES[1:], ABSTRACTS, r"no headlines of split 'test'; there are train"),
        ([], ABSTRACTS, r"headlines\.jsonl contains no headline"),
        (HEADLINES, [], r"abstracts\.jsonl\.gz contains no abstract"),
        (HEADLINES, [{"id": "a", "title": "", "text": ""}], r"abstracts\.jsonl\.gz, line 1: the document has no text"),
        (HEADLINES, [{"id": "a", "sections": ["x"]}], r"line 1: sections is a list of objects with label and text"),
        (HEADLINES, [ABSTRACTS[0], ABSTRACTS[0]], r"line 2: the id 'a' occurs twice"),
    ],
)
def test_a_wrong_folder_is_named(tmp_path: Path, headlines: list[Any], abstracts: list[Any], message: str) -> None:
    with pytest.raises(MedleyError, match=message):
        claims.task(Settings(), folder(tmp_path / "mine", headlines, abstracts))
    with pytest.raises(NotFound, match="is not a folder"):
        claims.task(Settings(), tmp_path / "nothing")


def write(data: Path, name: str, records: Iterable[dict[str, Any]]) -> None:
    path = data / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, records)).encode()))


def test_news_claims_stand_in_for_headlines(tmp_path: Path) -> None:
    write(tmp_path, "check_covid/corpus.jsonl.gz", [{"cord_id": "x", "title": "Masks", "abstract": ["A."]}])
    claim = {"id": "c1", "claim": "Masks help.", "cord_id": "x", "label": "SUPPORT"}
    write(tmp_path, "check_covid/claims_dev.jsonl.gz", [claim])
    pooled = {"doc_id": "p", "title": "Other", "sections": [{"label": "", "text": "B."}]}
    write(tmp_path, "abstracts/abstracts.jsonl.gz", [pooled, pooled | {"doc_id": "q", "title": "MASKS"}])
    task = claims.task(replace(Settings(), data=tmp_path))
    assert (task.suite, task.judgements) == ("claims", {"c1": {"x": 1}})
    assert [item.id for item in task.corpus.documents()] == ["x", "pool:p"]
    assert task.notes[0].startswith("stand-in")
    assert {str(row.system) for row in task.published} >= {"BM25+†", "Bio+Clinical BERT (20,50)"}


def test_trials_are_asked_by_the_prompts_that_training_never_sees(tmp_path: Path) -> None:
    prompts = [
        {"PromptID": n, "PMCID": pmcid, "Intervention": "zinc", "Comparator": "placebo", "Outcome": outcome}
        for n, (pmcid, outcome) in enumerate([("1", "pain"), ("2", "colds"), ("3", "colds"), ("9", "lost")])
    ]
    same = [prompts[0], *({**prompt, "PromptID": 7} for prompt in prompts[1:])]  # one phrasing for all
    write(tmp_path, "evidence_inference/prompts.jsonl.gz", same)
    rows = [
        {"pmcid": str(n), "title": f"T{n}", "abstract_sections": [{"label": "Methods", "text": "A trial."}]}
        for n in (1, 2, 3)
    ]
    write(tmp_path, "evidence_inference/abstracts.jsonl.gz", rows)
    (tmp_path / "evidence_inference/train_article_ids.txt").write_text("1\n")
    task = evidence.task(replace(Settings(), data=tmp_path))
    assert [(item.id, item.text) for item in task.questions] == [
        ("7", trial_question(TrialPrompt("7", "2", "zinc", "placebo", "colds")))
    ]
    assert task.judgements == {"7": {"pmc:2": 1, "pmc:3": 1}}
    assert [item.id for item in task.corpus.documents()] == ["pmc:1", "pmc:2", "pmc:3"]


def test_the_form_of_a_folder_is_checked_before_anything_runs(tmp_path: Path) -> None:
    (folder(tmp_path / "mine") / "headlines.jsonl").write_text("[1]")
    with pytest.raises(InvalidInput, match=r"headlines\.jsonl, line 1: each line must be a JSON object"):
        claims.task(Settings(), tmp_path / "mine")
