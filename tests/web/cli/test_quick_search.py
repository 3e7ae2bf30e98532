"""What `medley search` prints when time was short, when something failed, and what it never prints: a negative score."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from command_line import quick_command
from portal_home import fill

ROOT = Path(__file__).parents[3]
LINE = "ranked by a quick look: none of 5 passages was read closely"
NEGATIVE = re.compile(r"(?<![\w-])-\.?\d")


@pytest.fixture(scope="module")
def search(tmp_path_factory):
    home = fill(tmp_path_factory.mktemp("home"))

    def run(*arguments: str, reranker: str = "medley-crossencoder") -> str:
        environ = os.environ | {"MEDLEY_HOME": str(home), "MEDLEY_ENCODER": "hashing-256", "MEDLEY_RERANKER": reranker, "PYTHONPATH": str(ROOT)}  # fmt: skip
        asked = quick_command("search", "aspirin stroke", "-c", "abstracts", *arguments)
        done = subprocess.run(asked, capture_output=True, text=True, cwd=home, env=environ)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.mark.slow
def test_a_search_that_time_cut_short_says_so_quietly(search):
    lines = search("--deadline-ms", "1").splitlines()
    assert f"{LINE}; --deadline-ms 0 waits for all" in lines[1:3]  # a line of other names can come before it
    assert not [line for line in lines if line.startswith("!")]
    answer = json.loads(search("--deadline-ms", "1", "--json"))
    assert (answer["degraded"], answer["partial"]) == ([], [LINE])


@pytest.mark.slow
def test_without_a_limit_the_ranking_is_full_and_no_score_is_negative(search):
    text = search("--deadline-ms", "0", "--explain")
    assert "quick look" not in text
    assert NEGATIVE.findall(text) == []
    scores = [float(score) for score in re.findall(r"  ([\d.]+)$", text, re.MULTILINE)]
    assert len(scores) == 5
    assert scores == sorted(scores, reverse=True)


@pytest.mark.slow
def test_a_failure_is_still_marked(search):
    text = search(reranker="nothing-here")
    assert re.search(r"^! the reranker failed .*nothing-here", text, re.MULTILINE)
