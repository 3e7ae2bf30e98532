"""`medley status`: the states of documents, updated on a terminal while some are waiting."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

import click

from mappings.errors import Damaged, NotFound, Unavailable
from search.bootstrap import Medley
from search.storage import State
from web.cli.common import json_option, open_medley, show, text_table
from web.use_cases import counts_by_state

LOOK_SECONDS: Final = 1.0
RATE_SECONDS: Final = 30.0
"""The rate is averaged over so many seconds, because ingestion comes in batches."""

HEAD: Final = ("collection", "kind", "documents", "indexed", "waiting", "failed", "passages", "index")
Samples = list[tuple[float, Mapping[str, int]]]


@click.command()
@click.option("--collection", "-c", default=None, help="One collection; by default all.")
@click.option("--failed", is_flag=True, help="List the documents that failed, with their causes.")
@click.option("--once", is_flag=True, help="Print once, even on a terminal while documents are waiting.")
@json_option
def status(collection: str | None, failed: bool, once: bool, as_json: bool) -> None:
    """Show how many documents are stored, indexed, waiting and failed; on a terminal until none is waiting."""
    medley = open_medley()
    names = [medley.collections.get(collection).name] if collection else medley.collections.names()
    if sys.stdout.isatty() and not (once or as_json):
        _watch(medley, names)
    states = [collection_status(medley, name, failed) for name in names]
    cache = {"bytes": medley.models.cached_bytes(), "bound": medley.settings.vector_cache_bytes}
    report = {"collections": states, "vector_cache": cache}
    show(report, as_json, lambda: "\n".join([_text(states), *_cache_text(**cache)]))


def collection_status(medley: Medley, name: str, failed: bool = False) -> dict[str, Any]:
    """The states of a collection's documents, and the progress of the indexes that workers are building."""
    store, kind = medley.collections.store(name), medley.collections.get(name).kind
    index, passages, damage, problem = _published(medley, name)
    counts = store.counts(index)
    state = {
        "collection": name,
        "kind": kind,
        "documents": counts.documents,
        "deleted": counts.deleted,
        **counts_by_state(counts),
        "passages": passages,
        "index": index,
        "building": [{"index": other} | counts_by_state(store.counts(other)) for other in _building(medley, name)],
        "damage": damage,
    }
    if problem:
        state["problem"] = problem
    if failed:
        records = store.states(index, State.FAILED) if index else []
        state["failures"] = [{"id": item.id, "version": item.version, "cause": item.cause} for item in records]
    return state


def _published(medley: Medley, name: str) -> tuple[str, int, str, str]:
    """The published index, its passages, what is damaged, and why it cannot be searched otherwise; empty where nothing is."""
    damage = problem = ""
    try:
        meta = medley.engine.resolve(name)
        return meta.index, meta.passages, "", ""
    except NotFound:
        return "", 0, "", ""
    except Damaged as error:
        damage = error.message
    except Unavailable as error:
        problem = error.message
    with suppress(Damaged):
        return medley.engine.published(name) or "", 0, damage, problem
    return "", 0, damage, problem


def _building(medley: Medley, name: str) -> list[str]:
    from workers.indexing.indexer import Indexer
    from workers.indexing.rebuild import building

    with suppress(Damaged):  # the pointer to the published index, which `damage` names
        return building(Indexer.of(medley, name, encoders={}))
    return []


def _text(states: Sequence[Mapping[str, Any]]) -> str:
    if not states:
        return "no collection yet: `medley demo` creates two, `medley ingest` creates your own"
    rows = [[str(state[name]) for name in HEAD] for state in states]
    lines = [text_table(list(HEAD), rows)]
    lines += [
        f"{state['collection']}: building {item['index']}, {item['indexed']} indexed, {item['waiting']} to go, "
        f"{item['failed']} failed"
        for state in states
        for item in state["building"]
    ]
    lines += [f"{state['collection']}: {state['problem']}" for state in states if "problem" in state]
    lines += [f"{state['collection']}: {state['damage']}" for state in states if state["damage"]]
    lines += [f"{item['id']}: {item['cause']}" for state in states for item in state.get("failures", [])]
    return "\n".join(lines)


def _cache_text(bytes: int, bound: int) -> list[str]:  # noqa: A002 - as in JSON
    most = f" of at most {bound / 1e6:,.1f}" if bound else ""
    return [f"vector cache: {bytes / 1e6:,.1f}{most} MB"] if bytes else []


def _watch(medley: Medley, names: Sequence[str]) -> None:
    """Update the table every second, with rate and time left, while something is waiting or being built."""
    from rich.console import Console
    from rich.live import Live

    seen: Samples = []
    with Live(console=Console(), refresh_per_second=4, transient=True) as live:
        while True:
            states = [collection_status(medley, name) for name in names]
            waiting = {state["collection"]: _to_go(state) for state in states}
            if not any(waiting.values()) and not any(state["building"] for state in states):
                return
            seen.append((time.monotonic(), waiting))
            del seen[: next(n for n, (moment, _) in enumerate(seen) if seen[-1][0] - moment <= RATE_SECONDS)]
            live.update("\n".join([_text(states), *_forecasts(seen)]))
            time.sleep(LOOK_SECONDS)


def _to_go(state: Mapping[str, Any]) -> int:
    return int(state["waiting"]) + sum(int(item["waiting"]) for item in state["building"])


def _forecasts(seen: Samples) -> list[str]:
    """For each collection with waiting documents: the recent rate, and the time that the rest takes at it."""
    (then, before), (now, left) = seen[0], seen[-1]
    lines = []
    for name, count in left.items():
        rate = (before.get(name, count) - count) / (now - then) if now > then else 0.0
        ahead = f"{rate:.1f} a second, {_span(count / rate)} left" if rate > 0 else "no progress so far"
        lines += [f"{name}: {count:,} to go, {ahead}"] if count else []
    return lines


def _span(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"
