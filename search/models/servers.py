"""The model servers of the settings: which models each one serves, and which server handles a request.

Every response is checked for the model that computed it. `medley inference` names it in a header;
text-embeddings-inference doesn't, so its `/info` is read again after every response.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from mappings.errors import MedleyError, ModelError, Unavailable
from search.models.connection import Reply, ServerConnection, invalid_response
from search.models.headers import FINGERPRINT, MODEL

INFO_SECONDS: Final = 2.0
REFRESH_SECONDS: Final = 60.0
Made = TypeVar("Made")


@dataclass(frozen=True, slots=True)
class ServedModel:
    """A model on a server.

    `dimension` is 0 where the server does not report it, `max_tokens` the longest input, `max_batch` the most texts in
    one request; `is_medley` is true for a model of `medley inference`. `windows` is how it reads the windows of a passage
    (`encoders.artifact.Reading`): separately, where the server does not say.
    """

    name: str
    kind: str
    fingerprint: str
    dimension: int
    form: str
    max_tokens: int
    max_batch: int
    is_medley: bool
    windows: str = "separate"


class Server:
    """One model server and the models that it last reported."""

    def __init__(self, address: str, token: str = "") -> None:
        self.connection = ServerConnection(address, token)
        self._models: tuple[ServedModel, ...] = ()
        self._loaded, self._generation = -math.inf, -1

    @property
    def address(self) -> str:
        """Its URL."""
        return self.connection.address

    def models(self, refresh: bool = False) -> tuple[ServedModel, ...]:
        """Its models, read again after `REFRESH_SECONDS` or a failed connection. Raises `Unavailable`, `ModelError`."""
        generation = self.connection.generation
        if refresh or time.monotonic() - self._loaded >= REFRESH_SECONDS or self._generation != generation:
            self._models = _read_info(self.connection.get("/info", INFO_SECONDS).value, self.address)
            self._loaded, self._generation = time.monotonic(), generation
        return self._models

    def forget_models(self) -> None:
        """Read the models again on the next use."""
        self._loaded = -math.inf

    def post(self, model: ServedModel, path: str, body: Mapping[str, Any], until: float) -> Any:
        """The response of `model`. Raises `Unavailable`, and `ModelError` when another model computed it."""
        headers = {MODEL: model.fingerprint} if model.is_medley else {}
        try:
            reply = self.connection.post(path, body, headers, until)
        except ModelError:
            self.forget_models()  # a server that was restarted with other models rejects ours
            raise
        self._check_model(model, reply)
        return reply.value

    def _check_model(self, model: ServedModel, reply: Reply) -> None:
        fingerprint = reply.headers.get(FINGERPRINT)
        if fingerprint is None and not model.is_medley:
            # Read after the response, so that a restart with another model in between is always noticed.
            same = (now.fingerprint for now in self.models(refresh=True) if now == model)
            fingerprint = next(same, "another model")
        if fingerprint != model.fingerprint:
            self.forget_models()
            raise ModelError(
                f"the model server {self.address} responded with {(fingerprint or 'no fingerprint')[:12]}, "
                f"not with {model.name} ({model.fingerprint[:12]})"
            )


class Servers:
    """All model servers of the settings; requests rotate over those that serve a model."""

    def __init__(self, addresses: Sequence[str], token: str = "") -> None:
        self.servers = [Server(address.rstrip("/"), token) for address in addresses]
        self._turn = itertools.count()

    def serving(
        self, matches: Callable[[ServedModel], bool]
    ) -> tuple[list[tuple[Server, ServedModel]], list[MedleyError]]:
        """The servers with a matching model, and the errors of those that did not respond."""
        found, failed = [], []
        first = next(self._turn) % len(self.servers)
        for server in (*self.servers[first:], *self.servers[:first]):
            try:
                found += [(server, model) for model in server.models() if matches(model)][:1]
            except MedleyError as error:
                failed.append(error)
        return found, failed

    def find(self, matches: Callable[[ServedModel], bool], what: str) -> ServedModel:
        """A matching model. Raises `Unavailable` where a server did not respond, else `ModelError`."""
        found, failed = self.serving(matches)
        if found:
            return found[0][1]
        if failed:
            raise Unavailable(f"no reachable model server has {what}: {'; '.join(e.message for e in failed)}")
        names = sorted({model.name for server in self.servers for model in server.models()})
        raise ModelError(f"no model server has {what}; they have {', '.join(names) or 'none'}", field="model")

    def fingerprint(self, kind: str, name: str) -> str:
        """The fingerprint of the model of `kind` served as `name`. Raises as `find` does."""
        return self.find(lambda model: (model.kind, model.name) == (kind, name), f"the {kind} {name!r}").fingerprint

    def may_have(self, fingerprint: str) -> bool:
        """Whether a server has the model, or did not respond and could have it."""
        found, failed = self.serving(lambda model: model.fingerprint == fingerprint)
        return bool(found or failed)

    def call(
        self,
        matches: Callable[[ServedModel], bool],
        what: str,
        send: Callable[[Server, ServedModel], Made],
        until: float,
    ) -> Made:
        """The result of `send` from a server with a matching model; from the next one if it fails before `until`."""
        found, _ = self.serving(matches)
        if not found:
            self.find(matches, what)
        for number, (server, model) in enumerate(found, 1):
            try:
                return send(server, model)
            except Unavailable:
                if number == len(found) or time.monotonic() >= until:
                    raise
        raise Unavailable(f"no model server has {what}")


def _read_info(info: Any, address: str) -> tuple[ServedModel, ...]:
    """The models in a body of `/info`: of `medley inference`, which lists `models`, or of text-embeddings-inference."""
    try:
        max_batch = max(1, int(info["max_client_batch_size"]))
        if "models" in info:
            return tuple(_medley_model(item, max_batch) for item in info["models"])
        return (_tei_model(info, max_batch),)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise invalid_response(address, f"its /info lacks {error}") from error


def _medley_model(item: Mapping[str, Any], max_batch: int) -> ServedModel:
    return ServedModel(
        name=str(item["name"]),
        kind=str(item["kind"]),
        fingerprint=str(item["fingerprint"]),
        dimension=int(item["dimension"]),
        form=str(item["form"]),
        max_tokens=int(item["max_input_length"]),
        max_batch=max_batch,
        is_medley=True,
        windows=str(item.get("windows", "separate")),
    )


def _tei_model(info: Mapping[str, Any], max_batch: int) -> ServedModel:
    name, sha = str(info["model_id"]), str(info.get("model_sha") or "")
    return ServedModel(
        name=name,
        kind="bi-encoder" if "embedding" in info["model_type"] else "cross-encoder",
        fingerprint=hashlib.sha256(f"{name} {sha}".encode()).hexdigest(),
        dimension=0,
        form=str(info.get("model_dtype", "only")),
        max_tokens=int(info["max_input_length"]),
        max_batch=max_batch,
        is_medley=False,
    )
