"""The OpenSearch engine: search and administration of indexes on a cluster, with an alias on each published index.

Any number of processes read and write. An index keeps its name and its description for as long as it exists; a
collection switches to another one by its alias, in one call.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import asdict
from typing import Any, Final

from encoders.tokens.format import TokenFormat
from mappings.collection import Collection
from mappings.documents import Access, FieldValue, Passage
from mappings.errors import Conflict, MedleyError, NotFound
from mappings.indexes import index_body
from search.engines.administration import FileProblem, IndexWriter
from search.engines.names import check_collection, index_name, split_index
from search.engines.opensearch import fetches
from search.engines.opensearch.admin import Admin, make_index
from search.engines.opensearch.client import Cluster
from search.engines.opensearch.cohorts.patients import ClusterPatients, KnownCache
from search.engines.opensearch.description import OpenSearchIndexDescription, mapping_differences
from search.engines.opensearch.documents.expunge import expunge
from search.engines.opensearch.indexes import Indexes
from search.engines.opensearch.legs import bucket_value, compiler_of, fetch_legs
from search.engines.opensearch.queries import OpenSearchQueryCompiler
from search.engines.opensearch.records import SHOWN, fields_of, passage_of, tokens_of, vectors_of
from search.engines.opensearch.vectors.choice import choose_form
from search.engines.opensearch.writer import open_writer
from search.engines.values import drift, field_kind
from search.protocols import IndexMeta, LegsAnswer, LegsRequest, PatientsAnswer, PatientsRequest, Vectors
from search.query import Phrase

_LOOKUP: Final = 1_000
_FIRST_SECONDS: Final = 60.0
_ERASE_SECONDS: Final = 720.0


class OpenSearchEngine:
    """A `SearchEngine` and `IndexAdmin` on a cluster. Thread-safe."""

    def __init__(self, cluster: Cluster, collection: Callable[[str], Collection]) -> None:
        self.cluster = cluster
        self._collection = collection
        self._admin = Admin(cluster)
        self._indexes = Indexes(cluster)
        self._patients = KnownCache()

    # Search

    def resolve(self, collection: str) -> IndexMeta:
        """The published index of `collection`, as it was at most a second ago.

        Raises `NotFound` where there is none.
        """
        try:
            return self.meta(self._indexes.resolve(collection))
        except NotFound:  # dropped by another process, which has published another one before
            return self.meta(self._indexes.resolve(collection))

    def meta(self, index: str) -> IndexMeta:
        """The description and the counts of any index, published or not, as they were at most a second ago."""
        return self._indexes.meta(index)

    def legs(self, request: LegsRequest) -> LegsAnswer:
        """All rankings, the total and the facets, in one `_msearch`; a leg that ends in a tie takes another."""
        description = self.describe(request.index)
        compiler = compiler_of(description, self._collection(description.collection))
        spread = self._indexes.spread(request.index)
        return self._indexes.checked(
            request.index, lambda: fetch_legs(self.cluster, request, description, compiler, spread)
        )

    def passages(self, index: str, ids: Sequence[str], access: Access) -> Mapping[str, Passage]:
        """The passages that exist and that the caller may see; the others are absent from the result."""
        bodies = (fetches.passages(chunk, access) for chunk in _chunks(ids))
        return {source["passage"]: passage_of(source) for source in self._sources(index, bodies)}

    def tokens(self, index: str, ids: Sequence[str], access: Access) -> Mapping[str, bytes]:
        """The compressed token vectors of the passages that have some, and that the caller may see."""
        bodies = (fetches.tokens(chunk, access) for chunk in _chunks(ids)) if self.describe(index).tokens else iter(())
        found = ((source["passage"], tokens_of(source)) for source in self._sources(index, bodies))
        return {name: content for name, content in found if content}

    def fields(self, index: str, documents: Sequence[str], access: Access) -> Mapping[str, Mapping[str, FieldValue]]:
        """The fields of the documents that exist and that the caller may see."""
        bodies = (fetches.document_fields(chunk, access) for chunk in _chunks(documents))
        return {source["document"]: fields_of(source) for source in self._sources(index, bodies)}

    def has_visible(self, index: str, access: Access) -> bool:
        """Whether the index has any document that the caller may see."""
        return bool(self._indexes.search(self.describe(index), fetches.any_visible(access))["hits"]["hits"])

    def proofs(
        self, index: str, documents: Sequence[str], keys: Sequence[str], access: Access, phrases: Sequence[Phrase] = ()
    ) -> Mapping[str, Sequence[Passage]]:
        """Document -> its passages that assert one of `keys` or have one of `phrases`, in order."""
        description, shown = self.describe(index), {"includes": list(SHOWN)}
        found: dict[str, dict[int, Passage]] = {}
        for chunk in _chunks(documents):
            for query in fetches.proving(chunk, keys, access, phrases):
                for source in self._indexes.scan(description, query, shown):
                    found.setdefault(source["document"], {})[source["ordinal"]] = passage_of(source)
        return {document: [own[number] for number in sorted(own)] for document, own in found.items()}

    def patients(self, request: PatientsRequest) -> PatientsAnswer:
        """The patients who meet criteria, counted exactly and paged."""
        description = self.describe(request.index)
        compiler = OpenSearchQueryCompiler(description.fields, {})
        finder = ClusterPatients(self.cluster, description, compiler, self._patients, request)
        return self._indexes.checked(request.index, finder.answer)

    def values(self, index: str, field: str, access: Access, withheld: Sequence[str] = ()) -> Mapping[str, int]:
        """Value of a field -> how many documents that the caller may see have it."""
        description = self.describe(index)
        kind = field_kind(description.fields, field)
        answer = self._indexes.search(description, fetches.counted_values(field, access, withheld))
        buckets = answer["aggregations"][fetches.VALUES]["buckets"]
        return {bucket_value(kind, item): int(item["doc_count"]) for item in buckets}

    def vectors(self, index: str, passages: Sequence[Passage]) -> Mapping[str, Mapping[str, Vectors]]:
        """Passage id -> vector field -> its vectors, for the passages that the index holds with the same text."""
        description = self.describe(index)
        wanted = {passage.id: passage for passage in passages}
        rows: dict[str, list[Any]] = {}
        same: set[str] = set()
        for ids in _chunks(list(wanted)):
            query = {"bool": {"filter": [{"terms": {"passage": ids}}]}}
            for source in self._indexes.scan(description, query, {"excludes": ["shown", "rest", "tokens"]}):
                rows.setdefault(source["passage"], []).append(source.get("vectors") or {})
                if "passage" in source["kind"] and passage_of(source) == wanted[source["passage"]].as_returned:
                    same.add(source["passage"])
        return {
            key: {name: vectors_of(rows[key], name, description) for name in description.encoders}
            for key in same
            if all(rows[key])  # a document that is found by its words has none yet
        }

    # Administration

    def create(
        self,
        collection: str,
        encoders: Mapping[str, tuple[str, int]],
        above: int = 0,
        reading: str = "",
        tokens: TokenFormat | None = None,
    ) -> IndexMeta:
        """A new empty generation, not yet published.

        Its number is higher than `above`, and was never used before, not even by a dropped index.
        """
        kind = self._collection(check_collection(collection))
        newest = max(above, self._indexes.newest_generation(collection))
        generation = self._admin.next_generation(collection, at_least=newest)
        name, form = index_name(collection, generation), choose_form(self.cluster, kind.vector_bits)
        # If it exists, we created it and the response was lost: no other process is given this number.
        body = index_body(kind, encoders, generation, reading, asdict(tokens) if tokens else None, form.name)
        make_index(self.cluster, self._indexes.physical(name), body)
        return self.meta(name)

    def writer(self, index: str, wait: float = 0.0) -> AbstractContextManager[IndexWriter]:
        """The only writer of an index. Raises `Conflict` while another holds it after `wait` seconds."""
        description = self.describe(index)
        return open_writer(self.cluster, self._admin, description, wait, lambda: self._indexes.forget(index))

    def publish(self, index: str, first: bool = False) -> None:
        """Publish an index: the alias of its collection moves to it in one call."""
        if not first:
            self._move_alias(index)
            return
        collection, _ = split_index(index)
        # No call moves an alias only if it is on no index: so one process at a time checks, and moves it.
        with self._admin.lease(_first(collection), wait=_FIRST_SECONDS):
            if self.published(collection) is None:
                self._move_alias(index)

    def _move_alias(self, index: str) -> None:
        description = self.describe(index)
        alias = self._indexes.alias(description.collection)
        actions = [
            {"remove": {"index": f"{alias}.*", "alias": alias, "must_exist": False}},
            {"add": {"index": description.physical, "alias": alias}},
        ]
        self._indexes.checked(index, lambda: self.cluster.write("POST", "/_aliases", {"actions": actions}))
        self._indexes.forget(index)

    def drop(self, index: str, wait: float = 0.0) -> None:
        """Remove an index. Raises `Conflict` if it is published, or still being written after `wait` seconds."""
        collection, _ = split_index(index)
        if index not in self.names(collection):
            raise NotFound(f"there is no index {index!r}", field="index")
        with self._admin.lease(index, wait):
            if self.published(collection) == index:
                raise Conflict(f"index {index} is published: publish another one first", field="index")
            self.cluster.write("DELETE", f"/{self._indexes.physical(index)}")
        self._indexes.forget(index)

    @contextmanager
    def exclusive(self, collection: str, wait: float = 0.0) -> Iterator[None]:
        """Exclude all writers of a collection's indexes, and its first publication. Raises `Conflict` after `wait` seconds."""
        with ExitStack() as stack:
            stack.enter_context(self._admin.lease(_first(check_collection(collection)), wait))
            for index in self.names(collection):
                stack.enter_context(self._admin.lease(index, wait))
            yield

    def remove(self, collection: str) -> None:
        """Remove every index of a collection; see `IndexAdmin.remove`."""
        for index in self.names(collection):
            physical = self._indexes.physical(index)
            self.cluster.write("DELETE", f"/{physical}", None, {"ignore_unavailable": "true"})
            self.cluster.made.discard(physical)
            self._indexes.forget(index)

    def published(self, collection: str) -> str | None:
        """The published index of `collection`; None before the first publication.

        Raises `Conflict` when its alias is on several indexes, which none of our calls does.
        """
        return self._indexes.published(collection)

    def names(self, collection: str) -> Sequence[str]:
        """The names of all indexes, readable or not, in order of generation."""
        return self._indexes.names(collection)

    def list(self, collection: str | None = None) -> Sequence[tuple[IndexMeta, bool]]:
        """Every readable index, by collection and generation, and whether it is the published one."""
        names = [collection] if collection is not None else self._admin.indexed_collections()
        listed: list[tuple[IndexMeta, bool]] = []
        for name in names:
            published = self.published(name)
            for index in self.names(name):
                with suppress(MedleyError):  # dropped meanwhile, of another schema, or red
                    listed.append((self.meta(index), index == published))
        return listed

    def contents(self, index: str) -> Iterator[tuple[str, int, int]]:
        """(document, version, passages) of every version in the index."""
        sources = self._indexes.scan(
            self.describe(index), {"term": {"kind": "passage"}}, {"includes": ["document", "version"]}
        )
        counted = Counter((source["document"], source["version"]) for source in sources)
        return ((document, version, number) for (document, version), number in counted.items())

    def drift(self, index: str) -> Sequence[str]:
        """How the index differs from its collection's settings today, and its mapping from the one it was created with."""
        made = self.describe(index)
        wanted = self._collection(made.collection)
        found = drift(made.fields, made.windows, wanted)
        actual = self.cluster.read("GET", f"/{made.physical}/_mapping")[made.physical]["mappings"]["properties"]
        tokens = asdict(made.tokens) if made.tokens else None
        expected = index_body(wanted, made.encoders, made.generation, tokens=tokens)["mappings"]["properties"]
        found += [
            f"{path} is {there} in its mapping, not {here}"
            for path, here, there in mapping_differences(expected, actual)
        ]
        if made.shards != wanted.shards:
            found.append(f"it has {made.shards} shards; the settings say {wanted.shards}")
        if made.bits != wanted.vector_bits:
            found.append(f"its vectors have {made.bits} bits; the settings say {wanted.vector_bits}")
        return found

    def file_problems(self, index: str, again: bool = True) -> Sequence[FileProblem]:
        """None: the cluster has checksums of its own, and recovers a damaged copy from another."""
        return ()

    def dead(self, index: str) -> int:
        """0: OpenSearch itself removes replaced rows."""
        self.describe(index)
        return 0

    def erase(self, index: str) -> bool:
        """Let the cluster write segments anew without removed entries, in half a minute or more; false when some are left."""
        return not expunge(self.cluster, [self.describe(index).physical], _ERASE_SECONDS)

    def describe(self, index: str) -> OpenSearchIndexDescription:
        """The description of an index. Raises `NotFound`, `Conflict`."""
        return self._indexes.describe(index)

    def _sources(self, index: str, bodies: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        description = self.describe(index)
        for body in bodies:
            yield from (hit["_source"] for hit in self._indexes.search(description, body)["hits"]["hits"])


def _first(collection: str) -> str:
    """The key of the lease that the first publication of a collection needs, and what concerns it as a whole."""
    return f"{collection} (first)"


def _chunks(values: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(values), _LOOKUP):
        yield values[start : start + _LOOKUP]
