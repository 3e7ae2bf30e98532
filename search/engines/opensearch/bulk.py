"""Bulk writes: even chunks of bounded size over a few connections; items are retried while the cluster is busy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from typing import Final

import orjson

from mappings.errors import InvalidInput, MedleyError
from search.engines.opensearch.client import Cluster, Retries, no_check, send_all
from search.engines.opensearch.errors import BUSY, error_of, is_full

CHUNK_BYTES: Final = 4_000_000
CHUNK_ACTIONS: Final = 2_000
LEAST_CHUNK_BYTES: Final = 250_000
"""Less than this is not divided among the connections."""

CONNECTIONS: Final = 4


@dataclass(frozen=True, slots=True)
class Action:
    """Writes an entry under its id, or removes it where `source` is None."""

    id: str
    route: str
    source: bytes | None = None

    def lines(self) -> bytes:
        """The action in the format of `_bulk`."""
        head = {"_id": self.id, "routing": self.route}
        if self.source is None:
            return orjson.dumps({"delete": head}) + b"\n"
        return b"%s\n%s\n" % (orjson.dumps({"index": head}), self.source)


Lines = list[tuple[Action, bytes]]
"""Actions, each with its lines in the format of `_bulk`."""

Group = Sequence[Action]
"""The actions of one document, sent in order."""


def send(
    cluster: Cluster, index: str, groups: Sequence[Group], before: Callable[[], None] = no_check
) -> dict[str, str]:
    """Carry out every group; route -> cause for those that the index rejected. Raises `Unavailable` after two minutes.

    `before` is called before every request, retries included; what it raises ends them.
    """
    chunks = list(_chunks(groups))
    if len(chunks) < 2:
        return _merged([_send_chunk(cluster, index, chunk, before) for chunk in chunks])
    with ThreadPoolExecutor(CONNECTIONS) as pool:
        # Each thread continues in the context of this one, so that its requests belong to the same trace.
        jobs = [partial(copy_context().run, _send_chunk, cluster, index, chunk, before) for chunk in chunks]
        return _merged(list(pool.map(lambda job: job(), jobs)))


def _merged(causes: Sequence[dict[str, str]]) -> dict[str, str]:
    return {route: cause for found in causes for route, cause in found.items()}


def _chunks(groups: Sequence[Group]) -> Iterator[Lines]:
    """Whole groups together, an equal share for each connection, up to the bounds; a larger group alone."""
    divided = [[(action, action.lines()) for action in group] for group in groups]
    sizes = [sum(len(line) for _, line in lines) for lines in divided]
    # With unequal shares the node's threads wait for the longest.
    share = max(LEAST_CHUNK_BYTES, sum(sizes) / CONNECTIONS)
    chunk: Lines = []
    size = 0
    for lines, own in zip(divided, sizes, strict=True):
        if chunk and (size + own > CHUNK_BYTES or len(chunk) + len(lines) > CHUNK_ACTIONS):
            yield chunk
            chunk, size = [], 0
        chunk += lines
        size += own
        if size >= share:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _send_chunk(cluster: Cluster, index: str, chunk: Lines, before: Callable[[], None]) -> dict[str, str]:
    """Send a chunk, then the postponed items again, in the same order; a large one in parts, one after the other."""
    causes: dict[str, str] = {}

    def attempt(pending: Lines) -> Lines:
        return [line for part in _parts(pending) for line in _send_part(cluster, index, part, causes, before)]

    send_all(cluster.where, chunk, attempt)
    return causes


def _parts(chunk: Lines) -> Iterator[Lines]:
    part: Lines = []
    size = 0
    for action, line in chunk:
        if part and size + len(line) > 2 * CHUNK_BYTES:
            yield part
            part, size = [], 0
        part.append((action, line))
        size += len(line)
    if part:
        yield part


def _send_part(cluster: Cluster, index: str, part: Lines, causes: dict[str, str], before: Callable[[], None]) -> Lines:
    """The postponed items; those that the index rejects for good are added to `causes`, by document."""
    answer = cluster.write(
        "POST", f"/{index}/_bulk", b"".join(line for _, line in part), retries=Retries(before=before)
    )
    if not answer["errors"]:
        return []
    postponed = []
    for (action, line), item in zip(part, answer["items"], strict=True):
        outcome = next(iter(item.values()))
        if "error" not in outcome:
            continue
        if outcome["status"] in BUSY and not is_full(outcome):
            postponed.append((action, line))
            continue
        error = error_of(outcome["status"], outcome, cluster.where)
        if not _is_entry_at_fault(error):
            raise error
        causes[action.route] = error.message
    return postponed


def _is_entry_at_fault(error: MedleyError) -> bool:
    """Whether the entry is invalid, and not the index or the cluster at fault."""
    return isinstance(error, InvalidInput)
