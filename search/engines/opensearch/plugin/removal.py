"""Takes the plug-in for one kind from a cluster, and trust in its model server when no other kind needs it."""

from __future__ import annotations

from search.engines.opensearch.client import Cluster
from search.engines.opensearch.plugin.installation import Change, PluginInstallation
from search.engines.opensearch.plugin.machine_learning import MachineLearning
from search.engines.opensearch.plugin.resources import FAMILY, STEPS, PluginPlan, endpoint_of
from search.engines.opensearch.plugin.trust import distrust, notes_in


def remove(cluster: Cluster, plan: PluginPlan) -> list[Change]:
    """Delete everything of the plan's kind, whichever model server it uses; indexes stay.

    The cluster no longer trusts that server, unless another kind uses it; then trust goes with the last kind. Raises as
    `Cluster` does.
    """
    models = MachineLearning(cluster)
    names = {plan.model(step) for step in STEPS}
    used = {name: endpoint_of(address) for name, address in models.addresses(FAMILY).items()}
    own = {used[name] for name in names & used.keys()} or {plan.endpoint}
    elsewhere = {endpoint for name, endpoint in used.items() if name not in names}
    notes = "".join(models.groups(plan.name).values())
    changes = PluginInstallation(cluster, plan).delete()
    if elsewhere:
        _hand_on(models, used.keys() - names, notes)
    settings = distrust(cluster, own - elsewhere, "" if elsewhere else notes)
    return [*changes, *(Change("cluster setting", name, "removed") for name in settings)]


def _hand_on(models: MachineLearning, others: set[str], notes: str) -> None:
    """Let the group of another kind keep the notes of `trust`, by which the last removal restores defaults."""
    kind = min(others).rpartition("-")[0]
    for group, description in models.groups(kind).items():
        missing = notes_in(notes) - notes_in(description)
        if missing:
            models.describe_group(group, f"{description} {' '.join(sorted(missing))}")
