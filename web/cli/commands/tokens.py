"""`medley tokens`."""

from __future__ import annotations

import click

from mappings.documents import EVERY_LABEL
from search.settings import read
from web.access import tokens as api_tokens
from web.cli.common import json_option, show, text_table


@click.group()
def tokens() -> None:
    """Make, list and revoke API tokens."""


@tokens.command()
@click.argument("user")
@click.option(
    "--label",
    "labels",
    multiple=True,
    required=True,
    help=f"An access label, or '{EVERY_LABEL}' for all; can be repeated.",
)
@click.option(
    "--write",
    "writes",
    multiple=True,
    metavar="COLLECTION",
    help="A collection to write into, or '*' for all; can be repeated. Without it the token can only read.",
)
@click.option("--operator", is_flag=True, help="The holder may read the installation's metrics.")
@json_option
def add(user: str, labels: tuple[str, ...], writes: tuple[str, ...], operator: bool, as_json: bool) -> None:
    """Make a token for USER. It is shown only once; only its hash is stored."""
    text = api_tokens.add(read().home, user, labels, writes, operator)
    made = {
        "token": text,
        "user": user,
        "labels": sorted(set(labels)),
        "writes": sorted(set(writes)),
        "operator": operator,
    }
    show(made, as_json, lambda: text)


@tokens.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List the tokens, without their secrets."""
    known = [token.as_json() for token in api_tokens.list_tokens(read().home)]
    head = ["id", "user", "labels", "writes", "operator", "created"]
    rows = [[_cell(item[name]) for name in head] for item in known]
    show({"tokens": known}, as_json, lambda: text_table(head, rows))


def _cell(value: list[str] | str | bool) -> str:
    if isinstance(value, bool):
        return "yes" if value else ""
    return ", ".join(value) if isinstance(value, list) else value


@tokens.command()
@click.argument("identifier", metavar="ID")
@json_option
def revoke(identifier: str, as_json: bool) -> None:
    """Remove the token with this ID; its sessions end at once."""
    gone = api_tokens.revoke(read().home, identifier)
    show({"revoked": gone.as_json()}, as_json, lambda: f"revoked {gone.id} of {gone.user}")
