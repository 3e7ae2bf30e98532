"""`medley models`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from mappings.collection import DISCOURSE
from mappings.errors import MedleyError
from web.cli.common import json_option, open_medley, show, text_table


@click.command()
@click.argument("name", required=False)
@json_option
def models(name: str | None, as_json: bool) -> None:
    """List the models, each checked file by file; with NAME, print the card of that model."""
    medley = open_medley()
    whole = medley.models.discourse
    if name in whole.names():
        _discourse_card(whole.locate(name), as_json)
        return
    if name:
        _card(name, medley.models.folders(), as_json)
        return
    found = [_described(name, medley.models.folders()) for name in medley.models.names()]
    found += [_described_discourse(name, whole.locate(name)) for name in whole.names()]
    rows = [
        [item["name"], item["kind"], str(item["dimension"] or ""), item["fingerprint"][:12], item["state"]]
        for item in found
    ]
    show({"models": found}, as_json, lambda: text_table(["name", "kind", "d", "fingerprint", "state"], rows))
    if any(item["state"] != "ok" for item in found):
        raise click.exceptions.Exit(1)


def _card(name: str, folders: Any, as_json: bool) -> None:
    from encoders.artifact import Artifact, find
    from encoders.cards import markdown

    manifest = Artifact.open(find(name, folders)).manifest
    show(dict(manifest), as_json, lambda: markdown(manifest).rstrip())


def _discourse_card(place: Path, as_json: bool) -> None:
    from encoders.discourse.artifact import DiscourseArtifact

    manifest = dict(DiscourseArtifact.open(place).manifest)
    show(manifest, as_json, lambda: json.dumps(manifest, indent=2, ensure_ascii=False))


def _described_discourse(name: str, place: Path) -> dict[str, Any]:
    from encoders.discourse.artifact import DiscourseArtifact

    try:
        artifact = DiscourseArtifact.open(place)
    except MedleyError as error:
        return {"name": name, "kind": DISCOURSE, "dimension": None, "fingerprint": "", "state": error.message}
    return {
        "name": name,
        "kind": DISCOURSE,
        "dimension": 2 * artifact.dimension,
        "fingerprint": artifact.fingerprint,
        "state": "ok",
        "manifest": artifact.manifest,
    }


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
