"""Vectors of words in text form, as GloVe, word2vec and fastText publish them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from encoders.words.text_form import read_text_vectors
from encoders.words.vectors import WordVectors
from mappings.errors import InvalidInput

LINES = "the 1 0 -2\ngout .5 .25 0\n, 9 9 9\nThe 7 7 7\nnon-small 0 1 0\nheart_attack 3 3 3\n"


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("head", ["", "6 3\n"], ids=["GloVe", "with counts"])
def test_words_have_the_vectors_of_their_lines(tmp_path: Path, head: str) -> None:
    found = read_text_vectors(write(tmp_path / "glove.txt", head + LINES), 100)
    assert found.words == ["the", "gout", "non-small"]
    assert found.lookup(["gout", "the", "unknown"]).tolist() == [[0.5, 0.25, 0], [1, 0, -2], [0, 0, 0]]
    found.save(tmp_path / "words.npz")
    assert WordVectors.load(tmp_path / "words.npz").fingerprint == found.fingerprint


def test_no_more_words_are_read_than_are_wanted(tmp_path: Path) -> None:
    broken = write(tmp_path / "glove.txt", LINES + "late 1\n")
    assert read_text_vectors(broken, 2).words == ["the", "gout"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "has no line with a word"),
        (", 1 2\n", "has no line with a word"),
        ("gout 1 2\npain 1\n", "line 2: 1 numbers, where 2 were before"),
        ("gout 1 two\n", "line 1: not every value is a number"),
        ("gout 1 nan\n", "line 1: a number is not finite"),
        ("gout 1 1e9\n", "too large for half precision"),
    ],
)
def test_what_is_no_file_of_vectors_is_named_by_its_line(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        read_text_vectors(write(tmp_path / "glove.txt", text), 100)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="can't be read: No such file"):
        read_text_vectors(tmp_path / "glove.txt", 100)


def test_the_command_writes_what_training_reads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from click.testing import CliRunner

    from web.cli.commands.labels import label

    source = write(tmp_path / "glove.txt", LINES)
    ran = CliRunner().invoke(label, ["read-words", str(source), str(tmp_path / "made/words.npz"), "--json"])
    assert ran.exit_code == 0, ran.output
    assert '"vocabulary": 3' in ran.output
    assert np.allclose(WordVectors.load(tmp_path / "made/words.npz").lookup(["gout"]), [[0.5, 0.25, 0]])
