from __future__ import annotations

import gzip
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from mappings.collection import load
from mappings.documents import Document, Rejection, Section
from mappings.errors import InvalidInput
from mappings.fields import Field
from mappings.formats.registry import read

KIND = load("reports")
OWN = ("source", "mesh", "mesh_major", "mesh_automatic", "images", "specialty")
RICH = replace(KIND, fields=dict(KIND.fields) | {name: Field(name, "keyword", name) for name in OWN})
CLINICAL = frozenset({"clinical"})

REPORT = """<?xml version="1.0" encoding="utf-8"?>
<eCitation>
  <meta type="rr"/>
  <uId id="INV77"/>
  <docSource>CXR</docSource>
  <articleDate>2011-09-08</articleDate>
  <articleType>XR</articleType>
  <title>An Invented Collection of Chest X-rays</title>
  <specialty>pulmonary diseases</specialty>
  <MedlineCitation Owner="Nobody">
    <Article PubModel="Electronic">
      <ArticleTitle>An Invented Collection of Chest X-rays</ArticleTitle>
      <Abstract>
        <AbstractText Label="COMPARISON">None.</AbstractText>
        <AbstractText Label="INDICATION">Cough for
          a week</AbstractText>
        <AbstractText Label="FINDINGS"/>
        <AbstractText Label="IMPRESSION">1. No effusion. 2. Heart size &lt; half.</AbstractText>
      </Abstract>
    </Article>
  </MedlineCitation>
  <MeSH><major>Cardiomegaly/mild</major><major>Lung</major><automatic>Effusion</automatic></MeSH>
  <parentImage id="INV77_IM-1"><figureId>F1</figureId><caption>Chest, two views</caption></parentImage>
  <parentImage id="INV77_IM-2"><figureId>F2</figureId><caption>Chest, two views</caption></parentImage>
</eCitation>
"""


def written(folder: Path, content: str, name: str = "77.xml") -> Path:
    path = folder / name
    path.write_text(content, "utf-8")
    return path


def test_a_whole_report(tmp_path: Path) -> None:
    (found,) = read(written(tmp_path, REPORT), "openi", RICH)
    assert found == Document(
        id="INV77",
        title="Chest, two views",
        sections=(
            Section("COMPARISON", "None."),
            Section("INDICATION", "Cough for a week"),
            Section("IMPRESSION", "1. No effusion. 2. Heart size < half."),
        ),
        labels=CLINICAL,
        fields={
            "type": "Chest, two views",
            "date": date(2011, 9, 8),
            "specialty": ("pulmonary diseases",),
            "source": "CXR",
            "mesh": ("Cardiomegaly/mild", "Lung", "Effusion"),
            "mesh_major": ("Cardiomegaly/mild", "Lung"),
            "mesh_automatic": ("Effusion",),
            "images": ("INV77_IM-1", "INV77_IM-2"),
        },
    )


def test_a_report_without_images_and_a_folder_with_gzip(tmp_path: Path) -> None:
    bare = REPORT[: REPORT.index("  <parentImage")].replace("INV77", "a/b") + "</eCitation>"
    (tmp_path / "1.xml.gz").write_bytes(gzip.compress(bare.encode()))
    written(tmp_path, REPORT)
    first, second = read(tmp_path, "openi", KIND)
    assert isinstance(first, Document)
    assert isinstance(second, Document)
    assert (first.id, first.title, first.fields) == ("a/b", "XR", {"type": "XR", "date": date(2011, 9, 8)})
    assert second.id == "INV77"


@pytest.mark.parametrize(
    ("old", "new", "field", "words"),
    [
        ('id="INV77"', "", "uId", "missing"),
        ('id="INV77"', f'id="{"x" * 10_000}"', "id", "512"),
        ("AbstractText", "Text", "AbstractText", "no text"),
        ("2011-09-08", "2011-09-31", "articleDate", "not a valid date"),
        ("Cough", "&cough;", None, "not defined"),
        ("</eCitation>", "", None, "truncated"),
    ],
)
def test_bad_reports_are_named(tmp_path: Path, old: str, new: str, field: str | None, words: str) -> None:
    (found,) = read(written(tmp_path, REPORT.replace(old, new)), "openi", KIND)
    assert isinstance(found, Rejection)
    assert found.field == field
    assert words in found.reason


def test_another_xml_says_what_was_expected(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="expected XML with the root <eCitation>, found <Document>"):
        list(read(written(tmp_path, "<Document/>"), "openi", KIND))
