"""`medley serve`: the gateway under gunicorn, in several worker processes."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import click

from search.home import open_home
from search.settings import read as read_settings
from web.access.auth import check_bind
from web.access.proxies import Proxies
from web.access.sessions import live_sessions_of
from web.cli.listening import check_free, ready_hook
from web.shutdown import SHUTDOWN


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
    help="Requests that each process handles at the same time.",
)
def serve(host: str, port: int, workers: int | None, threads: int) -> None:
    """Serve the search page and the HTTP API."""
    settings = read_settings()
    open_home(settings.home)
    check_bind(settings.home, host)
    live_sessions_of(settings), Proxies.of(settings.proxies)  # wrong settings stop the command, not each process
    check_free(host, port)
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    processes = workers or min(2, os.cpu_count() or 1)
    click.echo(f"Medley starts at http://{address}/ and loads its models", err=True)
    run_gunicorn(
        {
            "bind": address,
            "workers": processes,
            "threads": threads,
            "timeout": 120,
            "graceful_timeout": 20,
            "limit_request_line": 8190,  # room for a cursor of 6,000 characters in a URL
            "loglevel": "warning",
            **ready_hook(f"Medley is ready at http://{address}/", SHUTDOWN.follow),
            "worker_exit": _close_gateway,
        },
        _create_gateway,
    )


def _create_gateway() -> Any:
    from search.bootstrap import Medley
    from search.startup import freeze_loaded_objects, warm_up
    from web import create_app

    medley = Medley.open(read_settings())
    warm_up(medley)  # the process accepts requests only afterwards, so none waits for a model to load
    freeze_loaded_objects()
    return create_app(medley)


def _close_gateway(_server: Any, worker: Any) -> None:
    portal = getattr(getattr(worker, "wsgi", None), "extensions", {}).get("medley")
    if portal is not None:  # None where the process ended before it could start
        portal.medley.close()


def run_gunicorn(options: dict[str, Any], make_app: Callable[[], Any]) -> None:
    """Serve the application that `make_app` returns until a signal arrives; each process calls it after the fork."""
    from gunicorn.app.base import BaseApplication

    class GunicornApplication(BaseApplication):  # type: ignore[misc]
        """Passes the options and the application to gunicorn."""

        def load_config(self) -> None:
            for name, value in options.items():
                self.cfg.set(name, value)

        def load(self) -> Any:
            return make_app()

    GunicornApplication().run()
