"""`medley inference`: models over HTTP, in one process."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from search.settings import Settings, read
from web.access.auth import check_bind
from web.cli.commands.serve import under_gunicorn

if TYPE_CHECKING:
    from web.inference.server import Limits

SWITCH_SECONDS = 0.0005
SPARE_THREADS = 8
"""Threads that refuse requests and answer health checks and metrics while all others wait for a model."""


@click.command()
@click.option(
    "--model",
    "names",
    multiple=True,
    help="A model to serve, by name or path; can be repeated. By default the shipped models.",
)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address to listen on; any other than loopback needs a token.",
)
@click.option("--port", type=click.IntRange(1, 65535), default=8081, show_default=True)
@click.option(
    "--threads", type=click.IntRange(1, 1024), default=64, show_default=True, help="Requests worked on at once."
)
@click.option(
    "--max-waiting",
    type=click.IntRange(1, 1_000_000),
    default=512,
    show_default=True,
    help="Inputs that can wait for one model; more are refused with 429.",
)
@click.option("--no-batching", is_flag=True, help="Run every request on its own, for comparison.")
def inference(names: tuple[str, ...], host: str, port: int, threads: int, max_waiting: int, no_batching: bool) -> None:
    """Serve models over HTTP, with the API of text-embeddings-inference."""
    from web.inference.models import DEFAULT
    from web.inference.server import Limits

    settings = read()
    check_bind(settings.home, host)
    chosen = names or DEFAULT
    _check(chosen, settings)
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    click.echo(f"Models {', '.join(chosen)} at http://{address}/", err=True)
    limits = Limits(threads, max_waiting)
    under_gunicorn(
        {
            "bind": address,
            "workers": 1,  # each would load the models again and batch only its own requests
            "worker_class": "gthread",
            "threads": threads + SPARE_THREADS,
            "keepalive": 75,
            "timeout": 120,
            "graceful_timeout": 5,  # how long open connections of clients are waited for
            "loglevel": "warning",
        },
        lambda: _app(chosen, settings, limits, not no_batching),
    )


def _check(names: tuple[str, ...], settings: Settings) -> None:
    """Report what is wrong with a model or the device before any process is forked. Raises `ModelError`."""
    import onnxruntime

    from encoders.devices import providers
    from web.inference.models import artifacts

    artifacts(names, settings)
    providers(settings.device, onnxruntime.get_available_providers())


def _app(names: tuple[str, ...], settings: Settings, limits: Limits, batching: bool) -> Any:
    from web.inference.meter import ModelMeter
    from web.inference.models import RunOptions, artifacts, load
    from web.inference.server import make_inference_app

    # A thread that returns from a run must not wait long for those that read requests: its core would be idle.
    sys.setswitchinterval(SWITCH_SECONDS)
    meter = ModelMeter()
    models = load(artifacts(names, settings), settings, RunOptions(limits.waiting, batching, meter.count_run))
    return make_inference_app(models, settings.home, limits, meter)
