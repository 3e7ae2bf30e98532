"""Several real OpenSearch nodes on this machine that form one cluster, and folders that go with them.

`python tests/services/opensearch_cluster.py` starts three, prints their addresses, starts each again that ends, as a
supervisor would, and stops them at end of input or Ctrl-C: what `medley bench nodes` needs.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from opensearch_node import NOBODY, Node

SIZE = 3
HEAP = "512m"
GREEN_SECONDS = 600.0
"""A node takes minutes to start where the others, and their clients, use every core."""


class NodeCluster:
    """Nodes of one cluster, of which a test may kill and restart any."""

    def __init__(self, nodes: Sequence[Node], repository: Path) -> None:
        self.nodes, self.repository = nodes, repository
        names = [f"node-{number}" for number in range(len(nodes))]
        for name, node in zip(names, nodes, strict=True):
            node.configure(
                {
                    "discovery.type": "",
                    "node.name": name,
                    "cluster.initial_cluster_manager_nodes": json.dumps(names),
                    "discovery.seed_hosts": json.dumps([f"127.0.0.1:{other.transport}" for other in nodes]),
                    "path.repo": str(repository),
                }
            )

    @property
    def urls(self) -> tuple[str, ...]:
        """The address of each node."""
        return tuple(node.url for node in self.nodes)

    def start(self) -> NodeCluster:
        """Start all nodes; return when each has joined."""
        for node in self.nodes:
            node.start(wait=False)
        self.wait_until_green()
        return self

    def wait_until_green(self) -> None:
        """Return when every node is there and every copy of a shard is. Raises `RuntimeError` if that takes too long."""
        until = time.monotonic() + GREEN_SECONDS
        while time.monotonic() < until:
            # Each is asked: the others may not have noticed yet that one is gone.
            if all(map(self._is_green, reversed(self.nodes))):
                return
            time.sleep(0.5)
        raise RuntimeError("the cluster did not become green")

    def _is_green(self, node: Node) -> bool:
        path = f"/_cluster/health?wait_for_status=green&wait_for_nodes={len(self.nodes)}&timeout=10s"
        try:
            with urllib.request.urlopen(f"{node.url}{path}", timeout=15) as answer:
                return not json.loads(answer.read())["timed_out"]
        except (OSError, ValueError):
            return False

    def restart_one_by_one(self) -> None:
        """Stop and start each node, as for an upgrade: the next one when every copy of a shard is there again."""
        for node in self.nodes:
            node.stop()
            node.start(wait=False)
            self.wait_until_green()


@contextmanager
def cluster(size: int = SIZE, repository: Path | None = None) -> Iterator[NodeCluster]:
    """A cluster with a repository for snapshots, in `repository` if given; all is removed afterwards, but that is not."""
    folder = Path(tempfile.mkdtemp(prefix="medley-opensearch-"))
    nodes: list[Node] = []
    try:
        folder.chmod(0o755)
        repository = repository or _owned(folder / "repository")
        nodes.extend(Node(_owned(folder / str(number)), HEAP) for number in range(size))
        yield NodeCluster(nodes, repository).start()
    finally:
        for node in nodes:
            node.stop()
        for made in (folder, *(node.data for node in nodes)):
            shutil.rmtree(made, ignore_errors=True)


def _owned(folder: Path) -> Path:
    """A new folder of the user that runs the nodes."""
    folder.mkdir(mode=0o755)
    if os.getuid() == 0:
        os.chown(folder, NOBODY, NOBODY)
    return folder


def main() -> None:
    """Run three nodes until end of input, and start each again that ends."""
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    with suppress(KeyboardInterrupt), cluster() as started:
        sys.stdout.write(f"{','.join(started.urls)}\n")
        sys.stdout.flush()
        while not ended.wait(0.5):  # nodes are started by this thread: they end with the thread that started them
            for node in started.nodes:
                if not node.is_alive:
                    node.start(wait=False)


if __name__ == "__main__":
    main()
