"""`medley worker`: processes that index accepted documents, read files, and sweep up orphaned documents."""

from __future__ import annotations

import click

from search.home import open_home
from search.settings import read


@click.command()
@click.option(
    "--queues",
    default="encode,parse",
    show_default=True,
    help="Which queues to process: encode (documents into the index), parse (files into the store, and sweeping).",
)
@click.option(
    "--processes",
    type=click.IntRange(1, 64),
    default=1,
    show_default=True,
    help="Processes, each with its own models: one per accelerator, or one if the CPU encodes.",
)
@click.option("--sweep/--no-sweep", default=True, show_default=True, help="Also run the sweeper, every 15 s.")
@click.option("--ping", is_flag=True, help="Only check whether the worker of this machine answers.")
def worker(queues: str, processes: int, sweep: bool, ping: bool) -> None:
    """Process the queue until stopped; work in progress is finished first."""
    from workers.queueing.process import ping as ping_worker
    from workers.queueing.process import run

    if ping:
        click.echo(f"{ping_worker(read())} answers")
        return
    names = [name.strip() for name in queues.split(",") if name.strip()]
    settings = read()
    open_home(settings.home)
    raise click.exceptions.Exit(run(settings, names, processes, sweep))
