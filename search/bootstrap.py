"""The one composition root: settings in, a working Medley out. It only wires."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from mappings.documents import Document
from mappings.errors import MedleyError
from search.collections import Collections
from search.completion.completer import Completer
from search.completion.completions import CompletionRequest, Completions
from search.discourse.curve import DiscourseCurve
from search.engines.administration import Engine
from search.engines.opened import Engines, open_engines
from search.home import open_home
from search.kept.store import KeptStore
from search.memory.scores import ScoreMemory
from search.models.registry import Models
from search.pipeline.document_stance import DocumentStance, read_document
from search.pipeline.explanation import draw_curve
from search.pipeline.paging.cursor import read_key
from search.pipeline.results import Results
from search.pipeline.search import search
from search.pipeline.services import SearchServices
from search.query import Query
from search.settings import Settings
from search.visibility import Visibility


@dataclass(frozen=True, slots=True)
class Medley:
    """One open installation: its engines, its collections, its models, and what a search works with."""

    settings: Settings
    engines: Engines
    collections: Collections
    models: Models
    services: SearchServices
    visibility: Visibility
    completer: Completer

    @classmethod
    def open(cls, settings: Settings, patient: bool = False, scores: ScoreMemory | None = None) -> Medley:
        """A Medley over `settings.home`, which is created if it does not exist; `patient`: see `open_engines`.

        `scores` is the memory that it shares with other processes; without it, it has one of its own.

        Raises `Unavailable` for a home that can't be used or closed to other users (see `open_home`).
        """
        open_home(settings.home)
        models, collections = Models(settings), Collections(settings)
        engines = open_engines(settings, collections.get, patient)
        collections.attach(engines)
        services = SearchServices(
            engine=engines.engine,
            settings=settings,
            collection=collections.get,
            encoder=models.find_encoder,
            reranker=models.rerank_stages,
            key=read_key(settings.home / "cursor.key"),
            store=collections.store,
            reader=collections.reader_of,
            claim_reader=models.claim_reader,
            discourse=models.discourse.find,
            scores=scores or ScoreMemory(),
        )
        visibility = Visibility(engines.engine)
        return cls(settings, engines, collections, models, services, visibility, Completer(services))

    @property
    def engine(self) -> Engine:
        """What searches and administers the indexes."""
        return self.engines.engine

    @property
    def kept(self) -> KeptStore:
        """What users keep: searches, term bundles, cohorts, dossiers and judgements."""
        return self.engines.kept

    def close(self) -> None:
        """Leave complete files behind when this process stops; call it where nothing is written any more."""
        self.collections.close()
        with suppress(MedleyError):
            self.kept.close()

    def complete(self, request: CompletionRequest) -> Completions:
        """What can complete what was typed; see `Completer.complete`."""
        return self.completer.complete(request)

    def read_claim(self, claim: str, document: Document, version: int, collection: str) -> DocumentStance:
        """What a version of a document says of a claim; see `search.pipeline.document_stance.read_document`."""
        return read_document(claim, document, version, self.collections.get(collection), self.services)

    def draw_curve(self, query: Query, document: Document, version: int) -> DiscourseCurve | None:
        """How near a document's sentences are to a query's slots; see `search.pipeline.explanation.draw_curve`."""
        return draw_curve(query, document, version, self.services)

    def search(self, query: Query) -> Results:
        """One page of answers; see `search.pipeline.search.search`."""
        return search(query, self.services)
