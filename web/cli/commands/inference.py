"""`medley inference`: the model server, in one process."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from search.settings import Settings
from search.settings import read as read_settings
from search.tracing import spans
from web.access.auth import check_bind
from web.cli.listening import check_free, ready_hook

if TYPE_CHECKING:
    from web.inference.server import Limits

SWITCH_SECONDS = 0.0005
SPARE_THREADS = 8
"""Extra threads that reject requests and answer health checks and metrics while all others wait for a model."""

MEMORY_BYTES = 256 << 20
"""Memory for requests that have not arrived completely."""


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
    help="Address to listen on; any address other than loopback requires an access token (`medley tokens add`).",
)
@click.option("--port", type=click.IntRange(1, 65535), default=8081, show_default=True, help="Port to listen on.")
@click.option(
    "--threads", type=click.IntRange(1, 1024), default=64, show_default=True, help="Requests handled at the same time."
)
@click.option(
    "--max-waiting",
    type=click.IntRange(1, 1_000_000),
    default=512,
    show_default=True,
    help="Inputs that can wait for one model; further requests are rejected with 429.",
)
@click.option("--no-batching", is_flag=True, help="Run each request separately, for comparison.")
def inference(names: tuple[str, ...], host: str, port: int, threads: int, max_waiting: int, no_batching: bool) -> None:
    """Serve models over HTTP, with the API of text-embeddings-inference."""
    from web.inference.models import DEFAULT
    from web.inference.server import MAX_BODY_BYTES, Limits
    from web.serving.limits import ConnectionLimits
    from web.serving.run import run_gunicorn

    settings = read_settings()
    check_bind(settings.home, host)
    spans.check_setting(settings.traces)
    chosen = names or DEFAULT
    check_free(host, port)
    _check_models(chosen, settings)
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    click.echo(f"The model server starts at http://{address}/ and loads {', '.join(chosen)}", err=True)
    limits = Limits(threads, max_waiting)
    run_gunicorn(
        {
            "bind": address,
            "workers": 1,  # each worker would load the models again and batch only its own requests
            "threads": threads + SPARE_THREADS,
            "timeout": 120,
            "graceful_timeout": 5,  # how long to wait for open client connections
            "loglevel": "warning",
            **ready_hook(f"The model server is ready at http://{address}/"),
            "worker_exit": lambda server, process: spans.stop(),
        },
        lambda: _create_model_server(chosen, settings, limits, not no_batching),
        ConnectionLimits(MAX_BODY_BYTES, memory=MEMORY_BYTES),
    )


def _check_models(names: tuple[str, ...], settings: Settings) -> None:
    """Check the models and the device before any process is forked. Raises `ModelError`."""
    from encoders.devices import providers
    from encoders.onnx import ort
    from web.inference.models import artifacts

    artifacts(names, settings)
    providers(settings.device, ort.get_available_providers())


def _create_model_server(names: tuple[str, ...], settings: Settings, limits: Limits, batching: bool) -> Any:
    from web.inference.meter import ModelMeter
    from web.inference.models import RunOptions, artifacts, load
    from web.inference.server import make_inference_app

    # A thread that returns from a model run must get the GIL back quickly: until then its core is idle.
    sys.setswitchinterval(SWITCH_SECONDS)
    meter = ModelMeter()
    models = load(artifacts(names, settings), settings, RunOptions(limits.waiting, batching, meter.count_run))
    spans.start(settings.traces, "medley-inference")
    return make_inference_app(models, settings.home, limits, meter, settings.collections)
