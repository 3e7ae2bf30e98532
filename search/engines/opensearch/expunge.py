"""Clears the files of an index on the cluster of removed and replaced rows.

Lucene only marks a row as removed; it goes when its segment is merged, which by itself can take for ever. The translog
holds it, too, until a flush. A copy of the index that is being built, or a snapshot, keeps it beyond our reach.
"""

from __future__ import annotations

import time
from typing import Any, Final

from search.engines.opensearch.client import Cluster

_MERGE_SECONDS: Final = 600.0
_PAUSE: Final = 0.5
_SETTINGS: Final[dict[str, Any]] = {
    "index": {
        # By default a segment stays as it is while less than a tenth of it is removed.
        "merge.policy.expunge_deletes_allowed": 0,
        # Removed rows are kept for copies that could lack the removal, as far as is known: by default, as of minutes ago.
        "soft_deletes.retention_lease.sync_interval": "1s",
        # So that a purged id that comes again starts anew at once, even with a lower version.
        "gc_deletes": "0s",
    }
}


def expunge(cluster: Cluster, name: str, seconds: float) -> bool:
    """Merge removed rows away and empty the translog; false when some were left after `seconds`."""
    until = time.monotonic() + seconds
    cluster.write("PUT", f"/{name}/_settings", _SETTINGS)
    while True:
        # Only what was flushed can be merged away, and the old files go with a flush.
        cluster.write("POST", f"/{name}/_flush", None, {"force": "true", "wait_if_ongoing": "true"})
        parameters = {"only_expunge_deletes": "true"}
        cluster.write("POST", f"/{name}/_forcemerge", None, parameters, timeout=_MERGE_SECONDS)
        cluster.write("POST", f"/{name}/_flush", None, {"force": "true", "wait_if_ongoing": "true"})
        if not _removed(cluster, name):
            return True
        if time.monotonic() > until:
            return False
        time.sleep(_PAUSE)


def _removed(cluster: Cluster, name: str) -> int:
    """How many removed rows all copies of the index hold."""
    cluster.write("POST", f"/{name}/_refresh")
    return int(cluster.read("GET", f"/{name}/_stats/docs")["_all"]["total"]["docs"]["deleted"])
