"""The OpenSearch engine: search and administration of indexes on a cluster, one alias for what a collection answers from.

Any number of processes read and write. An index, once made, keeps its name and what it says of itself for ever; a
collection changes by its alias, in one call.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from typing import Any, Final, TypeVar
from urllib.parse import quote

import numpy as np

from mappings.collection import Collection
from mappings.documents import Access, FieldValue, Passage
from mappings.errors import Conflict, InvalidInput, MedleyError, NotFound
from mappings.indexes import index_body
from search.engines.names import check_collection, index_name, split_index
from search.engines.opensearch import legs
from search.engines.opensearch.admin import Admin, make_index
from search.engines.opensearch.client import WHOLE, Cluster
from search.engines.opensearch.description import Description, described, differing
from search.engines.opensearch.queries import Compiler, among
from search.engines.opensearch.records import SHOWN, fields_of, passage_of
from search.engines.opensearch.writer import open_writer
from search.engines.values import drift
from search.protocols import IndexMeta, IndexWriter, LegsAnswer, LegsRequest, Vectors

FRESH_SECONDS: Final = 1.0
"""How long a process goes on with what it knows of an alias and of counts: so late it follows another's changes."""

_AT_ONCE: Final = 1_000
_FIRST_SECONDS: Final = 60.0
Sources = list[dict[str, Any]]
T = TypeVar("T")
_COUNTED: Final[dict[str, Any]] = {
    "size": 0,
    "track_total_hits": True,
    "aggs": {"kinds": {"terms": {"field": "kind"}}, "commit": {"max": {"field": "commit"}}},
}


class OpenSearchEngine:
    """A `SearchEngine` and `IndexAdmin` on a cluster; safe to share between threads."""

    def __init__(self, cluster: Cluster, collection: Callable[[str], Collection]) -> None:
        self.cluster = cluster
        self._collection = collection
        self._admin = Admin(cluster)
        self._known: dict[str, Description] = {}
        self._resolved: dict[str, tuple[float, IndexMeta]] = {}
        self._spread: dict[str, legs.Spread] = {}

    # Search

    def resolve(self, collection: str) -> IndexMeta:
        """The published index of `collection`, as it was at most a second ago. Raises `NotFound` where there is none."""
        known = self._resolved.get(collection)
        if known is not None and time.monotonic() - known[0] < FRESH_SECONDS:
            return known[1]
        index = self.published(collection)
        if index is None:
            raise NotFound(f"collection {collection!r} has no index yet: ingest documents into it", field="collection")
        meta = self.meta(index)
        self._resolved[collection] = (time.monotonic(), meta)
        return meta

    def meta(self, index: str) -> IndexMeta:
        """What an index, published or not, says of itself at its newest commit."""
        description = self.describe(index)
        answer = self._search(description, _COUNTED)
        kinds = {item["key"]: int(item["doc_count"]) for item in answer["aggregations"]["kinds"]["buckets"]}
        meta = IndexMeta(
            index=index,
            collection=description.collection,
            generation=description.generation,
            encoders={name: fingerprint for name, (fingerprint, _) in description.encoders.items()},
            analysis=description.analysis,
            commit=int(answer["aggregations"]["commit"]["value"] or 0),
            passages=kinds.get("passage", 0),
            documents=kinds.get("document", 0),
            windows=description.windows,
            rows=kinds.get("passage", 0) + kinds.get("row", 0),
        )
        documents = max(meta.documents, 1)
        self._spread[index] = legs.Spread(meta.passages / documents, meta.rows / documents)
        return meta

    def legs(self, request: LegsRequest) -> LegsAnswer:
        """All rankings, the total and the facets, in one `_msearch`; a leg that ends in a tie takes another."""
        description = self.describe(request.index)
        collection = self._collection(description.collection)
        compiler = Compiler(description.fields, {"title": collection.title_boost, "heading": collection.heading_boost})
        spread = self._spread.get(request.index, legs.Spread())
        return self._minding(request.index, lambda: legs.ask(self.cluster, request, description, compiler, spread))

    def passages(self, index: str, ids: Sequence[str], access: Access) -> Mapping[str, Passage]:
        """The passages that exist and that the caller may see; the others are missing from the answer."""
        sources = self._sources(index, "passage", ids, "passage", access, {"includes": SHOWN})
        return {source["passage"]: passage_of(source) for source in sources}

    def fields(self, index: str, documents: Sequence[str], access: Access) -> Mapping[str, Mapping[str, FieldValue]]:
        """The fields of the documents that exist and that the caller may see."""
        sources = self._sources(index, "document", documents, "document", access, {"includes": ["document", "shown"]})
        return {source["document"]: fields_of(source) for source in sources}

    def vectors(self, index: str, passages: Sequence[Passage]) -> Mapping[str, Mapping[str, Vectors]]:
        """Passage id -> vector field -> its vectors, for the passages that the index holds with the same text."""
        description = self.describe(index)
        wanted = {passage.id: passage for passage in passages}
        rows: dict[str, list[Any]] = {}
        same: set[str] = set()
        for name in _chunks(list(wanted)):
            query = {"bool": {"filter": [{"terms": {"passage": name}}]}}
            for hit in self._every(description, query, {"excludes": ["shown", "rest"]}):
                source = hit["_source"]
                rows.setdefault(source["passage"], []).append(source["vectors"])
                if "passage" in source["kind"] and passage_of(source) == _stored(wanted[source["passage"]]):
                    same.add(source["passage"])
        return {
            key: {name: np.asarray([row[name] for row in rows[key]], np.float32) for name in description.dimensions}
            for key in same
        }

    # Administration

    def create(self, collection: str, encoders: Mapping[str, tuple[str, int]]) -> IndexMeta:
        """A new empty generation, not yet published; its number was never used before, dropped ones included."""
        kind = self._collection(check_collection(collection))
        generation = self._admin.next_generation(collection, at_least=self._newest(collection))
        name = index_name(collection, generation)
        # One that is there is ours, its answer lost: nobody else is given this number.
        make_index(self.cluster, self._physical(name), index_body(kind, encoders, generation))
        return self.meta(name)

    def writer(self, index: str, wait: float = 0.0) -> AbstractContextManager[IndexWriter]:
        """The one writer of an index; raises `Conflict` when another still holds it after `wait` seconds."""
        return open_writer(self.cluster, self._admin, self.describe(index), wait, lambda: self._forget(index))

    def publish(self, index: str, first: bool = False) -> None:
        """Let the collection answer from this index from now on: its alias moves in one call."""
        if not first:
            self._move_alias(index)
            return
        collection, _ = split_index(index)
        # No call moves an alias only where it stands nowhere: so one process at a time looks, and moves it.
        with self._admin.lease(f"{collection} (first)", wait=_FIRST_SECONDS):
            if self.published(collection) is None:
                self._move_alias(index)

    def _move_alias(self, index: str) -> None:
        description = self.describe(index)
        alias = self._alias(description.collection)
        actions = [
            {"remove": {"index": f"{alias}.*", "alias": alias, "must_exist": False}},
            {"add": {"index": description.physical, "alias": alias}},
        ]
        self._minding(index, lambda: self.cluster.write("POST", "/_aliases", {"actions": actions}))
        self._forget(index)

    def drop(self, index: str, wait: float = 0.0) -> None:
        """Remove an index; refused with `Conflict` if published, or still being written after `wait` seconds."""
        collection, _ = split_index(index)
        if index not in self.names(collection):
            raise NotFound(f"there is no index {index!r}", field="index")
        with self._admin.lease(index, wait):
            if self.published(collection) == index:
                raise Conflict(f"index {index} is published: publish another one first", field="index")
            self.cluster.write("DELETE", f"/{self._physical(index)}")
        self._forget(index)

    def published(self, collection: str) -> str | None:
        """The name of the index that `collection` answers from; None before anything was published.

        Raises `Conflict` when its alias stands on several indexes, as no call of ours leaves it.
        """
        alias = self._alias(check_collection(collection))
        try:
            # Asked of our own indexes: of all, a user who may not see others' is refused.
            found = sorted(self.cluster.read("GET", f"/{alias}.*/_alias/{alias}"))
        except NotFound:
            return None
        if len(found) > 1:
            raise Conflict(
                f"the alias {alias} stands on {' and '.join(found)}: take it from all but one, or run `medley index "
                f"rebuild {collection}`",
                field="collection",
            )
        return self._name(found[0]) if found else None

    def names(self, collection: str) -> Sequence[str]:
        """Every index by name, readable or not, by generation."""
        start = f"{self._alias(check_collection(collection))}."
        found = self.cluster.read(
            "GET", f"/_cat/indices/{start}*", None, {"format": "json", "h": "index", "expand_wildcards": "all"}
        )
        ends = [item["index"].removeprefix(start) for item in found]
        return [index_name(collection, number) for number in sorted(int(end) for end in ends if end.isdigit())]

    def list(self, collection: str | None = None) -> Sequence[tuple[IndexMeta, bool]]:
        """Every index that can be read, by collection and generation, and whether it is the published one."""
        names = [collection] if collection is not None else self._admin.indexed_collections()
        listed: list[tuple[IndexMeta, bool]] = []
        for name in names:
            published = self.published(name)
            for index in self.names(name):
                with suppress(MedleyError):  # dropped meanwhile, of another schema, or red
                    listed.append((self.meta(index), index == published))
        return listed

    def contents(self, index: str) -> Iterator[tuple[str, int, int]]:
        """(document, version, passages) of every version that the index holds."""
        counted: Counter[tuple[str, int]] = Counter()
        for hit in self._every(
            self.describe(index), {"term": {"kind": "passage"}}, {"includes": ["document", "version"]}
        ):
            counted[hit["_source"]["document"], hit["_source"]["version"]] += 1
        return ((document, version, number) for (document, version), number in counted.items())

    def drift(self, index: str) -> Sequence[str]:
        """How the index differs from what the settings of its collection would make today, and from what it was made."""
        made = self.describe(index)
        wanted = self._collection(made.collection)
        found = drift(made.fields, made.windows, wanted)
        live = self.cluster.read("GET", f"/{made.physical}/_mapping")[made.physical]["mappings"]["properties"]
        meant = index_body(wanted, made.encoders, made.generation)["mappings"]["properties"]
        found += [f"{path} is {there} in its mapping, not {here}" for path, here, there in differing(meant, live)]
        if made.shards != wanted.shards:
            found.append(f"it has {made.shards} shards, the settings say {wanted.shards}")
        return found

    def dead(self, index: str) -> int:
        """0: OpenSearch clears away what was replaced by itself."""
        self.describe(index)
        return 0

    # Steps

    def _physical(self, index: str) -> str:
        collection, generation = split_index(index)
        return self.cluster.name("search", collection, str(generation))

    def _alias(self, collection: str) -> str:
        return self.cluster.name("search", collection)

    def _name(self, physical: str) -> str:
        collection, _, generation = physical.removeprefix(f"{self.cluster.prefix}.search.").rpartition(".")
        return index_name(collection, int(generation))

    def _newest(self, collection: str) -> int:
        names = self.names(collection)
        return split_index(names[-1])[1] if names else 0

    def describe(self, index: str) -> Description:
        """What the index says of itself: asked for once, since it never changes. Raises `NotFound`, `Conflict`."""
        if index not in self._known:
            physical = self._physical(index)
            try:
                answer = self.cluster.read("GET", f"/{quote(physical)}")
            except (NotFound, InvalidInput):
                raise NotFound(f"there is no index {index!r}", field="index") from None
            self._known[index] = described(physical, answer[physical])
        return self._known[index]

    def _forget(self, index: str) -> None:
        self._known.pop(index, None)
        self._resolved.pop(split_index(index)[0], None)

    def _minding(self, index: str, call: Callable[[], T]) -> T:
        """What `call` gives; an index that is gone is no longer known here, nor resolved to."""
        try:
            return call()
        except NotFound:
            self._forget(index)
            raise NotFound(f"there is no index {index!r}", field="index") from None

    def _search(self, index: Description, body: Mapping[str, Any]) -> Any:
        path = f"/{index.physical}/_search"
        return self._minding(index.name, lambda: self.cluster.read("POST", path, body, WHOLE))

    def _sources(
        self, index: str, name: str, values: Sequence[str], kind: str, access: Access, source: Mapping[str, Any]
    ) -> Sequence[dict[str, Any]]:
        description = self.describe(index)
        found: Sources = []
        for chunk in _chunks(values):
            body = {"size": len(chunk), "_source": source, "query": among(name, chunk, kind, access)}
            found += [hit["_source"] for hit in self._search(description, body)["hits"]["hits"]]
        return found

    def _every(
        self, index: Description, query: Mapping[str, Any], source: Mapping[str, Any]
    ) -> Sequence[dict[str, Any]]:
        """Every hit of a query, page by page."""
        found: Sources = []
        after: dict[str, Any] = {}
        while True:
            body = {"size": _AT_ONCE, "query": query, "_source": source, "sort": ["passage", "row"], **after}
            hits = self._search(index, body)["hits"]["hits"]
            found += hits
            if len(hits) < _AT_ONCE:
                return found
            after = {"search_after": hits[-1]["sort"]}


def _chunks(values: Sequence[str]) -> Sequence[Sequence[str]]:
    return [values[start : start + _AT_ONCE] for start in range(0, len(values), _AT_ONCE)]


def _stored(passage: Passage) -> Passage:
    """The passage as it comes back: `also` is searched, never shown."""
    return Passage(
        passage.document,
        passage.version,
        passage.ordinal,
        passage.title,
        passage.heading,
        passage.text,
        passage.context,
    )
