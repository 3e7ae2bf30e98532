from __future__ import annotations

import gzip
import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mappings.collection import load
from mappings.documents import Deletion, Document, Rejection, Section
from mappings.errors import InvalidInput
from mappings.formats import files
from mappings.formats.jsonl import parse_record
from mappings.formats.mtsamples import restore_lines
from mappings.formats.records import SUFFIXES
from mappings.formats.registry import FORMATS, read

ABSTRACTS, ARTICLES, NOTES = load("abstracts"), load("articles"), load("notes")
PUBLIC = frozenset({"public"})


def written(folder: Path, *records: Any, name: str = "corpus.jsonl") -> Path:
    path = folder / name
    path.write_bytes(b"".join(r if isinstance(r, bytes) else json.dumps(r).encode() + b"\n" for r in records))
    return path


def good(identifier: str) -> dict[str, str]:
    return {"id": identifier, "text": f"Text of {identifier}."}


def outcome(path: Path) -> list[str | tuple[str, str | None]]:
    """Ids of documents, and (position, field) of rejections."""
    items = read(path, "jsonl", ABSTRACTS)
    return [item.id if isinstance(item, Document) else (item.position, item.field) for item in items]


def test_a_whole_record_of_our_schema() -> None:
    record = {
        "id": 17,
        "title": " A title\x00 ",
        "sections": [{"heading": "BACKGROUND", "text": "One."}, {"text": "Two."}],
        "labels": ["a", "b"],
        "year": 2021,
        "source": "Journal feed",
        "published": "2021-02-28T10:00:00Z",
        "pmid": [1, "2", 1],
        "journal": None,
        "unknown": {"is": "ignored"},
    }
    assert parse_record(record, ABSTRACTS) == Document(
        id="17",
        title="A title",
        sections=(Section("BACKGROUND", "One."), Section("", "Two.")),
        labels=frozenset({"a", "b"}),
        fields={"year": 2021.0, "source": "Journal feed", "published": date(2021, 2, 28), "pmid": ("1", "2")},
    )


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({"family": "Doe", "given": "Ann", "suffix": "Jr"}, "Doe, Ann, Jr"),
        ({"last": "Doe", "first": "Ann", "middle": ["B"]}, "Doe, Ann"),
        ({"family": " Doe ", "given": None}, "Doe"),
        ({"literal": "Invented Trials Group"}, "Invented Trials Group"),
        ({"name": "Ann Doe", "authorId": "1"}, "Ann Doe"),
    ],
)
def test_authors_can_be_names_in_parts(given: Any, kept: str) -> None:
    found = parse_record(good("a") | {"authors": [given, "Roe, B"]}, ABSTRACTS)
    assert isinstance(found, Document)
    assert found.fields["authors"] == (kept, "Roe, B")


@pytest.mark.parametrize("given", [{}, {"given": "Ann"}, {"family": 3}, {"name": ["Ann"]}, ["Ann"], 1.5, True])
def test_an_author_without_a_name_is_named(given: Any) -> None:
    with pytest.raises(InvalidInput, match="authors must be a string or a list of strings"):
        parse_record(good("a") | {"authors": [given]}, ABSTRACTS)
    with pytest.raises(InvalidInput, match="mesh must be"):
        parse_record(good("a") | {"mesh": [{"name": "Soap"}]}, ABSTRACTS)


def test_a_text_is_split_as_the_collection_says() -> None:
    text = "METHODS: We did. RESULTS: It worked."
    assert [s.heading for s in parse_record({"id": "a", "text": text}, ABSTRACTS).sections] == ["METHODS", "RESULTS"]
    assert [s.heading for s in parse_record({"id": "a", "text": text}, ARTICLES).sections] == [""]
    note = parse_record({"id": "a", "text": "HPI: Cough.\nPLAN: Rest."}, NOTES)
    assert note.sections == (Section("HPI", "Cough."), Section("PLAN", "Rest."))


@pytest.mark.parametrize(
    ("given", "version"),
    [
        (None, None),
        (7, 7),
        (-1, -1),
        ("1970-01-01T00:00:01Z", 1_000_000),
        ("1970-01-01T01:00:00.5+01:00", 500_000),
        ("1969-12-31T23:59:59Z", -1_000_000),
        ("2021-02-28T10:14:56.2501239Z", 1_614_507_296_250_123),
        ("0001-01-01T00:00:00+14:00", -62_135_647_200_000_000),
    ],
)
def test_a_source_version_is_a_number_or_a_time_stamp(given: Any, version: int | None) -> None:
    assert parse_record(good("a") | {"source_version": given}, ABSTRACTS).source_version == version


def test_versions_of_a_record_all_come_and_without_one_the_first(tmp_path: Path) -> None:
    versions = [good("a") | {"source_version": version} for version in (2, 1, None)]
    assert outcome(written(tmp_path, *versions)) == ["a", "a", ("line 3", "id")]


@pytest.mark.parametrize("deleted", [None, False])
def test_what_is_not_deleted_is_a_document(deleted: bool | None) -> None:
    assert parse_record(good("a") | {"deleted": deleted}, ABSTRACTS) == parse_record(good("a"), ABSTRACTS)


def test_a_deletion_needs_nothing_but_its_id(tmp_path: Path) -> None:
    assert parse_record({"id": 17, "deleted": True}, ABSTRACTS) == Deletion("17")
    taken_back = {"id": "a/b", "deleted": True, "source_version": "1970-01-01T00:00:01Z", "text": 3}
    assert parse_record(taken_back, ABSTRACTS) == Deletion("a/b", 1_000_000)
    path = written(tmp_path, good("a"), {"id": "a", "deleted": True}, good("a"))
    assert list(read(path, "jsonl", ABSTRACTS)) == [
        parse_record(good("a"), ABSTRACTS),
        Deletion("a"),
        parse_record(good("a"), ABSTRACTS),
    ]


def test_labels_default_and_empty() -> None:
    assert parse_record(good("a"), ABSTRACTS).labels == PUBLIC
    assert parse_record(good("a") | {"labels": []}, ABSTRACTS).labels == frozenset()


@pytest.mark.parametrize(
    ("change", "field", "words"),
    [
        ({"id": None}, "id", "missing"),
        ({"id": ""}, "id", "missing"),
        ({"id": True}, "id", "true or false"),
        ({"id": 1.5}, "id", "a number"),
        ({"id": " a"}, "id", "spaces"),
        ({"id": "x" * 10_000}, "id", "512"),
        ({"id": "a\nb"}, "id", "printable"),
        ({"title": 3}, "title", "must be a string, not a number"),
        ({"text": ["x"]}, "text", "must be a string, not a list"),
        ({"text": " \n "}, "text", "no text"),
        ({"text": "\x00"}, "text", "no text"),
        ({"sections": "x"}, "sections", "list of objects"),
        ({"sections": [{"heading": "x"}], "text": None}, "sections[0].text", "missing"),
        ({"sections": [{"text": "x"}, {"text": 1}], "text": None}, "sections[1].text", "must be a string"),
        ({"sections": [{"text": "x"}]}, "sections", "not both"),
        ({"labels": "public"}, "labels", "list of strings"),
        ({"labels": ["*"]}, "labels", "reserved"),
        ({"labels": [""]}, "labels", "name"),
        ({"labels": [1]}, "labels", "list of strings"),
        ({"source_version": True}, "source_version", "true or false"),
        ({"source_version": 1.5}, "source_version", "a whole number or a time stamp"),
        ({"source_version": 2**63}, "source_version", "64 bits"),
        ({"source_version": "soon"}, "source_version", "such as 2021-02-28T10:00:00Z"),
        ({"source_version": "2021-02-28"}, "source_version", "time zone"),
        ({"source_version": "2999-02-28T10:00:00Z"}, "source_version", "future"),
        ({"deleted": "yes"}, "deleted", "true or false, not a string"),
        ({"deleted": 1}, "deleted", "true or false, not a number"),
        ({"deleted": True, "id": ""}, "id", "missing"),
        ({"deleted": True, "source_version": 1.5}, "source_version", "a whole number or a time stamp"),
        ({"year": "2021"}, "year", "must be a number, not a string"),
        ({"year": True}, "year", "true or false"),
        ({"published": "2021-02-30"}, "published", "2021-02-30 is not a valid date"),
        ({"published": "28.2.2021"}, "published", "such as 2021-02-28"),
        ({"published": 20210228}, "published", "not a number"),
        ({"published": "1500-01-01"}, "published", "out of range"),
        ({"published": "2300-01-01"}, "published", "out of range"),
        ({"source": {"a": 1}}, "source", "a string or a list of strings"),
        ({"source": [1.5]}, "source", "a string or a list of strings"),
        ({"source": "x" * 2000}, "source", "1,024"),
        ({"source": ["x"] * 2000}, "source", "1,000"),
    ],
)
def test_a_bad_record_names_its_field(change: dict[str, Any], field: str, words: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_record(good("a") | change, ABSTRACTS)
    assert caught.value.field == field
    assert words in caught.value.message


@pytest.mark.parametrize("record", [[], "x", None, 3])
def test_a_document_is_an_object(record: Any) -> None:
    with pytest.raises(InvalidInput, match="JSON object"):
        parse_record(record, ABSTRACTS)


def test_ids_may_hold_slashes_and_five_megabytes_are_fine() -> None:
    record = {"id": "10.1000/a@1#2", "text": "word. " * 900_000}
    assert parse_record(record, ARTICLES).id == "10.1000/a@1#2"


def test_bad_lines_are_rejections_and_the_rest_goes_on(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        good("a"),
        b"{broken\n",
        b'{"id": "b", "text": "caf\xe9"}\n',
        b"\n",
        b"[1]\n",
        {"id": "c"},
        good("a"),
        good("d"),
    )
    assert outcome(path) == [
        "a",
        ("line 2", None),
        ("line 3", None),
        ("line 5", None),
        ("line 6", "text"),
        ("line 7", "id"),
        "d",
    ]


def test_rejections_tell_what_is_wrong(tmp_path: Path) -> None:
    path = written(tmp_path, good("a"), b"\xff\n", good("a"))
    rejections = [item.as_json() for item in read(path, "jsonl", ABSTRACTS) if isinstance(item, Rejection)]
    assert rejections == [
        {"source": str(path), "position": "line 2", "reason": "the line is not valid UTF-8 (byte 1)", "field": None},
        {
            "source": str(path),
            "position": "line 3",
            "reason": "an earlier record has the id 'a'; the first one is kept",
            "field": "id",
        },
    ]


def test_gzip_is_known_by_its_first_bytes(tmp_path: Path) -> None:
    path = tmp_path / "corpus.jsonl"
    path.write_bytes(
        gzip.compress(json.dumps(good("a")).encode()) + gzip.compress(b"\n" + json.dumps(good("b")).encode())
    )
    assert outcome(path) == ["a", "b"]


def test_a_truncated_gzip_gives_what_came_before(tmp_path: Path) -> None:
    whole = b"".join(json.dumps(good(f"{i * 7919 % 10_007}")).encode() + b"\n" for i in range(3000))
    path = tmp_path / "corpus.jsonl.gz"
    packed = gzip.compress(whole)
    path.write_bytes(packed[: len(packed) // 2])
    *documents, last = list(read(path, "jsonl", ABSTRACTS))
    assert len(documents) > 1000
    assert all(isinstance(item, Document) for item in documents)
    assert isinstance(last, Rejection)
    assert last.position == f"line {len(documents) + 1}"
    assert "the gzip file is truncated" in last.reason
    assert last.source == str(path)


def test_a_damaged_gzip_is_named(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(b"".join(json.dumps(good(str(i))).encode() + b"\n" for i in range(9000)), 1))
    packed[-6] ^= 0xFF
    path = tmp_path / "c.gz"
    path.write_bytes(packed)
    last = list(read(path, "jsonl", ABSTRACTS))[-1]
    assert isinstance(last, Rejection)
    assert "corrupt" in last.reason


def test_a_line_beyond_the_bound_is_a_rejection(tmp_path: Path) -> None:
    path = written(tmp_path, good("a"), {"id": "b", "text": "x" * 1000}, good("c"))
    found = list(files.lines(path, limit=200))
    assert [type(item).__name__ for item in found] == ["TextLine", "Rejection", "TextLine"]


def test_byte_order_mark_and_windows_line_ends(tmp_path: Path) -> None:
    path = written(tmp_path, b"\xef\xbb\xbf" + json.dumps(good("a")).encode() + b"\r\n", json.dumps(good("b")).encode())
    assert outcome(path) == ["a", "b"]


@pytest.mark.parametrize(
    "content", [b"just text\n", b"%PDF-1.4\n\xff\xfe\n", b"[\n" + b"  1,\n" * 50, b"id,title\n1,x\n" * 50]
)
def test_a_wholly_wrong_file_says_what_was_expected(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(InvalidInput, match="expected JSON Lines") as caught:
        list(read(written(tmp_path, content), "jsonl", ABSTRACTS))
    assert caught.value.field == "path"


def test_an_empty_file_has_no_documents(tmp_path: Path) -> None:
    assert outcome(written(tmp_path)) == []


def test_missing_paths_empty_folders_and_unknown_formats(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no such file"):
        read(tmp_path / "none", "jsonl", ABSTRACTS)
    with pytest.raises(InvalidInput, match=r"no file that ends in \.jsonl"):
        read(tmp_path, "jsonl", ABSTRACTS)
    with pytest.raises(InvalidInput, match="the known formats are jsonl, abstracts") as caught:
        read(tmp_path, "csv", ABSTRACTS)
    assert caught.value.field == "format"


def test_a_folder_is_all_its_files_and_a_wrong_one_stops_no_other(tmp_path: Path) -> None:
    written(tmp_path, good("a"), name="1.jsonl")
    written(tmp_path, b"nothing\n", name="2.jsonl")
    (tmp_path / "deep").mkdir()
    written(tmp_path / "deep", good("a"), good("b"), name="3.ndjson")
    written(tmp_path, b"other", name="readme.md")
    assert outcome(tmp_path) == ["a", ("file", "path"), ("line 1", "id"), "b"]


def test_scifact_beir_and_labelled_abstracts(tmp_path: Path) -> None:
    rows: list[tuple[str, dict[str, Any]]] = [
        ("scifact", {"doc_id": 4983, "title": "T", "abstract": ["One &#8805; 2.", "Two."], "structured": False}),
        ("scifact", {"cord_id": "4983", "title": "T", "abstract": ["One ≥ 2.", "Two."]}),
        ("beir", {"_id": "4983", "title": "T", "text": "One ≥ 2. Two.", "metadata": {}}),
        ("abstracts", {"doc_id": "4983", "title": "T", "sections": [{"label": "", "text": "One ≥ 2. Two."}]}),
    ]
    for name, record in rows:
        (found,) = read(written(tmp_path, record), name, ABSTRACTS)
        assert found == Document("4983", "T", (Section("", "One ≥ 2. Two."),), PUBLIC)
    labelled = {"doc_id": "a", "pmid": "9", "title": "T", "sections": [{"label": "Aim", "text": "x"}], "source": "s"}
    (found,) = read(written(tmp_path, labelled), "abstracts", ABSTRACTS)
    assert found == Document("a", "T", (Section("Aim", "x"),), PUBLIC, {"pmid": "9", "source": "s"})


def test_medquad_never_shows_the_question_and_keeps_the_numbers(tmp_path: Path) -> None:
    passages = [
        {"id": "A_1-1", "question": "What is X ?", "question_type": "information", "text": "X is."},
        {"id": "A_1-4", "question": "Who gets X ?", "question_type": "susceptibility", "text": "All do."},
    ]
    (found,) = read(
        written(tmp_path, {"id": "A_1", "title": "X", "source": "NIH", "passages": passages}), "medquad", ARTICLES
    )
    texts = ("X is.", "", "", "All do.")
    assert found == Document("A_1", "X", tuple(Section("", text) for text in texts), PUBLIC, {"source": "NIH"})


def test_mtsamples_gets_its_line_breaks_back(tmp_path: Path) -> None:
    text = "SUBJECTIVE:,  This 23-year-old, with rhinitis.,MEDICATIONS: , Her only one, e.g., Ortho Tri-Cyclen.,2.  Or 1,000 mg."
    record = {"id": "m1", "name": "Allergy", "specialties": ["Allergy", "ENT"], "text": text}
    (found,) = read(written(tmp_path, record), "mtsamples", NOTES)
    assert found == Document(
        "m1",
        "Allergy",
        (
            Section("SUBJECTIVE", "This 23-year-old, with rhinitis."),
            Section("MEDICATIONS", "Her only one, e.g., Ortho Tri-Cyclen.\n2.  Or 1,000 mg."),
        ),
        frozenset({"clinical"}),
        {"specialty": ("Allergy", "ENT")},
    )


def test_notes_are_files(tmp_path: Path) -> None:
    (tmp_path / "p1.txt").write_text("HPI: Cough.\r\nPLAN: Rest.", encoding="utf-8")
    (tmp_path / "p2.txt.gz").write_bytes(gzip.compress(b"Well."))
    (tmp_path / "p3.txt").write_bytes(b"caf\xe9")
    (tmp_path / "p4.txt").write_bytes(b"")
    found = list(read(tmp_path, "notes", NOTES))
    assert found[0] == Document("p1", "", (Section("HPI", "Cough."), Section("PLAN", "Rest.")), frozenset({"clinical"}))
    assert found[1] == Document("p2", "", (Section("", "Well."),), frozenset({"clinical"}))
    assert [(item.position, item.field) for item in found[2:] if isinstance(item, Rejection)] == [("file", "text")] * 2
    assert list(read(tmp_path / "p1.txt", "notes", NOTES)) == found[:1]


@given(st.text(alphabet="aB1.,:; \n"))
def test_restored_lines_keep_every_place(text: str) -> None:
    restored = restore_lines(text)
    assert [(a, b) for a, b in zip(text, restored, strict=True) if a != b and (a, b) != (",", "\n")] == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
KEYS = st.sampled_from(
    [
        "id",
        "_id",
        "doc_id",
        "title",
        "name",
        "text",
        "sections",
        "passages",
        "abstract",
        "labels",
        "year",
        "published",
        "source",
        "specialties",
    ]
)


@given(
    record=st.dictionaries(KEYS, JSON),
    name=st.sampled_from([name for name in FORMATS if FORMATS[name].suffixes == SUFFIXES]),
)
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_json_object_is_a_document_or_a_rejection(tmp_path: Path, record: dict[str, Any], name: str) -> None:
    (found,) = read(written(tmp_path, record), name, ABSTRACTS)
    assert isinstance(found, Document) or found.reason


@given(st.lists(st.binary(max_size=40), max_size=6))
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_around_good_records_lose_none(tmp_path: Path, noise: list[bytes]) -> None:
    rows = [json.dumps(good("first")).encode(), *noise, json.dumps(good("last")).encode()]
    found = [
        item.id for item in read(written(tmp_path, b"\n".join(rows)), "jsonl", ABSTRACTS) if isinstance(item, Document)
    ]
    assert (found[0], found[-1]) == ("first", "last")
