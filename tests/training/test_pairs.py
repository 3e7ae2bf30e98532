from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from encoders.labels.pairs import (
    Pair,
    Text,
    parse_pair,
    read_pairs,
    read_texts,
    surround,
    write_lines,
)
from mappings.analysis.window_text import SURROUNDING_WORDS
from mappings.errors import InvalidInput

TEXT = Text("d1", "Statins and stroke", "results", "Statins halved the rate of stroke.")
OTHER = Text("d2", "Statins and sleep", "results", "Statins left sleep as it was.")
PAIR = Pair("claim", "claim:1", "d1", "train", "abstracts", "Statins prevent stroke.", ("d1",), TEXT, (OTHER,))
RECORD: dict[str, Any] = {
    "task": "claim",
    "id": "claim:1",
    "group": "d1",
    "split": "train",
    "corpus": "abstracts",
    "query": "Statins prevent stroke.",
    "relevant": ["d1"],
    "positive": {"id": "d1", "title": "Statins and stroke", "heading": "results", "text": TEXT.text},
    "negatives": [{"id": "d2", "title": "Statins and sleep", "heading": "results", "text": OTHER.text}],
    "stance": None,
    "evidence": None,
}


def test_a_pair_is_one_json_object_and_reads_back(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "claim.jsonl"
    assert write_lines(path, [PAIR]) == 1
    assert orjson.loads(path.read_bytes()) == RECORD
    assert list(read_pairs(path)) == [PAIR]
    assert list(path.parent.iterdir()) == [path]


def test_what_is_around_a_passage_reads_back_and_is_written_only_where_there_is_something(tmp_path: Path) -> None:
    placed = replace(PAIR, positive=replace(TEXT, before=("First.", "Second."), after=("Last.",)))
    write_lines(tmp_path / "claim.jsonl", [placed])
    written = orjson.loads((tmp_path / "claim.jsonl").read_bytes())
    assert written["positive"]["before"] == ["First.", "Second."]
    assert written["positive"]["after"] == ["Last."]
    assert "before" not in written["negatives"][0]
    assert list(read_pairs(tmp_path / "claim.jsonl")) == [placed]


def test_the_passages_of_a_document_are_around_each_other_in_order() -> None:
    passages = [Text(name, "", "", f"{name}.") for name in "abcd"]
    assert [(item.before, item.text, item.after) for item in surround(passages)] == [
        ((), "a.", ("b.", "c.", "d.")),
        (("a.",), "b.", ("c.", "d.")),
        (("a.", "b."), "c.", ("d.",)),
        (("a.", "b.", "c."), "d.", ()),
    ]


def test_of_a_long_document_the_nearest_passages_are_kept_whole() -> None:
    half = "word " * (SURROUNDING_WORDS // 2)
    long = "long " * (SURROUNDING_WORDS + 9)
    texts = ["far", half, half, "here", long, "beyond"]
    placed = surround([Text(str(at), "", "", text) for at, text in enumerate(texts)])[3]
    assert placed.before == (half, half)
    assert placed.after == (long,)


def test_a_bad_passage_is_named_by_its_line(tmp_path: Path) -> None:
    path = tmp_path / "corpus.jsonl"
    path.write_text('{"id": "d1", "title": "", "heading": "", "text": "One."}\n\n{"id": "d2"}\n')
    with pytest.raises(InvalidInput, match=r"corpus\.jsonl, line 3: title is missing or not a string"):
        list(read_texts(path))


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
        ({"positive": {**RECORD["positive"], "before": "First."}}, "before"),
        ({"positive": {**RECORD["positive"], "after": [1]}}, "after"),
        ({"positive": {**RECORD["positive"], "after": [" "]}}, "after"),
        ({"query": " "}, "query"),
        ({"id": ""}, "id"),
        ({"positive": None}, "positive"),
        ({"relevant": []}, "relevant"),
        ({"relevant": "d1"}, "relevant"),
        ({"relevant": ["d2", "d3"]}, "relevant"),
        ({"positive": RECORD["positive"] | {"text": " "}}, "positive"),
        ({"negatives": [RECORD["negatives"][0] | {"text": ""}]}, "negatives"),
        ({"positive": RECORD["positive"] | {"label": 2}}, "positive"),
        ({"negatives": [RECORD["negatives"][0] | {"label": 1}]}, "negatives"),
        ({"negatives": [RECORD["negatives"][0] | {"label": -0.5}]}, "negatives"),
        ({"negatives": "none"}, "negatives"),
        ({"negatives": [3]}, "negatives"),
        ({"negatives": None}, "negatives"),
        ({"negatives": [*RECORD["negatives"], RECORD["positive"]]}, "negatives"),
    ],
)
def test_a_wrong_field_is_named(change: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_pair({**RECORD, **change})
    assert caught.value.field == field


def test_a_pair_without_negatives_says_so_by_an_empty_list() -> None:
    assert parse_pair(RECORD | {"negatives": []}).negatives == ()
    with pytest.raises(InvalidInput, match="negatives must be a list of passages, empty before mining"):
        parse_pair({name: RECORD[name] for name in RECORD if name != "negatives"})


def test_a_bad_line_is_named_by_its_number(tmp_path: Path) -> None:
    path = tmp_path / "claim.jsonl"
    path.write_bytes(orjson.dumps(RECORD) + b"\n\n{broken\n")
    with pytest.raises(InvalidInput, match=r"claim\.jsonl, line 3: not valid JSON"):
        list(read_pairs(path))
    path.write_bytes(b"[]\n")
    with pytest.raises(InvalidInput, match=r"line 1: a training pair must be a JSON object"):
        list(read_pairs(path))


def test_labels_that_say_the_same_and_fields_to_come_are_fine() -> None:
    record = RECORD | {
        "positive": RECORD["positive"] | {"label": 1},
        "negatives": [RECORD["negatives"][0] | {"label": 0}],
        "scores": [0.5],
    }
    assert parse_pair(record) == PAIR


@pytest.mark.parametrize("change", [{}, {"query": "Statins prevent another thing."}, {"id": "claim:2"}])
def test_a_pair_that_stands_there_already_is_named(tmp_path: Path, change: dict[str, str]) -> None:
    path = tmp_path / "claim.jsonl"
    path.write_bytes(b"\n" + orjson.dumps(RECORD) + b"\n" + orjson.dumps(RECORD | change))
    with pytest.raises(InvalidInput, match=r"claim\.jsonl, line 3: the pair 'claim:\d' repeats line 2"):
        list(read_pairs(path))


def test_a_missing_file_says_who_writes_it(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="medley label"):
        list(read_pairs(tmp_path / "nothing.jsonl"))


def test_a_pair_of_another_task_than_the_file_is_named(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "claim.jsonl.gz", "wb") as file:
        file.write(orjson.dumps(RECORD))
    assert list(read_pairs(tmp_path / "claim.jsonl.gz")) == [PAIR]
    path = tmp_path / "mine.jsonl"
    path.write_bytes(orjson.dumps(RECORD | {"task": "mine"}) + b"\n" + orjson.dumps(RECORD))
    with pytest.raises(
        InvalidInput, match=r"mine\.jsonl, line 2: the task is 'claim', but the file is named after the task 'mine'"
    ):
        list(read_pairs(path))
