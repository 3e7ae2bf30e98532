"""The choice of form: raced once, remembered, and harmless when it can't be."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from encoders import forms
from encoders.artifact import Artifact
from encoders.runtime import BiEncoder, CrossEncoder

FAST = {"fp32": 1.0, "int8": 0.5}


class Stopwatch:
    """A measurement that counts how often it is asked for."""

    def __init__(self, seconds: dict[str, float]) -> None:
        self.seconds, self.asked = seconds, 0

    def __call__(self) -> dict[str, float]:
        self.asked += 1
        return self.seconds


def test_the_choice_is_measured_once_and_remembered(tmp_path: Path) -> None:
    measure = Stopwatch(FAST)
    assert [forms.fastest(FAST, "here", measure, tmp_path) for _ in range(3)] == ["int8"] * 3
    assert measure.asked == 1
    (file,) = tmp_path.iterdir()
    assert json.loads(file.read_text()) == {"key": "here", "form": "int8", "seconds": FAST}


def test_another_machine_or_model_measures_again(tmp_path: Path) -> None:
    measure = Stopwatch(FAST)
    forms.fastest(FAST, "here", measure, tmp_path)
    forms.fastest(FAST, "there", measure, tmp_path)
    assert measure.asked == 2


@pytest.mark.parametrize(
    "content", ["", "{", "[]", "{}", '{"form": "bf16", "key": "here"}', '{"form": "int8"}', "\x00"]
)
def test_a_corrupt_memory_is_measured_again_and_mended(tmp_path: Path, content: str) -> None:
    measure = Stopwatch(FAST)
    forms.fastest(FAST, "here", measure, tmp_path)
    (file,) = tmp_path.iterdir()
    file.write_text(content)
    assert forms.fastest(FAST, "here", measure, tmp_path) == "int8"
    assert measure.asked == 2
    assert json.loads(file.read_text())["form"] == "int8"


def test_a_folder_that_cannot_be_written_is_harmless(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    measure = Stopwatch(FAST)
    assert forms.fastest(FAST, "here", measure, tmp_path / "file") == "int8"
    assert forms.fastest(FAST, "here", measure, tmp_path / "file") == "int8"
    assert measure.asked == 2


def test_a_single_form_needs_no_measurement(tmp_path: Path) -> None:
    measure = Stopwatch({})
    assert forms.fastest(["fp32"], "here", measure, tmp_path) == "fp32"
    assert measure.asked == 0


@pytest.mark.parametrize(
    ("seconds", "form"),
    [({"fp32": 1.0, "int8": 0.5}, "int8"), ({"fp32": 1.0, "int8": 0.95}, "fp32"), ({"fp32": 1.0, "int8": 2.0}, "fp32"), ({"bf16": 2.0, "int8": 1.0}, "int8")],
)  # fmt: skip
def test_rounding_must_be_worth_it(seconds: dict[str, float], form: str) -> None:
    assert forms.choose(seconds) == form


def test_a_race_takes_turns_and_keeps_the_best_round() -> None:
    ticks = iter([0, 10, 20, 25, 30, 31, 40, 43, 50, 54, 60, 67, 70, 72])
    order: list[str] = []
    runs = {"a": lambda: order.append("a"), "b": lambda: order.append("b")}
    assert forms.race(runs, clock=lambda: float(next(ticks))) == {"a": 3.0, "b": 1.0}
    assert order == ["a", "b"] * 4


def test_the_key_names_what_a_measurement_is_valid_for() -> None:
    key = forms.machine_key("f" * 64, 2, "1.20")
    assert key != forms.machine_key("e" * 64, 2, "1.20")
    assert key != forms.machine_key("f" * 64, 4, "1.20")
    assert key != forms.machine_key("f" * 64, 2, "1.21")
    assert forms.processor() == forms.processor() != ""


def test_the_cache_folder_follows_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert forms.cache_folder() == tmp_path / "medley" / "forms"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/someone")
    assert forms.cache_folder() == Path("/home/someone/.cache/medley/forms")


def test_a_model_without_a_named_form_races_and_one_with_does_not(
    bi: Artifact, cross: Artifact, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert BiEncoder(bi, form="int8").form == "int8"
    assert not (tmp_path / "cache").exists()
    first = BiEncoder(bi).form
    assert BiEncoder(bi).form == first
    CrossEncoder(cross)
    assert len(list((tmp_path / "cache" / "medley" / "forms").iterdir())) == 2
