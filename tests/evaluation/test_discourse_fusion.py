"""The leg `discourse` in evaluation: its row, the fused ranking with and without it, its paired test and its tuned share."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from discourse_home import NAME, article, settings_in, write_kind

pytest.importorskip("ir_measures")

from evaluation import stages
from evaluation.corpus.index import mark, open_corpus
from evaluation.models import open_session
from evaluation.rows import rows_and_tests
from evaluation.suites import medquad
from evaluation.task import Corpus, Question, Task
from evaluation.tuning import weights as tune
from mappings.collection import DISCOURSE
from search.settings import Settings

TOPICS = ("asthma", "gout", "migraine", "fever")
FUSED = (stages.FUSED, stages.WITH_DISCOURSE, stages.WITHOUT_DISCOURSE)


def documents():
    return [article(name, (f"{name} is pain.", "Rest is treatment.", "Dust is in the causes.")) for name in TOPICS]


QUESTIONS = (
    *(Question(name, entity=name, aspect="treatment") for name in TOPICS),
    Question("plain", "in the joint"),
)
TASK = Task(
    "small",
    Corpus("small", NAME, documents),
    QUESTIONS,
    {**{name: {f"{name}#1": 1} for name in TOPICS}, "plain": {"gout#0": 1}},
    ("Success@1", "nDCG@10"),
    unit="passage",
)


def run(settings: Settings) -> dict[str, dict[str, list[str]]]:
    return stages.run_task(open_session(open_corpus(TASK.corpus, settings), TASK, rerank=False))


def test_without_weight_in_the_kind_a_further_row_has_the_leg(tmp_path: Path) -> None:
    found = run(settings_in(tmp_path, 0))
    assert set(found) == {"bm25", "dense", DISCOURSE, stages.FUSED, stages.WITH_DISCOURSE}
    assert found[DISCOURSE]["plain"] == []
    assert found[stages.FUSED]["plain"] == found[stages.WITH_DISCOURSE]["plain"]
    assert all(len(found[DISCOURSE][name]) == 12 for name in TOPICS)
    assert found[stages.FUSED] != found[stages.WITH_DISCOURSE]
    rows, tests = rows_and_tests(TASK, found, TASK.judgements, "")
    assert stages.WITH_DISCOURSE in {row["system"] for row in rows}
    assert (stages.WITH_DISCOURSE, stages.FUSED) in {(test["system"], test["against"]) for test in tests}


def test_with_a_weight_in_the_kind_a_further_row_leaves_the_leg_out(tmp_path: Path) -> None:
    plain = run(settings_in(tmp_path / "a", 0)) if (tmp_path / "a").mkdir() is None else {}
    (tmp_path / "b").mkdir()
    found = run(settings_in(tmp_path / "b", 0.125))  # a fifth of all
    assert set(found) == {"bm25", "dense", DISCOURSE, stages.FUSED, stages.WITHOUT_DISCOURSE}
    assert found[stages.FUSED] == plain[stages.WITH_DISCOURSE]
    assert found[stages.WITHOUT_DISCOURSE] == plain[stages.FUSED]


def test_the_corpus_is_built_anew_with_the_model_and_as_before_without(tmp_path: Path) -> None:
    settings = settings_in(tmp_path, 0)
    write_kind(tmp_path / "kinds", 0)
    off = replace(settings, discourse="none")
    assert set(mark(TASK.corpus, off)["encoders"]) == {"dense"}
    assert set(mark(TASK.corpus, settings)["encoders"]) == {"dense", DISCOURSE}
    assert set(run(off)) == {"bm25", "dense", stages.FUSED}
    assert DISCOURSE in run(settings)


def test_weights_keep_the_proportions_of_the_other_legs() -> None:
    assert stages.weights_with({"bm25": 1, "dense": 3, DISCOURSE: 5}, 0.2) == pytest.approx(
        {"bm25": 0.2, "dense": 0.6, DISCOURSE: 0.2}
    )
    assert stages.weights_with({"bm25": 1}, 0.0) == {"bm25": 1.0, DISCOURSE: 0.0}


@pytest.mark.parametrize("weight", [0, 0.4])
def test_tuning_chooses_its_share_beside_the_best_two_legs(tmp_path: Path, weight: float) -> None:
    folder = tmp_path / "own"
    (folder / "qrels").mkdir(parents=True)
    corpus = [{"_id": f"{name}-{n}", "title": "", "text": f"{name} {text}"} for name in TOPICS for n, text in enumerate(("is pain.", "rest is treatment of the fever.", "by dust"))]  # fmt: skip
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, corpus)))
    (folder / "queries.jsonl").write_text(
        "\n".join(json.dumps({"_id": name, "text": f"treatment of {name}"}) for name in TOPICS)
    )
    (folder / "qrels" / "train.tsv").write_text("".join(f"{name}\t{name}-1\t1\n" for name in TOPICS))
    report = tune.run(NAME, settings_in(tmp_path, weight), tune.TuningOptions(folder=folder))
    assert len(report["grid"]) == 84 + 11
    shares = [row["weights"][DISCOURSE] for row in report["grid"][84:]]
    assert shares == [round(0.05 * step, 2) for step in range(11)]
    chosen = report["chosen"]["fusion"]
    best = max(row["nDCG@10"]["value"] for row in report["grid"])
    values = [row["nDCG@10"]["value"] for row in report["grid"] if {key: row[key] for key in chosen} == chosen]
    assert values
    assert set(values) == {best}
    assert "[fusion]" in tune.toml(report)


def test_sections_of_whole_articles_are_judged_in_all_their_passages() -> None:
    long = " ".join(f"Sentence number {n} is about gout." for n in range(60))
    main = Task(
        "medquad-full",
        Corpus("medquad-full", "articles", list),
        (Question("one", "gout?"), Question("lost", "fever?")),
        {"one": {"b": 1}, "lost": {"z": 1}},
        ("Success@1",),
    )
    by_slots = replace(main, variant="entity + aspect")
    found = medquad._in_articles(main, by_slots, [{"a": "Short.", "b": long, "c": "End."}], Settings())
    assert [task.variant for task in found] == ["in whole articles", "entity + aspect in whole articles"]
    (document,) = found[0].corpus.documents()
    assert [section.text for section in document.sections] == ["Short.", long, "End."]
    assert found[0].judgements == {"one": {"article-0#1": 1, "article-0#2": 1}, "lost": {"z#lost": 1}}
    assert {task.unit for task in found} == {"passage"}
