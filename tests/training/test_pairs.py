from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from encoders.labels.pairs import Pair, Text, parse_pair, read_pairs, read_texts, write_lines
from mappings.errors import InvalidInput

TEXT = Text("d1", "Statins and stroke", "results", "Statins halved the rate of stroke.")
PAIR = Pair("claim", "claim:1", "d1", "train", "abstracts", "Statins prevent stroke.", ("d1",), TEXT, (TEXT,))
RECORD = {
    "task": "claim",
    "id": "claim:1",
    "group": "d1",
    "split": "train",
    "corpus": "abstracts",
    "query": "Statins prevent stroke.",
    "relevant": ["d1"],
    "positive": {"id": "d1", "title": "Statins and stroke", "heading": "results", "text": TEXT.text},
    "negatives": [{"id": "d1", "title": "Statins and stroke", "heading": "results", "text": TEXT.text}],
}


def test_a_pair_is_one_json_object_and_reads_back(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "claim.jsonl"
    assert write_lines(path, [PAIR]) == 1
    assert orjson.loads(path.read_bytes()) == RECORD
    assert list(read_pairs(path)) == [PAIR]
    assert list(path.parent.iterdir()) == [path]


def test_passages_read_back(tmp_path: Path) -> None:
    write_lines(tmp_path / "corpus.jsonl", [TEXT])
    assert list(read_texts(tmp_path / "corpus.jsonl")) == [TEXT]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"query": None}, "query"),
        ({"split": "dev"}, "split"),
        ({"positive": "text"}, "positive"),
        ({"positive": {"id": "d1"}}, "title"),
        ({"negatives": "none"}, "negatives"),
        ({"negatives": [3]}, "positive"),
    ],
)
def test_a_wrong_field_is_named(change: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_pair({**RECORD, **change})
    assert caught.value.field == field


def test_a_bad_line_is_named_by_its_number(tmp_path: Path) -> None:
    path = tmp_path / "claim.jsonl"
    path.write_bytes(orjson.dumps(RECORD) + b"\n\n{broken\n")
    with pytest.raises(InvalidInput, match=r"claim\.jsonl, line 2: not JSON"):
        list(read_pairs(path))
    path.write_bytes(b"[]\n")
    with pytest.raises(InvalidInput, match=r"line 1: a training pair is a JSON object"):
        list(read_pairs(path))


def test_a_missing_file_says_who_writes_it(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="medley label"):
        list(read_pairs(tmp_path / "nothing.jsonl"))
