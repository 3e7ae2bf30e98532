"""`medley tokens`."""

from __future__ import annotations

import click

from mappings.documents import EVERY_LABEL
from mappings.errors import MedleyError, NotFound, Unavailable
from search.settings import read
from web.access import live_sessions
from web.access import tokens as api_tokens
from web.access.expiry import expiry_of
from web.cli.common import audit, json_option, show, text_table


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
@click.option(
    "--expires",
    metavar="WHEN",
    help="From when the token is refused: after a duration such as 12h, 90d or 26w, or after a date such as 2027-12-31 "
    "(UTC). Without it the token never expires.",
)
@json_option
def add(
    user: str,
    labels: tuple[str, ...],
    writes: tuple[str, ...],
    operator: bool,
    expires: str | None,
    as_json: bool,
) -> None:
    """Make a token for USER. It is shown only once; only its hash is stored."""
    home = read().home
    ends = expiry_of(expires) if expires is not None else None
    text = api_tokens.add(home, user, labels, writes, operator, ends)
    made = api_tokens.verify(api_tokens.list_tokens(home), text)
    if made is None:
        raise NotFound("the token was revoked before it could be shown", field="id")
    try:
        audit("tokens add", made.as_json())
    except MedleyError:
        api_tokens.revoke(home, made.id)
        raise
    show({"token": text} | made.as_json(), as_json, lambda: text)


@tokens.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List the tokens, without their secrets."""
    found = api_tokens.list_tokens(read().home)
    known = [token.as_json() | {"expired": token.is_expired} for token in found]
    head = ["id", "user", "labels", "writes", "operator", "created", "expires", "expired"]
    rows = [[_cell(item[name]) for name in head] for item in known]
    show({"tokens": known}, as_json, lambda: text_table(head, rows))


def _cell(value: list[str] | str | bool | None) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else ""
    return ", ".join(value) if isinstance(value, list) else value


@tokens.command()
@click.argument("identifier", metavar="ID")
@json_option
def revoke(identifier: str, as_json: bool) -> None:
    """Remove the token with this ID; its sessions end at once."""
    gone = api_tokens.revoke(read().home, identifier)
    try:
        audit("tokens revoke", gone.as_json())
    except Unavailable as error:
        raise Unavailable(f"{gone.id} is revoked, but that could not be logged: {error.message}") from error
    show({"revoked": gone.as_json()}, as_json, lambda: f"revoked {gone.id} of {gone.user}")


@tokens.command("open")
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
def open_(yes: bool, as_json: bool) -> None:
    """Remove every token and session, and return to open local use.

    The user of this machine then needs no token, sees everything and writes everywhere. Servers that are running keep
    refusing until they are restarted.
    """
    home = read().home
    if not yes:
        click.confirm(f"Remove every token of {home} and let the user of this machine in without one?", abort=True)
    audit("tokens open", {})
    live_sessions.end_all(home)
    count = api_tokens.remove_all(home)
    text = f"removed {count} token{'' if count == 1 else 's'}; restart the servers that are running"
    show({"removed": count}, as_json, lambda: text)
