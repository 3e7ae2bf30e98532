"""The cluster's trust in the model server: OpenSearch sends texts only to addresses that its settings name."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any, Final
from urllib.parse import urlsplit

from mappings.errors import InvalidInput, MedleyError
from search.engines.opensearch.client import Cluster
from search.engines.opensearch.plugin.resources import PluginPlan, trusted_by

REGEX: Final = "plugins.ml_commons.trusted_connector_endpoints_regex"
PRIVATE: Final = "plugins.ml_commons.connector.private_ip_enabled"
REMOTE: Final = "plugins.ml_commons.remote_inference.enabled"
_PRIVATE_SET: Final = "Allowed private addresses."
_LIST_WAS: Final = "Trusted before: {}."
_NOTE: Final = re.compile(r"Allowed private addresses\.|Trusted before: [0-9a-f]+\.")
_SIGNS: Final = ("trusted connector endpoint", "private ip")
_FORBIDDEN: Final = "remote inference is currently disabled"


@dataclass(frozen=True, slots=True)
class Trust:
    """Settings that are to be set on the cluster, and notes of which were at their defaults, by which `distrust` undoes them."""

    settings: Mapping[str, Any]
    notes: str = ""


NO_TRUST: Final = Trust({})


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


def needed_trust(cluster: Cluster, plan: PluginPlan) -> Trust:
    """What the cluster lacks to trust the server's addresses, also private ones; changes nothing."""
    needed, before = needed_settings(cluster, plan), _set(cluster)
    notes = [_PRIVATE_SET] if PRIVATE in needed and PRIVATE not in before else []
    if REGEX in needed and REGEX not in before:
        notes.append(_LIST_WAS.format(_digest(needed[REGEX][:-1])))
    return Trust(needed, "".join(f" {note}" for note in notes))


def notes_in(text: str) -> set[str]:
    """The notes of `Trust` in a text."""
    return set(_NOTE.findall(text))


def distrust(cluster: Cluster, endpoints: Iterable[str], notes: str = "") -> list[str]:
    """Take the addresses of model servers from what the cluster trusts; returns the settings that were changed.

    What others trust stays. What was at its default before us, by the `notes` of `Trust`, is again, unless it was changed.
    """
    there, undone = _set(cluster), {}
    trusted, own = there.get(REGEX) or [], {trusted_by(endpoint) for endpoint in endpoints}
    if own & set(trusted):
        left = [item for item in trusted if item not in own]
        undone[REGEX] = None if not left or _LIST_WAS.format(_digest(left)) in notes else left
    if _PRIVATE_SET in notes and PRIVATE in there:
        undone[PRIVATE] = None
    if undone:
        cluster.write("PUT", "/_cluster/settings", {"persistent": undone})
    return sorted(undone)


def _set(cluster: Cluster) -> dict[str, Any]:
    """The settings of the cluster that are not at their defaults."""
    found = cluster.read("GET", "/_cluster/settings", params={"flat_settings": "true"})
    return {**found.get("persistent", {}), **found.get("transient", {})}


def _digest(trusted: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(trusted).encode()).hexdigest()[:12]


def explain_refusal(error: MedleyError, plan: PluginPlan) -> MedleyError:
    """What to do where the cluster does not send requests to the server, or without a token; any other error as it is."""
    if "an access token is required" in error.message:
        return InvalidInput(
            f"the model server at {plan.endpoint} wants a token: make one with `medley tokens add` where it runs, and name the "
            "file that holds it in MEDLEY_INFERENCE_TOKEN_FILE",
            field="MEDLEY_INFERENCE_TOKEN_FILE",
        )
    if _FORBIDDEN in error.message.lower():  # OpenSearch's own message names a setting that it does not have
        return InvalidInput(
            f"the cluster forbids models outside of it: have an administrator send PUT /_cluster/settings "
            f"{json.dumps({'persistent': {REMOTE: True}})}",
            field="opensearch",
        )
    if not any(sign in error.message.lower() for sign in _SIGNS):
        return error
    settings = json.dumps({"persistent": {REGEX: [plan.trusted], PRIVATE: True}})
    return InvalidInput(
        f"the cluster does not trust {plan.endpoint}: install with --trust, or have an administrator send PUT "
        f"/_cluster/settings {settings} (with whatever is trusted already)",
        field="endpoint",
    )
