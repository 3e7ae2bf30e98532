"""The record of a run as a value and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

from encoders.training.recipe import load_recipe
from encoders.training.runs.record import RunRecord


def test_a_record_survives_its_file(tmp_path: Path) -> None:
    started = RunRecord.start(load_recipe("capr-bi"), {"claim.jsonl": "0" * 64}, "cpu")
    finished = started.ended("finished", 12.345, {"steps": 3, "pairs": {"claim": 8}})
    for record in (started, finished):
        record.write(tmp_path)
        content = json.loads((tmp_path / "record.json").read_text())
        assert RunRecord.from_json(content).as_json() == content
    assert (started.status, started.seconds, dict(started.figures)) == ("running", 0.0, {})
    assert (content["status"], content["seconds"], content["steps"]) == ("finished", 12.3, 3)
    assert list(content)[:3] == ["status", "recipe", "data"]
