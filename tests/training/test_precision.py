from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import orjson
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from tiny_models import CROSS, write_base, write_pairs  # noqa: E402

from encoders.training.loop import precision  # noqa: E402
from encoders.training.recipe import Recipe  # noqa: E402
from encoders.training.runs.train import train  # noqa: E402
from mappings.errors import Conflict  # noqa: E402


@pytest.fixture
def short(tmp_path: Path) -> Recipe:
    base = write_base(tmp_path / "base", max_position_embeddings=512)
    return replace(CROSS, base=str(base), steps=2, epochs=50, precision="auto")


@pytest.mark.parametrize(("slower", "chosen"), [(0.5, "bf16"), (4.5, "fp32"), (1.0, "fp32")])
def test_bfloat16_is_taken_where_it_is_clearly_faster(
    slower: float, chosen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(precision, "_seconds", lambda dtype: slower if dtype is torch.bfloat16 else 1.0)
    before = torch.get_num_threads()
    assert precision.choose_precision("cpu", 1) == chosen
    assert torch.get_num_threads() == before


def test_what_is_timed_is_a_product() -> None:
    assert 0 < precision._seconds(torch.float32) < 60


def test_a_run_keeps_to_the_precision_it_began_with(
    short: Recipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs, out = write_pairs(tmp_path / "pairs"), tmp_path / "run"
    monkeypatch.setattr("encoders.training.runs.train.choose_precision", lambda device, threads: "bf16")
    train(short, pairs, out)
    monkeypatch.setattr("encoders.training.runs.train.choose_precision", lambda device, threads: "fp32")
    assert train(short, pairs, out)["recipe"]["precision"] == "bf16"
    assert orjson.loads((out / "record.json").read_bytes())["recipe"]["precision"] == "bf16"
    with pytest.raises(Conflict, match="precision"):
        train(replace(short, precision="fp32"), pairs, out)
