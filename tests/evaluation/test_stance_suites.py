"""The suites `stance` and `rationales`: their pairs, baselines and measures, on small files written here."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from encoders.stances import ClaimPassage, is_same
from evaluation.baselines.lexical_stance import LexicalStance
from evaluation.statistics import macro_f1_interval
from evaluation.suites.claim_pairs import WHOLE, ClaimPair, sampled, suite_pairs
from mappings.errors import InvalidInput


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
