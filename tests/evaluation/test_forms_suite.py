"""The suite `forms`, on abstracts written here: a row for each form over one corpus."""

from __future__ import annotations

import pytest

from encoders.labels.tasks.forms import FORMS, FormedAbstract
from evaluation.suites import evidence, forms, transfer
from evaluation.suites.registry import SUITES
from mappings.datasets.evidence_inference import TrialPrompt
from search.settings import Settings

ASKED = [FormedAbstract(f"p:{n}", f"Title {n}", f"Text {n}.", {form: f"{form} {n}?" for form in FORMS}) for n in (1, 2)]
BESIDE = FormedAbstract("p:3", "Title 3", "Text 3.", {})


@pytest.fixture
def tasks(monkeypatch):
    monkeypatch.setattr(forms, "read_formed_abstracts", lambda data: [*ASKED, BESIDE])
    return SUITES["forms"].tasks(Settings(), None)


def test_all_forms_come_first_and_then_each_alone(tasks):
    assert [task.variant for task in tasks] == ["", *FORMS]
    assert [len(task.questions) for task in tasks] == [10, 2, 2, 2, 2, 2]
    assert len({question.id for question in tasks[0].questions}) == 10
    assert tasks[2].judgements == {"key terms: p:1": {"p:1": 1}, "key terms: p:2": {"p:2": 1}}


def test_they_share_one_corpus_without_titles(tasks):
    assert {id(task.corpus) for task in tasks} == {id(tasks[0].corpus)}
    documents = list(tasks[0].corpus.documents())
    assert [(item.id, item.title, item.sections[0].text) for item in documents] == [
        (f"p:{n}", "", f"Text {n}.") for n in (1, 2, 3)
    ]


def test_a_sample_has_so_many_of_each_form(tasks):
    assert sorted(item.stratum for item in tasks[0].sampled(1).questions) == sorted(FORMS)


def test_transfer_takes_a_sample_of_test_prompts(monkeypatch):
    prompts = [TrialPrompt(str(n), article, f"salt {n}", "sugar", "gout") for n, article in enumerate("aab", 1)]
    monkeypatch.setattr(evidence, "read_prompts", lambda data: prompts)
    monkeypatch.setattr(evidence, "read_test_articles", lambda data: frozenset("a"))
    monkeypatch.setattr(evidence, "read_train_articles", lambda data: frozenset())
    documents = [evidence.abstract(f"pmc:{name}", name, [], source="evidence") for name in "ab"]
    monkeypatch.setattr(evidence, "_documents", lambda settings: documents)
    assert [item.id for item in evidence.test_task(Settings()).questions] == ["1", "2"]
    assert [item.id for item in evidence.task(Settings()).questions] == ["1", "2", "3"]
    monkeypatch.setattr(transfer, "PROMPTS", 1)
    assert len(transfer.DATA_SETS["evidence"](Settings()).questions) == 1
