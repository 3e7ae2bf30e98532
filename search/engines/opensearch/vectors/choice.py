"""Chooses the form in which the vectors of a new index are sent: what was tried on the cluster and found right."""

from __future__ import annotations

import re
import secrets
from contextlib import suppress
from typing import Any, Final

import numpy as np

from mappings.errors import MedleyError
from search.engines.opensearch.client import Cluster
from search.engines.opensearch.vectors.forms import BASE64, NUMBERS, WHOLE_NUMBERS, VectorForm

_FIRST_RELEASE: Final = (3, 8)
"""No earlier k-NN plugin can take base64. Whether a later one does is tried."""

_TRIED: Final = (1.0, -2.0)
_BODY: Final[dict[str, Any]] = {
    "settings": {"index": {"number_of_shards": 1, "number_of_replicas": 0, "knn": True}},
    "mappings": {
        "properties": {"v": {"type": "knn_vector", "dimension": 2, "method": {"name": "hnsw", "engine": "lucene"}}}
    },
}


def choose_form(cluster: Cluster, bits: int = 32) -> VectorForm:
    """The fastest form that every node takes, for a field of this many bits."""
    if _oldest_release(cluster) >= _FIRST_RELEASE and takes_base64(cluster):
        return BASE64
    return WHOLE_NUMBERS if bits == 32 else NUMBERS


def takes_base64(cluster: Cluster) -> bool:
    """Whether the cluster reads a vector in base64 as it was meant, tried with an index that is removed again."""
    name = cluster.name("tried", secrets.token_hex(4))
    try:
        cluster.write("PUT", f"/{name}", _BODY)
        (sent,) = BASE64.encode(np.asarray([_TRIED], np.float16))
        cluster.write("PUT", f"/{name}/_doc/1", {"v": sent}, {"refresh": "true"})
        # From the index: a get without this returns what was sent.
        found = cluster.read("GET", f"/{name}/_doc/1", None, {"realtime": "false"})
        return tuple(found["_source"]["v"]) == _TRIED
    except (MedleyError, KeyError, TypeError):
        return False
    finally:
        with suppress(MedleyError):
            cluster.write("DELETE", f"/{name}")


def _oldest_release(cluster: Cluster) -> tuple[int, ...]:
    """The lowest (major, minor) among the nodes; (0, 0) where the cluster does not say."""
    try:
        nodes = cluster.read("GET", "/_cat/nodes", None, {"format": "json", "h": "version"})
    except MedleyError:  # managed services can deny it
        return (0, 0)
    found = [re.match(r"(\d+)\.(\d+)", str(item.get("version"))) for item in nodes]
    return min(((int(item[1]), int(item[2])) if item else (0, 0) for item in found), default=(0, 0))
