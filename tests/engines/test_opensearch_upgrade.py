"""What an earlier version of this program wrote to a cluster, and this one has to read."""

from __future__ import annotations

import pytest
from backends import clear, opensearch

from mappings.documents import Document, Section

pytestmark = pytest.mark.opensearch


@pytest.fixture
def backend(node):
    made = opensearch(node.url)
    yield made
    clear(made)


def test_a_store_of_an_earlier_version_learns_which_documents_were_replaced(backend):
    store, cluster = backend.store, backend.engine.cluster
    name = cluster.name("store", backend.collection.name, "documents")
    earlier = {"id": {"type": "keyword"}, "turn": {"type": "long"}, "settled": {"type": "keyword"}}
    cluster.write("PUT", f"/{name}", {"mappings": {"dynamic": False, "properties": earlier}})
    documents = [Document("a", "", (Section("", text),), frozenset({"public"}), {}) for text in ("one", "two")]
    store.put(documents)
    assert store.superseded("abstracts-1", 10) == ["a"]
