"""Commands that search let one thread compute numpy's products, unless the user says otherwise."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
LOOK = (
    "import os, sys; from web.cli.main import cli; "
    "cli.get_command(None, sys.argv[1]); print(os.environ.get('OPENBLAS_NUM_THREADS'))"
)


@pytest.mark.parametrize(
    ("command", "given", "expected"),
    [
        ("search", None, "1"),
        ("worker", None, "1"),
        ("serve", "3", "3"),
        ("bench", None, "None"),
        ("train", None, "None"),
    ],
)
def test_products_take_one_thread_where_models_need_the_others(command: str, given: str | None, expected: str) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    environment |= {"PYTHONPATH": str(ROOT)} | ({"OPENBLAS_NUM_THREADS": given} if given else {})
    ran = subprocess.run(
        [sys.executable, "-c", LOOK, command], env=environment, capture_output=True, text=True, check=True
    )
    assert ran.stdout.split() == [expected]
