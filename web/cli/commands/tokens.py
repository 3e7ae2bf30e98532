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
@json_option
def add(user: str, labels: tuple[str, ...], writes: tuple[str, ...], as_json: bool) -> None:
    """Make a token for USER. It is shown only once; only its hash is stored."""
    text = api_tokens.add(read().home, user, labels, writes)
    made = {"token": text, "user": user, "labels": sorted(set(labels)), "writes": sorted(set(writes))}
    show(made, as_json, lambda: text)


@tokens.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List the tokens, without their secrets."""
    known = [token.as_json() for token in api_tokens.list_tokens(read().home)]
    head = ["id", "user", "labels", "writes", "created"]
    rows = [[", ".join(item[name]) if isinstance(item[name], list) else item[name] for name in head] for item in known]
    show({"tokens": known}, as_json, lambda: text_table(head, rows))


@tokens.command()
@click.argument("identifier", metavar="ID")
@json_option
def revoke(identifier: str, as_json: bool) -> None:
    """Remove the token with this ID; its sessions end at once."""
    gone = api_tokens.revoke(read().home, identifier)
    show({"revoked": gone.as_json()}, as_json, lambda: f"revoked {gone.id} of {gone.user}")
