"""The command line: one group, each command in a module of its own under `web/cli/commands`, imported when it is called."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Mapping
from typing import Any

import click

from mappings.errors import MedleyError

COMMANDS: Mapping[str, tuple[str, str]] = {
    "demo": ("ingest", "Make the demo collections and index them."),
    "ingest": ("ingest", "Read documents into a collection and index them."),
    "delete": ("ingest", "Delete documents by id."),
    "retry": ("ingest", "Index again what failed."),
    "status": ("status", "Show what is stored, indexed, waiting and failed."),
    "search": ("search", "Search a collection."),
    "serve": ("serve", "Serve the search page and the HTTP API."),
    "inference": ("inference", "Serve models over HTTP, for every other process."),
    "worker": ("worker", "Work on the queue: index, read files, sweep up what was lost."),
    "index": ("index", "Create, rebuild, verify, drop and list indexes."),
    "tokens": ("tokens", "Make, list and revoke API tokens."),
    "models": ("models", "List the models, or print one's card."),
    "label": ("labels", "Make training pairs from documents and judgements."),
    "mine": ("training", "Find hard negatives for training pairs."),
    "train": ("training", "Train an encoder by a recipe."),
    "export": ("training", "Export a checkpoint as a model directory."),
    "evaluate": ("evaluate", "Measure each stage of search on a suite."),
    "tune": ("evaluate", "Tune fusion and reranking weights on training judgements."),
    "bench": ("evaluate", "Measure speed and memory, as ratios to an alternative."),
    "settings": ("settings", "Show every setting, its value and its meaning."),
}


class Lazy(click.Group):
    """A group that knows its commands' names and help without importing them: `--help` stays quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands, in the order a user meets them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command itself, imported now."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"web.cli.commands.{COMMANDS[cmd_name][0]}")
        command: click.Command = getattr(module, cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands from the table above, so that nothing is imported for it."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.group(cls=Lazy, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="medley", prog_name="medley")
def cli() -> None:
    """Hybrid medical search: from a news claim to the study, from a clinical question to the note."""


def main() -> None:
    """Run the command line; an error becomes one JSON or text line on stderr and a non-zero exit."""
    try:
        ended = cli.main(standalone_mode=False)  # what a command's Exit carried, None otherwise
        sys.exit(ended if isinstance(ended, int) else 0)
    except (click.Abort, KeyboardInterrupt):
        fail(
            {"error": {"code": "interrupted", "message": "interrupted; what was accepted is kept", "field": None}}, 130
        )
    except click.ClickException as error:
        field = getattr(getattr(error, "param", None), "name", None)
        fail({"error": {"code": "usage", "message": error.format_message(), "field": field}}, 2)
    except MedleyError as error:
        fail(error.as_json(), 1)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(141)


def fail(body: dict[str, dict[str, Any]], status: int) -> None:
    """Print an error as this call's other output is printed, and leave."""
    error = body["error"]
    where = f" [{error['field']}]" if error["field"] else ""
    text = json.dumps(body) if "--json" in sys.argv else f"medley: {error['message']}{where}"
    click.echo(text, err=True)
    sys.exit(status)
