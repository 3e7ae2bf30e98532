"""What all of indexing works on: one collection with its store, its engine and the encoders that fill its indexes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from encoders.marked import short_fingerprint
from encoders.tokens.format import TokenEncoder, TokenFormat
from mappings.analysis.words import ANALYSIS_VERSION
from mappings.clinical.reading import ConceptReader
from mappings.collection import Collection
from mappings.errors import Conflict, ModelError, NotFound, Unavailable
from search.discourse.models import IndexEncoder
from search.engines.administration import Engine
from search.engines.names import split_index
from search.protocols import IndexMeta
from search.storage import DocumentStore

if TYPE_CHECKING:
    from search.bootstrap import Medley

FindEncoder = Callable[[str, str], IndexEncoder | None]
"""(vector field, fingerprint) -> the encoder that has it, if it is available here."""

FindTokens = Callable[[Collection], TokenEncoder | None]
"""Collection -> the poly-encoder that reranks it, if one does."""

ProgressCallback = Callable[[int, int], None]
"""Called with (documents done, documents known so far)."""


@dataclass(slots=True)
class IndexingStatistics:
    """What was done so far; `tokens` are those of encoders that count them.

    Of `cut` documents, `unread` sentences in all are beyond what the discourse model reads.
    """

    documents: int = 0
    failed: int = 0
    texts: int = 0
    tokens: int = 0
    encoding_seconds: float = 0.0
    cut: int = 0
    unread: int = 0


@dataclass(frozen=True, slots=True)
class IndexingOptions:
    """How to index: `wait` is how many seconds to wait for the writer of an index.

    `find_encoder` finds the encoders that an existing index was filled by, `find_tokens` the poly-encoder of a collection,
    `statistics` is what the work is added to.
    """

    wait: float = 0.0
    find_encoder: FindEncoder | None = None
    find_tokens: FindTokens | None = None
    on_progress: ProgressCallback | None = None
    statistics: IndexingStatistics = field(default_factory=IndexingStatistics)


@dataclass(frozen=True, slots=True)
class Indexer:
    """One collection to be indexed; `encoders` (vector field -> encoder) are those that a new index is filled by.

    `reader` reads its documents, None if its kind says that they are not read.
    """

    store: DocumentStore
    engine: Engine
    encoders: Mapping[str, IndexEncoder]
    collection: Collection
    options: IndexingOptions = field(default_factory=IndexingOptions)
    reader: ConceptReader | None = None

    @classmethod
    def of(
        cls,
        medley: Medley,
        name: str,
        options: IndexingOptions | None = None,
        encoders: Mapping[str, IndexEncoder] | None = None,
    ) -> Indexer:
        """The indexer of a collection of an open Medley; `encoders`: others than the collection's own.

        Give empty `encoders` where none is needed, and none should be loaded. Raises `NotFound`, `ModelError`.
        """
        collection, options = medley.collections.get(name), options or IndexingOptions()
        finders = (
            options.find_encoder or medley.models.find_index_encoder,
            options.find_tokens or medley.models.token_encoder,
        )
        options = replace(options, find_encoder=finders[0], find_tokens=finders[1])
        encoders = medley.models.index_encoders(collection) if encoders is None else encoders
        reader = medley.collections.reader(name)
        return cls(medley.collections.store(name), medley.engine, encoders, collection, options, reader)

    @property
    def name(self) -> str:
        """The name of the collection."""
        return self.collection.name

    @property
    def reading(self) -> str:
        """The version of what reads the documents; "" if they are not read."""
        return self.reader.version if self.reader else ""

    @property
    def tokens(self) -> TokenEncoder | None:
        """The poly-encoder of which a new index stores the token vectors; None if no stage of reranking is one."""
        return self.options.find_tokens(self.collection) if self.options.find_tokens else None

    @property
    def token_format(self) -> TokenFormat | None:
        """What a new index says of the token vectors that it stores."""
        found = self.tokens
        return found.format if found else None

    def create(self) -> IndexMeta:
        """A new generation of the index, empty and not published, for these encoders.

        A store can come from a backup without its indexes: the states in them are forgotten, and their numbers not reused.
        """
        recorded = self.store.indexes()
        gone = sorted(set(recorded) - set(self.engine.names(self.name)))
        above = max((split_index(index)[1] for index in recorded), default=0)
        identities = {name: (encoder.fingerprint, encoder.dimension) for name, encoder in self.encoders.items()}
        meta = self.engine.create(self.name, identities, above, self.reading, self.token_format)
        for index in gone:
            self.store.forget(index)
        return meta

    def published(self) -> IndexMeta | None:
        """The published index as it is this moment; what `Engine.resolve` returns may be a second old."""
        index, tried = self.engine.published(self.name), None
        while index is not None and index != tried:
            try:
                return self.engine.meta(index)
            except NotFound:  # dropped in between, so another one is published by now; or the pointer leads nowhere
                index, tried = self.engine.published(self.name), index
        return None

    def readable(self) -> IndexMeta | None:
        """The published index, unless there is none or it can't be opened."""
        try:
            return self.published()
        except (Conflict, Unavailable):
            return None

    def drop(self, index: str, wait: float = 0.0) -> bool:
        """Drop an index and its records; false when it is still being written after `wait` seconds, or already gone."""
        with suppress(Conflict, NotFound):
            self.engine.drop(index, wait)
            self.store.forget(index)
            return True
        return False

    def check_index(self, meta: IndexMeta) -> None:
        """Raise `ModelError` unless an index was filled by these encoders, the current analysis and the current reading."""
        own = {name: encoder.fingerprint for name, encoder in self.encoders.items()}
        for name in sorted(meta.encoders.keys() | own.keys()):
            theirs, ours = meta.encoders.get(name, "none"), own.get(name, "none")
            if theirs != ours:
                raise ModelError(
                    f"index {meta.index} was built with the {name} encoder {short_fingerprint(theirs)}, not {short_fingerprint(ours)}: "
                    f"rebuild it, or choose the model it was built with",
                    field=name,
                )
        if meta.analysis != ANALYSIS_VERSION:
            raise ModelError(
                f"index {meta.index} was built with the analysis {meta.analysis}, not {ANALYSIS_VERSION}: rebuild it",
                field="analysis",
            )
        if meta.reading != self.reading:
            raise ModelError(
                f"index {meta.index} was read by {meta.reading or 'nothing'}, not {self.reading or 'nothing'}: rebuild it",
                field="reading",
            )


def find_encoders(indexer: Indexer, meta: IndexMeta) -> dict[str, IndexEncoder]:
    """Vector field -> the encoder that an index was created for."""
    find = indexer.options.find_encoder
    found: dict[str, IndexEncoder] = {}
    for name, fingerprint in meta.encoders.items():
        encoder = find(name, fingerprint) if find else None
        if encoder is None:
            raise ModelError(
                f"the {name} encoder {short_fingerprint(fingerprint)} of index {meta.index} is not among the available models",
                field=name,
            )
        found[name] = encoder
    return found
