"""The models of ML Commons on a cluster: found by name, made, deployed, run and deleted."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from mappings.errors import Conflict, InvalidInput, MedleyError, NotFound, Unavailable
from search.engines.opensearch.client import Cluster
from search.engines.opensearch.plugin.marks import is_ours

_ADDRESS: Final = "/_plugins/_ml"
_SECONDS: Final = 60.0
_PAUSE: Final = 0.2
_ATTEMPTS: Final = 5
_MOST: Final = 1_000


@dataclass(frozen=True, slots=True)
class FoundModel:
    """A model of the plug-in: its id, its state in ML Commons' words, its description, its connector's id."""

    id: str
    name: str
    state: str
    description: str
    connector: str

    @property
    def is_deployed(self) -> bool:
        """Whether it can be run."""
        return self.state == "DEPLOYED"


class MachineLearning:
    """Requests to ML Commons. Raises `InvalidInput` where the cluster has no ML Commons, and as `Cluster` does."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def models(self, names: Sequence[str]) -> list[FoundModel]:
        """The models of these names that the plug-in made, in no particular order."""
        found = self._found("models", names)
        return [
            FoundModel(
                key, item["name"], item.get("model_state", ""), item["description"], item.get("connector_id", "")
            )
            for key, item in found.items()
            if item.get("algorithm") == "REMOTE"
        ]

    def addresses(self, prefix: str) -> set[tuple[str, str]]:
        """(name, address) of the connectors that the plug-in made and whose names begin with `prefix`."""
        found = self._matching("connectors", {"prefix": {"name.keyword": prefix}})
        return {(item["name"], item["actions"][0]["url"]) for item in found.values()}

    def groups(self, name: str) -> dict[str, str]:
        """Id -> description of the model groups of that name that the plug-in made."""
        return {key: item["description"] for key, item in self._found("model_groups", [name]).items()}

    def describe_group(self, group: str, description: str) -> None:
        """Give a model group another description."""
        self._send("PUT", f"/model_groups/{group}", {"description": description})

    def make_group(self, name: str, description: str) -> str:
        """Make a model group, which holds the models of a kind; returns its id."""
        body = {"name": name, "description": description}
        return str(self._send("POST", "/model_groups/_register", body)["model_group_id"])

    def make_model(self, connector: Mapping[str, Any], group: str) -> str:
        """Make a connector and its model, of the same name and description, and deploy it; returns the model's id."""
        made = str(self._send("POST", "/connectors/_create", connector)["connector_id"])
        body = {
            "name": connector["name"],
            "description": connector["description"],
            "function_name": "remote",
            "connector_id": made,
            "model_group_id": group,
        }
        try:
            model = str(self._send("POST", "/models/_register", body)["model_id"])
        except MedleyError:
            self._try_to_forget(f"/connectors/{made}")
            raise
        self.deploy(model)
        return model

    def deploy(self, model: str) -> None:
        """Deploy a model and wait. Raises `Unavailable` if it is not deployed in a minute."""
        self._send("POST", f"/models/{model}/_deploy")
        until, state = time.monotonic() + _SECONDS, ""
        while time.monotonic() < until:
            state = str(self._cluster.read("GET", f"{_ADDRESS}/models/{model}").get("model_state", ""))
            if state == "DEPLOYED":
                return
            time.sleep(_PAUSE)
        raise Unavailable(f"OpenSearch at {self._cluster.where} did not deploy the model {model}: it is {state}")

    def embed(self, model: str, text: str) -> list[float]:
        """The vector of a text, by a deployed model. Raises what the cluster says of the model server."""
        answer = self._send("POST", f"/_predict/text_embedding/{model}", {"text_docs": [text]})
        return list(answer["inference_results"][0]["output"][0]["data"])

    def delete_model(self, model: FoundModel) -> None:
        """Undeploy and delete a model; its connector stays."""
        until = time.monotonic() + _SECONDS
        while True:
            self._send("POST", f"/models/{model.id}/_undeploy")
            try:
                return self._forget(f"/models/{model.id}")
            except InvalidInput as error:  # it is still counted as deployed
                if "deployed state" not in error.message or time.monotonic() > until:
                    raise
            time.sleep(_PAUSE)

    def delete_unused_connectors(self, prefix: str, deleted: Collection[str] = ()) -> list[tuple[str, bool]]:
        """Delete the connectors of the plug-in whose names begin with `prefix` and that no model of it uses.

        Returns (name, whether it is gone) of each. OpenSearch takes a model for a user of a connector if their ids share a part
        between hyphens, and keeps the connector then. `deleted` are ids of models that a search can still find.
        """
        begins: dict[str, Any] = {"prefix": {"name.keyword": prefix}}
        models = self._matching("models", begins)
        used = {item.get("connector_id") for key, item in models.items() if key not in deleted}
        unused = {key: item["name"] for key, item in self._matching("connectors", begins).items() if key not in used}
        return [(name, self._try_to_forget(f"/connectors/{key}")) for key, name in unused.items()]

    def _try_to_forget(self, path: str) -> bool:
        """Delete something, in a moment if the cluster still counts a user that is gone; returns whether it could be."""
        for _ in range(_ATTEMPTS):
            try:
                self._forget(path)
            except Conflict:
                time.sleep(_PAUSE)
            else:
                return True
        return False

    def delete_group(self, group: str) -> None:
        """Delete a model group; one that is gone is left alone."""
        self._forget(f"/model_groups/{group}")

    def _found(self, what: str, names: Sequence[str]) -> dict[str, Any]:
        return self._matching(what, {"terms": {"name.keyword": list(names)}})

    def _matching(self, what: str, query: Mapping[str, Any]) -> dict[str, Any]:
        body = {"size": _MOST, "query": query}
        try:
            answer = self._cluster.read("POST", f"{_ADDRESS}/{what}/_search", body)
        except InvalidInput as error:
            if "no handler" in error.message:
                raise InvalidInput(
                    f"OpenSearch at {self._cluster.where} has no ML Commons: install the plug-in opensearch-ml on its nodes",
                    field="opensearch",
                ) from error
            raise
        except NotFound:  # nothing of this sort was ever made
            return {}
        hits = answer["hits"]["hits"]
        return {hit["_id"]: hit["_source"] for hit in hits if is_ours(hit["_source"].get("description"))}

    def _send(self, method: str, path: str, body: Any = None) -> Any:
        return self._cluster.write(method, f"{_ADDRESS}{path}", body)

    def _forget(self, path: str) -> None:
        with suppress(NotFound):
            self._send("DELETE", path)
