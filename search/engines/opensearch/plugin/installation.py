"""Installs what `resources` describes on a cluster, tells what is there, and removes it.

Everything carries a mark that tells that it is ours and of which version. What is as it should be stays; what is ours and
outdated is replaced, pipelines before the models that they no longer need; what has one of our names and no mark of ours is
refused. So installing again mends what is half there, and changes nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from mappings.errors import Conflict, InvalidInput, MedleyError, NotFound
from search.engines.opensearch.client import Cluster
from search.engines.opensearch.plugin.installed import model_servers
from search.engines.opensearch.plugin.machine_learning import FoundModel, MachineLearning
from search.engines.opensearch.plugin.marks import has_token, is_ours, is_version, mark
from search.engines.opensearch.plugin.requirements import check_plugins
from search.engines.opensearch.plugin.resources import (
    FAMILY,
    STEPS,
    PluginPlan,
    connector,
    index_template,
    ingest_pipeline,
    search_pipeline,
)
from search.engines.opensearch.plugin.templates import check_template, template_applies
from search.engines.opensearch.plugin.trust import NO_TRUST, Trust, explain_refusal, notes_in

Action = Literal["made", "replaced", "unchanged", "removed", "kept", "mended"]
State = Literal["ready", "outdated", "missing", "not deployed", "overruled", "someone else's"]

_OF_INDEXES: Final = "metadata.indices.*.settings.index.default_pipeline"
_PROBE: Final = "Is the model server there?"


@dataclass(frozen=True, slots=True)
class Change:
    """What was done to one thing on the cluster."""

    what: str
    name: str
    action: Action


@dataclass(frozen=True, slots=True)
class Part:
    """One thing that the plug-in needs on the cluster, and its state."""

    what: str
    name: str
    state: State


@dataclass(frozen=True, slots=True)
class _Document:
    """A pipeline or a template: where it is, where in an answer its definition is, and where its description."""

    what: str
    address: str
    read: Callable[[Any], Mapping[str, Any]]


class PluginInstallation:
    """The plug-in for one kind on one cluster. Raises as `Cluster` does."""

    def __init__(self, cluster: Cluster, plan: PluginPlan) -> None:
        self._cluster, self._plan = cluster, plan
        self._models = MachineLearning(cluster)
        name = plan.name
        self._documents = {
            "ingest pipeline": _Document("ingest pipeline", f"/_ingest/pipeline/{name}", lambda found: found[name]),
            "search pipeline": _Document("search pipeline", f"/_search/pipeline/{name}", lambda found: found[name]),
            "index template": _Document("index template", f"/_index_template/{name}", _template_of),
        }

    def check(self) -> None:
        """What comes before `install`, and changes nothing.

        Raises `InvalidInput` where the cluster lacks a plug-in, or a token would be lost, `Conflict` where something of ours
        would take the place of someone else's.
        """
        check_plugins(self._cluster)
        self._check_names()
        self._check_token()

    def install(self, trust: Trust = NO_TRUST) -> list[Change]:
        """Make or mend everything, and try it: the cluster asks the model server for a vector.

        The notes of `trust` are kept for whoever removes it, before its settings are set.

        Raises `InvalidInput` where the cluster may not reach the server, and says what to set, `Conflict` where a template
        of someone else is in the way.
        """
        group, changes = self._group(trust.notes)
        if trust.settings:
            self._cluster.write("PUT", "/_cluster/settings", {"persistent": dict(trust.settings)})
        models: dict[str, str] = {}
        for step in STEPS:
            models[step], change = self._model(step, group)
            changes.append(change)
        changes += self._write(models)
        check_template(self._cluster, self._plan)
        changes += self._delete([item for item in self._models.models(self._names()) if item.id not in models.values()])
        return changes

    def status(self) -> list[Part]:
        """Everything that the plug-in needs, in the order in which it is made; changes nothing."""
        check_plugins(self._cluster)
        found = self._models.models(self._names())
        models = {step: self._current(step, found) for step in STEPS}
        parts = [
            Part("model", self._plan.model(step), self._state_of(step, model, found)) for step, model in models.items()
        ]
        ids = {step: model.id for step, model in models.items() if model}
        for what, document in self._documents.items():
            parts.append(Part(what, self._plan.name, self._document_state(document, ids)))
        return parts

    def delete(self) -> list[Change]:
        """Delete all of ours but trust, pipelines first. Indexes stay; those with our ingest pipeline no longer have one."""
        changes = [Change("setting of", name, "removed") for name in self._release_indexes()]
        for document in reversed(self._documents.values()):
            if is_ours(self._description(document)):
                self._cluster.write("DELETE", document.address)
                changes.append(Change(document.what, self._plan.name, "removed"))
        changes += self._delete(self._models.models(self._names()))
        for group in self._models.groups(self._plan.name):
            self._models.delete_group(group)
            changes.append(Change("model group", self._plan.name, "removed"))
        return changes

    def _names(self) -> list[str]:
        return [self._plan.model(step) for step in STEPS]

    def _check_names(self) -> None:
        """Raise `Conflict` before anything is made if something there has a name of ours and is not ours."""
        for document in self._documents.values():
            description = self._description(document)
            if description is not None and not is_ours(description):
                article = "a" if document.what.startswith("s") else "an"
                raise Conflict(
                    f"OpenSearch at {self._cluster.where} has {article} {document.what} {self._plan.name} that `medley plugin` did not "
                    "make: rename it, or delete it",
                    field="kind",
                )

    def _check_token(self) -> None:
        """Raise `InvalidInput` if models have to be made anew for a server that wanted a token, and none is given."""
        found = self._models.models(self._names())
        is_whole = all(self._current(step, found) for step in STEPS)
        if self._plan.token or is_whole or not any(has_token(item.description) for item in found):
            return
        if self._plan.endpoint.rstrip("/") in model_servers(self._cluster, self._plan.name):
            raise InvalidInput(
                f"models have to be replaced, and those at {self._plan.endpoint} were installed with a token, which OpenSearch shows "
                "to nobody: name its file in MEDLEY_INFERENCE_TOKEN_FILE",
                field="MEDLEY_INFERENCE_TOKEN_FILE",
            )

    def _group(self, notes: str) -> tuple[str, list[Change]]:
        name, found = self._plan.name, self._models.groups(self._plan.name)
        if not found:
            return self._models.make_group(name, mark(name) + notes), [Change("model group", name, "made")]
        group, description = next(iter(found.items()))
        if missing := notes_in(notes) - notes_in(description):
            self._models.describe_group(group, " ".join([description, *sorted(missing)]))
        return group, [Change("model group", name, "unchanged")]

    def _model(self, step: str, group: str) -> tuple[str, Change]:
        """The id of a step's model in its current version, deployed."""
        name, wanted = self._plan.model(step), connector(self._plan, step)
        found = self._models.models([name])
        current = self._current(step, found)
        if current is None:
            try:
                made = self._models.make_model(wanted, group)
            except MedleyError as error:
                raise explain_refusal(error, self._plan) from error
            return made, Change("model", name, "replaced" if found else "made")
        if current.is_deployed:
            return current.id, Change("model", name, "unchanged")
        self._models.deploy(current.id)
        return current.id, Change("model", name, "mended")

    def _current(self, step: str, found: list[FoundModel]) -> FoundModel | None:
        """The model of a step that is as the plan wants it, a deployed one if there are several."""
        wanted = connector(self._plan, step)
        same = [
            item
            for item in found
            if item.name == wanted["name"] and is_version(item.description, wanted["description"])
        ]
        return max(same, key=lambda item: (item.is_deployed, item.id), default=None)

    def _state_of(self, step: str, model: FoundModel | None, found: list[FoundModel]) -> State:
        if model is None:
            return "outdated" if any(item.name == self._plan.model(step) for item in found) else "missing"
        return "ready" if model.is_deployed else "not deployed"

    def _wanted(self, models: Mapping[str, str], dimension: int) -> dict[str, dict[str, Any]]:
        return {
            "ingest pipeline": ingest_pipeline(self._plan, models),
            "search pipeline": search_pipeline(self._plan, models),
            "index template": index_template(self._plan, dimension),
        }

    def _write(self, models: Mapping[str, str]) -> Iterator[Change]:
        for what, body in self._wanted(models, self._dimension(models["vectors"])).items():
            document = self._documents[what]
            there = self._description(document)
            if there == _described(body):
                yield Change(what, self._plan.name, "unchanged")
                continue
            try:
                self._cluster.write("PUT", document.address, body)
            except InvalidInput as error:
                if "same priority" not in error.message and "multiple index templates" not in error.message:
                    raise
                raise Conflict(
                    f"another index template wants {self._plan.indexes}, too ({error.message}): choose another --pattern, or a "
                    f"--priority other than {self._plan.priority}",
                    field="pattern",
                ) from error
            yield Change(what, self._plan.name, "made" if there is None else "replaced")

    def _dimension(self, model: str) -> int:
        try:
            return len(self._models.embed(model, _PROBE))
        except MedleyError as error:
            raise explain_refusal(error, self._plan) from error

    def _document_state(self, document: _Document, models: Mapping[str, str]) -> State:
        there = self._description(document)
        if there is None:
            return "missing"
        if not is_ours(there):
            return "someone else's"
        if len(models) < len(STEPS):
            return "outdated"
        try:
            dimension = self._dimension(models["vectors"]) if document.what == "index template" else 0
        except MedleyError:  # nobody can say how long vectors are to be
            return "outdated"
        if there != _described(self._wanted(models, dimension)[document.what]):
            return "outdated"
        # Someone may have put another template before ours since it was installed.
        return (
            "ready" if document.what != "index template" or template_applies(self._cluster, self._plan) else "overruled"
        )

    def _description(self, document: _Document) -> str | None:
        """The description of what is there; "" if it has none, None if nothing is there."""
        try:
            return _described(document.read(self._cluster.read("GET", document.address)))
        except NotFound:
            return None

    def _release_indexes(self) -> list[str]:
        """Take our ingest pipeline from the indexes that have it, so that documents can be indexed there without us."""
        found = self._cluster.read("GET", "/_cluster/state/metadata", params={"filter_path": _OF_INDEXES})
        indexes = found.get("metadata", {}).get("indices", {})
        own = [
            name for name, item in indexes.items() if item["settings"]["index"]["default_pipeline"] == self._plan.name
        ]
        for name in own:
            self._cluster.write("PUT", f"/{name}/_settings", {"index.default_pipeline": None})
        return own

    def _delete(self, models: Sequence[FoundModel]) -> list[Change]:
        """Delete models, then all connectors of ours that no model uses, also those that OpenSearch kept before."""
        for model in models:
            self._models.delete_model(model)
        names = [model.name for model in models]
        changes = [Change("model", name, "removed") for name in names]
        for name, is_gone in self._models.delete_unused_connectors(FAMILY, {model.id for model in models}):
            if not is_gone:
                changes.append(Change("connector", name, "kept"))
            elif name not in names:  # of a model that was never registered
                changes.append(Change("connector", name, "removed"))
        return changes


def _described(body: Mapping[str, Any]) -> str:
    return str(body.get("description") or body.get("_meta", {}).get("description", ""))


def _template_of(answer: Any) -> Mapping[str, Any]:
    found: Mapping[str, Any] = answer["index_templates"][0]["index_template"]
    return found
