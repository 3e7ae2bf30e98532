from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import radiology_reports
import tiny
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from encoders.labels.sentences import Concept, label_sentences
from evaluation.baselines import lexical
from evaluation.measures import parse, per_query
from evaluation.plan import identity
from evaluation.run import run_suite
from evaluation.suite import SuiteOptions
from evaluation.suites.radiology import crossfit
from evaluation.suites.radiology import judgements as radiology
from evaluation.suites.radiology.judgements import FindingJudgements, FindingQuery
from evaluation.suites.radiology.suite import _rows as rows_of
from mappings.datasets.indiana_cxr import ChestReport
from mappings.errors import InvalidInput, MedleyError
from search.settings import Settings
from web.cli.main import cli

pytest.importorskip("ir_measures")
pytest.importorskip("rank_bm25")

WAYS = ("", " + bm25", " + bm25, feedback")
TEXTS = ("No effusion.", "Small effusion.", "Large effusion and scarring.", "Clear.", "")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    data = radiology_reports.write(tmp_path / "data")
    return replace(Settings(), home=tmp_path / "home", encoder="hashing-256", reranker="none", data=data)


def test_a_concept_is_a_query_from_ten_sentences_on() -> None:
    found = [
        list(label_sentences([ChestReport(str(item), f"Small effusion number {item}.", "") for item in range(count)]))
        for count in (9, 10)
    ]
    assert [item.concept for item in radiology.judge(found[1]).queries] == [Concept("pleural effusion", True)]
    with pytest.raises(InvalidInput):
        radiology.judge(found[0])


def test_recall_is_of_the_first_hundred() -> None:
    marks = np.array([False] * 99 + [True, True])
    query = FindingQuery(Concept("pleural effusion", True), 1, marks, np.ones(101, bool))
    found = radiology.measure(FindingJudgements(("x",) * 101, (query,)), lambda _: -np.arange(101.0)[None])
    assert found["R@100"] == pytest.approx([0.5])


def test_rows_are_of_all_positive_and_negative_queries() -> None:
    marks = np.array([True, False])
    queries = [
        FindingQuery(Concept("pleural effusion", sign), 1, marks, np.ones(2, bool)) for sign in (True, True, False)
    ]
    values, apart = {"AP": np.array([1.0, 0.5, 0.2])}, [np.array([1.0] * 8), np.zeros(8), np.array([0.5] * 8)]
    made = rows_of(FindingJudgements(("a", "b"), tuple(queries)), "x", values, apart, SuiteOptions())
    rows = {row["system"]: row["measures"] for row in made}
    assert [rows[name]["AP"]["value"] for name in ("x", "x, positive", "x, negative")] == pytest.approx(
        [1.7 / 3, 0.75, 0.2], abs=1e-4
    )
    assert rows["x"]["separation"]["value"] == pytest.approx(0.5)
    assert rows["x"]["separation"]["deviation"] == pytest.approx(np.std([1.0, 0.0, 0.5]), abs=1e-5)
    # Queries are drawn, not the eight labels of each: three of the first are drawn once in 27 times.
    assert (rows["x"]["separation"]["low"], rows["x"]["separation"]["high"]) == (0.0, 1.0)


def test_the_suite_reports_in_the_stable_form(settings: Settings) -> None:
    report = run_suite("radiology", SuiteOptions(baseline="hashing-256"), settings)
    assert json.loads(json.dumps(report)) == report
    systems = ["bm25", "rank-bm25 BM25Okapi", "tf-idf"]
    for name in ("dense, unmarked", "dense", "baseline"):
        systems += [f"{name}{way}" for way in ("", " + bm25", " + bm25, feedback")]
        systems += ["dense + bm25, as shipped"] if name == "dense" else []
    assert [row["system"] for row in report["rows"]] == [
        f"{system}{part}" for system in systems for part in ("", ", positive", ", negative")
    ]
    for row in report["rows"]:
        assert [*row["measures"]][:3] == ["AP", "Rprec", "R@100"]
        for name, estimate in row["measures"].items():
            assert estimate["low"] <= estimate["value"] <= estimate["high"], name
    assert {row["system"] for row in report["rows"] if "separation" in row["measures"]} == {
        *("dense, unmarked", "dense", "baseline"),
    }
    assert [(test["system"], test["against"]) for test in report["tests"]] == [
        *((f"{name}{way}", "bm25") for way in WAYS for name in ("dense", "baseline")),
        *((f"dense{way}", f"dense, unmarked{way}") for way in WAYS),
    ]
    shares = [note for note in report["notes"] if note.startswith("dense + bm25, as shipped")]
    assert shares == ["dense + bm25, as shipped: BM25's share is 0.3, the kind's"]
    notes = [note for note in report["notes"] if note.startswith("dense + bm25") and note not in shares]
    assert len(notes) == 2
    assert all(note.endswith("chosen on the queries of the other fold") for note in notes)
    assert (report["suite"], report["collection"], report["queries"], report["sample"]) == (
        "radiology",
        "reports",
        9,
        None,
    )
    assert report["command"] == "medley evaluate radiology --baseline hashing-256"
    assert {"system": "BM25", "source": "RADIOLOGY, table 2, on Indiana"}.items() <= report["published"][21].items()


def test_the_folds_are_compared_with_the_baseline_of_the_same_treatment_and_named_as_not_shipped(
    settings: Settings, tmp_path: Path
) -> None:
    for fold in ("fold-1", "fold-2"):
        tiny.write_artifact(tmp_path / fold)
    report = run_suite("radiology", SuiteOptions(folds=tmp_path, baseline="hashing-256"), settings)
    pairs = [(test["system"], test["against"]) for test in report["tests"] if test["system"].startswith("2-fold")]
    assert pairs[3:] == [(f"2-fold{way}", f"baseline{way}") for way in WAYS]
    noted = {row["system"] for row in report["rows"] if "not shipped" in row.get("note", "")}
    assert noted == {row["system"] for row in report["rows"] if row["system"].startswith("2-fold")}
    beside = {row["system"] for row in report["rows"] if "its share of BM25 is its own" in row.get("note", "")}
    unlike = ("dense + bm25", "dense, unmarked + bm25")
    assert beside == {
        row["system"] for row in report["rows"] if row["system"].startswith(unlike) and "shipped" not in row["system"]
    }


def test_a_sample_is_fixed_and_named(settings: Settings) -> None:
    options = SuiteOptions(queries=4, variants=False)
    report = run_suite("radiology", options, settings)
    assert report["sample"] == {"queries": 4, "of": 9, "fixed": True}
    assert report["command"] == "medley evaluate radiology --queries 4 --no-variants"
    assert [row["system"] for row in report["rows"]] == [
        *("bm25", "rank-bm25 BM25Okapi", "tf-idf"),
        *(f"{name}{way}" for name in ("dense, unmarked", "dense") for way in WAYS),
        "dense + bm25, as shipped",
    ]
    again = run_suite("radiology", options, settings)
    assert report | {"seconds": 0} == again | {"seconds": 0}


def test_wrong_input_is_named(settings: Settings, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"fold-1 is not a usable bi-encoder .*holds the models fold-1 and fold-2"):
        run_suite("radiology", SuiteOptions(folds=tmp_path), settings)
    with pytest.raises(MedleyError, match="there is no model 'nope'"):
        run_suite("radiology", SuiteOptions(baseline="nope"), settings)
    with pytest.raises(MedleyError, match="set MEDLEY_DATA"):
        run_suite("radiology", SuiteOptions(), replace(settings, data=None))
    with pytest.raises(InvalidInput, match="no finding is in 10 sentences"):
        radiology.judge(list(label_sentences([ChestReport("1", "No effusion.", "")])))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"training_pairs": {"finding": 5}, "fold": 2}, r"fold-1 was trained on findings \(fold 2\) and would be measured on those of fold 2"),
        ({"training_pairs": {"finding": 5}}, r"fold-1 was trained on findings \(all of them\)"),
        ({"training_pairs": {"finding": 5}, "fold": 1}, None),
        ({"training_pairs": {"title": 5}}, None),
    ],
)  # fmt: skip
def test_a_model_that_learnt_what_it_is_asked_is_refused(
    settings: Settings, tmp_path: Path, data: dict[str, object], message: str | None
) -> None:
    for fold in ("fold-1", "fold-2"):
        tiny.write_artifact(tmp_path / fold)
    tiny.edit(tmp_path / "fold-1", card={"name": "fold-1", "data": data})
    options = SuiteOptions(folds=tmp_path, queries=3, variants=False)
    if message is None:
        report = run_suite("radiology", options, settings)
        assert [row["system"] for row in report["rows"][-3:]] == ["2-fold", "2-fold + bm25", "2-fold + bm25, feedback"]
        assert [(test["system"], test["against"]) for test in report["tests"]] == [
            *((f"{name}{way}", "bm25") for way in WAYS for name in ("dense", "2-fold")),
            *((f"dense{way}", f"dense, unmarked{way}") for way in WAYS),
        ]
        return
    with pytest.raises(InvalidInput, match=message):
        run_suite("radiology", options, settings)
    if "fold" not in data:
        alone = SuiteOptions(baseline=str(tmp_path / "fold-1"))
        with pytest.raises(InvalidInput, match=r"measured on all of them"):
            run_suite("radiology", alone, settings)


def test_another_collection_is_measured_under_its_name_and_crossed_models_are_allowed(
    settings: Settings, tmp_path: Path
) -> None:
    radiology_reports.write_notes(
        settings.data,
        [(f"n{number}", "Radiology", f"FINDINGS: , Small effusion number {number}.") for number in range(12)],
    )
    tiny.write_artifact(tmp_path / "model")
    data = {"training_pairs": {"finding": 5}, "reports": "indiana"}
    tiny.edit(tmp_path / "model", card={"name": "model", "data": data})
    options = SuiteOptions(across=str(tmp_path / "model"), baseline="hashing-256", reports="mtsamples")
    report = run_suite("radiology", options, settings)
    rows = {row["system"]: row for row in report["rows"]}
    assert (report["queries"], report["command"]) == (
        1, "medley evaluate radiology --across model --reports mtsamples --baseline hashing-256"
    )  # fmt: skip
    assert all(", on MTSamples" in name for name in rows)
    assert "of other reports" in rows["across, on MTSamples, positive"]["note"]
    assert "separation" in rows["across, on MTSamples"]["measures"]
    tests = [(test["system"], test["against"]) for test in report["tests"]]
    assert ("across, on MTSamples", "baseline, on MTSamples") in tests
    assert any("in place of NIH's" in note for note in report["notes"])
    with pytest.raises(InvalidInput, match=r"model was trained on findings \(all of them\)"):
        run_suite("radiology", SuiteOptions(across=str(tmp_path / "model")), settings)
    tiny.edit(tmp_path / "model", card={"name": "model", "data": data | {"reports": "mtsamples"}})
    crossed = run_suite("radiology", SuiteOptions(across=str(tmp_path / "model"), variants=False), settings)
    assert "across" in {row["system"] for row in crossed["rows"]}
    with pytest.raises(InvalidInput, match="reports is 'nih'"):
        run_suite("radiology", SuiteOptions(reports="nih"), settings)


def test_folds_by_another_recipe_are_named_after_it(settings: Settings, tmp_path: Path) -> None:
    for fold in ("fold-1", "fold-2"):
        tiny.write_artifact(tmp_path / fold)
        tiny.edit(tmp_path / fold, card={"name": fold, "recipe": {"name": "radiology-triplet"}})
    report = run_suite("radiology", SuiteOptions(folds=tmp_path, baseline="hashing-256", variants=False), settings)
    systems = [row["system"] for row in report["rows"]]
    assert systems[-3:] == [f"2-fold radiology-triplet{way}" for way in WAYS]
    assert ("2-fold radiology-triplet", "baseline") in [(item["system"], item["against"]) for item in report["tests"]]
    assert all("not shipped" in row["note"] for row in report["rows"] if row["system"].startswith("2-fold"))


@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_run_needs_no_export(settings: Settings, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from encoders.training.runs.train import train
    from tests.training.tiny_models import BI, CROSS, write_base, write_pairs

    base, pairs = write_base(tmp_path / "base"), write_pairs(tmp_path / "pairs")
    recipe = replace(BI, objective="triplet", name="radiology-triplet", base=str(base), steps=2)
    for fold in ("fold-1", "fold-2"):
        train(recipe, pairs, tmp_path / "runs" / fold)
    options = SuiteOptions(folds=tmp_path / "runs", variants=False, queries=3)
    rows = {row["system"]: row for row in run_suite("radiology", options, settings)["rows"]}
    assert rows["2-fold radiology-triplet"]["measures"]["separation"]["deviation"] > 0
    train(replace(recipe, **{name: getattr(CROSS, name) for name in ("kind", "objective")}), pairs, tmp_path / "cross")
    with pytest.raises(MedleyError, match="is the run of a cross-encoder, not of a bi-encoder"):
        run_suite("radiology", SuiteOptions(across=str(tmp_path / "cross")), settings)


def test_queries_are_concepts_with_enough_sentences() -> None:
    found = radiology.judge(list(label_sentences(radiology_reports.reports())))
    assert {item.concept for item in found.queries} == {
        *(Concept(name, True) for name in ("atelectasis", "granuloma", "pleural effusion", "pneumothorax", "pulmonary scarring")),
        *(Concept(name, False) for name in ("granuloma", "pleural effusion", "pneumothorax", "pulmonary scarring")),
    }  # fmt: skip
    for item in found.queries:
        assert item.relevant.sum() == 12
        asked = item.concept.finding == "pleural effusion"
        assert (~item.ranked).sum() == (12 if asked else 0)
        assert all("Possible" in text for text, ranked in zip(found.texts, item.ranked, strict=True) if not ranked)
    assert len({item.fold for item in found.queries}) == 2


def judged(relevant: list[bool], ranked: list[bool]) -> FindingJudgements:
    item = FindingQuery(Concept("pleural effusion", True), 1, np.array(relevant), np.array(ranked) | np.array(relevant))
    return FindingJudgements(tuple(map(str, range(len(relevant)))), (item,))


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(0, 5)), min_size=1, max_size=30).filter(
    lambda rows: any(relevant for relevant, _, _ in rows)))  # fmt: skip
def test_measures_agree_with_ir_measures(rows: list[tuple[bool, bool, int]]) -> None:
    found = judged([row[0] for row in rows], [row[1] for row in rows])
    scores = np.array([[float(row[2]) for row in rows]])
    ours = radiology.measure(found, lambda queries: scores)
    item = found.queries[0]
    order = sorted(np.flatnonzero(item.ranked), key=lambda at: (-scores[0][at], at))
    names = [parse("AP"), parse("R@100")]
    grades = {"q": {str(at): 1 for at in np.flatnonzero(item.relevant)}}
    theirs = per_query(names, grades, {"q": list(map(str, order))})
    assert ours["AP"] == pytest.approx(theirs[names[0]])
    assert ours["R@100"] == pytest.approx(theirs[names[1]])
    many = int(item.relevant.sum())
    assert ours["Rprec"] == pytest.approx(np.mean([item.relevant[at] for at in order[:many]]) if many else 0)


def test_separation_is_the_matched_score_less_the_opposite_one() -> None:
    found = judged([True, False, True], [True, True, True])
    scores = {"pleural effusion": [0.9, 0.5, 0.3], "no pleural effusion": [0.1, 0.7, 0.4]}
    (apart,) = radiology.separations(found, lambda queries: np.array([scores[text] for text in queries]))
    assert apart == pytest.approx([0.8, -0.1])


def test_each_fold_is_asked_of_the_encoder_of_the_other() -> None:
    from evaluation.suites.radiology.systems import score_cosines

    class Constant:
        fingerprint, dimension = "c", 1

        def __init__(self, value: float) -> None:
            self.value = value

        def encode_queries(self, texts: list[str]) -> np.ndarray:
            return np.full((len(texts), 1), self.value)

        encode_passages = encode_queries

    found = radiology.judge(list(label_sentences(radiology_reports.reports())))
    encoders = (Constant(1.0), Constant(2.0))
    matrices = [np.ones((len(found.texts), 1))] * 2
    scores = score_cosines(found, encoders, matrices)([item.text for item in found.queries])  # type: ignore[arg-type]
    assert [row[0] for row in scores] == [3.0 - item.fold for item in found.queries]


def two_folds() -> tuple[FindingJudgements, np.ndarray, np.ndarray]:
    """A query a fold over four sentences: vectors rank that of fold 1 right and that of fold 2 wrong, words the other way."""
    relevant = (np.array([True, False, False, False]), np.array([False, False, False, True]))
    queries = tuple(
        FindingQuery(Concept("pleural effusion", present), fold, mark, np.ones(4, bool))
        for fold, present, mark in ((1, True, relevant[0]), (2, False, relevant[1]))
    )
    words = np.array([[0.0, 0, 3, 6], [0.0, 0, 3, 6]])
    vectors = np.array([[0.8, 0.4, 0.2, -0.5], [0.8, 0.4, 0.2, -0.5]])
    return FindingJudgements(("a", "b", "c", "d"), queries), words, vectors


def test_a_folds_share_is_what_the_other_folds_queries_like_best() -> None:
    found, words, vectors = two_folds()
    scores, shares = crossfit.fuse_scores(found, words, vectors)
    # Fold 2's query is best from .6 on (.5 ties and puts the earlier sentence first), fold 1's up to .4 and at the tie.
    assert shares == {1: 0.6, 2: 0.0}
    assert scores[0] == pytest.approx([0.4, 0.2, 0.6 * 0.5 + 0.4 * 0.25, 0.6])
    assert scores[1] == pytest.approx([1, 0.5, 0.25, 0])


def test_queries_of_one_fold_choose_no_share() -> None:
    found, words, vectors = two_folds()
    alone = replace(found, queries=found.queries[:1])
    scores, shares = crossfit.fuse_scores(alone, words[:1], vectors[:1])
    assert shares == {1: 0.5}
    assert scores[0] == pytest.approx([0.5, 0.25, 0.375, 0.5])


def test_a_folds_feedback_is_what_the_other_folds_queries_like_best() -> None:
    # By the query alone the fourth sentence is second. Three that are near each other answer one query: what the best say
    # brings them in front. The first and the fourth answer the other: feedback takes the fourth away from it.
    sentences = np.array([[0.0, 1, 0], [0.2, 0.98, 0], [-0.2, 0.98, 0], [0.8, 0.6, 0.0], [0, 0, 1]])
    sentences /= np.linalg.norm(sentences, axis=1, keepdims=True)
    vector = np.array([0.55, 0.835, 0.0])
    words = np.array([[1.0, 0, 0, 0, 0], [0.0, 0, 0, 1, 0]])
    relevant = (np.array([True, True, True, False, False]), np.array([False, True, False, True, False]))
    queries = tuple(
        FindingQuery(Concept("pleural effusion", present), fold, mark, np.ones(5, bool))
        for fold, present, mark in ((1, True, relevant[0]), (2, False, relevant[1]))
    )
    found = FindingJudgements(("a", "b", "c", "d", "e"), queries)
    shares = {1: 0.05, 2: 0.1}
    scores, ways = crossfit.apply_feedback(found, words, [vector] * 2, [sentences] * 2, shares)
    # Fold 2's query likes it best without, so fold 1's is ranked without; fold 1's likes feedback, so fold 2's gets it.
    assert ways[1] is None
    assert ways[2] is not None
    assert scores[0] == pytest.approx(mixed(sentences @ vector, words[0], 0.05))
    once = mixed(sentences @ vector, words[1], 0.1)
    best = sentences[np.argsort(-once)[: ways[2].passages]]
    moved = (1 - ways[2].share) * vector / np.linalg.norm(vector) + ways[2].share * best.mean(axis=0)
    assert scores[1] == pytest.approx(mixed(sentences @ moved, words[1], 0.1), abs=1e-3)


def mixed(cosines: np.ndarray, words: np.ndarray, share: float) -> np.ndarray:
    return share * words + (1 - share) * np.maximum(cosines, 0) / cosines.max()


def test_queries_of_one_fold_choose_no_feedback() -> None:
    found, words, vectors = two_folds()
    alone = replace(found, queries=found.queries[:1])
    scores, ways = crossfit.apply_feedback(alone, words[:1], [np.array([1.0])], [vectors[:1].T], {1: 0.5})
    assert ways == {1: None}
    assert scores[0] == pytest.approx([0.5, 0.25, 0.375, 0.5])


def test_lexical_scores_are_those_of_the_formulas() -> None:
    scores = lexical.bm25(TEXTS)("effusions")
    # "no" is a stop word: lengths 1, 2, 3, 1, 0 with mean 1.4; df 3 of 5
    idf = np.log(1 + (5 - 3 + 0.5) / (3 + 0.5))
    expected = [idf / (1 + 1.2 * (0.25 + 0.75 * length / 1.4)) for length in (1, 2, 3)]
    assert scores == pytest.approx([*expected, 0, 0])
    assert lexical.tfidf(TEXTS)("effusion") == pytest.approx([1, 0.302, 0.213, 0, 0], abs=0.2)
    assert lexical.tfidf(TEXTS)("nothing known") == pytest.approx([0] * 5)
    assert len(lexical.bm25([])("effusion")) == 0


def test_bm25_is_the_embedded_engines_ranking(tmp_path: Path) -> None:
    from test_suites import bench_of, task_of

    from evaluation import stages
    from evaluation.task import Question

    plain = replace(Settings(), home=tmp_path / "home", encoder="hashing-256", reranker="none")
    bench = bench_of(task_of(tmp_path / "mine"), plain)
    documents = list(bench.task.corpus.documents())
    score = lexical.bm25([item.sections[0].text for item in documents])
    for text in ("heart", "statin trial dose", "asthma gout gout"):
        ours = dict(zip([item.id for item in documents], score(text), strict=True))
        engine = stages.retrieve_question(bench, Question("q", text)).answer.rankings["bm25"]
        best = engine[0].score / ours[engine[0].document]
        assert [item.score for item in engine] == pytest.approx(
            [ours[item.document] * best for item in engine], rel=2e-3
        )


def test_the_command_prints_the_report(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    values = {"MEDLEY_DATA": settings.data, "MEDLEY_HOME": settings.home, "MEDLEY_ENCODER": settings.encoder}
    for name, value in values.items():
        monkeypatch.setenv(name, str(value))
    result = CliRunner().invoke(cli, ["evaluate", "radiology", "--queries", "3", "--no-variants", "--json"])
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    assert (report["suite"], report["queries"]) == ("radiology", 3)
    table = CliRunner().invoke(cli, ["evaluate", "radiology", "--queries", "3", "--baseline", "hashing-256"])
    assert table.exit_code == 0, table.output
    assert "separation of baseline" in table.output


@pytest.mark.parametrize("form", [[], ["--quick"]])
def test_all_looks_at_the_models_before_any_suite_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: list[str]
) -> None:
    monkeypatch.delenv("MEDLEY_DATA", raising=False)  # the first suite would miss it
    for name, value in {"MEDLEY_HOME": tmp_path / "home", "MEDLEY_ENCODER": "hashing-256"}.items():
        monkeypatch.setenv(name, str(value))
    (tmp_path / "folds").mkdir()
    for option, value in {"--folds": str(tmp_path / "folds"), "--baseline": "nope"}.items():
        found = CliRunner().invoke(cli, ["evaluate", "all", *form, option, value])
        assert isinstance(found.exception, MedleyError)
        expected = "holds the models fold-1 and fold-2" if option == "--folds" else "there is no model 'nope'"
        assert expected in found.exception.message


def test_what_decides_the_report_is_known_before_it_runs(settings: Settings) -> None:
    options = SuiteOptions()
    command, first = identity("radiology", options, settings)
    assert command == "medley evaluate radiology"
    assert identity("radiology", options, settings) == (command, first)
    reports = Path(str(settings.data)) / "indiana_cxr" / "reports.jsonl.gz"
    lines = gzip.decompress(reports.read_bytes()).splitlines()
    reports.write_bytes(gzip.compress(b"\n".join(lines[1:])))
    other = identity("radiology", options, settings)[1]
    named = identity("radiology", SuiteOptions(baseline="hashing-256"), settings)[1]
    assert len({first, other, named}) == 3
