from __future__ import annotations

import csv
import gzip
import io
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mappings.collection import load
from mappings.documents import Deletion, Document, Rejection, Section
from mappings.errors import InvalidInput
from mappings.fields import Field
from mappings.formats import csv_rows
from mappings.formats.registry import read

KIND = load("notes")
OWN = ("caregiver", "source")
RICH = replace(KIND, fields=dict(KIND.fields) | {name: Field(name, "keyword", name) for name in OWN})
CLINICAL = frozenset({"clinical"})
HEAD = "ROW_ID,SUBJECT_ID,HADM_ID,CHARTDATE,CHARTTIME,STORETIME,CATEGORY,DESCRIPTION,CGID,ISERROR,TEXT"


def row(number: object, text: str, error: str = "") -> str:
    return f'{number},10{number},20{number},2150-01-02,,,"Nursing","Report",14,{error},"{text}"'


def written(folder: Path, *rows: str, head: str = HEAD) -> Path:
    path = folder / "NOTEEVENTS.csv"
    path.write_text("\n".join([head, *rows]) + "\n", "utf-8", newline="")
    return path


def outcome(path: Path) -> list[str | tuple[str, str | None]]:
    items = read(path, "noteevents", KIND)
    return [(item.position, item.field) if isinstance(item, Rejection) else item.id for item in items]


def test_whole_notes_of_the_third_version(tmp_path: Path) -> None:
    whole = '17,1001,2001.0,2150-01-02,2150-01-02 10:00:00,1970-01-01 00:00:02,"Physician ","Admission, first",14,,"HPI:\r\nSaid ""cough"", twice.\r\n\r\nPLAN: Rest."'
    bare = "18,1001,,2150-01-03,,,Nursing,Report,,,Well."
    first, second = read(written(tmp_path, whole, "", bare), "noteevents", RICH)
    assert first == Document(
        id="17",
        title="Physician: Admission, first",
        sections=(Section("HPI", 'Said "cough", twice.'), Section("PLAN", "Rest.")),
        labels=CLINICAL,
        fields={
            "patient": "1001",
            "encounter": "2001",
            "type": "Physician",
            "date": date(2150, 1, 2),
            "caregiver": "14",
            "source": "MIMIC",
        },
        source_version=2_000_000,
    )
    assert second == Document(
        id="18",
        title="Nursing: Report",
        sections=(Section("", "Well."),),
        labels=CLINICAL,
        fields={"patient": "1001", "type": "Nursing", "date": date(2150, 1, 3), "source": "MIMIC"},
    )


def test_whole_notes_of_the_fourth_version(tmp_path: Path) -> None:
    head = "note_id,subject_id,hadm_id,note_type,note_seq,charttime,storetime,text"
    note = '1001-DS-2,1001,2001,DS,2,2150-01-02 10:00:00,1970-01-01 00:00:03,"HPI: Cough."'
    fields = {"patient": "1001", "encounter": "2001", "type": "Discharge summary", "date": date(2150, 1, 2)}
    (found,) = read(written(tmp_path, note, head=head), "noteevents", KIND)
    assert found == Document(
        "1001-DS-2", "Discharge summary", (Section("HPI", "Cough."),), CLINICAL, fields, source_version=3_000_000
    )


def test_errors_are_deletions(tmp_path: Path) -> None:
    path = written(tmp_path, row(1, "A."), row(2, "B.", "1"), row(3, "", "1.0"), row(4, "C.", "0"))
    assert [type(item).__name__ for item in read(path, "noteevents", KIND)] == [
        "Document",
        "Deletion",
        "Deletion",
        "Document",
    ]
    assert Deletion("2") in list(read(path, "noteevents", KIND))


def test_gzip_and_its_early_end(tmp_path: Path) -> None:
    path = written(tmp_path, *(row(number, f"Line {number * 7919}.\nLine.") for number in range(3000)))
    packed = gzip.compress(path.read_bytes())
    path.write_bytes(packed)
    assert len(outcome(path)) == 3000
    path.write_bytes(packed[: len(packed) // 2])
    *documents, last = list(read(path, "noteevents", KIND))
    assert sum(isinstance(item, Document) for item in documents) > 1000
    assert isinstance(last, Rejection)
    assert "the gzip file is truncated" in last.reason


@pytest.mark.parametrize(
    ("broken", "rejected"),
    [
        ('2,102,202,2150-01-02,,,"Nursing","Report",14,,"He said "ouch" twice."', ["line 4"]),
        ('2,102,202,2150-01-02,,,"Nursing","Report",14,,"A stray " quote', ["line 4"]),
        ('2,102,202,2150-01-02,,,"Nursing","Report",14,,"No end', ["line 4"]),
        ('2,102,202,2150-01-02,,,"Nursing","Report",14,,"No end\nof this\nnote', ["line 4"]),
        ('2,102,202,2150-01-02,,,"Nursing,"Report",14,,"Text."', ["line 4"]),
        ("2,102,202,2150-01-02,,,Nursing,Report,14", ["line 4"]),
        ("2,102,202,2150-01-02,,,Nursing,Report,14,,Text., more", ["line 4"]),
        ("some words\nand more", ["line 4"]),
        ('2,102,202,2150-01-02,,,"Nursing","Report",14,,Text."', ["line 4"]),
    ],
)
@pytest.mark.parametrize("after", ["After.", "After\nmany lines.", "\nAfter an empty line."])
def test_broken_quoting_costs_its_own_row_only(tmp_path: Path, broken: str, rejected: list[str], after: str) -> None:
    path = written(tmp_path, row(1, "Two\nlines."), broken, row(3, after), row(4, "Last,\nwith a comma."))
    found = list(read(path, "noteevents", KIND))
    assert [item.id for item in found if isinstance(item, Document)] == ["1", "3", "4"]
    rejections = [item for item in found if isinstance(item, Rejection)]
    assert [item.position for item in rejections] == rejected
    assert "reading resumes at line" in rejections[0].reason


def test_a_quote_that_never_ends_is_given_up_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_rows, "MAX_ROW_BYTES", 2000)
    rows = [row(number, "Text.") for number in range(3, 200)]
    found = list(read(written(tmp_path, row(1, "A."), row(2, "B")[:-1], *rows), "noteevents", KIND))
    assert sum(isinstance(item, Document) for item in found) == 198
    (rejection,) = (item for item in found if isinstance(item, Rejection))
    assert rejection.position == "line 3"
    assert "does not end within 2,000 bytes; reading resumes at line 4" in rejection.reason


def test_the_last_row_may_be_cut_off(tmp_path: Path) -> None:
    path = written(tmp_path, row(1, "A."), row(2, "B\nC"))
    path.write_bytes(path.read_bytes()[:-4])
    assert outcome(path) == ["1", ("line 3", None)]


def test_a_text_that_looks_like_a_row_is_part_of_its_note(tmp_path: Path) -> None:
    copied = row(9, "").replace('"', '""')
    found = list(read(written(tmp_path, row(1, f"Copied:\n{copied}\nEnd."), row(2, "B.")), "noteevents", KIND))
    assert [item.id for item in found if isinstance(item, Document)] == ["1", "2"]


@pytest.mark.parametrize(
    ("record", "field", "words"),
    [
        (row("", "A.").replace("10,20", "101,201"), "ROW_ID", "empty"),
        (row(1, "A.").replace("1,", "x" * 10_000 + ",", 1), "id", "512"),
        (row(1, " \n "), "TEXT", "empty"),
        (row(1, "A.").replace("2150-01-02", "2150-02-30"), "CHARTDATE", "not a valid date"),
        (row(1, "A.").replace("2150-01-02,,", "2150-01-02,,noon"), "STORETIME", "time stamp"),
        (row(1, "A.").replace("2150-01-02", "2950-01-02"), "CHARTDATE", "out of range"),
    ],
)
def test_a_bad_row_names_its_column(tmp_path: Path, record: str, field: str, words: str) -> None:
    (found,) = read(written(tmp_path, record), "noteevents", KIND)
    assert isinstance(found, Rejection)
    assert (found.position, found.field) == ("line 2", field)
    assert words in found.reason


def test_ids_slashes_twice_and_bad_utf8(tmp_path: Path) -> None:
    path = written(tmp_path, row("1/2", "A."), row("1/2", "B."), row(3, "Fi\xe8vre."))
    path.write_bytes(path.read_bytes().replace("è".encode(), b"\xe8"))
    assert outcome(path) == ["1/2", ("line 3", "id"), ("line 4", None)]


@pytest.mark.parametrize(
    ("head", "missing"),
    [
        ("ROW_ID,SUBJECT_ID,CATEGORY", "missing: text"),
        ("A,B", "missing: note_id or row_id, subject_id, text"),
        ('{"resourceType": "Patient"}', "missing: note_id or row_id"),
    ],
)
def test_missing_columns_are_named(tmp_path: Path, head: str, missing: str) -> None:
    with pytest.raises(InvalidInput, match=missing) as caught:
        list(read(written(tmp_path, "1,2", head=head), "noteevents", KIND))
    assert caught.value.field == "path"


def test_an_empty_file_has_no_notes(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"")
    assert outcome(path) == []


TEXTS = st.text(alphabet=st.sampled_from('ab1,"\n .:'), min_size=1, max_size=30).map(lambda text: "x" + text)


@given(st.lists(TEXTS, min_size=1, max_size=5))
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_the_library_writes_is_read(tmp_path: Path, texts: list[str]) -> None:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerows([[number, 1, 2, "", text] for number, text in enumerate(texts)])
    path = written(tmp_path, buffer.getvalue(), head="row_id,subject_id,hadm_id,chartdate,text")
    rows = list(csv_rows.rows(path, "text", (frozenset({"row_id"}),)))
    assert [row.fields["text"] if isinstance(row, csv_rows.CsvRow) else row for row in rows] == texts


@given(st.lists(st.binary(max_size=30) | st.sampled_from([b'"', b"\n", row(5, "A.").encode()]), max_size=8))
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_are_notes_or_rejections(tmp_path: Path, noise: list[bytes]) -> None:
    path = written(tmp_path, row(1, "A."))
    path.write_bytes(path.read_bytes() + b"".join(noise))
    first, *rest = read(path, "noteevents", KIND)
    assert isinstance(first, Document)
    assert all(isinstance(item, Document | Rejection) for item in rest)
