"""`medley worker`: processes that index what was accepted, read files, and sweep up what was lost."""

from __future__ import annotations

import click

from search.settings import read


@click.command()
@click.option(
    "--queues",
    default="encode,parse",
    show_default=True,
    help="What to work on: encode (documents into the index), parse (files into the store, and sweeping).",
)
@click.option(
    "--processes",
    type=click.IntRange(1, 64),
    default=1,
    show_default=True,
    help="Processes, each with models of its own: one for each accelerator, one where the processor encodes.",
)
@click.option("--sweep/--no-sweep", default=True, show_default=True, help="Also send out the sweeper, every 15 s.")
@click.option("--ping", is_flag=True, help="Only ask whether the worker of this machine answers.")
def worker(queues: str, processes: int, sweep: bool, ping: bool) -> None:
    """Work on the queue until told to stop; what is under way then is finished first."""
    from workers.queueing.process import answers, run

    if ping:
        raise click.exceptions.Exit(0 if answers(read()) else 1)
    names = [name.strip() for name in queues.split(",") if name.strip()]
    raise click.exceptions.Exit(run(read(), names, processes, sweep))
