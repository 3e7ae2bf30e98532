"""`medley serve`: the gateway under gunicorn, in several worker processes."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from functools import partial
from typing import Any, Final

import click

from search.home import open_home
from search.memory.scores import ScoreMemory
from search.settings import Settings
from search.settings import read as read_settings
from search.tracing import spans
from web.access.auth import check_bind
from web.access.proxies import Proxies
from web.access.sessions import live_sessions_of
from web.cli.listening import check_free, ready_hook
from web.serving.shutdown import SHUTDOWN

_COUNTS: Final = "PROMETHEUS_MULTIPROC_DIR"
SPARE_THREADS: Final = 4
"""Threads that neither searches nor uploads can take: they answer health checks and everything else."""


@click.command()
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address to listen on; any address other than loopback requires an access token (`medley tokens add`).",
)
@click.option("--port", type=click.IntRange(1, 65535), default=8080, show_default=True, help="Port to listen on.")
@click.option(
    "--workers",
    type=click.IntRange(1, 64),
    default=None,
    help="Gateway processes; by default two, or one on a single core.",
)
@click.option(
    "--threads",
    type=click.IntRange(1, 64),
    default=4,
    show_default=True,
    help="Searches that each process runs at the same time, and uploads; one caller gets half of them.",
)
@click.option(
    "--connections",
    type=click.IntRange(16, 100_000),
    default=1_000,
    show_default=True,
    help="Connections that each process keeps open; above it those that wait longest are closed.",
)
@click.option(
    "--per-address",
    type=click.IntRange(0, 100_000),
    default=0,
    show_default=True,
    help="Connections of one address that wait for a request, in each process; 0: any number, as behind a proxy.",
)
def serve(host: str, port: int, workers: int | None, threads: int, connections: int, per_address: int) -> None:
    """Serve the search page and the HTTP API."""
    from web.serving.fair_shares import WAITING
    from web.serving.limits import MAX_BODY_BYTES, ConnectionLimits
    from web.serving.run import run_gunicorn

    settings = read_settings()
    open_home(settings.home)
    check_bind(settings.home, host)
    (
        live_sessions_of(settings),
        Proxies.of(settings.proxies),
        spans.check_setting(settings.traces),
    )  # wrong settings stop the command, not each process
    check_free(host, port)
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    processes = workers or min(2, os.cpu_count() or 1)
    click.echo(f"Medley starts at http://{address}/ and loads its models", err=True)
    _count_together()
    _load_what_is_shared(settings)
    run_gunicorn(
        {
            "bind": address,
            "workers": processes,
            "threads": 2 * threads + WAITING + SPARE_THREADS,  # those that run or wait, and the spare ones
            "timeout": 120,
            "graceful_timeout": 20,
            "limit_request_line": 8190,  # room for a cursor of 6,000 characters in a URL
            "loglevel": "warning",
            **ready_hook(f"Medley is ready at http://{address}/", SHUTDOWN.follow),
            "worker_exit": _close_gateway,
        },
        partial(_create_gateway, threads, ScoreMemory()),  # made before the processes, which share it
        ConnectionLimits(
            body=MAX_BODY_BYTES,
            # Documents are read and stored as they arrive; an article can be larger than `body`.
            streamed=(b"POST /v1/documents", b"POST /claims "),
            streams=threads,
            connections=connections,
            per_address=per_address,
        ),
    )


def _count_together() -> None:
    """Let `/metrics` show the sum over all processes, whichever answers; before its library is imported, which looks once.

    The figures are kept in files of this run.
    """
    if _COUNTS not in os.environ:
        os.environ[_COUNTS] = folder = tempfile.mkdtemp(prefix="medley-metrics-")
        atexit.register(_remove_counts, folder, os.getpid())


def _remove_counts(folder: str, process: int) -> None:
    if os.getpid() == process:  # not by the processes that were forked from it
        shutil.rmtree(folder, ignore_errors=True)


def _load_what_is_shared(settings: Settings) -> None:
    """Import what every process of the gateway needs, and load the concepts, before these processes are forked.

    So it is done once, and lies in memory once.
    """
    import web.app  # noqa: F401
    from mappings.clinical.reading import shipped_reader
    from mappings.garbage import exempt_loaded_objects

    if not settings.opensearch:
        import search.engines.embedded.engine  # noqa: F401
    if not settings.lexicons:
        shipped_reader()
    exempt_loaded_objects()


def _create_gateway(threads: int, scores: ScoreMemory) -> Any:
    from search.bootstrap import Medley
    from search.startup import freeze_loaded_objects, warm_up
    from web import create_app

    settings = read_settings()
    medley = Medley.open(settings, scores=scores)
    warm_up(medley)  # the process accepts requests only afterwards, so none waits for a model to load
    spans.start(settings.traces, "medley-gateway")
    freeze_loaded_objects()
    return create_app(medley, threads)


def _close_gateway(_server: Any, worker: Any) -> None:
    portal = getattr(getattr(worker, "wsgi", None), "extensions", {}).get("medley")
    if portal is not None:  # None where the process ended before it could start
        portal.medley.close()
    spans.stop()
