"""A home of abstracts whose kind reads stances, with a tiny classifier of random weights."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from portal_home import fill, settings_of
from tiny import write_artifact

from mappings.collection import kinds
from search.settings import Settings

MODEL = "tiny-stance"


def claims_settings(folder: Path) -> Settings:
    """The settings of a home in `folder` that is filled with the portal's documents."""
    write_artifact(folder / "models" / MODEL, "stance-classifier")
    shipped = kinds()["abstracts"].read_text(encoding="utf-8").partition("[stance]")[0]
    (folder / "kinds").mkdir()
    text = f'{shipped}\n[stance]\nmodel = "{MODEL}"\ndeadline_ms = 0\n'
    (folder / "kinds/abstracts.toml").write_text(text, encoding="utf-8")
    named = {"collections": folder / "kinds", "models": folder / "models", "stance": MODEL}
    settings = replace(settings_of(folder / "home"), **named)
    fill(settings.home, settings)
    return settings
