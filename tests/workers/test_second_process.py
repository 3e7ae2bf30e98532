"""Documents are read in a second process, with the same results; without it, or when it ends, in the first one."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest
from worlds import NOTES, READER, note

from mappings.clinical.concepts import load_concepts
from mappings.clinical.reading import ConceptReader
from mappings.documents import Document, Section, TaggedMention
from search.storage import State, StoredDocument
from workers.indexing import second_process
from workers.indexing.analysis import analyse
from workers.indexing.batches import DocumentBatch
from workers.indexing.second_process import LEAST_DOCUMENTS, analyse_beside

TEXTS = (
    "No fever or cough. Possible pneumonia.",
    "Mother had a stroke; history of asthma, CT to rule out effusion.",
    "Chest pain? No. Return if fever recurs.",
)


def notes(count: int) -> list[StoredDocument]:
    return [
        StoredDocument(f"n{number}", 1, note(f"n{number}", f"{TEXTS[number % 3]} Day {number}."))
        for number in range(count)
    ]


def batches(stored: list[StoredDocument]) -> Iterator[list[StoredDocument]]:
    return (stored[start : start + 64] for start in range(0, len(stored), 64))


def together(found: Iterator[DocumentBatch]) -> DocumentBatch:
    return sum(found, DocumentBatch())


@pytest.fixture
def cores(monkeypatch):
    """Two cores, whatever this machine has, and nothing is read by the first process that the second one could read."""
    monkeypatch.setattr(second_process, "cores", lambda: 2)


@pytest.fixture
def patient(cores, monkeypatch):
    """The first process waits for the second one instead of reading what it has not begun."""
    finish = second_process._SecondProcess._finish

    def finish_patiently(self, batch):
        for _, future in batch:
            future.exception()
        return finish(self, batch)

    monkeypatch.setattr(second_process._SecondProcess, "_finish", finish_patiently)
    monkeypatch.setattr(second_process, "analyse", None)


@pytest.fixture
def nobody_starts(cores, monkeypatch):
    def start(*arguments, **options):
        raise AssertionError("a process was started")

    monkeypatch.setattr(subprocess, "Popen", start)


def test_all_is_read_as_in_one_process(patient):
    stored = notes(150)
    assert together(analyse_beside(batches(stored), NOTES, READER, LEAST_DOCUMENTS)) == analyse(stored, NOTES, READER)


def test_both_processes_read(cores):
    stored = notes(LEAST_DOCUMENTS)
    assert together(analyse_beside(batches(stored), NOTES, READER, len(stored))) == analyse(stored, NOTES, READER)


def test_a_document_that_cannot_be_read_fails_alone(patient):
    tagged = frozenset([TaggedMention(0, 0, 3, "unheard-of", "present")])
    stored = [
        *notes(3),
        StoredDocument("t", 1, Document("t", "", (Section("", "Odd."),), frozenset(), {}, tagged=tuple(tagged))),
    ]
    stored += [StoredDocument("d", 2, None), StoredDocument("x", 1, None, "damaged")]
    found = together(analyse_beside(batches(stored), NOTES, READER, LEAST_DOCUMENTS))
    assert [(item.id, item.state) for item in found.failed] == [("t", State.FAILED), ("x", State.FAILED)]
    assert "unheard-of" in found.failed[0].cause
    assert ([item.id for item in found.deleted], len(found.entries)) == (["d"], 3)


def test_an_own_lexicon_is_read_by(patient, tmp_path):
    own = tmp_path / "own.tsv"
    own.write_text("frobnication\tfrobnication\n", encoding="utf-8")
    stored = [StoredDocument("a", 1, note("a", "No frobnication."))]
    (entry,) = together(
        analyse_beside(batches(stored), NOTES, ConceptReader(load_concepts(own)), LEAST_DOCUMENTS)
    ).entries
    assert "frobnication|ruled-out" in entry.asserted[0]


@pytest.mark.parametrize("command", ["import sys; sys.exit(3)", "import os; os.read(0, 9); os.kill(os.getpid(), 9)"])
def test_a_process_that_ends_leaves_its_work_to_the_first_one(cores, monkeypatch, command):
    start = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", lambda given, **options: start([given[0], "-c", command], **options))
    stored = notes(200)
    assert together(analyse_beside(batches(stored), NOTES, READER, LEAST_DOCUMENTS)) == analyse(stored, NOTES, READER)


def test_a_process_that_cannot_start_is_not_needed(cores, monkeypatch):
    def start(*arguments, **options):
        raise OSError("out of memory")

    monkeypatch.setattr(subprocess, "Popen", start)
    stored = notes(20)
    assert together(analyse_beside(batches(stored), NOTES, READER, LEAST_DOCUMENTS)) == analyse(stored, NOTES, READER)


def test_who_stops_early_leaves_no_process(cores, monkeypatch):
    started = []
    start = subprocess.Popen

    def remembered(*arguments, **options):
        started.append(start(*arguments, **options))
        return started[0]

    monkeypatch.setattr(subprocess, "Popen", remembered)
    analysed = analyse_beside(batches(notes(300)), NOTES, READER, LEAST_DOCUMENTS)
    assert len(next(analysed)) == 64
    analysed.close()
    assert [process.poll() is not None for process in started] == [True]


def test_few_documents_start_no_process(nobody_starts):
    stored = notes(20)
    assert together(analyse_beside(batches(stored), NOTES, READER, len(stored))) == analyse(stored, NOTES, READER)


def test_documents_that_are_not_read_start_no_process(nobody_starts):
    stored = notes(20)
    assert together(analyse_beside(batches(stored), NOTES, None, LEAST_DOCUMENTS)) == analyse(stored, NOTES)


def test_one_core_has_no_use_for_a_second_process(nobody_starts, monkeypatch):
    monkeypatch.setattr(second_process, "cores", lambda: 1)
    stored = notes(20)
    assert together(analyse_beside(batches(stored), NOTES, READER, LEAST_DOCUMENTS)) == analyse(stored, NOTES, READER)
