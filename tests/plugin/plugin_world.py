"""A node with ML Commons, a model server, and the command line over both, for the tests of the plug-in."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import urllib3
from command_line import medley
from plugin_models import MODELS, patient_kinds

NAME = "medley-abstracts"
TEXTS = {
    "1": ("Aspirin after a myocardial infarction", "Aspirin lowered the risk of a second infarction by a fifth."),
    "2": ("Walking and falls", "Daily walks made falls rarer in people over 80. No patient had a stroke."),
    "3": ("Sleep in adolescents", "Short sleep went along with higher blood pressure at the age of 15."),
    "4": ("", "Patients with COPD who stopped smoking lived longer. Pneumonia was seen in a tenth of them."),
    "5": ("Statins and muscle pain", "Muscle pain was as frequent with placebo as with statins."),
    "6": (
        "Heart failure and salt",
        "A diet with little salt did not keep patients with heart failure out of hospital.",
    ),
}


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

    def tokens_read(self) -> dict[str, float]:
        """Model -> how many tokens the model server has run it on."""
        lines = urllib3.request("GET", f"{self.server}/metrics").data.decode().splitlines()
        found = (line.split(" ") for line in lines if line.startswith("medley_inference_tokens_total"))
        return {name: float(value) for name, value in found}

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
