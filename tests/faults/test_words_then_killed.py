"""A process is killed when the words of its documents are indexed and their vectors are not."""

import json
import signal
import subprocess
import sys

import pytest
from command_line import environment, medley
from quick_worker import KILLS
from worker_process import PROGRAM

from workers.indexing.filling import WORDS_FIRST_FROM

pytestmark = pytest.mark.slow


def status(home):
    (found,) = json.loads(medley(home, "status", "--json").stdout)["collections"]
    return found["documents"], found["indexed"], found["waiting"]


def found(home):
    answer = json.loads(medley(home, "search", "asthma", "-c", "journal", "--json").stdout)
    return answer["total"], answer["degraded"]


def test_what_has_only_words_is_found_and_gets_its_vectors_by_the_next_command(tmp_path):
    home, file = tmp_path / "home", tmp_path / "in.jsonl"
    lines = [{"id": f"d{number}", "title": "", "text": f"asthma {number}"} for number in range(WORDS_FIRST_FROM)]
    lines[-1]["title"] = KILLS
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    ingest = ("ingest", str(file), "-c", "journal", "--kind", "abstracts")
    killed = subprocess.run([sys.executable, str(PROGRAM), *ingest], env=environment(home), capture_output=True)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert status(home) == (len(lines), 0, len(lines))
    everything = {"value": len(lines), "relation": "exact"}
    note = "new documents are found by their words alone so far: 0% of all have their vectors"
    assert found(home) == (everything, [note])
    again = medley(home, *ingest, "--json")
    assert again.returncode == 0, again.stderr
    report = json.loads(again.stdout)
    assert (report["accepted"], report["unchanged"], report["indexed"]) == (len(lines),) * 3
    assert status(home) == (len(lines), len(lines), 0)
    assert found(home) == (everything, [])
    assert medley(home, "index", "verify", "journal").returncode == 0
