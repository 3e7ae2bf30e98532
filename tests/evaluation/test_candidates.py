"""Negatives as CLAIMS takes them: the top of BM25+†, in order, over all corpora of a task, and never an answer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from encoders.labels.augment import NEIGHBOURS
from encoders.labels.pairs import Pair, Text, read_pairs, write_lines
from evaluation.baselines.candidates import make_prepared_finder, mine_candidates
from evaluation.baselines.papers import PREPARED, rank
from evaluation.task import Corpus, Question, Task
from mappings.documents import Document, Section
from search.mining import Mining
from web.cli.main import cli

pytest.importorskip("rank_bm25")

TEXTS = [
    Text("t0", "Statins and stroke", "", "Statins lowered the rate of stroke in older adults."),
    Text("t1", "Statins and dementia", "", "Statins did not change the rate of dementia in older adults."),
    Text("t2", "Aspirin and stroke", "", "Aspirin lowered the rate of stroke after surgery."),
    Text("t3", "Exercise", "", "Walking improved sleep."),
    Text("t4", "Stroke units", "", "Stroke units saved lives of older adults."),
    Text("t5", "Sleep", "", "Naps did not."),
]
QUERY = "Statins prevent strokes in older adults."
PAIR = Pair("claim", "claim:1", "t0", "train", "abstracts", QUERY, ("t0",), TEXTS[0])
BEST = Mining(count=2, depth=4, best=True, wider={"abstracts": ("more",)})


@pytest.fixture
def labels(tmp_path: Path) -> Path:
    folder = tmp_path / "labels"
    write_lines(
        folder / "pairs/claim.jsonl", [PAIR, replace(PAIR, id="claim:2", split="held-out", query=f"{QUERY} Yes")]
    )
    write_lines(folder / "corpora/abstracts.jsonl", TEXTS[:2])
    write_lines(folder / "corpora/more.jsonl", TEXTS[2:])
    (folder / NEIGHBOURS).write_text('{"word": "older", "near": ["aged"]}\n')
    return folder


def test_the_finder_ranks_as_the_row_of_that_name_does() -> None:
    documents = [Document(text.id, text.title, (Section("", text.text),)) for text in TEXTS]
    task = Task("x", Corpus("x", "abstracts", lambda: documents), (Question("q", QUERY),), {"q": {"t0": 1}}, ("RR",))
    (found,) = make_prepared_finder({text.id: text for text in TEXTS}, [QUERY])([QUERY], 6)
    assert found == rank(task)[PREPARED]["q"]
    assert set(found[:3]) == {"t0", "t1", "t4"}


def test_training_pairs_take_the_best_in_order_over_all_corpora_and_no_answer(labels: Path, tmp_path: Path) -> None:
    assert mine_candidates(labels, tmp_path / "out", BEST) == {"claim": 2}
    (ranking,) = make_prepared_finder({text.id: text for text in TEXTS}, [QUERY, f"{QUERY} Yes"])([QUERY], 4)
    wanted = [name for name in ranking if name != "t0"][:2]
    found = {pair.id: [text.id for text in pair.negatives] for pair in read_pairs(tmp_path / "out/claim.jsonl")}
    assert found == {"claim:1": wanted, "claim:2": wanted}
    assert (tmp_path / "out" / NEIGHBOURS).read_bytes() == (labels / NEIGHBOURS).read_bytes()


def test_no_negative_comes_from_beyond_the_candidates(labels: Path, tmp_path: Path) -> None:
    mine_candidates(labels, tmp_path / "out", replace(BEST, count=5, depth=2))
    assert all(len(pair.negatives) <= 2 for pair in read_pairs(tmp_path / "out/claim.jsonl"))


def test_the_command_names_what_does_not_go_together(labels: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ["mine", str(labels), str(out), "--first", "3", "--task", "claim", "--json"]
    wrong = CliRunner().invoke(cli, [*words, "--encoder", "minilm"], env={"MEDLEY_HOME": str(tmp_path / "home")})
    assert wrong.exit_code != 0
    assert "leave out --encoder" in str(wrong.exception or wrong.output)
    assert not out.exists()
    done = CliRunner().invoke(cli, words, env={"MEDLEY_HOME": str(tmp_path / "home")})
    assert (done.exit_code, done.output.strip()) == (0, '{"claim": 2}')
    assert [text.id for pair in read_pairs(out / "claim.jsonl") for text in pair.negatives] == ["t1", "t1"]
