"""`medley kept`: what users keep, for the operator, who sees the items of every user."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import click

from mappings.errors import InvalidInput
from web.cli.common import json_option, open_medley, open_use_cases, show, text_table

if TYPE_CHECKING:
    from search.kept.items import KeptItem

_LISTED: Final = ("id", "user", "kind", "name", "collection", "shared_with", "changed")


@click.group()
def kept() -> None:
    """List, show, delete and purge what users keep: saved searches, term bundles, cohorts, dossiers and judgements."""


@kept.command("list")
@click.option("--user", default=None, help="Only the items of this user.")
@json_option
def list_(user: str | None, as_json: bool) -> None:
    """List kept items, without their contents."""
    medley = open_medley()
    with open_use_cases(medley).audited("kept list", "", {"user": user} if user else {}):
        found = [_described(item) for item in medley.kept.export() if user is None or item.owner == user]
    found.sort(key=lambda item: (item["user"], item["kind"], item["name"]))
    rows = [[_cell(item[name]) for name in _LISTED] for item in found]
    show({"items": found}, as_json, lambda: text_table(list(_LISTED), rows) if found else "nothing is kept yet")


@kept.command("show")
@click.argument("identifier", metavar="ID")
def show_(identifier: str) -> None:
    """Print the item with this ID as JSON."""
    medley = open_medley()
    with open_use_cases(medley).audited("kept read", "", {"item": identifier[:100]}):
        item = medley.kept.find(identifier)
    show(_described(item) | {"content": item.content}, as_json=True)


@kept.command()
@click.argument("identifier", metavar="ID")
@json_option
def delete(identifier: str, as_json: bool) -> None:
    """Delete the item with this ID, whoever keeps it, even if it is damaged."""
    from search.kept.items import unknown_item

    medley = open_medley(patient=True)
    with open_use_cases(medley).audited("kept delete", "", {"item": identifier[:100]}):
        if not medley.kept.remove(identifier):
            raise unknown_item(identifier)
    show({"deleted": identifier}, as_json, lambda: f"deleted {identifier}")


@kept.command()
@click.argument("user")
@click.option("--yes", "-y", is_flag=True, help="Do not ask for confirmation; needed without a terminal.")
@json_option
def purge(user: str, yes: bool, as_json: bool) -> None:
    """Remove for ever all that USER keeps, from the store and its files; what others share with them stays.

    Revoke the tokens of the user first. See docs/operator/erasure.md for what else may hold copies.
    """
    if not yes:
        if not sys.stdin.isatty():
            raise InvalidInput(
                f"this removes all that {user!r} keeps: without a terminal, confirm it with --yes", field="yes"
            )
        click.confirm(f"Remove all that {user!r} keeps, for ever?", abort=True, err=True)
    medley = open_medley(patient=True)
    use_cases = open_use_cases(medley)
    use_cases.audit("kept purge", "", {"user": user})  # one that is killed halfway has removed something, too
    with use_cases.audited("kept purged", "", {"user": user}) as done:
        done["items"] = medley.kept.purge(user)
        medley.kept.wipe()
    count = done["items"]
    text = f"{count} kept item{'' if count == 1 else 's'} of {user} removed for ever"
    show({"user": user, "items": count}, as_json, lambda: text)


def _described(item: KeptItem) -> dict[str, Any]:
    return {
        "id": item.id,
        "user": item.owner,
        "kind": item.kind,
        "name": item.name,
        "collection": item.collection,
        "shared_with": sorted(item.shared_with),
        "revision": item.revision,
        "created": _moment(item.created),
        "changed": _moment(item.changed),
    }


def _moment(microseconds: int) -> str:
    return datetime.fromtimestamp(microseconds / 1_000_000, UTC).isoformat(timespec="seconds")


def _cell(value: Any) -> str:
    return ", ".join(value) if isinstance(value, list) else str(value)
