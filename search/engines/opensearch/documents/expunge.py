"""Clears the files of indexes on the cluster of removed and replaced rows.

Lucene only marks a row as removed; it goes when its segment is merged, which by itself can take for ever. The translog
holds it, too, until a flush. Each copy of a shard has a lease on removed rows, in case another copy has missed the
removal; the cluster looks at leases from time to time, so clearing takes half a minute. Snapshots are beyond our reach.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

from mappings.errors import MedleyError
from search.engines.opensearch.client import Cluster

_MERGE_SECONDS: Final = 600.0
_PAUSE: Final = 2.0
_SETTINGS: Final[dict[str, Any]] = {
    # By default a segment stays as it is while less than a tenth of it is removed.
    "merge.policy.expunge_deletes_allowed": 0,
    # A lease moves on when half its time is over: by default six hours.
    "soft_deletes.retention_lease.period": "1s",
}


def expunge(cluster: Cluster, names: Sequence[str], seconds: float) -> list[str]:
    """Merge removed rows away and empty the translogs; returns the indexes that still held some after `seconds`."""
    until, left = time.monotonic() + seconds, list(names)
    path = f"/{','.join(names)}/_settings"
    try:
        while left := [name for name in left if not _is_clear(cluster, name)]:
            if time.monotonic() > until:
                return left
            cluster.write("PUT", path, {"index": _SETTINGS})
            time.sleep(_PAUSE)
        return []
    finally:
        with suppress(MedleyError):  # they cost a little speed, not correctness
            cluster.write("PUT", path, {"index": dict.fromkeys(_SETTINGS)})


def _is_clear(cluster: Cluster, name: str) -> bool:
    """Merge what can be merged away; whether no copy of the index holds removed rows any more."""
    _flush(cluster, name)  # only what was flushed can be merged away
    parameters = {"only_expunge_deletes": "true"}
    cluster.write("POST", f"/{name}/_forcemerge", None, parameters, timeout=_MERGE_SECONDS)
    _flush(cluster, name)  # the files of merged segments go with it
    cluster.write("POST", f"/{name}/_refresh")
    return not cluster.read("GET", f"/{name}/_stats/docs")["_all"]["total"]["docs"]["deleted"]


def _flush(cluster: Cluster, name: str) -> None:
    cluster.write("POST", f"/{name}/_flush", None, {"force": "true", "wait_if_ongoing": "true"})
