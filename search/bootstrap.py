"""The one composition root: settings in, a working Medley out. Here alone encoders are bound to search."""

from __future__ import annotations

import json
import os
import re
import secrets
import threading
import tomllib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from encoders.artifact import SHIPPED, Artifact, find
from encoders.cache import CachedEncoder
from encoders.hashing import HashingEncoder
from encoders.poly import PolyEncoder, PolyReranker
from encoders.runtime import BiEncoder, CrossEncoder
from mappings import collection as kinds
from mappings.collection import Collection
from mappings.documents import Access
from mappings.errors import Conflict, InvalidInput, MedleyError, NotFound
from search.engines.opened import Engines, open_engines, secret
from search.models.remote import RemoteEncoder, RemoteReranker, Servers
from search.pipeline.results import Results
from search.models.remote import RemoteEncoder, RemoteReranker
from search.models.servers import Servers
from search.pipeline.search import search
from search.pipeline.services import SearchServices
from search.protocols import Encoder, Engine, Reranker
from search.query import Query
from search.ranking.anytime import Anytime, Pace, ScoreCache
from search.ranking.cascade import RerankStages
from search.settings import Settings
from search.storage import CatalogEntry, DocumentStore, StoredDocument

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
HASHING = "hashing-256"
_WARMING = "Does early treatment shorten the stay in hospital? " * 6


@dataclass
class Medley:
    """One open Medley: collections, stores, engine and models, made when first needed and then kept."""

    settings: Settings
    _collections: dict[str, tuple[CatalogEntry, Collection]] = field(default_factory=dict)
    _stores: dict[str, DocumentStore] = field(default_factory=dict)
    _encoders: dict[str, Encoder] = field(default_factory=dict)
    _rerankers: dict[str, Anytime | MedleyError] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    @classmethod
    def open(cls, settings: Settings, patient: bool = False) -> Medley:
        """A Medley over `settings.home`, which is made when it is not there; `patient`: see `open_engines`."""
        medley = cls(settings)
        medley.home.mkdir(parents=True, exist_ok=True)
        medley.servers = model_servers(settings)
        medley.engines = open_engines(settings, medley.collection, patient)
        medley.services = SearchServices(
            engine=medley.engine,
            settings=settings,
            collection=medley.collection,
            encoder=medley.encoder_of,
            reranker=medley.stages,
            key=read_key(medley.home / "cursor.key"),
        )
        return medley

    servers: Servers | None = field(init=False, default=None)
    engines: Engines = field(init=False)
    services: SearchServices = field(init=False)

    @property
    def home(self) -> Path:
        """The folder of everything that is kept."""
        return self.settings.home

    # Collections

    @property
    def engine(self) -> Engine:
        """What searches and administers the indexes."""
        return self.engines.engine

    def names(self) -> list[str]:
        """The collections that were made here."""
        return list(self.engines.catalog.names())

    def create(self, name: str, kind: str | None = None) -> Collection:
        """Make a collection of a kind (its own name when none is given); again with the same kind changes nothing."""
        made = kinds.load(check_name(name), kind, self.settings.collections)
        present = self.engines.catalog.read(name)
        if present is not None and present.kind != made.kind:
            raise Conflict(f"the collection {name!r} is there already, of kind {present.kind!r}", field="collection")
        if present is None:
            self.engines.catalog.add(name, made.kind)
        return self.collection(name)

    def collection(self, name: str) -> Collection:
        """A collection with the settings and tuned weights that apply to it. Raises `NotFound`."""
        written = self.engines.catalog.read(check_name(name))
        if written is None:
            known = ", ".join(self.names()) or "none yet"
            raise NotFound(f"there is no collection {name!r}; there are: {known}", field="collection")
        known_as = self._collections.get(name)
        if known_as is None or known_as[0] != written:
            loaded = with_tuned(kinds.load(name, written.kind, self.settings.collections), written.tuned)
            known_as = self._collections[name] = (written, loaded)
        return known_as[1]

    def tune(self, name: str, weights: str) -> str:
        """Keep measured weights (TOML) of a collection; where they stand now."""
        return self.engines.catalog.tune(name, weights)

    def store(self, name: str) -> DocumentStore:
        """The durable documents of a collection."""
        with self._lock:
            if name not in self._stores:
                self.collection(name)
                self._stores[name] = self.engines.store(name)
            return self._stores[name]

    # Models

    def model_folders(self) -> Sequence[Path]:
        """Where models are looked for, in order."""
        return [folder for folder in (self.settings.models, SHIPPED) if folder is not None]

    def encoder(self, name: str) -> Encoder:
        """The bi-encoder called `name`, with its vectors cached on disk. Raises `NotFound`, `ModelError`."""
        with self._lock:
            if name not in self._encoders:
                loaded = self._load_encoder(name)
                # Hashing a text is quicker than finding its vector on a disk.
                self._encoders[name] = loaded if name == HASHING else CachedEncoder(loaded, self.home / "vectors")
            return self._encoders[name]

    def _load_encoder(self, name: str) -> Encoder:
        if name == HASHING:
            return HashingEncoder(256)
        if self.servers is not None:
            return RemoteEncoder(self.servers, self.servers.fingerprint("bi-encoder", name))
        artifact = Artifact.open(find(name, self.model_folders()))
        return BiEncoder(artifact, self.settings.threads or None, self.settings.form or None, self.settings.device)

    def encoders(self, collection: Collection) -> dict[str, Encoder]:
        """Vector field -> the encoder that a new index of the collection is filled by."""
        return {name: self.encoder(self.settings.encoder or model) for name, model in collection.vectors.items()}

    def encoder_of(self, fingerprint: str) -> Encoder | None:
        """The encoder with this fingerprint, or None when no model here has it."""
        if self.servers is not None and fingerprint != HashingEncoder(256).fingerprint:
            return self._remote(self.servers, fingerprint)
        with self._lock:
            for loaded in self._encoders.values():
                if loaded.fingerprint == fingerprint:
                    return loaded
            for name in (HASHING, *self.model_names()):
                try:
                    if self._fingerprint(name) == fingerprint:
                        return self.encoder(name)
                except MedleyError:
                    continue  # a broken model can't be the one looked for: the answer will name what is missing
            return None

    def _remote(self, servers: Servers, fingerprint: str) -> Encoder | None:
        """The encoder on a model server; None when all servers answer, and none has it.

        Nothing is asked of a server that may be down: the encoder says so when it is used. No vectors are cached here.
        """
        return RemoteEncoder(servers, fingerprint) if servers.may_have(fingerprint) else None

    def model_names(self) -> list[str]:
        """Every model directory's name, each once."""
        found = (path.parent.name for folder in self.model_folders() for path in sorted(folder.glob("*/model.json")))
        return list(dict.fromkeys(found))

    def _fingerprint(self, name: str) -> str:
        if name == HASHING:
            return HashingEncoder(256).fingerprint
        manifest = json.loads((find(name, self.model_folders()) / "model.json").read_text(encoding="utf-8"))
        return str(manifest.get("fingerprint", "")) if isinstance(manifest, dict) else ""

    def reranker(self, name: str) -> Reranker:
        """The cross-encoder or poly-encoder called `name`. Raises `NotFound`, `ModelError`."""
        if self.servers is not None:
            return RemoteReranker(self.servers, name)
        artifact = Artifact.open(find(name, self.model_folders()))
        arguments = (artifact, self.settings.threads or None, self.settings.form or None, self.settings.device)
        return PolyReranker(PolyEncoder(*arguments)) if artifact.kind == "poly-encoder" else CrossEncoder(*arguments)

    def stages(self, collection: Collection) -> RerankStages | None:
        """The collection's rerankers; None when reranking is switched off. Raises as `reranker` does.

        A reranker that the settings name decides alone.
        """
        name, first = self.settings.reranker or collection.reranking.model, collection.reranking.first
        if name == "none":
            return None
        last = self._anytime(name)
        if first is None or self.settings.reranker:
            return RerankStages(last)
        try:
            return RerankStages(last, self._anytime(first.model))
        except MedleyError as error:
            return RerankStages(last, missing=error.message)

    def _anytime(self, name: str) -> Anytime:
        """A cross-encoder with its cache and pace, made once."""
        with self._lock:
            if name not in self._rerankers:
                try:
                    self._rerankers[name] = Anytime(self.reranker(name), ScoreCache(), Pace())
                except MedleyError as error:
                    self._rerankers[name] = error  # looked for once, not at every search
            found = self._rerankers[name]
        if isinstance(found, MedleyError):
            raise found
        return found

    def warm(self) -> None:
        """Load the models of every collection and run them once, so that the first search waits for neither.

        What can't be loaded is left to be named by readiness and by the answers.
        """
        names: list[str] = []
        with suppress(MedleyError):
            names = self.names()
        for name in names:
            with suppress(MedleyError):
                for fingerprint in self.engine.resolve(name).encoders.values():
                    if (encoder := self.encoder_of(fingerprint)) is not None:
                        encoder.encode_queries([_WARMING])
                stages = self.stages(self.collection(name))
                for anytime in (stages.first, stages.last) if stages else ():
                    if anytime is not None:
                        anytime.reranker.score(
                            _WARMING, [_WARMING]
                        )  # the first run is slow: no pace is learned from it
                        anytime.score(_WARMING, [f"{_WARMING} {number}" for number in range(4)], None)

    # Doors

    def search(self, query: Query) -> Results:
        """One page of answers; see `search.pipeline.search`."""
        return search(query, self.services)

    def document(self, collection: str, identifier: str, access: Access) -> StoredDocument:
        """The newest version of a document. Raises `NotFound` alike for an unknown, a deleted and a forbidden one."""
        stored = self.store(collection).latest([identifier]).get(identifier)
        if stored is None or stored.document is None or not access.may_see(stored.document.labels):
            raise NotFound(f"there is no document {identifier[:200]!r} in {collection!r} that you may see", field="id")
        return stored


def model_servers(settings: Settings) -> Servers | None:
    """The model servers of the settings, not yet asked anything; None when models run in this process."""
    addresses = [address.strip() for address in settings.inference.split(",") if address.strip()]
    token = secret(settings.inference_token_file, "MEDLEY_INFERENCE_TOKEN_FILE")
    return Servers(addresses, token) if addresses else None


def check_name(name: str) -> str:
    """`name`, when it can name a collection. Raises `InvalidInput`."""
    if not NAME.fullmatch(name):
        raise InvalidInput(
            f"{name[:80]!r} is no collection name: lower-case letters, digits, '-' and '_', at most 63",
            field="collection",
        )
    return name


def with_tuned(collection: Collection, weights: str) -> Collection:
    """The collection with the weights that `medley tune` measured, if it did."""
    if not weights:
        return collection
    try:
        return kinds.tuned(collection, tomllib.loads(weights))
    except (tomllib.TOMLDecodeError, AttributeError, TypeError, ValueError) as error:
        raise InvalidInput(
            f"the weights of {collection.name!r} (tuned.toml) are not what `medley tune` writes: {error}",
            field="tuned.toml",
        ) from error


def read_key(file: Path) -> bytes:
    """A secret key kept in `file`, made once, readable by its owner only."""
    if not file.is_file():
        temporary = file.with_name(f"{file.name}.{os.getpid()}.{secrets.token_hex(4)}")
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as handle:
            handle.write(secrets.token_bytes(32))
        try:
            os.link(temporary, file)  # the first of several processes wins, all read the winner's
        except FileExistsError:
            pass
        finally:
            temporary.unlink()
    return file.read_bytes()
