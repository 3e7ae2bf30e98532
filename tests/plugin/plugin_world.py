"""A node with ML Commons, a model server, and the command line over both, for the tests of the plug-in."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import urllib3
from command_line import environment, medley, quick_command

from mappings.collection import SHIPPED_KINDS

NAME = "medley-abstracts"
MODELS = {"MEDLEY_ENCODER": "", "MEDLEY_RERANKER": ""}


def patient_kinds(home: Path) -> dict[str, str]:
    """The setting of kinds without a deadline: a busy machine would read fewer hits, and order the others in another way."""
    folder = home / "kinds"
    folder.mkdir(exist_ok=True)
    for path in SHIPPED_KINDS.glob("*.toml"):
        (folder / path.name).write_text(path.read_text().replace("deadline_ms = 500", "deadline_ms = 0"))
    return {"MEDLEY_COLLECTIONS": str(folder)}


@contextmanager
def model_server(home: Path, port: int) -> Iterator[str]:
    command = quick_command("inference", "--port", str(port))
    settings = MODELS | patient_kinds(home)
    with (home / "inference.log").open("a") as log:
        process = subprocess.Popen(command, env=environment(home, **settings), stderr=log)
        try:
            _await(f"http://127.0.0.1:{port}/readyz")
            yield f"http://127.0.0.1:{port}"
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


def _await(address: str) -> None:
    until = time.monotonic() + 90
    while time.monotonic() < until:
        try:
            if urllib3.request("GET", address, retries=False).status == 200:
                return
        except urllib3.exceptions.HTTPError:
            time.sleep(0.1)
    raise AssertionError(f"{address} did not answer")


class World:
    """A node, a model server, and the command line over both."""

    def __init__(self, node: str, server: str, home: Path) -> None:
        self.node, self.server, self.home = node, server, home

    def send(self, method: str, path: str, body: Any = None, status: int = 200) -> Any:
        content = body if isinstance(body, bytes) else None if body is None else json.dumps(body)
        headers = {"Content-Type": "application/json"}
        # By default it waits for three seconds, in which a busy machine does not rerank.
        answer = urllib3.request(
            method, f"{self.node}{path}", body=content, headers=headers, retries=False, timeout=60.0
        )
        assert answer.status == status, answer.data[:1_000]
        return answer.json()

    def there(self, path: str) -> Any:
        """What is at an address; {} if nothing is."""
        answer = urllib3.request("GET", f"{self.node}{path}", retries=False)
        return answer.json() if answer.status == 200 else {}

    def plugin(self, *arguments: str, code: int = 0) -> Any:
        ran = self.run(*arguments, "--json")
        assert ran.returncode == code, ran.stderr
        return json.loads(ran.stdout) if code == 0 or ran.stdout else ran.stderr

    def refused(self, *arguments: str) -> str:
        ran = self.run(*arguments)
        assert ran.returncode != 0, ran.stdout
        return ran.stderr

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        places = ("--opensearch", self.node, "--server", self.server)
        settings = MODELS | patient_kinds(self.home)
        return medley(self.home, "plugin", *arguments[:1], *places, *arguments[1:], **settings)

    def search(self, text: str, index: str = f"{NAME}-1", size: int = 10) -> list[dict[str, Any]]:
        body = json.loads(self.run("query", text, "--size", str(size)).stdout)
        found: list[dict[str, Any]] = self.send("POST", f"/{index}/_search", body)["hits"]["hits"]
        return found

    def put(self, index: str, name: str, document: dict[str, Any], status: int = 201) -> Any:
        return self.send("PUT", f"/{index}/_doc/{name}?refresh=true", document, status)

    def left(self) -> dict[str, Any]:
        """What of the plug-in is on the cluster, asked without our code."""
        everything = {"size": 100, "query": {"match_all": {}}}
        found = {
            what: [
                item["_source"]["name"]
                for item in self.send("POST", f"/_plugins/_ml/{what}/_search", everything)["hits"]["hits"]
            ]
            for what in ("models", "connectors", "model_groups")
        }
        found["ingest"] = list(self.there("/_ingest/pipeline"))
        found["search"] = list(self.there("/_search/pipeline"))
        found["templates"] = [item["name"] for item in self.send("GET", "/_index_template")["index_templates"]]
        settings = self.send("GET", "/_cluster/settings?flat_settings=true")["persistent"]
        found["trusted"] = {name: value for name, value in settings.items() if "connector" in name}
        return found
