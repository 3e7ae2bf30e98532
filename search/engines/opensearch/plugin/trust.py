"""The cluster's trust in the model server: OpenSearch sends texts only to addresses that its settings name."""

from __future__ import annotations

import json
from ipaddress import ip_address
from typing import Any, Final
from urllib.parse import urlsplit

from mappings.errors import InvalidInput, MedleyError
from search.engines.opensearch.client import Cluster
from search.engines.opensearch.plugin.resources import PluginPlan

REGEX: Final = "plugins.ml_commons.trusted_connector_endpoints_regex"
PRIVATE: Final = "plugins.ml_commons.connector.private_ip_enabled"
_SIGNS: Final = ("trusted connector endpoint", "private ip")


def needed_settings(cluster: Cluster, plan: PluginPlan) -> dict[str, Any]:
    """The settings to add, so that the cluster trusts the server: ours beside what it trusts already; empty if it does."""
    found = cluster.read("GET", "/_cluster/settings", params={"include_defaults": "true", "flat_settings": "true"})
    every = {**found.get("defaults", {}), **found.get("persistent", {}), **found.get("transient", {})}
    trusted = every.get(REGEX) or []
    needed: dict[str, Any] = {}
    if plan.trusted not in trusted:
        needed[REGEX] = [*trusted, plan.trusted]
    if _may_be_private(plan.endpoint) and str(every.get(PRIVATE)).lower() != "true":
        needed[PRIVATE] = True
    return needed


def _may_be_private(address: str) -> bool:
    """Whether an address is, or a name can stand for, one of a private network."""
    try:
        return not ip_address(urlsplit(address).hostname or "").is_global
    except ValueError:
        return True


def trust(cluster: Cluster, plan: PluginPlan) -> dict[str, Any]:
    """Let the cluster trust the server's addresses, also private ones; returns what was set."""
    needed = needed_settings(cluster, plan)
    if needed:
        cluster.write("PUT", "/_cluster/settings", {"persistent": needed})
    return needed


def distrust(cluster: Cluster, plan: PluginPlan) -> bool:
    """Take the server's addresses from what the cluster trusts; others, and whether private ones count, stay."""
    found = cluster.read("GET", "/_cluster/settings", params={"flat_settings": "true"})
    trusted = found.get("persistent", {}).get(REGEX) or []
    if plan.trusted not in trusted:
        return False
    left = [item for item in trusted if item != plan.trusted]
    cluster.write("PUT", "/_cluster/settings", {"persistent": {REGEX: left or None}})
    return True


def explain_refusal(error: MedleyError, plan: PluginPlan) -> MedleyError:
    """What to do where the cluster does not send requests to the server; any other error as it is."""
    if not any(sign in error.message.lower() for sign in _SIGNS):
        return error
    settings = json.dumps({"persistent": {REGEX: [plan.trusted], PRIVATE: True}})
    return InvalidInput(
        f"the cluster does not trust {plan.endpoint}: install with --trust, or have an administrator send PUT "
        f"/_cluster/settings {settings} (with whatever is trusted already)",
        field="endpoint",
    )
