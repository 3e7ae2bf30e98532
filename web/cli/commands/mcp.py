"""`medley mcp`."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING

import click

from mappings.errors import Unavailable
from web.cli.common import open_medley, open_use_cases

if TYPE_CHECKING:
    from web.mcp_server.library import Library


@click.command()
@click.option("--gateway", default="", metavar="ADDRESS", help="Ask a gateway instead of this machine's collections.")
@click.option(
    "--token", default="", envvar="MEDLEY_TOKEN", show_envvar=True, help="The token for the gateway.", metavar="TOKEN"
)
@click.option(
    "--label", "labels", multiple=True, help="Without a gateway: see only documents with this label. Default: all."
)
def mcp(gateway: str, token: str, labels: tuple[str, ...]) -> None:
    """Serve an assistant that speaks the Model Context Protocol, over standard input and output (extra mcp).

    It can search, open documents and find cohorts, and sees what the token, or the labels, may see.
    """
    try:
        from web.mcp_server.tools import make_server
    except ModuleNotFoundError as error:
        raise Unavailable(f"{error.name} is not installed: pip install 'medley[mcp]'", field="mcp") from error
    make_server(_library(gateway, token, labels), version("medley")).run("stdio")


def _library(gateway: str, token: str, labels: tuple[str, ...]) -> Library:
    from web.client.client import MedleyClient
    from web.mcp_server.library import LocalLibrary

    if gateway:
        return MedleyClient(gateway, token)
    return LocalLibrary(open_use_cases(open_medley(), labels=labels))
