"""CDV beside the candidates of a suite: read in whole documents, asked by slots, each candidate once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch")

from encoders.discourse.reading import MOST_SENTENCES
from encoders.training.runs.discourse import train_discourse
from evaluation.baselines.discourse import describe_discourse, find_discourse, rank_discourse
from evaluation.baselines.trained import require_systems
from evaluation.suite import SuiteOptions
from evaluation.task import Corpus, Question, Task
from mappings.errors import InvalidInput, ModelError
from tests.training.discourse_corpora import ASPECTS, ENTITIES, RECIPE, write_articles, write_words

pytestmark = [pytest.mark.torch, pytest.mark.slow]


def some_task() -> Task:
    whole = [
        {f"{word}-{place}": text.format(word) for place, text in enumerate(ASPECTS.values())}
        for word in ENTITIES.values()
    ]
    questions = tuple(
        Question(f"{word} {aspect}", entity=name, aspect=aspect)
        for name, word in ENTITIES.items()
        for aspect in ASPECTS
    )
    answers = {
        f"{word} {aspect}": {f"{word}-{place}": 1} for word in ENTITIES.values() for place, aspect in enumerate(ASPECTS)
    }
    return Task("small", Corpus("small", "articles", list), questions, answers, ("Success@1",), whole=whole)


def test_each_model_of_a_folder_ranks_the_candidates_of_each_question(tmp_path: Path) -> None:
    write_articles(tmp_path)
    write_words(tmp_path / "words.npz")
    recipe = replace(RECIPE, words=str(tmp_path / "words.npz"))
    (tmp_path / "runs" / "empty").mkdir(parents=True)
    train_discourse(recipe, tmp_path, tmp_path / "runs" / "cdv-small")
    task = some_task()
    assert find_discourse(tmp_path / "runs") == {"cdv-small": tmp_path / "runs" / "cdv-small" / "model"}
    chosen = {item.id: sorted({*task.judgements[item.id], "glass-1", "salt-2"}) for item in task.questions}
    ((name, run),) = rank_discourse(task, tmp_path / "runs", chosen)
    assert name == "cdv-small"
    assert {question: sorted(keys) for question, keys in run.items()} == chosen
    right = [run[question][0] in answers for question, answers in task.judgements.items()]
    assert sum(right) >= 0.8 * len(right)
    assert list(describe_discourse(tmp_path / "runs")) == ["cdv-small"]
    with pytest.raises(InvalidInput, match=r"cdv-small can't rank here: .* small does not tell"):
        next(rank_discourse(replace(task, whole=()), tmp_path / "runs", chosen))
    with pytest.raises(InvalidInput, match="cdv-small can't rank here"):
        require_systems([replace(task, listed=3, reference=True, whole=())], SuiteOptions(systems=tmp_path / "runs"))
    article = {**task.whole[1], "long": "One sentence. " * MOST_SENTENCES, "unread": task.whole[1]["glass-1"]}
    long = replace(task, whole=(task.whole[0], article, *task.whole[2:]))
    ((_, cut),) = rank_discourse(long, tmp_path / "runs", {item.id: ["glass-1", "unread"] for item in task.questions})
    assert {keys[-1] for keys in cut.values()} == {"unread"}, "what was not read comes last, also after what is unlike"
    (tmp_path / "runs" / "cdv-small" / "model" / "documents.onnx").write_bytes(b"")
    with pytest.raises(ModelError, match=r"documents\.onnx"):
        describe_discourse(tmp_path / "runs")
