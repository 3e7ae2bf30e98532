"""The command line: one group, each command in a module of its own under `web/cli/commands`, imported when called."""

from __future__ import annotations

import difflib
import importlib
import json
import os
import sys
from collections.abc import Mapping

import click

from mappings.errors import MedleyError, Unavailable

COMMANDS: Mapping[str, tuple[str, str]] = {
    "demo": ("demo", "Create the demo collections of invented documents, or remove them."),
    "ingest": ("ingest", "Read documents into a collection and index them."),
    "delete": ("ingest", "Delete documents by id."),
    "retry": ("ingest", "Index again what failed."),
    "purge": ("purge", "Remove replaced and deleted documents for ever."),
    "status": ("status", "Show how many documents are stored, indexed, waiting and failed."),
    "search": ("search", "Search a collection."),
    "complete": ("complete", "Complete the name of a concept, an aspect or a value."),
    "cohort": ("cohort", "Find the patients who meet criteria, compare two cohorts, export one."),
    "read": ("read", "Show what a text mentions, and what it asserts of each mention."),
    "serve": ("serve", "Serve the search page and the HTTP API."),
    "mcp": ("mcp", "Serve an assistant by the Model Context Protocol."),
    "inference": ("inference", "Serve models over HTTP, for all other processes."),
    "plugin": ("plugin", "Put models and ranking into an OpenSearch of your own."),
    "worker": ("worker", "Process the queue: index documents, read files, sweep up orphaned documents."),
    "collection": ("collection", "List, show, delete and rename collections."),
    "index": ("index", "Create, rebuild, verify, drop and list indexes."),
    "backup": ("backup", "Save all documents, kept items, tokens and the access log in a new folder."),
    "restore": ("backup", "Restore a backup into an installation that lacks its collections."),
    "kept": ("kept", "List, show, delete and purge what users keep."),
    "judgements": ("judgements", "Export what users think of hits, to measure, tune and train on."),
    "tokens": ("tokens", "Make, list and revoke API tokens."),
    "audit": ("audit", "Check the access log."),
    "models": ("models", "List the models, or print the card of one."),
    "label": ("labels", "Make training pairs from documents and judgements."),
    "mine": ("training", "Find hard negatives for training pairs."),
    "train": ("training", "Train an encoder by a recipe."),
    "export": ("training", "Export a checkpoint as a model directory."),
    "evaluate": ("evaluate", "Measure each stage of search on a suite."),
    "tune": ("evaluate", "Tune the weights of fusion and reranking on training judgements."),
    "bench": ("evaluate", "Measure speed and memory, as ratios to an alternative."),
    "settings": ("settings", "Show every setting, its value and its meaning."),
}
"""Command -> its module under `web/cli/commands`, and its help text."""

PUBLIC = frozenset({"train", "export"})
"""Commands that open no home and write models, which other users may run: the only ones that keep the caller's umask."""


SEARCHING = frozenset({"search", "serve", "mcp", "inference", "worker"})
"""Commands whose small products are computed by one thread: those of OpenBLAS stay busy after each, on cores that models need."""


class UsageError(MedleyError):
    """The command line is wrong: an unknown option, a missing argument."""

    code = "usage"


class Interrupted(MedleyError):
    """The user stopped the command."""

    code = "interrupted"


class LazyGroup(click.Group):
    """A group that knows the names and help of its commands without importing them, so that `--help` stays fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands, in the order in which a user needs them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command itself, imported now."""
        if cmd_name not in COMMANDS:
            return None
        if cmd_name in SEARCHING and "numpy" not in sys.modules:  # OpenBLAS reads it when numpy is imported
            os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        module = importlib.import_module(f"web.cli.commands.{COMMANDS[cmd_name][0]}")
        command: click.Command = getattr(module, cmd_name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that was named; a mistyped name is answered with those that are near."""
        if args[0] not in COMMANDS and not ctx.resilient_parsing:
            if near := difflib.get_close_matches(args[0], COMMANDS):
                ctx.fail(f"No such command {args[0]!r}. Did you mean {' or '.join(map(repr, near))}?")
            ctx.fail(f"No such command {args[0]!r}: `medley --help` lists them.")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands from the table above, so that nothing is imported for it."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="medley", prog_name="medley")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Hybrid medical search: from a news claim to the study, from a clinical question to the note."""
    if ctx.invoked_subcommand not in PUBLIC:
        os.umask(0o077)  # whatever is created in the home is its owner's alone: see `search.home`


def main() -> None:
    """Run the command line; an error becomes one JSON or text line on stderr and a non-zero exit code."""
    try:
        code = cli.main(standalone_mode=False)  # the code of a command's Exit, None otherwise
        sys.exit(code if isinstance(code, int) else 0)
    except (click.Abort, KeyboardInterrupt):
        fail(Interrupted("interrupted; what was accepted before is kept"), 130)
    except click.ClickException as error:
        field = getattr(getattr(error, "param", None), "name", None)
        fail(UsageError(error.format_message(), field=field), 2)
    except MedleyError as error:
        fail(error, 1)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(141)
    except OSError as error:  # a file that can't be read or written
        place = f"{error.filename}: " if error.filename else ""
        fail(Unavailable(f"{place}{error.strerror or error}"), 1)


def fail(error: MedleyError, code: int) -> None:
    """Print an error in the format of the command's other output, and exit with `code`."""
    if "--json" in sys.argv:
        from web.wire import ErrorAnswer

        text = json.dumps(ErrorAnswer.of(error).model_dump())
    else:
        text = f"medley: {error.message}{f' [{error.field}]' if error.field else ''}"
    click.echo(text, err=True)
    sys.exit(code)
