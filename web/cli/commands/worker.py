"""`medley worker`: processes that index accepted documents, read files, and sweep up orphaned documents."""

from __future__ import annotations

import click

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
    from workers.queueing.process import answers, run

    if ping:
        raise click.exceptions.Exit(0 if answers(read()) else 1)
    names = [name.strip() for name in queues.split(",") if name.strip()]
    raise click.exceptions.Exit(run(read(), names, processes, sweep))
