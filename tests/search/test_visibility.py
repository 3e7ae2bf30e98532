"""Whether a caller sees anything in a collection, while its index changes."""

import pytest

from mappings.documents import Access, Document, Section
from mappings.errors import Unavailable
from search.bootstrap import Medley
from search.visibility import Visibility
from workers.indexing.indexer import Indexer
from workers.indexing.ingest import ingest
from workers.indexing.rebuild import rebuild

READER = Access("reader", frozenset({"public"}))
STRANGER = Access("stranger", frozenset({"secret"}))


class RebuiltMeanwhile:
    """The engine, whose index is replaced and dropped right after it was resolved for the first time."""

    def __init__(self, medley):
        self._medley, self._rebuilt = medley, False

    def resolve(self, collection):
        meta = self._medley.engine.resolve(collection)
        if not self._rebuilt:
            self._rebuilt = True
            list(rebuild(Indexer.of(self._medley, collection), grace=0.0))
        return meta

    def has_visible(self, index, access):
        return self._medley.engine.has_visible(index, access)


def test_a_collection_without_an_index_shows_nothing(medley):
    medley.collections.create("empty", "abstracts")
    assert not medley.visibility.has_visible("empty", READER)
    assert not medley.visibility.has_visible("empty", Access("root", frozenset({"*"})))


def test_an_index_that_is_dropped_meanwhile_is_followed_by_its_successor(medley):
    visibility = Visibility(RebuiltMeanwhile(medley))
    assert visibility.has_visible("abstracts", READER)
    assert list(medley.engine.names("abstracts")) == ["abstracts-2"]
    assert not visibility.has_visible("abstracts", STRANGER)


def test_a_commit_is_seen_at_once_by_everybody(medley):
    assert not medley.visibility.has_visible("abstracts", STRANGER)
    secret = Document("s1", "A secret", (Section("", "Fever."),), frozenset({"secret"}))
    medley.collections.store("abstracts").put([secret])
    list(ingest(Indexer.of(medley, "abstracts")))
    assert medley.visibility.has_visible("abstracts", STRANGER)
    assert medley.visibility.has_visible("abstracts", READER)


def test_an_index_that_cannot_be_read_is_an_error_and_no_empty_collection(medley):
    (medley.settings.home / "collections/abstracts/indexes/abstracts-1/index.json").write_text("{")
    with pytest.raises(Unavailable):
        Medley.open(medley.settings).visibility.has_visible("abstracts", READER)
