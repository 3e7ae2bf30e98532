from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest

from mappings.collection import load
from mappings.documents import Document, Rejection, Section
from mappings.errors import InvalidInput
from mappings.fields import Field
from mappings.formats.registry import read

KIND = load("articles")
OWN = ("url", "synonyms", "cui", "semantic_type", "semantic_group")
RICH = replace(KIND, fields=dict(KIND.fields) | {name: Field(name, "keyword", name) for name in OWN})
PUBLIC = frozenset({"public"})

ARTICLE = """<?xml version="1.0" encoding="UTF-8"?>
<Document id="0000007" source="INV" url="https://example.org/grey-elbow">
<Focus>Grey elbow</Focus>
<FocusAnnotations>
  <UMLS><CUIs><CUI>C0000001</CUI></CUIs><SemanticTypes><SemanticType>T047</SemanticType></SemanticTypes>
    <SemanticGroup>Disorders</SemanticGroup></UMLS>
  <Synonyms><Synonym>Elbow, grey</Synonym><Synonym>GE</Synonym></Synonyms>
</FocusAnnotations>
<QAPairs>
  <QAPair pid="1"><Question qid="0000007-1" qtype="information">What is Grey elbow ?</Question>
    <Answer>An invented   condition.
      It turns elbows grey.</Answer></QAPair>
  <QAPair pid="2"><Question qid="0000007-2" qtype="symptoms">What are its signs ?</Question><Answer></Answer></QAPair>
  <QAPair pid="3"><Question qid="0000007-3" qtype="treatment">How is it treated ?</Question>
    <Answer>With soap &amp; water.</Answer></QAPair>
  <QAPair pid="4"><Question qid="0000007-4" qtype="outlook">And then ?</Question></QAPair>
</QAPairs>
</Document>
"""
SECTIONS = (
    Section("", "An invented condition. It turns elbows grey."),
    Section("", ""),
    Section("", "With soap & water."),
)


def one(path: Path) -> Document | Rejection:
    (found,) = read(path, "medquad-xml", KIND)
    assert isinstance(found, Document | Rejection)
    return found


def written(folder: Path, content: str, name: str = "0000007.xml") -> Path:
    path = folder / name
    path.write_text(content, "utf-8")
    return path


def test_a_whole_article_without_its_questions(tmp_path: Path) -> None:
    (found,) = read(written(tmp_path, ARTICLE), "medquad-xml", RICH)
    fields = {
        "source": "INV",
        "url": "https://example.org/grey-elbow",
        "synonyms": ("Elbow, grey", "GE"),
        "cui": ("C0000001",),
        "semantic_type": ("T047",),
        "semantic_group": ("Disorders",),
    }
    assert found == Document("INV_0000007", "Grey elbow", SECTIONS, PUBLIC, fields)


def test_both_forms_of_an_article_are_one_document(tmp_path: Path) -> None:
    passages = [
        {"id": "INV_0000007-1", "question": "What is it ?", "text": SECTIONS[0].text},
        {"id": "INV_0000007-3", "question": "How is it treated ?", "text": SECTIONS[2].text},
    ]
    record = {"id": "INV_0000007", "title": "Grey elbow", "source": "INV", "passages": passages}
    (lines,) = read(written(tmp_path, json.dumps(record), "a.jsonl"), "medquad", KIND)
    assert one(written(tmp_path, ARTICLE)) == lines


def test_a_folder_of_articles_some_of_them_bad(tmp_path: Path) -> None:
    written(tmp_path, ARTICLE, "1.xml")
    written(tmp_path, ARTICLE.replace("0000007", "8/a"), "2.xml")
    written(tmp_path, "<QAPairs/>", "3.xml")
    written(tmp_path, ARTICLE, "4.xml")
    (tmp_path / "5.xml.gz").write_bytes(gzip.compress(ARTICLE.replace("0000007", "9").encode()))
    items = [
        (item.position, item.field) if isinstance(item, Rejection) else item.id
        for item in read(tmp_path, "medquad-xml", KIND)
    ]
    assert items == ["INV_0000007", "INV_8/a", ("file", "path"), ("record 1", "id"), "INV_9"]


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ('id="0000007" ', "", "id"),
        ('id="0000007"', f'id="{"x" * 10_000}"', "id"),
        ('id="0000007"', 'id="a&#9;b"', "id"),
        ("Answer", "Reply", "QAPairs"),
        ("soap &amp;", "soap &amp", None),
        ("</Document>", "", None),
    ],
)
def test_bad_articles_are_named(tmp_path: Path, old: str, new: str, field: str | None) -> None:
    found = one(written(tmp_path, ARTICLE.replace(old, new)))
    assert isinstance(found, Rejection)
    assert found.field == field


def test_entities_are_refused(tmp_path: Path) -> None:
    content = ARTICLE.replace("<Document ", '<!DOCTYPE Document [<!ENTITY a SYSTEM "file:///etc/hostname">]><Document ')
    with pytest.raises(InvalidInput, match="declares the entity 'a'"):
        one(written(tmp_path, content.replace("soap", "&a;")))
