"""Data sets are read from small files in their form; errors name file and line."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from mappings import collection as kinds
from mappings.datasets import cystic_fibrosis, evidence_inference, medquad, mts_dialog, mtsamples, scifact
from mappings.documents import Section
from mappings.errors import InvalidInput, NotFound

CLAIM = b'{"id": 7, "claim": "Zinc helps.", "cited_doc_ids": [1], "evidence": {"2": [{"sentences": [], "label": "SUPPORT"}]}}'


def write(data: Path, name: str, content: bytes) -> None:
    path = data / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)


@pytest.mark.parametrize("name", ["claims_dev.jsonl", "claims_dev.jsonl.gz"])
def test_files_are_plain_or_gzipped_and_blank_lines_are_skipped(tmp_path: Path, name: str) -> None:
    write(tmp_path, f"scifact/{name}", b"\xef\xbb\xbf" + CLAIM + b"\r\n\n")
    assert list(scifact.read_claims(tmp_path, "dev")) == [
        scifact.ScientificClaim("7", "Zinc helps.", ("1",), {"2": scifact.MarkedEvidence("supports", frozenset())})
    ]


def test_an_abstract_becomes_the_document_that_its_format_makes(tmp_path: Path) -> None:
    write(tmp_path, "scifact/corpus.jsonl", b'{"doc_id": 1, "title": "Zinc", "abstract": ["One.", "Two."]}')
    (abstract,) = scifact.read_corpus(tmp_path)
    document = abstract.document(kinds.load("abstracts"))
    assert (document.id, document.title, document.sections) == ("1", "Zinc", (Section("", "One. Two."),))


def test_a_note_becomes_the_document_that_its_format_makes() -> None:
    note = mtsamples.TranscribedNote("m1", "Gout", "", ("Medicine",), "PLAN:,  Rest.")
    document = note.document(kinds.load("notes"))
    assert (document.id, document.title, document.fields["specialty"]) == ("m1", "Gout", ("Medicine",))
    assert [section.heading for section in document.sections] == ["PLAN"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (CLAIM + b"\n{broken", "claims_dev.jsonl, line 2: not valid JSON"),
        (b"[1]", "claims_dev.jsonl, line 1: each line must be a JSON object"),
        (b'{"id": 7}', "claims_dev.jsonl, line 1: the key 'claim' is missing"),
        (CLAIM + b'\n{"id": "\xff"}', "claims_dev.jsonl, line 2: the text is not valid UTF-8"),
    ],
)
def test_an_invalid_line_is_named(tmp_path: Path, content: bytes, words: str) -> None:
    write(tmp_path, "scifact/claims_dev.jsonl", content)
    with pytest.raises(InvalidInput) as caught:
        list(scifact.read_claims(tmp_path, "dev"))
    assert words in caught.value.message


def test_a_truncated_gzip_file_is_named(tmp_path: Path) -> None:
    write(tmp_path, "scifact/claims_dev.jsonl.gz", CLAIM)
    path = tmp_path / "scifact/claims_dev.jsonl.gz"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(
        InvalidInput, match=r"claims_dev\.jsonl\.gz, after line 0: the gzip file is corrupt or truncated"
    ):
        list(scifact.read_claims(tmp_path, "dev"))


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"this reads scifact, .* set MEDLEY_DATA to their folder"):
        list(scifact.read_corpus(None))
    with pytest.raises(NotFound, match="there is no folder 'scifact' in MEDLEY_DATA"):
        list(scifact.read_corpus(tmp_path))
    (tmp_path / "scifact").mkdir()
    with pytest.raises(NotFound, match=r"corpus\.jsonl is missing \(there is no corpus\.jsonl\.gz either\)"):
        list(scifact.read_corpus(tmp_path))


def test_a_judgement_of_cystic_fibrosis_has_four_scores(tmp_path: Path) -> None:
    header = b"query_id\tdoc_id\tscore4\n"
    write(tmp_path, "cystic_fibrosis/qrels.tsv", header + b"00001\t139\t1222\n")
    assert list(cystic_fibrosis.read_scores(tmp_path)) == [cystic_fibrosis.JudgeScores("00001", "139", (1, 2, 2, 2))]
    for wrong in (b"00001 139 1222\n", b"00001\t139\tx\n"):
        write(tmp_path, "cystic_fibrosis/qrels.tsv", header + wrong)
        with pytest.raises(InvalidInput, match=r"qrels\.tsv, line 2: a line is a query id"):
            list(cystic_fibrosis.read_scores(tmp_path))


def test_the_test_splits_of_mts_dialog_are_read_in_order_of_name(tmp_path: Path) -> None:
    for number in (2, 1):
        section = b'{"ID": "%d", "section_header": "CC", "section_text": "Cough."}' % number
        write(tmp_path, f"mts_dialog/MTS-Dialog-TestSet-{number}.jsonl.gz", section)
    assert [item.id for item in mts_dialog.read_test_sections(tmp_path)] == ["1", "2"]
    with pytest.raises(NotFound, match="TrainingSet"):
        list(mts_dialog.read_training_sections(tmp_path))


def test_train_articles_and_labelled_sections_of_trials(tmp_path: Path) -> None:
    sections = b'[{"label": "Methods", "text": "A."}, {"label": null, "text": "B."}]'
    write(
        tmp_path,
        "evidence_inference/abstracts.jsonl",
        b'{"pmcid": 1, "title": "T", "abstract_sections": %s}' % sections,
    )
    write(tmp_path, "evidence_inference/train_article_ids.txt", b"1\n2\n")
    (abstract,) = evidence_inference.read_abstracts(tmp_path)
    assert (abstract.id, abstract.sections) == ("1", (Section("Methods", "A."), Section("", "B.")))
    assert abstract.text == "A. B."
    assert evidence_inference.read_train_articles(tmp_path) == {"1", "2"}


def test_an_article_keeps_its_passages_with_their_questions(tmp_path: Path) -> None:
    passage = b'{"id": "A-1", "question": "What is gout?", "question_type": "information", "text": "Uric acid."}'
    write(tmp_path, "medquad/documents.jsonl", b'{"id": "A", "title": "Gout", "passages": [%s]}' % passage)
    (article,) = medquad.read_articles(tmp_path)
    assert article.passages == (medquad.HealthPassage("A-1", "What is gout?", "information", "Uric acid."),)
