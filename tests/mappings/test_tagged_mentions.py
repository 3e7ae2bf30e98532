"""Mentions that come with a document from another program take the place of our own reading."""

from __future__ import annotations

import pytest

from mappings.clinical.concepts import load_concepts
from mappings.clinical.placing import read_passages
from mappings.clinical.reading import ConceptReader, shipped_reader
from mappings.collection import load
from mappings.documents import Document, PassageMention
from mappings.errors import InvalidInput
from mappings.formats.jsonl import parse_record
from search.engines import codec

NOTES = load("notes")
SECTIONS = [{"heading": "Findings", "text": "Lungs are clear. No infiltrate."}, {"text": "Frobnication of the knee."}]


def document(*mentions: dict, **more) -> Document:
    return parse_record({"id": "n1", "sections": SECTIONS, "mentions": list(mentions), **more}, NOTES)


def read(item: Document, reader: ConceptReader) -> list[PassageMention]:
    return [mention for passage in read_passages(item, 1, NOTES, reader) for mention in passage.mentions]


def test_the_mentions_of_a_record_are_those_of_its_passages():
    reader = shipped_reader()
    found = read(
        document({"section": 0, "start": 20, "end": 30, "concept": "pneumonia", "assertion": "uncertain"}), reader
    )
    assert found == [PassageMention("pneumonia", "uncertain", 20, 30, 17, 31)]
    assert read(document(), reader) == []


def test_an_own_lexicon_adds_the_concepts_that_another_program_finds(tmp_path):
    own = tmp_path / "own.tsv"
    own.write_text("frobnication\tfrobnication\n", encoding="utf-8")
    reader = ConceptReader(load_concepts(own))
    found = read(document({"section": 1, "start": 0, "end": 12, "concept": "frobnication"}), reader)
    assert [(item.concept, item.assertion) for item in found] == [("frobnication", "present")]
    with pytest.raises(InvalidInput, match="in no lexicon"):
        read(document({"section": 1, "start": 0, "end": 12, "concept": "frobnicat"}), reader)


def test_they_are_content_of_the_document():
    tagged = document({"section": 0, "start": 0, "end": 5, "concept": "pneumonia"})
    assert codec.load(codec.dump(tagged)) == tagged
    plain = parse_record({"id": "n1", "sections": SECTIONS}, NOTES)
    assert codec.dump(plain) != codec.dump(document())
    assert codec.load(codec.dump(plain)).tagged is None


@pytest.mark.parametrize(
    ("mention", "field"),
    [
        ({"section": 2, "start": 0, "end": 1, "concept": "fever"}, "mentions[0]"),
        ({"section": -1, "start": 0, "end": 1, "concept": "fever"}, "mentions[0]"),
        ({"section": 0, "start": 5, "end": 5, "concept": "fever"}, "mentions[0]"),
        ({"section": 0, "start": 0, "end": 99, "concept": "fever"}, "mentions[0]"),
        ({"start": "0", "end": 1, "concept": "fever"}, "mentions[0].start"),
        ({"start": 0, "end": True, "concept": "fever"}, "mentions[0].end"),
        ({"start": 0, "concept": "fever"}, "mentions[0].end"),
        ({"start": 0, "end": 1}, "mentions[0].concept"),
        ({"start": 0, "end": 1, "concept": ""}, "mentions[0].concept"),
        ({"start": 0, "end": 1, "concept": "fever", "assertion": "maybe"}, "mentions[0].assertion"),
    ],
)
def test_a_wrong_mention_is_named(mention, field):
    with pytest.raises(InvalidInput) as caught:
        document(mention)
    assert caught.value.field == field


def test_mentions_need_sections():
    with pytest.raises(InvalidInput, match="need sections"):
        parse_record({"id": "n1", "text": "Fever.", "mentions": []}, NOTES)
