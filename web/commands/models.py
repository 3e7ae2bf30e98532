"""`medley models`."""

from __future__ import annotations

from typing import Any

import click

from mappings.errors import MedleyError
from web.commands.common import json_option, open_medley, show, table


@click.command()
@json_option
def models(as_json: bool) -> None:
    """List the models, checked file by file, and say what they are."""
    medley = open_medley()
    found = [_described(name, medley.model_folders()) for name in medley.model_names()]
    rows = [
        [item["name"], item["kind"], str(item["dimension"] or ""), item["fingerprint"][:12], item["state"]]
        for item in found
    ]
    show({"models": found}, as_json, lambda: table(["name", "kind", "d", "fingerprint", "state"], rows))
    if any(item["state"] != "ok" for item in found):
        raise click.exceptions.Exit(1)


def _described(name: str, folders: Any) -> dict[str, Any]:
    from encoders.artifact import Artifact, find

    try:
        artifact = Artifact.open(find(name, folders))
    except MedleyError as error:
        return {"name": name, "kind": "", "dimension": None, "fingerprint": "", "state": error.message}
    return {
        "name": name,
        "kind": artifact.kind,
        "dimension": artifact.dimension,
        "fingerprint": artifact.fingerprint,
        "state": "ok",
        "manifest": artifact.manifest,
    }
