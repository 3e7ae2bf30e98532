"""Opens the engine of the settings, with its stores and its catalog: embedded in a folder, or on an OpenSearch cluster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mappings.collection import Collection
from mappings.errors import InvalidInput
from search.catalog import Catalog
from search.engines.administration import Engine
from search.kept.store import KeptStore
from search.settings import Settings
from search.storage import DocumentStore

if TYPE_CHECKING:
    from search.engines.opensearch.client import Cluster


@dataclass(frozen=True, slots=True)
class Engines:
    """An engine, its catalog, its document store by collection, from which its indexes are filled, and what users keep."""

    engine: Engine
    catalog: Catalog
    store: Callable[[str], DocumentStore]
    kept: KeptStore


def open_engines(settings: Settings, collection: Callable[[str], Collection], patient: bool = False) -> Engines:
    """The engine of `settings`; `collection` returns the settings of a collection by name. Raises `InvalidInput`.

    `patient`: wait minutes for a cluster that restarts, as ingestion does; a search gives up after seconds.
    """
    return _cluster(settings, collection, patient) if settings.opensearch else _embedded(settings.home, collection)


def _embedded(home: Path, collection: Callable[[str], Collection]) -> Engines:
    from search.engines.embedded.catalog import EmbeddedCatalog
    from search.engines.embedded.engine import EmbeddedEngine
    from search.engines.embedded.kept.store import EmbeddedKeptStore
    from search.engines.embedded.layout import collection_folder
    from search.engines.embedded.store import EmbeddedStore

    def store(name: str) -> DocumentStore:
        collection(name)  # a store makes its folder, which must not come back after the collection was deleted
        return EmbeddedStore(collection_folder(home, name))

    return Engines(
        EmbeddedEngine(home, collection),
        EmbeddedCatalog(home),
        store,
        EmbeddedKeptStore(home, collection),
    )


def _cluster(settings: Settings, collection: Callable[[str], Collection], patient: bool) -> Engines:
    from search.engines.opensearch.catalog import OpenSearchCatalog
    from search.engines.opensearch.documents.store import OpenSearchStore
    from search.engines.opensearch.engine import OpenSearchEngine
    from search.engines.opensearch.kept.store import OpenSearchKeptStore

    def check(name: str) -> None:
        collection(name)

    cluster = open_cluster(settings, patient)
    return Engines(
        OpenSearchEngine(cluster, collection),
        OpenSearchCatalog(cluster),
        lambda name: OpenSearchStore(cluster, name, collection(name).shards, lambda: check(name)),
        OpenSearchKeptStore(cluster, collection),
    )


def open_cluster(settings: Settings, patient: bool = False) -> Cluster:
    """The cluster of the settings, not yet contacted. Raises `InvalidInput` if they name none that can be one."""
    from search.engines.opensearch.client import READ_SECONDS, WRITE_SECONDS, Cluster, Connection

    hosts = tuple(host.strip().rstrip("/") for host in settings.opensearch.split(",") if host.strip())
    if not hosts:
        raise InvalidInput("no OpenSearch is named: set MEDLEY_OPENSEARCH", field="MEDLEY_OPENSEARCH")
    return Cluster(
        Connection(
            hosts=hosts,
            prefix=settings.opensearch_prefix,
            user=settings.opensearch_user,
            password=secret(settings.opensearch_password_file, "MEDLEY_OPENSEARCH_PASSWORD_FILE"),
            api_key=secret(settings.opensearch_api_key_file, "MEDLEY_OPENSEARCH_API_KEY_FILE"),
            ca=settings.opensearch_ca,
            patience=WRITE_SECONDS if patient else READ_SECONDS,
        )
    )


def secret(file: Path | None, variable: str) -> str:
    """The content of a secret file, stripped; empty where the setting names none."""
    if file is None:
        return ""
    try:
        return file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{variable}: can't read {file}: {error}", field=variable) from error
