"""Installs and removes the plug-in for one kind, with the cluster's trust in its model server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from search.engines.opensearch.client import Cluster
from search.engines.opensearch.plugin.installation import Change, PluginInstallation
from search.engines.opensearch.plugin.machine_learning import MachineLearning
from search.engines.opensearch.plugin.resources import FAMILY, STEPS, PluginPlan, endpoint_of
from search.engines.opensearch.plugin.trust import NO_TRUST, distrust, needed_trust, notes_in


def install(cluster: Cluster, plan: PluginPlan, trust: bool = False) -> tuple[list[Change], Mapping[str, Any]]:
    """Make or mend everything of the plan; with `trust` the cluster also trusts its model server.

    Returns what was done, and the cluster's settings that were set. A server that no kind uses any more is trusted no
    longer. Raises as `PluginInstallation.install` does.
    """
    installation, models = PluginInstallation(cluster, plan), MachineLearning(cluster)
    installation.check()
    if not trust:
        return installation.install(NO_TRUST), {}
    former, needed = _endpoints(models), needed_trust(cluster, plan)
    changes = installation.install(needed)
    if unused := former - _endpoints(models):
        distrust(cluster, unused)
    return changes, needed.settings


def remove(cluster: Cluster, plan: PluginPlan) -> list[Change]:
    """Delete everything of the plan's kind, whichever model server it uses; indexes stay.

    The cluster no longer trusts that server, unless another kind uses it; then trust goes with the last kind. Raises as
    `Cluster` does; then repeating it removes what is left.
    """
    models = MachineLearning(cluster)
    names = {plan.model(step) for step in STEPS}
    used = models.addresses(FAMILY)
    own = {endpoint_of(address) for name, address in used if name in names} or {plan.endpoint.rstrip("/")}
    elsewhere = {endpoint_of(address) for name, address in used if name not in names}
    notes = "".join(models.groups(plan.name).values())
    if elsewhere:
        _hand_on(models, {name for name, _ in used} - names, notes)
    # Trust goes first: what is deleted tells whose it was.
    settings = distrust(cluster, own - elsewhere, "" if elsewhere else notes)
    changes = PluginInstallation(cluster, plan).delete()
    return [*changes, *(Change("cluster setting", name, "removed") for name in settings)]


def _endpoints(models: MachineLearning) -> set[str]:
    """The model servers of all kinds."""
    return {endpoint_of(address) for _, address in models.addresses(FAMILY)}


def _hand_on(models: MachineLearning, others: set[str], notes: str) -> None:
    """Let the group of another kind keep the notes on trust, by which the last removal restores defaults."""
    kind = min(others).rpartition("-")[0]
    for group, description in models.groups(kind).items():
        if missing := notes_in(notes) - notes_in(description):
            models.describe_group(group, " ".join([description, *sorted(missing)]))
