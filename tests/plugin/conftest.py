"""A node with ML Commons and a model server, which all tests of the plug-in share."""

from __future__ import annotations

from collections.abc import Iterator

import opensearch_node
import pytest
from opensearch_node import free_port
from plugin_models import model_server
from plugin_world import World

NODE = {"plugins.ml_commons.only_run_on_ml_node": "false"}


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    home = tmp_path_factory.mktemp("home")
    with (
        opensearch_node.running("768m", NODE, profiles=opensearch_node.ML) as node,
        model_server(home, free_port()) as server,
    ):
        yield World(node.url, server, home)
