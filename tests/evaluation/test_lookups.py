"""The suite `lookups`: coverage by hand, over collections of a home and over a corpus of each kind."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from lookup_documents import ABSTRACTS, LABELS, NOTES, document, indexed, settings
from rich.console import Console

from encoders.labels.split import is_test_note
from evaluation.plan import identity
from evaluation.reporting import reports
from evaluation.run import run_suite
from evaluation.suite import SuiteOptions
from evaluation.suites.lookups.corpora import stored
from evaluation.suites.lookups.coverage import MEASURE, HitGroups, coverage, measure
from evaluation.suites.lookups.queries import TYPES, Lookup
from mappings import collection as kinds
from mappings.documents import Document
from mappings.errors import InvalidInput, NotFound, Unavailable
from search.bootstrap import Medley
from search.protocols import Vectors
from search.ranking.anytime import AnytimeReranker, Pace, ScoreCache
from search.ranking.cascade import RerankStages
from web.cli.commands import evaluate

ALONE = HitGroups({f"d{number}": f"d{number}" for number in range(40)})
PATIENTS = HitGroups.of(NOTES, kinds.load("notes"))


def held(*documents: str) -> frozenset[str]:
    return frozenset(documents)


@pytest.mark.parametrize(
    ("shown", "holders", "expected"),
    [
        (["d1", "d2", "d3"], held("d1", "d2", "d3"), 1.0),
        (["d9", "d1", "d8"], held("d1", "d2", "d3"), 1 / 3),  # fewer than ten hold it: the recall
        ([f"d{number}" for number in range(20)], held(*(f"d{number}" for number in range(6, 26))), 0.4),
        (["d1", "d2", "d3"], held(*(f"d{number}" for number in range(12))), 0.3),  # seven hits are missing
        ([*(f"d{number}" for number in range(20, 30)), "d1"], held("d1"), 0.0),  # the eleventh
        ([], held("d1"), 0.0),
    ],
)
def test_coverage_by_hand(shown: list[str], holders: frozenset[str], expected: float) -> None:
    assert coverage(shown, holders, ALONE) == pytest.approx(expected)


@given(st.sets(st.sampled_from(sorted(ALONE.keys)), min_size=1), st.randoms())
def test_the_oracles_ranking_has_coverage_1_and_a_disjoint_one_0(holders: set[str], source) -> None:
    ranking = sorted(holders)
    source.shuffle(ranking)
    assert coverage(ranking, frozenset(holders), ALONE) == 1
    assert coverage(sorted(ALONE.keys.keys() - holders), frozenset(holders), ALONE) == 0
    assert coverage([*ranking, *sorted(ALONE.keys.keys() - holders)], frozenset(holders), ALONE) == 1


def test_a_hit_of_several_documents_counts_by_the_one_that_it_shows() -> None:
    assert PATIENTS.shown(["n2", "n3", "n1", "n4"]) == ["n2", "n3", "n4"]
    rash, cough = held("n2", "n3"), held("n1", "n2")
    assert coverage(PATIENTS.shown(["n2", "n1", "n3"]), rash, PATIENTS) == 1
    assert coverage(PATIENTS.shown(["n1", "n2", "n3"]), rash, PATIENTS) == 0.5  # n1 stands for the patient
    assert coverage(PATIENTS.shown(["n1"]), cough, PATIENTS) == 1  # one hit is all there can be


class OverlapReranker:
    """Scores a passage by how many words of the query it contains."""

    fingerprint = "overlap"

    def score(self, query: str, passages: Sequence[str]) -> Vectors:
        words = query.lower().split()
        return np.array([sum(word in passage.lower() for word in words) for passage in passages], dtype=np.float32)


def test_rows_are_those_of_the_product(tmp_path: Path) -> None:
    medley = indexed(tmp_path, "mine", "abstracts", ABSTRACTS)
    rerankers = RerankStages(AnytimeReranker(OverlapReranker(), ScoreCache(), Pace()))
    lookups = [Lookup(TYPES[0], "itching", held("a4")), Lookup(TYPES[0], "zelvastatin", held("a1", "a2", "a3", "a6"))]
    steps: list[int] = []
    found = measure(
        medley, "mine", lookups, HitGroups.of(ABSTRACTS, kinds.load("abstracts")), rerankers, lambda: steps.append(1)
    )
    assert set(found) == {"bm25", "fused", "reranked"}
    assert found["bm25"] == [1.0, 0.5]  # BM25 finds the two documents with the word
    assert found["fused"] == found["reranked"] == [1.0, 1.0]  # vectors rank all six
    assert len(steps) == 2


def test_a_degraded_look_up_is_not_measured(tmp_path: Path) -> None:
    medley = indexed(tmp_path, "mine", "abstracts", ABSTRACTS)
    broken = replace(medley, services=replace(medley.services, encoder=lambda _: None))
    groups = HitGroups.of(ABSTRACTS, kinds.load("abstracts"))
    with pytest.raises(Unavailable, match="a degraded answer cannot be measured: no encoder for 'dense'"):
        measure(broken, "mine", [Lookup(TYPES[0], "itching", held("a4"))], groups, None, lambda: None)


def test_a_collection_of_the_home_is_measured_by_type(tmp_path: Path) -> None:
    indexed(tmp_path, "wards", "notes", NOTES)
    options = SuiteOptions(collection="wards", queries=20)
    report = run_suite("lookups", options, settings(tmp_path))
    assert json.loads(json.dumps(report)) == report
    assert (report["suite"], report["collection"], report["queries"]) == ("lookups", "wards", 20)
    assert report["command"] == "medley evaluate lookups wards --queries 20"
    assert {(row["system"], row["kind"]) for row in report["rows"]} == {("bm25", "notes"), ("fused", "notes")}
    assert all(set(row["measures"]) == {MEASURE} for row in report["rows"])
    of_types = [row["queries"] for row in report["rows"] if row["system"] == "bm25" and row["type"] != "all"]
    assert sum(of_types) == 20
    rare = next(row for row in report["rows"] if row["system"] == "bm25" and row["type"] == "rare word")
    assert rare["measures"][MEASURE]["value"] == 1
    assert "4 documents of the kind notes" in report["notes"][0]
    plain = run_suite("lookups", replace(options, variants=False), settings(tmp_path))
    assert {row["type"] for row in plain["rows"]} == {"all"}


def test_changes_that_are_not_indexed_are_named(tmp_path: Path) -> None:
    medley = indexed(tmp_path, "mine", "abstracts", ABSTRACTS)
    medley.collections.store("mine").put([document("a7", "New", "Not yet indexed.")])
    report = run_suite("lookups", SuiteOptions(collection="mine", queries=5), settings(tmp_path))
    assert "mine: 1 changes are not indexed yet, so a search can't find what they add" in report["notes"]


def test_documents_that_nobody_may_see_are_not_looked_up(tmp_path: Path) -> None:
    hidden = Document("a9", "Hidden", (), frozenset())
    medley = indexed(tmp_path, "mine", "abstracts", (*ABSTRACTS, hidden))
    assert {item.id for item in stored(medley, "mine")} == {item.id for item in ABSTRACTS}


def test_a_collection_with_one_document_is_measured(tmp_path: Path) -> None:
    indexed(tmp_path, "one", "abstracts", ABSTRACTS[:1])
    report = run_suite("lookups", SuiteOptions(collection="one"), settings(tmp_path))
    assert 0 < report["queries"] < 200
    assert f"one: no more than {report['queries']} different look-ups can be made from its documents" in report["notes"]
    assert all(0 <= row["measures"][MEASURE]["value"] <= 1 for row in report["rows"])


def test_an_unknown_collection_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="there is no collection 'nope'"):
        run_suite("lookups", SuiteOptions(collection="nope"), settings(tmp_path))


def test_an_empty_collection_has_nothing_to_look_up(tmp_path: Path) -> None:
    Medley.open(settings(tmp_path)).collections.create("none", "abstracts")
    with pytest.raises(InvalidInput, match="the collection 'none' has no documents: there is nothing to look up"):
        run_suite("lookups", SuiteOptions(collection="none"), settings(tmp_path))


def test_a_collection_of_stop_words_has_nothing_to_look_up(tmp_path: Path) -> None:
    indexed(tmp_path, "stop", "abstracts", (Document("the", "Of", (), LABELS),))
    with pytest.raises(InvalidInput, match="no look-up can be made from the collection 'stop': its 1 documents"):
        run_suite("lookups", SuiteOptions(collection="stop"), settings(tmp_path))


def test_options_of_other_suites_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="queries is 0; a sample has 1 or more"):
        SuiteOptions(collection="mine", queries=0)
    with pytest.raises(InvalidInput, match="--full is for medquad, not for lookups"):
        run_suite("lookups", SuiteOptions(full=True), settings(tmp_path))
    with pytest.raises(InvalidInput, match="a collection is for lookups, not for scifact"):
        run_suite("scifact", SuiteOptions(collection="mine"), settings(tmp_path))


def test_the_command_measures_a_collection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("HOME", str(tmp_path / "home")), ("ENCODER", "hashing-256"), ("RERANKER", "none")):
        monkeypatch.setenv(f"MEDLEY_{name}", value)
    indexed(tmp_path, "mine", "abstracts", ABSTRACTS)
    shown = CliRunner().invoke(evaluate.evaluate, ["lookups", "mine", "--queries", "9", "--json"])
    assert json.loads(shown.stdout)["command"] == "medley evaluate lookups mine --queries 9"
    refused = CliRunner().invoke(evaluate.evaluate, ["lookups", "mine", "--queries", "0"])
    assert isinstance(refused.exception, InvalidInput)


def test_a_report_is_of_other_identity_once_the_documents_change(tmp_path: Path) -> None:
    medley = indexed(tmp_path, "mine", "abstracts", ABSTRACTS)
    options = SuiteOptions(collection="mine", queries=9)
    first = identity("lookups", options, settings(tmp_path))
    assert identity("lookups", options, settings(tmp_path)) == first
    assert identity("lookups", replace(options, queries=8), settings(tmp_path)) != first
    medley.collections.store("mine").put([document("a7", "New", "Not yet indexed.")])
    assert identity("lookups", options, settings(tmp_path)) != first


def write(path: Path, *records: dict[str, object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(map(json.dumps, records)))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Small data sets of the four kinds in the form of the real ones."""
    folder = tmp_path / "data"
    text = "Zelvastatin and rest. Shortness of breath was rare."
    write(folder / "scifact/corpus.jsonl", {"doc_id": 1, "title": "On zelvastatin", "abstract": [text]})
    note = next(f"mts{number}" for number in range(100) if is_test_note(f"mts{number}"))
    write(folder / "mtsamples/notes.jsonl", {"id": note, "name": "Consult", "description": "", "text": text})
    passage = {"id": "m-1", "question": "What?", "question_type": "information", "text": text}
    article = {"id": "m", "title": "Zelvastatin", "passages": [passage]}
    write(
        folder / "medquad/documents.jsonl", article, article | {"title": "Twin"}, {**article, "id": "n", "passages": []}
    )
    empty = {"uid": "2", "findings": "", "impression": None}
    write(folder / "indiana_cxr/reports.jsonl", {"uid": "1", "findings": text, "impression": ""}, empty)
    return folder


def test_without_a_collection_a_corpus_of_each_kind_is_measured(tmp_path: Path, data: Path) -> None:
    chosen = replace(settings(tmp_path), data=data)
    command, first = identity("lookups", SuiteOptions(queries=6), chosen)
    report = run_suite("lookups", SuiteOptions(queries=6), chosen)
    assert command == report["command"] == "medley evaluate lookups --queries 6"
    assert identity("lookups", SuiteOptions(queries=6), chosen) == (command, first)
    assert [*report["collections"]] == ["scifact", "notes", "lookups-articles", "lookups-reports"]
    assert [item["kind"] for item in report["collections"].values()] == ["abstracts", "notes", "articles", "reports"]
    assert all(item["documents"] == 1 for item in report["collections"].values())
    assert report["queries"] == 24
    assert len(report["tests"]) == 4
    assert any("a fixed sample of at most 1,000 articles of MedQuAD" in note for note in report["notes"])


def test_without_data_sets_the_missing_one_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="set MEDLEY_DATA to their folder"):
        run_suite("lookups", SuiteOptions(rerank=False), settings(tmp_path))


def typed(system: str, kind: str, number: int, value: float) -> dict[str, object]:
    estimate = {"value": value, "low": value - 0.1, "high": value + 0.1}
    return {"system": system, "kind": "notes", "type": kind, "queries": number, "measures": {MEASURE: estimate}}


def test_a_line_of_the_table_is_a_type_of_look_up(tmp_path: Path) -> None:
    models = {"encoders": {}, "reranker": None, "fusion": {"method": "rrf", "normalisation": "floor", "weights": {}}}
    report = {
        "suite": "lookups",
        "queries": 3,
        "rows": [typed("bm25", "all", 3, 0.5), typed("fused", "all", 3, 0.6), typed("bm25", "id", 1, 0.25)],
        "published": [],
        "tests": [],
        "notes": [],
        "collections": {"wards": {"models": models}},
        "command": "medley evaluate lookups wards",
    }
    assert reports.markdown(report).splitlines() == [
        "## lookups wards: 3 queries",
        "",
        "`medley evaluate lookups wards`",
        "",
        "| queries | number | bm25, coverage@10 | fused, coverage@10 |",
        "|---|---|---|---|",
        "| notes: all | 3 | 0.500 (0.400–0.600) | 0.600 (0.500–0.700) |",
        "| notes: id | 1 | 0.250 (0.150–0.350) |  |",
        "",
        "- wards: made with no encoder; fusion rrf, floor ()",
    ]
    stream = io.StringIO()
    reports.show(report, Console(file=stream, width=120))
    assert "notes: id" in stream.getvalue()
