"""What a cluster has to have before the plug-in can be installed on it."""

from __future__ import annotations

from typing import Final

from mappings.errors import InvalidInput
from search.engines.opensearch.client import Cluster

NEEDED: Final = ("opensearch-ml", "opensearch-neural-search", "opensearch-knn")
"""The plug-ins of OpenSearch that the pipelines use."""


def check_plugins(cluster: Cluster) -> None:
    """Raise `InvalidInput` where the cluster lacks one of `NEEDED`; else as `Cluster` does."""
    rows = cluster.read("GET", "/_cat/plugins", params={"format": "json"})
    there = {row["component"] for row in rows}
    if missing := [name for name in NEEDED if name not in there]:
        raise InvalidInput(
            f"OpenSearch at {cluster.where} lacks {', '.join(missing)}: install them on its nodes", field="opensearch"
        )
