from __future__ import annotations

from dataclasses import replace

import pytest
from worlds import NOTES, Counting, note

from mappings.errors import NotFound
from mappings.fields import Field
from search.protocols import IndexEntry
from search.storage import State, StateRecord
from workers.indexing.analysis import analyse
from workers.indexing.encoding import BatchEncoder
from workers.indexing.inspection import inspect, verify

REBUILD = "run `medley index rebuild notes`"


def reported(world, collection=NOTES) -> list[str]:
    return [str(item) for item in inspect(world.indexer(collection))]


def entry(world, name: str, version: int) -> IndexEntry:
    """The only entry of a document of one passage."""
    stored = replace(world.store.latest([name])[name], version=version)
    return BatchEncoder(world.encoders).encode(analyse([stored], NOTES)).entries[0]


def test_a_consistent_index_has_no_discrepancies(world):
    world.put(note("a"), note("b"))
    world.ingest()
    assert reported(world) == []


def test_before_anything_was_published_there_is_nothing_to_inspect(world):
    with pytest.raises(NotFound):
        reported(world)


def test_missing_superfluous_and_superseded_documents_are_reported_with_what_to_do(world):
    world.put(*(note(name) for name in ("gone", "stray", "old", "torn", "fine")))
    world.ingest()
    stray, old, torn = entry(world, "stray", 1), entry(world, "old", 1), entry(world, "torn", 1)
    world.delete("stray")
    world.put(note("old", "kidney"))
    world.ingest()
    with world.engine.writer("notes-1") as writer:
        writer.remove(["gone"])
        half = replace(torn, passages=torn.passages[:1], vectors={"dense": torn.vectors["dense"][:1]}, windows=())
        writer.write([stray, old, half])
        writer.commit()
    assert reported(world) == [
        f"1 documents are in the index but should not be: they were deleted, failed, or are not in the store (such as stray): {REBUILD}",
        f"1 documents are in the index in a superseded version (such as old): {REBUILD}",
        f"1 documents are recorded as indexed but missing (such as gone): {REBUILD}",
        f"1 documents lack passages, or have too many (such as torn): {REBUILD}",
    ]
    world.rebuild()
    assert reported(world) == []


def test_pending_and_failed_documents_are_reported(world):
    world.put(note("a"), note("bad", "poison"))
    world.ingest()
    world.put(note("new"), note("a", "changed"))
    assert reported(world) == [
        "2 documents wait to be indexed: run `medley ingest` or `medley retry`",
        "1 documents failed (such as bad): see `medley status -c notes --failed`, then run `medley retry -c notes`",
    ]


def test_other_models_and_other_settings_are_reported(world):
    world.put(note("a"))
    world.ingest()
    assert world.store.settle("notes-1", [StateRecord("a", 1, State.INDEXED, 2)]) == [True]
    world.encoder = Counting(dimension=32)
    other = replace(
        NOTES,
        window_words=9,
        fields={"ward": Field("ward", "keyword", "Ward"), **{k: v for k, v in NOTES.fields.items() if k != "date"}},
    )
    world.engine = world.reopen(other)
    findings = reported(world, other)
    assert findings[:3] == [
        f"index notes-1: field 'ward' is missing: {REBUILD}",
        f"index notes-1: field 'date' is no longer in the settings: {REBUILD}",
        f"index notes-1: its vectors are of windows of 60 words; the settings say 9: {REBUILD}",
    ]
    assert "index notes-1 was built with the dense encoder" in findings[3]
    assert len(findings) == 4


def test_verify_says_what_is_missing(world):
    world.put(note("a"), note("b"))
    world.ingest()
    with world.engine.writer("notes-1") as writer:
        writer.remove(["a"])
        writer.commit()
    assert verify(world.indexer(), "notes-1") == [
        "it holds 1 documents, the store recorded 2",
        "it holds 2 passages, the store recorded 4",
    ]
