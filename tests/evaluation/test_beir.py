"""BEIR's form: what is read, and the one clear message for each way of being wrong."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.suites import beir
from mappings.collection import SHIPPED_KINDS
from mappings.errors import InvalidInput, MedleyError, NotFound

CORPUS = [
    {"_id": "d1", "title": "Aspirin", "text": "Aspirin thins the blood.", "metadata": {"url": "x"}},
    {"_id": "d 2", "title": "", "text": "Statins lower cholesterol."},
    {"_id": "empty", "title": "", "text": ""},
]
QUERIES = [
    {"_id": "q1", "text": "blood thinner"},
    {"_id": "q2", "text": "cholesterol"},
    {"_id": "q3", "text": "other split"},
]
QRELS = "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td 2\t0\nq2\tgone\t1\nq2\td 2\t1\nq3\td1\t0\n"


def write(folder: Path, corpus: str | None = None, queries: str | None = None, qrels: str | None = None) -> Path:
    (folder / "qrels").mkdir(parents=True, exist_ok=True)
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, CORPUS)) if corpus is None else corpus, "utf-8")
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, QUERIES)) if queries is None else queries, "utf-8")
    (folder / "qrels" / "test.tsv").write_text(QRELS if qrels is None else qrels, "utf-8")
    return folder


def test_a_folder_becomes_a_task(tmp_path: Path) -> None:
    task = beir.task(write(tmp_path / "My Set"))
    documents = list(task.corpus.documents())
    assert [(item.id, item.title, item.sections[0].text) for item in documents] == [
        ("d1", "Aspirin", "Aspirin thins the blood."),
        ("d 2", "", "Statins lower cholesterol."),
    ]
    assert all(item.labels == {"public"} for item in documents)
    assert task.judgements == {"q1": {"d1": 2, "d 2": 0}, "q2": {"gone": 1, "d 2": 1}}
    assert [(item.id, item.text) for item in task.questions] == [("q1", "blood thinner"), ("q2", "cholesterol")]
    assert task.corpus.kind == "abstracts"
    assert task.corpus.name.startswith("beir-my-set-")
    assert task.notes == (
        "My Set, split test: 2 documents",
        "1 records of the corpus have neither title nor text and were left out",
        "1 relevant documents are not in the corpus: they count as missed",
        "1 queries have no relevant document and were left out",
    )


def test_gzip_byte_order_mark_windows_lines_and_no_header_are_read(tmp_path: Path) -> None:
    write(tmp_path, qrels="q1\td1\t1\r\n\r\n")
    (tmp_path / "corpus.jsonl").unlink()
    (tmp_path / "corpus.jsonl.gz").write_bytes(
        gzip.compress(b"\xef\xbb\xbf" + json.dumps(CORPUS[0]).encode() + b"\r\n")
    )
    assert beir.task(tmp_path).judgements == {"q1": {"d1": 1}}


def test_another_split_and_clinical_kinds(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "qrels" / "dev.tsv").write_text("q3\td1\t1\n")
    task = beir.task(tmp_path, "dev", "notes")
    assert [item.id for item in task.questions] == ["q3"]
    assert {label for item in task.corpus.documents() for label in item.labels} == {"clinical"}


def test_a_kind_of_ones_own_is_known(tmp_path: Path) -> None:
    write(tmp_path)
    notes = (SHIPPED_KINDS / "notes.toml").read_text()
    (tmp_path / "kinds").mkdir()
    (tmp_path / "kinds" / "letters.toml").write_text(
        notes.replace('default_labels = ["clinical"]', 'default_labels = ["mine"]')
    )
    task = beir.task(tmp_path, kind="letters", own=tmp_path / "kinds")
    assert {label for item in task.corpus.documents() for label in item.labels} == {"mine"}
    assert task.corpus.kind == "letters"
    with pytest.raises(NotFound, match="there is no collection kind 'letters'"):
        beir.task(tmp_path, kind="letters")


DOCUMENT = json.dumps(CORPUS[0])
WRONG = {
    "no json": ({"corpus": f"{DOCUMENT}\n{{nope"}, r"corpus\.jsonl, line 2: not valid JSON"),
    "no object": ({"corpus": "[1]"}, r"corpus\.jsonl, line 1: each line must be a JSON object"),
    "no id": ({"corpus": '{"id": "d1", "text": "x"}'}, r"corpus\.jsonl, line 1: the key '_id' is missing"),
    "id no text": (
        {"corpus": '{"_id": ["d"], "text": "x"}'},
        r"corpus\.jsonl, line 1: _id is a non-empty string, not \['d'\]",
    ),
    "id with space": (
        {"corpus": '{"_id": " d", "text": "x"}'},
        r"corpus\.jsonl, line 1: a document id must be a non-empty string",
    ),
    "text no text": ({"corpus": '{"_id": "d", "text": 3}'}, r"corpus\.jsonl, line 1: 'text' is a string, not int"),
    "two of one id": (
        {"corpus": f"{DOCUMENT}\n{DOCUMENT}"},
        r"corpus\.jsonl, line 2: the _id 'd1' occurs in line 1, too",
    ),
    "no documents": ({"corpus": "\n"}, r"corpus\.jsonl contains no document; a line is"),
    "query without text": ({"queries": '{"_id": "q1"}'}, r"queries\.jsonl, line 1: the key 'text' is missing"),
    "empty query": (
        {"queries": '{"_id": "q1", "text": " "}'},
        r"queries\.jsonl, line 1: the query 'q1' has an empty text",
    ),
    "two queries": (
        {"queries": '{"_id": "q", "text": "a"}\n{"_id": "q", "text": "b"}'},
        r"line 2: a second query has the _id 'q'",
    ),
    "no queries": ({"queries": ""}, r"queries\.jsonl contains no query; a line is"),
    "columns": (
        {"qrels": "query-id\tcorpus-id\tscore\nq1 d1 1\n"},
        r"test\.tsv, line 2: 1 columns; a line of a qrels file is",
    ),
    "trec form": ({"qrels": "q1\t0\td1\t1\n"}, r"test\.tsv, line 1: 4 columns; a line of a qrels file is"),
    "score": ({"qrels": "q1\td1\thigh\n"}, r"test\.tsv, line 1: the score is 'high'; a line of a qrels file is"),
    "other header": ({"qrels": "qid\tdid\trel\nq1\td1\t1\n"}, r"test\.tsv, line 1: the score is 'rel'"),
    "unknown query": ({"qrels": "q9\td1\t1\n"}, r"test\.tsv, line 1: the query 'q9' is not in queries\.jsonl"),
    "judged twice": (
        {"qrels": "q1\td1\t1\nq1\td1\t0\n"},
        r"test\.tsv, line 2: 'q1' and 'd1' are judged twice, 1 and 0",
    ),
    "nothing relevant": ({"qrels": "q1\td1\t0\n"}, r"test\.tsv judges no document relevant"),
}


@pytest.mark.parametrize("name", WRONG)
def test_each_fault_is_named_with_file_and_line(tmp_path: Path, name: str) -> None:
    files, message = WRONG[name]
    with pytest.raises(InvalidInput, match=message):
        beir.task(write(tmp_path, **files))


def test_missing_parts_are_named(tmp_path: Path) -> None:
    with pytest.raises(
        NotFound, match=r"nowhere is not a folder; one with corpus\.jsonl, queries\.jsonl and qrels/ is expected"
    ):
        beir.task(tmp_path / "nowhere")
    with pytest.raises(NotFound, match=r"corpus\.jsonl is missing"):
        beir.task(tmp_path)
    write(tmp_path)
    with pytest.raises(NotFound, match=r"train\.tsv is missing; the existing splits: test"):
        beir.task(tmp_path, "train")


@pytest.mark.parametrize("content", [gzip.compress(DOCUMENT.encode() * 100)[:-20], b"no gzip at all"])
def test_a_damaged_gzip_is_named(tmp_path: Path, content: bytes) -> None:
    write(tmp_path)
    (tmp_path / "corpus.jsonl").unlink()
    (tmp_path / "corpus.jsonl.gz").write_bytes(content)
    with pytest.raises(InvalidInput, match=r"corpus\.jsonl\.gz, after line \d+: the gzip file is corrupt or truncated"):
        beir.task(tmp_path)


def test_text_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "queries.jsonl").write_bytes(b'{"_id": "q1", "text": "fi\xe8vre"}\n')
    with pytest.raises(InvalidInput, match=r"queries\.jsonl, line 1: the text is not valid UTF-8"):
        beir.task(tmp_path)


@settings(max_examples=30, deadline=None)
@given(
    content=st.binary(max_size=60) | st.text(max_size=60).map(str.encode),
    which=st.sampled_from(["corpus.jsonl", "queries.jsonl", "qrels/test.tsv"]),
)
def test_whatever_the_bytes_the_answer_is_a_task_or_a_named_error(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, which: str
) -> None:
    folder = write(tmp_path_factory.mktemp("any"))
    (folder / which).write_bytes(content)
    message = said(folder)
    assert not message or str(folder) in message


def said(folder: Path) -> str:
    try:
        beir.task(folder)
    except MedleyError as error:
        return error.message
    return ""
