"""Copies the documents of an index that is there into one of the plug-in, in small batches, each document on its own.

A copy can be stopped and started again: what the target has is neither read nor written again, and what failed is tried
again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from mappings.errors import Conflict, MedleyError, NotFound
from search.engines.opensearch.client import WHOLE, Cluster, Retries, ndjson
from search.engines.opensearch.errors import BUSY, cause, checked
from search.engines.opensearch.plugin.queries import OWN
from search.engines.opensearch.plugin.resources import PluginPlan
from search.engines.opensearch.plugin.templates import gets_template

BATCH: Final = 16
"""Documents in one request: each is a request to the model server, which rejects what it has no room for."""
BATCH_SECONDS: Final = 1_000.0
"""Longer than a node waits for room on the model server and for a document to be read (`resources`)."""
_KEEP: Final = "30m"
_ATTEMPTS: Final = 6
_PAUSE: Final = 0.5
"""Seconds before a second attempt; further ones wait for thrice as long and more: 28 seconds in all."""
_MOST_OF_AN_ID: Final = 4
"""How many documents of one id, with different routing, are looked for."""
_PIPELINE: Final = "index.default_pipeline"
_SHOWN: Final = 20


@dataclass(slots=True)
class Backfill:
    """How many documents were copied, how many were there already, and of those that failed the first, with the reasons."""

    total: int = 0
    copied: int = 0
    present: int = 0
    failed: int = 0
    reasons: dict[str, str] = field(default_factory=dict)

    @property
    def settled(self) -> int:
        """How many documents have an outcome."""
        return self.copied + self.present + self.failed

    def refuse(self, document: str, reason: str) -> None:
        """Count a document that failed."""
        self.failed += 1
        if len(self.reasons) < _SHOWN:
            self.reasons[document] = reason


def backfill(
    cluster: Cluster, plan: PluginPlan, source: str, target: str, watch: Callable[[Backfill], None] = lambda _: None
) -> Backfill:
    """Copy `source` into `target`, which the plan's template makes; `watch` sees the counts after each batch.

    Raises `Conflict` if the target does not have the plan's ingest pipeline, `NotFound` without a source.
    """
    work = Backfill(total=int(cluster.read("GET", f"/{source}/_count")["count"]))
    _check_target(cluster, plan, target)
    cluster.write("POST", f"/{target}/_refresh")  # so that what an earlier copy wrote is found
    for hits in _batches(cluster, source):
        there = _present(cluster, target, hits)
        missing = [hit for hit in hits if _key(hit) not in there]
        work.present += len(hits) - len(missing)
        if missing:
            _copy(cluster, target, missing, work)
        watch(work)
    cluster.write("POST", f"/{target}/_refresh")
    return work


def _check_target(cluster: Cluster, plan: PluginPlan, target: str) -> None:
    """Make the target where it is missing. Raise `Conflict` if it does not have, or would not get, the plan's pipeline."""
    try:
        settings = cluster.read("GET", f"/{target}/_settings", params={"flat_settings": "true"})
        wrong = [name for name, item in settings.items() if item["settings"].get(_PIPELINE) != plan.name]
    except NotFound:
        wrong = [] if gets_template(cluster, plan, target) else [target]
        if not wrong:
            cluster.write("PUT", f"/{target}")
    if wrong:
        raise Conflict(
            f"the index {wrong[0]} does not have the ingest pipeline {plan.name}: name one like {plan.indexes}, which gets it "
            "when it is created, once the plug-in is installed",
            field="target",
        )


def _batches(cluster: Cluster, source: str) -> Iterator[list[Mapping[str, Any]]]:
    """The documents of an index as they are now, without what the plug-in adds."""
    body = {"size": BATCH, "sort": ["_doc"], "_source": {"excludes": [OWN]}}
    answer = checked(cluster.read("POST", f"/{source}/_search", body, params={"scroll": _KEEP, **WHOLE}), cluster.where)
    try:
        while hits := answer["hits"]["hits"]:
            yield hits
            further = {"scroll": _KEEP, "scroll_id": answer["_scroll_id"]}
            # Sent once: a second request would get the next batch, and this one would be lost.
            answer = checked(cluster.write("POST", "/_search/scroll", further, retries=Retries(0)), cluster.where)
    finally:
        with suppress(MedleyError):
            cluster.write("DELETE", "/_search/scroll", {"scroll_id": [answer["_scroll_id"]]})


def _key(hit: Mapping[str, Any]) -> tuple[str, str | None]:
    """What tells documents of an index apart: ids are unique where the routing is the same."""
    return hit["_id"], hit.get("_routing")


def _present(cluster: Cluster, target: str, hits: list[Mapping[str, Any]]) -> set[tuple[str, str | None]]:
    """The keys of these documents that the target has: the model server need not read them again."""
    ids = {"ids": {"values": [hit["_id"] for hit in hits]}}
    body = {"query": ids, "size": _MOST_OF_AN_ID * len(hits), "_source": False}
    found = checked(cluster.read("POST", f"/{target}/_search", body, params=WHOLE), cluster.where)
    return {_key(hit) for hit in found["hits"]["hits"]}


def _copy(cluster: Cluster, target: str, hits: list[Mapping[str, Any]], work: Backfill) -> None:
    """Write a batch; what the model server had no room for is tried again, one document at a time in the end."""
    for attempt in range(_ATTEMPTS):
        time.sleep(_PAUSE * (2**attempt - 1))
        last = attempt == _ATTEMPTS - 1
        postponed = []
        for group in ([hit] for hit in hits) if last else (hits,):
            lines = [line for hit in group for line in (_header(target, hit), hit["_source"])]
            answer = cluster.write("POST", "/_bulk", ndjson(lines), timeout=BATCH_SECONDS)
            for hit, item in zip(group, answer["items"], strict=True):
                if not _settle(hit["_id"], item["create"], work, last):
                    postponed.append(hit)
        if not postponed:
            return
        hits = postponed


def _header(target: str, hit: Mapping[str, Any]) -> dict[str, Any]:
    routing = {"routing": hit["_routing"]} if "_routing" in hit else {}
    return {"create": {"_index": target, "_id": hit["_id"], **routing}}


def _settle(document: str, item: Mapping[str, Any], work: Backfill, last: bool) -> bool:
    """Count a document's outcome; False if it should be tried again."""
    status = item["status"]
    if status == 409:
        work.present += 1
    elif status < 300:
        work.copied += 1
    elif last or (status < 500 and status not in BUSY):
        work.refuse(document, ": ".join(part for part in cause(item.get("error")) if part))
    else:
        return False
    return True
