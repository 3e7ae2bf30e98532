"""Nothing that runs a model reports its use: onnxruntime would, from its import on, and keeps a file of it in the home."""

import os
import re
import subprocess
import sys

import pytest
from worker_process import ROOT


@pytest.mark.parametrize("module", ["encoders.runtime", "evaluation.bench.inference"])
def test_no_use_of_a_model_is_reported(tmp_path, module):
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    code = f"import {module}, os; assert os.environ['ORT_DISABLE_TELEMETRY'] == '1'"
    subprocess.run([sys.executable, "-c", code], env=environment, cwd=ROOT, check=True, timeout=120)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_onnxruntime_is_silenced_wherever_it_is_imported():
    sources = [
        path for top in ("encoders", "evaluation", "search", "web", "workers") for path in (ROOT / top).rglob("*.py")
    ]
    importing = {
        path.name: "encoders.onnx" in text
        for path in sources
        if re.search(r"^\s*(import|from) onnxruntime", text := path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert importing.pop("onnx.py") is False
    assert all(importing.values()), "import encoders.onnx first"
