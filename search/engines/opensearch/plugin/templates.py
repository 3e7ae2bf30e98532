"""Which template an index of a name would get: of several that match, OpenSearch takes the one of the highest priority."""

from __future__ import annotations

from mappings.errors import Conflict
from search.engines.opensearch.client import Cluster
from search.engines.opensearch.plugin.resources import PluginPlan


def gets_template(cluster: Cluster, plan: PluginPlan, index: str) -> bool:
    """Whether an index of that name, once it is created, has the plan's ingest pipeline."""
    found = cluster.read("POST", f"/_index_template/_simulate_index/{index}")
    settings = found.get("template", {}).get("settings", {}).get("index", {})
    return bool(settings.get("default_pipeline") == plan.name)


def template_applies(cluster: Cluster, plan: PluginPlan) -> bool:
    """Whether new indexes of the plan's own pattern get its template, and not another one that is put before it."""
    return gets_template(cluster, plan, plan.indexes.replace("*", "1"))


def check_template(cluster: Cluster, plan: PluginPlan) -> None:
    """Raise `Conflict` if another template is put before the plan's for its own pattern."""
    if not template_applies(cluster, plan):
        raise Conflict(
            f"another index template is put before ours for {plan.indexes}, so new indexes would not be read: choose a --priority "
            f"above {plan.priority}, or another --pattern",
            field="priority",
        )
