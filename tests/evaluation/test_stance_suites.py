"""The suites `stance` and `rationales`: their pairs, baselines and measures, on small files written here."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tiny import write_artifact

from encoders.artifact import Reading
from encoders.stances import is_same
from evaluation.baselines.lexical_stance import LexicalStance
from evaluation.statistics import macro_f1_interval
from evaluation.suite import SuiteOptions
from evaluation.suites.claim_pairs import WHOLE, ClaimPair, sampled, suite_pairs
from evaluation.suites.rationales import RationalesSuite
from evaluation.suites.stance import StanceSuite
from mappings.errors import InvalidInput, ModelError
from mappings.stances import ClaimPassage
from search.models import registry
from search.settings import Settings


def write(root: Path, name: str, *records: object) -> None:
    path = root / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(map(json.dumps, records)))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    abstract = {"title": "Hats", "abstract": ["We gave hats.", "Hats prevented colds.", "Boys smiled."]}
    write(tmp_path, "scifact/corpus", {"doc_id": 1, **abstract}, {"doc_id": 2, **abstract, "title": "Caps"})
    marked = {"1": [{"sentences": [1], "label": "SUPPORT"}]}
    claim = {"id": 7, "claim": "Hats prevent colds.", "cited_doc_ids": [1, 2], "evidence": marked}
    for split in ("train", "dev"):
        write(tmp_path, f"scifact/claims_{split}", claim)
    write(tmp_path, "check_covid/corpus", {"cord_id": "a", **abstract})
    checked = {"id": "n1", "claim": "Hats cause colds.", "cord_id": "a", "label": "REFUTE"}
    little = {**checked, "label": "NOTENOUGHINFO", "evidence_set": [{"sent_index": 0}]}
    for split in ("train", "dev"):
        write(tmp_path, f"check_covid/claims_{split}", {**checked, "evidence_set": [{"sent_index": 1}]}, little)
    return tmp_path


def test_pairs_have_the_abstract_that_a_claim_cites_and_its_evidence(data: Path) -> None:
    found = suite_pairs(data)
    one, two = found["scifact"]
    assert [one.stance, two.stance] == ["supports", "neither"]
    assert [one.passage.text[start:end] for start, end in one.marked] == ["Hats prevented colds."]
    assert (one.passage.context, two.passage.context, two.marked) == ("Hats", "Caps", ())


def test_too_little_is_said_of_sentences_and_whole_abstracts_are_decided(data: Path) -> None:
    found = suite_pairs(data)
    assert [(pair.stance, pair.passage.text) for pair in found["check-covid"]] == [
        ("refutes", "Hats prevented colds."),
        ("neither", "We gave hats."),
    ]
    (whole,) = found[WHOLE]
    assert whole.stance == "refutes"
    assert whole.passage.text == "We gave hats. Hats prevented colds. Boys smiled."


def test_a_sample_is_the_same_in_any_order(data: Path) -> None:
    pairs = suite_pairs(data)["scifact"]
    assert sampled(pairs, 1) == sampled(pairs[::-1], 1)
    assert sampled(pairs, 9) == pairs


def claim_pair(claim: str, text: str) -> ClaimPair:
    return ClaimPair("1", claim, ClaimPassage.of(text), "neither")


@pytest.mark.parametrize(
    ("claim", "text", "stance"),
    [
        ("Hats prevent colds.", "We asked boys. Hats prevented colds in boys.", "supports"),
        ("Hats prevent colds.", "Hats did not prevent colds.", "refutes"),
        ("Hats increase colds.", "Hats decreased colds.", "refutes"),
        ("Hats do not increase colds.", "Hats decreased colds.", "supports"),
        ("Hats prevent colds.", "Otters swim.", "neither"),
        ("Hats prevent colds.", "", "neither"),
    ],
)
def test_the_lexical_baseline_reads_words_negation_and_direction(claim: str, text: str, stance: str) -> None:
    assert LexicalStance(0.5).read(claim_pair(claim, text)) == stance


def test_the_baseline_takes_its_threshold_from_training_claims(data: Path) -> None:
    assert 0 < LexicalStance.fitted(data).threshold <= 1


def test_macro_f1_is_the_mean_over_classes_with_an_interval_around_it() -> None:
    wanted, told = np.array([0, 0, 1, 1, 2, 2]), np.array([0, 0, 1, 0, 2, 1])
    found = macro_f1_interval(wanted, told, resamples=500)
    assert found.value == pytest.approx((4 / 5 + 2 / 4 + 2 / 3) / 3)
    assert 0 <= found.low < found.value < found.high <= 1
    perfect = macro_f1_interval(wanted, wanted, resamples=200)
    assert (perfect.value, perfect.low, perfect.high) == (1, 1, 1)
    with pytest.raises(InvalidInput, match="same items"):
        macro_f1_interval(wanted, told[:3])
    with pytest.raises(InvalidInput):
        macro_f1_interval(np.array([], dtype=int), np.array([], dtype=int))


@pytest.mark.parametrize(
    ("span", "marked", "same"),
    [((0, 10), (0, 10), True), ((0, 10), (4, 30), True), ((0, 10), (6, 30), False), ((0, 10), (10, 20), False)],
)
def test_two_ranges_are_the_same_if_more_than_half_of_the_shorter_is_shared(span, marked, same) -> None:
    assert is_same(span, marked) is same


@pytest.fixture
def settings(data: Path, tmp_path: Path) -> Settings:
    write_artifact(tmp_path / "models/medley-stance", "stance-classifier")
    return Settings(home=tmp_path / "home", data=data, models=tmp_path / "models")


def test_the_classifier_that_the_settings_name_is_measured(settings: Settings) -> None:
    assert settings.models is not None
    write_artifact(settings.models / "other", "stance-classifier", Reading("mean", False, 5, 9))
    found = {
        name: StanceSuite().identify(replace(settings, stance=name), SuiteOptions())[1][1]
        for name in ("", "none", "medley-stance", "other")
    }
    assert found[""] == found["none"] == found["medley-stance"] != found["other"]
    with pytest.raises(ModelError, match="there is no model"):
        StanceSuite().require(replace(settings, stance="nothing"), SuiteOptions())


def test_the_report_of_stances_has_each_set_its_baselines_and_the_surest_pairs(settings: Settings) -> None:
    steps: list[tuple[int, int]] = []
    report = StanceSuite().run(settings, SuiteOptions(), lambda done, of: steps.append((done, of)))
    sets = ("scifact", "check-covid", WHOLE)
    assert [row["system"] for row in report["rows"]] == [
        name.format(item)
        for item in sets
        for name in ("{}", "majority, {}", "lexical, {}", "{}, surest 90%", "{}, surest 75%", "{}, surest 50%")
    ]
    assert all(0 <= row["measures"]["macro_F1"]["value"] <= 1 for row in report["rows"])
    assert (report["queries"], report["sample"], steps) == (5, None, [(2, 5), (4, 5), (5, 5)])
    lexical = {row["system"]: row["measures"]["macro_F1"]["value"] for row in report["rows"]}
    assert lexical["majority, scifact"] == pytest.approx(1 / 3)  # one of two right: F1 of 2/3 and 0
    model = settings.models and json.loads((settings.models / "medley-stance/model.json").read_text())
    assert report["models"] == {
        "stance": {"fingerprint": model["fingerprint"], "form": report["models"]["stance"]["form"]}
    }


def test_a_sample_of_stances_says_of_how_many(settings: Settings) -> None:
    report = StanceSuite().run(settings, SuiteOptions(queries=1, variants=False))
    assert report["sample"] == {"queries": 3, "of": 5, "fixed": True}
    assert [row["system"] for row in report["rows"]] == ["scifact", "check-covid", WHOLE]
    assert report["command"] == "medley evaluate stance --queries 1 --no-variants"


def test_the_report_of_rationales_compares_the_model_with_words_and_the_last_sentences(settings: Settings) -> None:
    report = RationalesSuite().run(settings, SuiteOptions())
    found = {row["system"]: row["measures"]["hit@2"]["value"] for row in report["rows"]}
    assert list(found) == [
        name
        for system in ("evidence", "stance classifier", "cross-encoder", "words", "last")
        for name in (system, f"{system}, scifact", f"{system}, check-covid")
    ]
    assert report["queries"] == 2
    assert (
        found["words"] == found["last"] == 1.0
    )  # the second of three sentences has the words, and is one of the last two


def test_without_the_classifier_the_suites_say_so(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "SHIPPED", tmp_path / "none")
    for suite in (StanceSuite(), RationalesSuite()):
        with pytest.raises(ModelError, match="there is no model 'medley-stance'"):
            suite.run(Settings(home=tmp_path / "home", data=data), SuiteOptions())
