"""A model server for nodes with ML Commons, with the shipped models and patient kinds."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from command_line import environment, quick_command
from running import await_answer

from mappings.collection import SHIPPED_KINDS

MODELS = {"MEDLEY_ENCODER": "", "MEDLEY_RERANKER": ""}


def patient_kinds(home: Path) -> dict[str, str]:
    """The setting of kinds without a deadline: a busy machine would read fewer hits, and order the others in another way."""
    folder = home / "kinds"
    folder.mkdir(exist_ok=True)
    for path in SHIPPED_KINDS.glob("*.toml"):
        (folder / path.name).write_text(path.read_text().replace("deadline_ms = 500", "deadline_ms = 0"))
    return {"MEDLEY_COLLECTIONS": str(folder)}


@contextmanager
def model_server(home: Path, port: int) -> Iterator[str]:
    command = quick_command("inference", "--port", str(port))
    settings = MODELS | patient_kinds(home)
    with (home / "inference.log").open("a") as log:
        process = subprocess.Popen(command, env=environment(home, **settings), stderr=log)
        try:
            await_answer(f"http://127.0.0.1:{port}/readyz", process)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)
