"""The indexes on a cluster: their names there, their descriptions and counts, which one is published, reads of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar
from urllib.parse import quote

from mappings.errors import Conflict, InvalidInput, NotFound
from search.engines.names import check_collection, index_name, split_index
from search.engines.opensearch import fetches
from search.engines.opensearch.client import WHOLE, Cluster
from search.engines.opensearch.description import OpenSearchIndexDescription, read_description
from search.engines.opensearch.legs import Spread
from search.engines.opensearch.records import BY_WORDS
from search.memory.cache import FreshCache
from search.protocols import IndexMeta

FRESH_SECONDS: Final = 1.0
"""How long a process keeps what it read of an alias and of counts: it notices the changes of others that late."""

_PAGE: Final = 1_000
T = TypeVar("T")


class Indexes:
    """All indexes of ours on a cluster. Thread-safe. An index never changes its name or its description."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._descriptions: dict[str, OpenSearchIndexDescription] = {}
        self._published: FreshCache[str] = FreshCache(FRESH_SECONDS)
        self._metas: FreshCache[IndexMeta] = FreshCache(FRESH_SECONDS)
        self._spreads: dict[str, Spread] = {}

    def physical(self, index: str) -> str:
        """The name of an index on the cluster. Raises `NotFound` for an impossible name."""
        collection, generation = split_index(index)
        return self._cluster.name("search", collection, str(generation))

    def alias(self, collection: str) -> str:
        """The alias of a collection, on its published index."""
        return self._cluster.name("search", collection)

    def names(self, collection: str) -> Sequence[str]:
        """Every index of a collection, readable or not, by generation."""
        start = f"{self.alias(check_collection(collection))}."
        found = self._cluster.read(
            "GET", f"/_cat/indices/{start}*", None, {"format": "json", "h": "index", "expand_wildcards": "all"}
        )
        ends = [item["index"].removeprefix(start) for item in found]
        return [index_name(collection, number) for number in sorted(int(end) for end in ends if end.isdigit())]

    def newest_generation(self, collection: str) -> int:
        """The highest generation that exists; 0 where none does."""
        names = self.names(collection)
        return split_index(names[-1])[1] if names else 0

    def published(self, collection: str) -> str | None:
        """The published index of a collection; None before the first publication.

        Raises `Conflict` when its alias is on several indexes, which none of our calls does.
        """
        alias = self.alias(check_collection(collection))
        try:
            # Restricted to our own indexes: a user without access to others is denied a request for all.
            found = sorted(self._cluster.read("GET", f"/{alias}.*/_alias/{alias}"))
        except NotFound:
            return None
        if len(found) > 1:
            raise Conflict(
                f"the alias {alias} is on {' and '.join(found)}: remove it from all but one, or run `medley index "
                f"rebuild {collection}`",
                field="collection",
            )
        return self._index_of(found[0]) if found else None

    def resolve(self, collection: str) -> str:
        """The published index, as it was at most a second ago. Raises `NotFound` where there is none."""

        def read() -> str:
            index = self.published(collection)
            if index is None:
                raise NotFound(
                    f"collection {collection!r} has no index yet: ingest documents into it, or run `medley index rebuild "
                    f"{collection}` where its store has some",
                    field="collection",
                )
            return index

        return self._published.get(collection, read)

    def describe(self, index: str) -> OpenSearchIndexDescription:
        """The description of an index, read once since it never changes. Raises `NotFound`, `Conflict`."""
        if index not in self._descriptions:
            physical = self.physical(index)
            try:
                answer = self._cluster.read("GET", f"/{quote(physical)}")
            except (NotFound, InvalidInput):
                self.forget(index)
                raise NotFound(f"there is no index {index!r}", field="index") from None
            self._descriptions[index] = read_description(physical, answer[physical])
        return self._descriptions[index]

    def meta(self, index: str) -> IndexMeta:
        """The description and the counts of an index, published or not, as they were at most a second ago."""
        return self._metas.get(index, lambda: self._read_meta(index))

    def spread(self, index: str) -> Spread:
        """The passages and rows of a document on average, as last counted."""
        return self._spreads.get(index, Spread())

    def forget(self, index: str) -> None:
        """Read everything about an index again on the next use."""
        self._descriptions.pop(index, None)
        self._metas.forget(index)
        self._published.forget(split_index(index)[0])

    def checked(self, index: str, call: Callable[[], T]) -> T:
        """The result of `call`. Forgets an index that turns out to be gone, and raises `NotFound`."""
        try:
            return call()
        except NotFound:
            self.forget(index)
            raise NotFound(f"there is no index {index!r}", field="index") from None

    def search(self, index: OpenSearchIndexDescription, body: Mapping[str, Any]) -> Any:
        """The response to a search over the whole index."""
        path = f"/{index.physical}/_search"
        return self.checked(index.name, lambda: self._cluster.read("POST", path, body, WHOLE))

    def scan(
        self, index: OpenSearchIndexDescription, query: Mapping[str, Any], source: Mapping[str, Any]
    ) -> Iterator[dict[str, Any]]:
        """The source of every entry that matches, page by page."""
        after: Sequence[Any] = ()
        while True:
            hits = self.search(index, fetches.page(query, source, _PAGE, after))["hits"]["hits"]
            yield from (hit["_source"] for hit in hits)
            if len(hits) < _PAGE:
                return
            after = hits[-1]["sort"]

    def _read_meta(self, index: str) -> IndexMeta:
        description = self.describe(index)
        counted = self.search(description, fetches.index_counts())["aggregations"]
        kinds = {item["key"]: int(item["doc_count"]) for item in counted["kinds"]["buckets"]}
        passages, documents = kinds.get("passage", 0), kinds.get("document", 0)
        rows = passages + kinds.get("row", 0)
        self._spreads[index] = Spread(passages / max(documents, 1), rows / max(documents, 1))
        return IndexMeta(
            index=index,
            collection=description.collection,
            generation=description.generation,
            encoders={name: fingerprint for name, (fingerprint, _) in description.encoders.items()},
            analysis=description.analysis,
            commit=int(counted["commit"]["value"] or 0),
            passages=passages,
            documents=documents,
            windows=description.windows,
            rows=rows,
            reading=description.reading,
            by_words=kinds.get(BY_WORDS, 0),
            tokens=description.tokens,
        )

    def _index_of(self, physical: str) -> str:
        collection, _, generation = physical.removeprefix(f"{self._cluster.prefix}.search.").rpartition(".")
        return index_name(collection, int(generation))
