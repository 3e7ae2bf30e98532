"""The models that are available here: found by name or fingerprint, loaded once, in this process or on model servers."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from encoders.artifact import SHIPPED, Artifact, find
from encoders.cache import CachedEncoder, cached_bytes
from encoders.hashing import HashingEncoder
from encoders.late.surrounded import SurroundedEncoder, is_surrounded, reads_surroundings
from encoders.marked import MarkedEncoder, base_fingerprint, marking_of
from encoders.poly import PolyEncoder, PolyReranker
from encoders.runtime import BiEncoder, CrossEncoder
from encoders.stances import StanceClassifier
from mappings.collection import DISCOURSE, Collection
from mappings.errors import MedleyError, ModelError
from search.discourse.models import IndexEncoder
from search.engines.opened import secret
from search.models.discourse import DiscourseModels
from search.models.remote import RemoteEncoder, RemoteReranker
from search.models.servers import Servers
from search.protocols import Encoder, Reranker
from search.ranking.anytime import AnytimeReranker, Pace, ScoreCache
from search.ranking.cascade import RerankStages
from search.ranking.claims import AnytimeClaimReader
from search.settings import Settings

HASHING: Final = "hashing-256"
"""The name of the encoder that needs no model."""

STANCE: Final = "medley-stance"
"""The stance classifier that the product ships."""

VECTORS: Final = "vectors"
"""The folder in the home that holds the caches of passage vectors."""


class Models:
    """Encoders and rerankers by the settings, each loaded when it is first needed; threads may share it."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.servers = model_servers(settings)
        self.discourse = DiscourseModels(settings, self.folders())
        self._encoders: dict[str, Encoder] = {}
        self._rerankers: dict[str, AnytimeReranker | MedleyError] = {}
        self._classifiers: dict[str, StanceClassifier] = {}
        self._claim_readers: dict[str, AnytimeClaimReader | MedleyError] = {}
        self._lock = threading.RLock()

    def folders(self) -> Sequence[Path]:
        """Where model directories are looked for, in order."""
        return [folder for folder in (self.settings.models, SHIPPED) if folder is not None]

    def names(self) -> list[str]:
        """The name of every model directory, each once."""
        found = (path.parent.name for folder in self.folders() for path in sorted(folder.glob("*/model.json")))
        return list(dict.fromkeys(found))

    def encoder(self, name: str) -> Encoder:
        """The bi-encoder called `name`, with its vectors cached on disk. Raises `NotFound`, `ModelError`."""
        with self._lock:
            if name not in self._encoders:
                loaded = self._load_encoder(name)
                # Hashing a text is faster than reading its vector from disk.
                self._encoders[name] = loaded if name == HASHING else self._cached(loaded)
            return self._encoders[name]

    def encoders(self, collection: Collection, named: str = "") -> dict[str, Encoder]:
        """Vector field -> the encoder that fills a new index of the collection: `named`, that of the settings, or its own.

        One that reads surroundings is given them. Raises `ModelError` where the kind marks texts, which it can't read then.
        """
        return {
            name: self._fitted(named or self.settings.encoder or model, collection)
            for name, model in collection.vectors.items()
        }

    def _fitted(self, name: str, collection: Collection) -> Encoder:
        """An encoder as the collection's kind gives it its texts: marked, or among the document's other passages."""
        encoder, marking = self.encoder(name), collection.marking
        if not reads_surroundings(encoder):
            return MarkedEncoder(encoder, marking) if marking else encoder
        if marking:
            raise ModelError(
                f"{name} reads passages in their documents, and [passages] marking takes the texts of {collection.kind} apart: "
                "name another encoder, or a kind of your own without marking",
                field="model",
            )
        return SurroundedEncoder(encoder)

    def index_encoders(self, collection: Collection, named: str = "") -> dict[str, IndexEncoder]:
        """Vector field -> what fills it in a new index: `encoders` and, last, the discourse model if there is one."""
        whole = self.discourse.of(collection)
        return {**self.encoders(collection, named), **({DISCOURSE: whole} if whole else {})}

    def find_index_encoder(self, field: str, fingerprint: str) -> IndexEncoder | None:
        """What filled a vector field: the model of its kind with this fingerprint, or None if none here has it."""
        return self.discourse.find(fingerprint) if field == DISCOURSE else self.find_encoder(fingerprint)

    def find_encoder(self, fingerprint: str) -> Encoder | None:
        """The encoder with this fingerprint, or None if no model here has it, or marks texts in another way."""
        base, marking = base_fingerprint(fingerprint), marking_of(fingerprint)
        if base == fingerprint:
            return self._find(fingerprint)
        if is_surrounded(fingerprint):
            plain = self._find(base)
            return SurroundedEncoder(plain) if plain else None
        found = self._find(base) if marking else None
        return MarkedEncoder(found, marking) if found and marking else None

    def _find(self, fingerprint: str) -> Encoder | None:
        if self.servers is not None and fingerprint != HashingEncoder(256).fingerprint:
            # A server that may be down is not asked here: the encoder says so when it is used.
            return RemoteEncoder(self.servers, fingerprint) if self.servers.may_have(fingerprint) else None
        with self._lock:
            for loaded in self._encoders.values():
                if loaded.fingerprint == fingerprint:
                    return loaded
            given = [self.settings.encoder] if self.settings.encoder else []  # perhaps a path, which no folder lists
            for name in dict.fromkeys((HASHING, *given, *self.names())):
                try:
                    if self._fingerprint(name) == fingerprint:
                        return self.encoder(name)
                except MedleyError:
                    continue  # a broken model can't be the one: the answer will name what is missing
            return None

    def reranker(self, name: str) -> Reranker:
        """The cross-encoder or poly-encoder called `name`. Raises `NotFound`, `ModelError`."""
        if self.servers is not None:
            return RemoteReranker(self.servers, name)
        artifact = Artifact.open(find(name, self.folders()))
        if artifact.reading.windows == "surroundings":
            raise ModelError(
                f"{name} reads passages in their documents, and reranking shows it passages alone: name another reranker",
                field="model",
            )
        arguments = (artifact, self.settings.threads or None, self.settings.form or None, self.settings.device)
        return PolyReranker(PolyEncoder(*arguments)) if artifact.kind == "poly-encoder" else CrossEncoder(*arguments)

    def stance_classifier(self, name: str = STANCE) -> StanceClassifier:
        """The stance classifier called `name`, in this process, loaded once. Raises `ModelError`."""
        with self._lock:
            if name not in self._classifiers:
                artifact = Artifact.open(find(name, self.folders()))
                arguments = (artifact, self.settings.threads or None, self.settings.form or None, self.settings.device)
                self._classifiers[name] = StanceClassifier(*arguments)
            return self._classifiers[name]

    def claim_reader(self, collection: Collection) -> AnytimeClaimReader | None:
        """What reads stances in the collection; None if its kind has no such model, or if reading is switched off.

        It is with reranking, unless the settings name a model. Raises as `stance_classifier` does.
        """
        if collection.stance is None:
            return None
        name = self.settings.stance or ("none" if self.settings.reranker == "none" else collection.stance.model)
        if name == "none":
            return None
        with self._lock:
            if name not in self._claim_readers:
                try:
                    self._claim_readers[name] = AnytimeClaimReader(self.stance_classifier(name))
                except MedleyError as error:
                    self._claim_readers[name] = error  # looked for once, not in every search
            found = self._claim_readers[name]
        if isinstance(found, MedleyError):
            raise found
        return found

    def rerank_stages(self, collection: Collection) -> RerankStages | None:
        """The collection's rerankers; None if reranking is switched off. Raises as `reranker` does.

        A reranker that the settings name works alone. A first stage that cannot be loaded is named in `missing`.
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

    def token_encoder(self, collection: Collection) -> PolyEncoder | None:
        """The poly-encoder that reranks whole passages of a collection in this process: an index stores its token vectors.

        None where no stage is one. One that can't be loaded is left out: answers name it, and documents are indexed.
        """
        reranking, chosen = collection.reranking, self.settings.reranker
        first = reranking.first.model if reranking.first and not chosen else ""
        last = (chosen or reranking.model) if reranking.parts is None else ""  # parts are no whole passages
        for name in (first, last) if self.servers is None else ():
            with suppress(MedleyError):
                if name not in ("", "none") and self._kind(name) == "poly-encoder":
                    found = self._anytime(name).reranker
                    return found.encoder if isinstance(found, PolyReranker) else None
        return None

    def cached_bytes(self) -> int:
        """How many bytes the cached vectors of passages take on this machine."""
        return cached_bytes(self.settings.home / VECTORS)

    def _cached(self, encoder: Encoder) -> Encoder:
        return CachedEncoder(encoder, self.settings.home / VECTORS, self.settings.vector_cache_bytes)

    def _load_encoder(self, name: str) -> Encoder:
        if name == HASHING:
            return HashingEncoder(256)
        if self.servers is not None:
            return RemoteEncoder(self.servers, self.servers.fingerprint("bi-encoder", name))
        artifact = Artifact.open(find(name, self.folders()))
        return BiEncoder(artifact, self.settings.threads or None, self.settings.form or None, self.settings.device)

    def _fingerprint(self, name: str) -> str:
        if name == HASHING:
            return HashingEncoder(256).fingerprint
        return self._entry(name, "fingerprint")

    def _kind(self, name: str) -> str:
        return self._entry(name, "kind")

    def _entry(self, name: str, key: str) -> str:
        """An entry of a model's manifest, without reading its other files."""
        try:
            manifest = json.loads((find(name, self.folders()) / "model.json").read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise ModelError(f"the manifest of the model {name!r} can't be read: {error}", field="model") from error
        return str(manifest.get(key, "")) if isinstance(manifest, dict) else ""

    def _anytime(self, name: str) -> AnytimeReranker:
        """A reranker with its cache and pace, created once."""
        with self._lock:
            if name not in self._rerankers:
                try:
                    self._rerankers[name] = AnytimeReranker(self.reranker(name), ScoreCache(), Pace())
                except MedleyError as error:
                    self._rerankers[name] = error  # looked for once, not in every search
            found = self._rerankers[name]
        if isinstance(found, MedleyError):
            raise found
        return found


def model_servers(settings: Settings) -> Servers | None:
    """The model servers of the settings, not yet contacted; None if models run in this process."""
    addresses = [address.strip() for address in settings.inference.split(",") if address.strip()]
    token = secret(settings.inference_token_file, "MEDLEY_INFERENCE_TOKEN_FILE")
    return Servers(addresses, token) if addresses else None
