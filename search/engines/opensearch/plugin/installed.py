"""The options that the plug-in was installed with, as the cluster tells them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mappings.errors import NotFound
from search.engines.opensearch.client import Cluster
from search.engines.opensearch.plugin.machine_learning import MachineLearning
from search.engines.opensearch.plugin.marks import is_ours
from search.engines.opensearch.plugin.resources import FAMILY, STEPS, endpoint_of


def installed_options(cluster: Cluster, kind: str) -> dict[str, Any]:
    """Those of `PluginPlan` that are known of the plug-in for a kind: `title`, `text`, `pattern`, `priority` and `endpoint`.

    Empty where nothing of it is installed; what is only half there tells some. Raises as `Cluster` does.
    """
    name = f"{FAMILY}{kind}"
    return {
        **_fields(_definition(cluster, f"/_ingest/pipeline/{name}").get(name, {})),
        **_indexes(_definition(cluster, f"/_index_template/{name}")),
        **_server(cluster, name),
    }


def model_servers(cluster: Cluster, name: str) -> list[str]:
    """The model servers that the models of the plug-in of this name use, sorted: one, unless it is half installed."""
    own = {f"{name}-{step}" for step in STEPS}
    return sorted(
        {endpoint_of(address) for model, address in MachineLearning(cluster).addresses(FAMILY) if model in own}
    )


def _definition(cluster: Cluster, address: str) -> Mapping[str, Any]:
    try:
        found: Mapping[str, Any] = cluster.read("GET", address)
    except NotFound:
        return {}
    return found


def _fields(pipeline: Mapping[str, Any]) -> dict[str, str]:
    if not is_ours(pipeline.get("description")):
        return {}
    scripts = (item["script"].get("params", {}) for item in pipeline.get("processors", ()) if "script" in item)
    return {name: str(value) for name, value in next(scripts, {}).items() if name in ("title", "text")}


def _indexes(answer: Mapping[str, Any]) -> dict[str, Any]:
    for item in answer.get("index_templates", ()):
        template = item["index_template"]
        if is_ours(template.get("_meta", {}).get("description")):
            return {"pattern": template["index_patterns"][0], "priority": int(template["priority"])}
    return {}


def _server(cluster: Cluster, name: str) -> dict[str, str]:
    """The model server, unless models of several are there, as while one is replaced."""
    found = model_servers(cluster, name)
    return {"endpoint": found[0]} if len(found) == 1 else {}
