"""The suite `transfer`: means over data sets, which of them count, and what is said of those that do not."""

from __future__ import annotations

import numpy as np
import pytest

from evaluation.statistics import interval, mean_of_means
from evaluation.suite import SuiteOptions
from evaluation.suites.registry import SUITES, find_suite
from evaluation.suites.transfer import DATA_SETS, Measured, describe_gains
from mappings.errors import InvalidInput

SIMPLE = np.array([0.5, 0.5, 0.5, 0.5])


def measured(name: str, reranked: list[float], state: str = "clean") -> Measured:
    ancestry = [{"model": "m", "fingerprint": "f", "state": state, "sentence": f"said of {name}"}]
    return Measured(name, {"simple": SIMPLE[: len(reranked)], "reranked": np.array(reranked)}, ancestry)


def test_every_data_set_counts_alike_however_many_questions_it_has() -> None:
    report = describe_gains([measured("one", [0.9]), measured("four", [0.5, 0.5, 0.5, 0.7])])
    reranked = report["rows"][1]
    assert reranked["system"] == "reranked"
    assert {name: round(item["value"], 3) for name, item in reranked["measures"].items()} == {
        "gain": 0.225,
        "one": 0.4,
        "four": 0.05,
    }
    assert reranked["measures"]["one"] == {"value": 0.4, "low": 0.4, "high": 0.4}
    assert report["rows"][0] == {
        "system": "simple",
        "measures": {name: {"value": 0.5, "low": 0.5, "high": 0.5} for name in ("one", "four")},
    }


def test_a_data_set_that_a_model_has_seen_is_shown_and_not_counted() -> None:
    report = describe_gains([measured("clean", [0.6, 0.6]), measured("seen", [1.0, 1.0], "overlap")])
    assert round(report["rows"][1]["measures"]["gain"]["value"], 6) == 0.1
    assert round(report["rows"][1]["measures"]["seen"]["value"], 6) == 0.5
    assert "not counted, because a model has seen some of it: seen" in report["notes"]
    assert [row["model"] for row in report["ancestry"]] == ["m (clean)", "m (seen)"]


def test_what_was_not_recorded_counts_and_is_said() -> None:
    report = describe_gains([measured("clean", [0.6]), measured("unsure", [0.8], "unknown")])
    assert round(report["rows"][1]["measures"]["gain"]["value"], 6) == 0.2
    assert [note for note in report["notes"] if "not recorded" in note] == [
        "not recorded, whether a model has seen some of it: unsure"
    ]


def test_nothing_can_be_said_if_everything_was_seen() -> None:
    with pytest.raises(InvalidInput, match="something of every data set: one, two"):
        describe_gains([measured("one", [0.9], "overlap"), measured("two", [0.9], "overlap")])


def test_a_loss_beyond_its_interval_is_named() -> None:
    report = describe_gains([measured("good", [0.9, 0.8]), measured("bad", [0.1, 0.2, 0.1, 0.2])])
    assert "reranked loses on bad by more than its interval" in report["notes"]
    assert not any("loses on good" in note for note in report["notes"])


def test_a_mean_of_means_of_one_sample_is_its_mean() -> None:
    values = np.random.default_rng(3).random(40)
    alone, mean = interval(values), mean_of_means([values])
    assert (mean.value, mean.low, mean.high) == pytest.approx((alone.value, alone.low, alone.high))


def test_a_mean_of_nothing_is_refused() -> None:
    for samples in ([], [np.array([0.5]), np.array([])]):
        with pytest.raises(InvalidInput):
            mean_of_means(samples)


def test_its_data_sets_are_suites_of_their_own() -> None:
    assert set(DATA_SETS) <= set(SUITES)
    assert find_suite("transfer", SuiteOptions(queries=5)).standalone is not None
