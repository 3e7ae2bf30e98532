"""Where many documents wait, their words find them before their vectors are there."""

from __future__ import annotations

import pytest
from worlds import Counting, note

from mappings.errors import Unavailable
from search.storage import State
from workers.indexing.filling import WORDS_FIRST_FROM
from workers.indexing.inspection import verify

NAMES = [f"n{number:03}" for number in range(WORDS_FIRST_FROM)]


class Watching(Counting):
    """An encoder that looks, each time it is asked, at what can be found already."""

    def __init__(self, world) -> None:
        super().__init__()
        self.world, self.seen = world, []

    def encode_passages(self, texts):
        index = self.world.engine.resolve("notes").index
        self.seen.append((len(self.world.found("heart")), self.world.engine.meta(index).by_words))
        return super().encode_passages(texts)


@pytest.fixture
def watched(world):
    world.encoder = Watching(world)
    return world


def test_many_documents_are_found_by_their_words_before_any_is_encoded(watched):
    watched.put(*map(note, NAMES))
    outcomes = watched.ingest()
    assert watched.encoder.seen[0] == (len(NAMES), len(NAMES))
    assert [(item.id, item.state) for item in outcomes] == [(name, State.INDEXED) for name in NAMES]
    meta = watched.engine.meta("notes-1")
    assert (meta.by_words, meta.documents) == (0, len(NAMES))
    assert verify(watched.indexer(), "notes-1") == []


def test_few_documents_are_encoded_at_once(watched):
    watched.put(*map(note, NAMES[1:]))
    watched.ingest()
    assert watched.encoder.seen[0] == (0, 0)


def test_words_stay_found_while_the_model_is_down_and_are_encoded_later(world):
    world.put(*map(note, NAMES))
    world.encoder.down = True
    with pytest.raises(Unavailable):
        world.ingest()
    assert len(world.found("heart")) == len(NAMES)
    assert world.counts() == {State.RECEIVED: len(NAMES)}
    world.encoder.down = False
    assert len(world.ingest()) == len(NAMES)
    assert (world.engine.meta("notes-1").by_words, world.counts()) == (0, {State.INDEXED: len(NAMES)})


def test_what_is_changed_or_deleted_in_between_is_gone(world):
    world.put(*map(note, NAMES))
    world.encoder.down = True
    with pytest.raises(Unavailable):
        world.ingest()
    world.encoder.down = False
    world.store.delete(NAMES[:1])
    world.put(note(NAMES[1], "lung edema"))
    world.ingest()
    assert (world.found("heart"), world.found("edema")) == (NAMES[2:], [NAMES[1]])
    assert verify(world.indexer(), "notes-1") == []


def test_a_rebuild_encodes_what_had_only_words(world):
    world.put(*map(note, NAMES))
    world.encoder.down = True
    with pytest.raises(Unavailable):
        world.ingest()
    world.encoder.down = False
    world.rebuild()
    meta = world.engine.resolve("notes")
    assert (world.engine.meta(meta.index).by_words, len(world.found("heart"))) == (0, len(NAMES))
    assert world.encoder.texts == 2 * len(NAMES)


def test_a_document_at_fault_fails_alone_and_is_not_found_by_its_words(world):
    world.put(*map(note, NAMES), note("bad", "poison heart"), note("worse", date="yesterday"))
    failed = {item.id: item.cause for item in world.ingest() if item.state is State.FAILED}
    assert failed["bad"] == "RuntimeError: token out of range"
    assert "date" in failed["worse"]
    assert len(world.found("heart")) == len(NAMES)
