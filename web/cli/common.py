"""What the commands share: opening Medley, printing JSON or text, and progress on a terminal."""

from __future__ import annotations

import getpass
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import click

from mappings.documents import EVERY_LABEL
from mappings.errors import Unavailable
from search.bootstrap import Medley
from search.settings import read as read_settings

if TYPE_CHECKING:
    from web.use_cases import UseCases
    from workers.queueing.queue import Queue

LOG_SECONDS: Final = 60.0
"""Between two lines of progress where stderr is no terminal."""

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
queue_option = click.option(
    "--queue", is_flag=True, help="Leave the indexing to the workers of the queue (MEDLEY_REDIS)."
)


def open_medley(patient: bool = False) -> Medley:
    """Open Medley with the settings of this process; with `patient`, it waits for a cluster that is restarting.

    It is closed with the command.
    """
    medley = Medley.open(read_settings(), patient)
    context = click.get_current_context(silent=True)
    if context is not None:
        context.call_on_close(medley.close)
    return medley


def open_use_cases(medley: Medley, queue: Queue | None = None, labels: Iterable[str] = ()) -> UseCases:
    """The use cases for the user of this machine; without `labels`, they can see every document."""
    from web.access.caller import local_caller
    from web.access.log import AccessLog, Actor
    from web.use_cases import UseCases

    user = getpass.getuser()
    caller = local_caller(user, frozenset(labels) or frozenset({EVERY_LABEL}))
    return UseCases(medley, AccessLog.of(medley.settings), caller, Actor("command line", user), queue)


def audit(action: str, asked: Mapping[str, Any], collection: str = "") -> None:
    """Log what the user of this machine did by a command that opens no Medley; `UseCases.audit` serves those that do.

    Raises `Unavailable` if it cannot be logged.
    """
    from web.access.log import AccessLog, Actor, AuditRecord

    record = AuditRecord(Actor("command line", getpass.getuser()), action, collection, asked)
    AccessLog.of(read_settings()).write(record)


def chosen_queue(queue: bool) -> Queue | None:
    """The queue of the settings of this process, if the option is given. Raises `InvalidInput` if there is none."""
    if not queue:
        return None
    from workers.queueing.queue import require_queue

    return require_queue(read_settings())


def not_queued(queue: Queue, consequence: str) -> Unavailable:
    """The error of a command whose documents are stored, but not queued because Redis does not answer."""
    return Unavailable(
        f"Redis at {queue.place} does not answer, so nothing was queued: {consequence} Check MEDLEY_REDIS; "
        "running workers find what is stored by themselves, within 15 s",
        field="MEDLEY_REDIS",
    )


def show(value: Any, as_json: bool, text: Callable[[], str] | None = None) -> None:
    """Print `value` as JSON, or the result of `text`."""
    click.echo(json.dumps(value, ensure_ascii=False, default=str) if as_json or text is None else text())


@contextmanager
def progress(what: str, total: int = 0) -> Iterator[Callable[[int], None]]:
    """Show a counter on stderr. The callback takes how many more items are done; see `counter`."""
    done = 0
    with counter(what) as shown:

        def advance(count: int) -> None:
            nonlocal done
            done += count
            shown(done, total)

        yield advance


@contextmanager
def counter(what: str) -> Iterator[Callable[[int, int], None]]:
    """Show a counter on stderr; where that is no terminal, a line a minute, so that a log tells how far a long command is.

    The callback takes how many items are done, and of how many; 0 if nobody knows: then the number done stands alone.
    """
    if not sys.stderr.isatty():
        yield _lines_in_a_log(what)
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}{task.fields[count]}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None, count="")
        yield lambda done, total: bar.update(task, count=f" {_count_text(done, total)}")


def _lines_in_a_log(what: str) -> Callable[[int, int], None]:
    told = time.monotonic()

    def tell(done: int, total: int) -> None:
        nonlocal told
        if time.monotonic() - told >= LOG_SECONDS:
            told = time.monotonic()
            click.echo(f"{what} {_count_text(done, total)}", err=True)

    return tell


def _count_text(done: int, total: int) -> str:
    return f"{done:,} of {total:,}" if total >= done else f"{done:,}"  # more can arrive while the first are counted


def text_table(head: list[str], rows: list[list[str]]) -> str:
    """A plain aligned table."""
    widths = [max(len(row[number]) for row in [head, *rows]) for number in range(len(head))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in [head, *rows]
    ]
    return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])
