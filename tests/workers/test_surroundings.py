"""Encoders that read passages in their documents: what they are given, and when a vector is used again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from discourse_model import write_discourse_model
from worlds import EVERYBODY, NOTES, Counting, World, note

from encoders.cache import CachedEncoder
from encoders.discourse.encoder import DiscourseEncoder
from encoders.hashing import HashingEncoder
from encoders.late.surrounded import SurroundedEncoder, is_surrounded, surrounded_fingerprint
from encoders.pooling import unit
from mappings.analysis.passages import passages
from mappings.analysis.window_text import place_in_document, read_window
from mappings.documents import Document, Section
from mappings.errors import ModelError
from search.protocols import IndexEntry
from workers.indexing.batches import DocumentBatch
from workers.indexing.encoding import BatchEncoder
from workers.indexing.rebuild import rebuild


class Around:
    """An encoder of hashed words, those around a passage counting half, as a Longformer sees both. It keeps what it read."""

    reads_around = True
    reads_surroundings = True

    def __init__(self) -> None:
        self._words = HashingEncoder(64)
        self.fingerprint = "b" * 64
        self.dimension = 64
        self.read: list[str] = []

    def encode_queries(self, texts):
        return self._words.encode_queries(texts)

    def encode_passages(self, texts):
        self.read += texts
        parts = [read_window(text) for text in texts]
        own = self._words.encode_queries([f"{part.context}{part.window}" for part in parts])
        return unit(own + 0.5 * self._words.encode_queries([f"{part.before} {part.after}" for part in parts]))


@pytest.fixture
def around(world):
    """The encoder of a world whose passages are placed."""
    made = Around()
    world.encoder = SurroundedEncoder(made)
    return made


def held(world, name="a", field="dense"):
    """Passage id → its rows in the published index."""
    index = world.engine.resolve("notes").index
    (stored,) = world.store.latest([name]).values()
    ids = [item.id for item in passages(stored.document, stored.version, NOTES)]
    found = list(world.engine.passages(index, ids, EVERYBODY).values())
    return {key: rows[field] for key, rows in world.engine.vectors(index, found).items()}


def test_a_passage_is_encoded_once_among_the_others_of_its_document(world, around):
    text = "The heart is large. The lungs are clear today. Kidneys look normal again. " * 8  # several windows
    world.put(note("a", text), note("b", "Kidney stones."))
    world.ingest()
    found = passages(note("a", text), 1, NOTES)
    assert len(found) > 1
    expected = place_in_document([item.text for item in found], [item.model_text for item in found])
    assert [read for read in around.read if "heart" in read] == expected
    assert read_window(expected[0]).window == found[0].model_text  # with its own title and heading
    assert read_window(expected[0]).after.strip() == " ".join(item.text for item in found[1:])
    rows = held(world)
    assert [len(rows[item.id]) for item in found] == [1] * len(found)
    vectors = Around().encode_passages(expected)
    for item, vector in zip(found, vectors, strict=True):
        assert np.allclose(rows[item.id][0], vector, atol=2e-3)


def test_a_document_of_one_passage_is_read_alone(world, around):
    document = Document("a", "Consultation", (Section("PLAN", "Rest and fluids."),), frozenset({"ward"}))
    world.put(document)
    world.ingest()
    assert around.read == [passages(document, 1, NOTES)[0].model_text]
    assert read_window(around.read[0]).before == read_window(around.read[0]).after == ""


def test_an_unchanged_passage_with_other_neighbours_is_encoded_again(world, around, tmp_path):
    world.encoder = SurroundedEncoder(CachedEncoder(around, tmp_path / "vectors"))
    world.put(note("a", "heart failure"))
    world.ingest()
    first = held(world)["a@1#1"]
    assert len(around.read) == 2
    world.put(note("a", "kidney stones"))  # the plan is as it was
    world.ingest()
    assert len(around.read) == 4
    assert np.abs(held(world)["a@2#1"] - first).max() > 0.05
    world.put(note("a", "heart failure"))
    world.ingest()
    assert len(around.read) == 4  # all of it was read before
    assert np.allclose(held(world)["a@3#1"], first, atol=2e-3)


def test_a_rebuild_takes_no_vector_from_another_index_but_those_on_disk(world, around, tmp_path):
    world.put(note("a"), note("b", "kidney stones"))
    world.ingest()
    before = held(world)
    world.rebuild()
    assert len(around.read) == 8  # without a cache all are read again
    assert all(np.allclose(before[key], rows, atol=2e-3) for key, rows in held(world).items())
    world.encoder = SurroundedEncoder(CachedEncoder(around, tmp_path / "vectors"))
    world.rebuild()
    world.rebuild()
    assert len(around.read) == 12


def test_an_index_made_from_passages_alone_is_neither_mixed_nor_taken_over(world, around):
    world.encoder = around  # as an index was filled before passages were placed
    world.put(note("a", "heart failure"))
    world.ingest()
    alone = held(world)
    assert not any(read_window(text).after for text in around.read)
    world.encoder = SurroundedEncoder(around)
    world.put(note("b", "kidney stones"))
    with pytest.raises(ModelError, match=r"built with the dense encoder b{12}, not b{12}\+surroundings-1: rebuild it"):
        world.ingest()
    outcomes = list(rebuild(world.indexer(find_encoder=lambda _: around), grace=0.0))
    assert sorted(outcome.id for outcome in outcomes) == ["a", "b"]
    assert np.abs(held(world)["a@1#0"] - alone["a@1#0"]).max() > 0.05


def test_beside_an_encoder_of_windows_a_passage_has_its_vector_with_each(world, around, monkeypatch):
    world.engine = world.reopen(replace(NOTES, window_words=6, vectors={"dense": "one", "words": "two"}))
    plain = Counting()
    monkeypatch.setattr(World, "encoders", property(lambda self: {"dense": self.encoder, "words": plain}))
    world.put(note("a", "The heart is large. The lungs are clear today. Kidneys look normal again."))
    assert [outcome.cause for outcome in world.ingest()] == [""]
    own, windows = held(world)["a@1#0"], held(world, field="words")["a@1#0"]
    assert len(own) == len(windows) > 1
    assert np.allclose(own, own[0])
    assert not np.allclose(windows, windows[0], atol=1e-2)
    assert len([read for read in around.read if "heart" in read]) == 2


def test_beside_a_discourse_model_a_passage_has_one_row(tmp_path):
    whole = DiscourseEncoder(write_discourse_model(tmp_path / "cdv"))
    found = passages(note("a", "The heart is large. The lungs are clear today. Kidneys look normal again."), 1, NOTES)
    entry = IndexEntry("a", 1, frozenset({"ward"}), {}, found, {})
    encoder = BatchEncoder({"dense": SurroundedEncoder(Around()), "discourse": whole}, window_words=6)
    (encoded,) = encoder.encode(DocumentBatch((entry,))).entries
    assert encoded.windows == (1, 1)
    assert {name: len(rows) for name, rows in encoded.vectors.items()} == {"dense": 2, "discourse": 2}


def test_its_fingerprint_says_that_passages_are_placed(around):
    encoder = SurroundedEncoder(around)
    assert encoder.fingerprint == surrounded_fingerprint(around.fingerprint)
    assert is_surrounded(encoder.fingerprint)
    assert not is_surrounded(around.fingerprint)
    assert not is_surrounded(f"{around.fingerprint}+surroundings-0")
    assert (encoder.dimension, encoder.form, encoder.tokens_run) == (64, "", 0)
