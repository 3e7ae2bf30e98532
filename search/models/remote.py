"""Models on model servers: the same `Encoder` and `Reranker`, over HTTP, from `medley inference` or text-embeddings-inference.

Which model answers is checked on every reply. Of a server of ours by a header; text-embeddings-inference has none, so
there `/info` is asked after every reply.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import numpy as np

from encoders.text import CHARACTERS_PER_TOKEN
from mappings.documents import clean
from mappings.errors import MedleyError, ModelError, Unavailable
from search.models.connection import Line, Reply, nonsense
from search.models.headers import FINGERPRINT, MODEL
from search.protocols import Vectors

QUERY_SECONDS: Final = 2.0
"""How long a query may take to encode: a search that waits longer is no answer."""

PASSAGES_SECONDS: Final = 120.0
SCORE_SECONDS: Final = 10.0
INFO_SECONDS: Final = 2.0
LOOK_AGAIN: Final = 60.0
REQUEST_CHARACTERS: Final = 1_000_000
"""Characters in one request: at most 4 MB of UTF-8, which every server takes."""

_UNIT_TOLERANCE: Final = 1e-2
Made = TypeVar("Made")


@dataclass(frozen=True, slots=True)
class Offer:
    """A model of a server. `dimension` is 0 where the server does not tell; `ours`: it is `medley inference`."""

    name: str
    kind: str
    fingerprint: str
    dimension: int
    form: str
    length: int
    most: int
    ours: bool


class Server:
    """One model server and what it last said that it offers."""

    def __init__(self, address: str, token: str = "") -> None:
        self.line = Line(address, token)
        self._offers: tuple[Offer, ...] = ()
        self._asked, self._generation = -math.inf, -1

    @property
    def address(self) -> str:
        """Where it is."""
        return self.line.address

    def offers(self, anew: bool = False) -> tuple[Offer, ...]:
        """Its models, asked for again when that is long ago or a connection broke. Raises `Unavailable`, `ModelError`."""
        generation = self.line.generation
        if anew or time.monotonic() - self._asked >= LOOK_AGAIN or self._generation != generation:
            self._offers = _offers(self.line.get("/info", INFO_SECONDS).value, self.address)
            self._asked, self._generation = time.monotonic(), generation
        return self._offers

    def forget(self) -> None:
        """Ask again next time."""
        self._asked = -math.inf

    def ask(self, offer: Offer, path: str, body: Mapping[str, Any], until: float) -> Any:
        """What the model `offer` answers. Raises `Unavailable`, and `ModelError` when another model answered."""
        headers = {MODEL: offer.fingerprint} if offer.ours else {}
        try:
            reply = self.line.post(path, body, headers, until)
        except ModelError:
            self.forget()  # a server that was started again with other models refuses ours
            raise
        self._check_maker(offer, reply)
        return reply.value

    def _check_maker(self, offer: Offer, reply: Reply) -> None:
        made = reply.headers.get(FINGERPRINT)
        if made is None and not offer.ours:
            # Asked after the reply, so that a restart with another model in between is always seen.
            made = next((now.fingerprint for now in self.offers(anew=True) if now == offer), "another model")
        if made != offer.fingerprint:
            self.forget()
            raise ModelError(
                f"the model server {self.address} answered with {(made or 'no fingerprint')[:12]}, "
                f"not with {offer.name} ({offer.fingerprint[:12]})"
            )


class Servers:
    """All model servers of the settings; the ones that offer a model take turns."""

    def __init__(self, addresses: Sequence[str], token: str = "") -> None:
        self.servers = [Server(address.rstrip("/"), token) for address in addresses]
        self._turn = itertools.count()

    def offering(self, wanted: Callable[[Offer], bool]) -> tuple[list[tuple[Server, Offer]], list[MedleyError]]:
        """The servers that offer what is wanted, and why others did not answer."""
        found, failed = [], []
        first = next(self._turn) % len(self.servers)
        for server in (*self.servers[first:], *self.servers[:first]):
            try:
                found += [(server, offer) for offer in server.offers() if wanted(offer)][:1]
            except MedleyError as error:
                failed.append(error)
        return found, failed

    def known(self, wanted: Callable[[Offer], bool], what: str) -> Offer:
        """An offer that is wanted. Raises `Unavailable` where a server is silent, else `ModelError`."""
        found, failed = self.offering(wanted)
        if found:
            return found[0][1]
        if failed:
            raise Unavailable(f"no model server that answers has {what}: {'; '.join(e.message for e in failed)}")
        names = sorted({offer.name for server in self.servers for offer in server.offers()})
        raise ModelError(f"no model server has {what}; they have {', '.join(names) or 'none'}", field="model")

    def fingerprint(self, kind: str, name: str) -> str:
        """That of the model of a kind which is offered under `name`. Raises as `known` does."""
        return self.known(lambda offer: (offer.kind, offer.name) == (kind, name), f"the {kind} {name!r}").fingerprint

    def may_have(self, fingerprint: str) -> bool:
        """Whether a server offers the model, or is silent and might."""
        found, failed = self.offering(lambda offer: offer.fingerprint == fingerprint)
        return bool(found or failed)

    def call(
        self, wanted: Callable[[Offer], bool], what: str, send: Callable[[Server, Offer], Made], until: float
    ) -> Made:
        """What `send` gets from one of the servers with what is wanted: the next one where one fails and time is left."""
        found, _ = self.offering(wanted)
        if not found:
            self.known(wanted, what)
        for number, (server, offer) in enumerate(found, 1):
            try:
                return send(server, offer)
            except Unavailable:
                if number == len(found) or time.monotonic() >= until:
                    raise
        raise Unavailable(f"no model server has {what}")


class RemoteEncoder:
    """The bi-encoder with a fingerprint, wherever it is served; fulfils `search.protocols.Encoder`. Threads share it.

    It can be made while every server is down: then its calls say so.
    """

    def __init__(self, servers: Servers, fingerprint: str) -> None:
        self._servers, self.fingerprint = servers, fingerprint
        self._dimension = 0

    @property
    def dimension(self) -> int:
        """The length d of a vector, as the server says or, where it doesn't, as it shows."""
        if not self._dimension:
            self._dimension = self._offer().dimension or self.encode_passages(["dimension"]).shape[1]
        return self._dimension

    @property
    def form(self) -> str:
        """The arithmetic form that the server runs."""
        return self._offer().form

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """Shape (n, d), unit rows, in input order."""
        return self._encode(texts, "query", QUERY_SECONDS)

    def encode_passages(self, texts: Sequence[str]) -> Vectors:
        """Shape (n, d), unit rows, in input order."""
        return self.encode_passages_within(texts, PASSAGES_SECONDS)

    def encode_passages_within(self, texts: Sequence[str], seconds: float) -> Vectors:
        """The same, given up after so many seconds."""
        return self._encode(texts, "passage", seconds)

    def _wanted(self, offer: Offer) -> bool:
        return offer.kind == "bi-encoder" and offer.fingerprint == self.fingerprint

    def _offer(self) -> Offer:
        return self._servers.known(self._wanted, f"the encoder {self.fingerprint[:12]}")

    def _encode(self, texts: Sequence[str], prompt: str, seconds: float) -> Vectors:
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        until = time.monotonic() + seconds

        def send(server: Server, offer: Offer) -> Vectors:
            parts = [_embed(server, offer, part, prompt, until) for part in _parts(texts, offer)]
            if len({part.shape[1] for part in parts} | ({self._dimension} if self._dimension else set())) > 1:
                raise nonsense(server.address, "vectors of unlike lengths")
            return np.concatenate(parts)

        vectors = self._servers.call(self._wanted, f"the encoder {self.fingerprint[:12]}", send, until)
        self._dimension = vectors.shape[1]
        return vectors


class RemoteReranker:
    """A cross-encoder by name, wherever it is served; fulfils `search.protocols.Reranker`. Threads share it."""

    def __init__(self, servers: Servers, name: str) -> None:
        self._servers, self._name = servers, name

    @property
    def fingerprint(self) -> str:
        """That of the model which the servers offer under this name now. Raises `Unavailable`, `ModelError`."""
        return self._servers.known(self._wanted, f"the cross-encoder {self._name!r}").fingerprint

    def score(self, query: str, passages: Sequence[str]) -> Vectors:
        """Shape (n,), in input order; a logit, higher is better."""
        return self.score_within(query, passages, SCORE_SECONDS)

    def score_within(self, query: str, passages: Sequence[str], seconds: float) -> Vectors:
        """The same, given up after so many seconds with `TimedOut`: the server is told how many there are."""
        if not passages:
            return np.zeros(0, dtype=np.float32)
        until = time.monotonic() + seconds

        def send(server: Server, offer: Offer) -> Vectors:
            ready = _ready([query], offer)[0]
            return np.concatenate([_rerank(server, offer, ready, part, until) for part in _parts(passages, offer)])

        return self._servers.call(self._wanted, f"the cross-encoder {self._name!r}", send, until)

    def _wanted(self, offer: Offer) -> bool:
        return offer.kind == "cross-encoder" and offer.name == self._name


def _embed(server: Server, offer: Offer, texts: Sequence[str], prompt: str, until: float) -> Vectors:
    # A server of another make knows our prompts' names only if they stand in the model's own settings.
    body = {"inputs": texts, "normalize": True, "truncate": True} | ({"prompt_name": prompt} if offer.ours else {})
    value = server.ask(offer, "/embed", body, until)
    try:
        with np.errstate(over="ignore"):
            vectors = np.asarray(value, dtype=np.float32)
    except (ValueError, TypeError, OverflowError) as error:
        raise nonsense(server.address, "vectors that are no rows of numbers") from error
    if vectors.ndim != 2 or len(vectors) != len(texts) or offer.dimension not in (0, vectors.shape[1]):
        raise nonsense(server.address, f"an array of shape {vectors.shape} for {len(texts)} texts")
    norms = np.linalg.norm(vectors, axis=1)
    if not np.all(np.abs(norms - 1) < _UNIT_TOLERANCE):  # also false for what is not finite
        raise nonsense(server.address, "vectors that are not of length one")
    return vectors


def _rerank(server: Server, offer: Offer, query: str, texts: Sequence[str], until: float) -> Vectors:
    body = {"query": query, "texts": texts, "raw_scores": True, "truncate": True}
    value = server.ask(offer, "/rerank", body, until)
    scores = np.full(len(texts), np.nan, dtype=np.float32)
    try:
        with np.errstate(over="ignore"):
            for item in value:
                scores[range(len(texts))[item["index"]]] = item["score"]
    except (TypeError, KeyError, IndexError, ValueError, OverflowError) as error:
        raise nonsense(server.address, "scores that are no list of index and score") from error
    if len(value) != len(texts) or not np.all(np.isfinite(scores)):
        raise nonsense(server.address, "not one finite score a text")
    return scores


def _parts(texts: Sequence[str], offer: Offer) -> Iterator[list[str]]:
    """The texts in requests of as many, and as many characters, as the server takes."""
    part: list[str] = []
    size = 0
    for text in _ready(texts, offer):
        if part and (len(part) == offer.most or size + len(text) > REQUEST_CHARACTERS):
            yield part
            part, size = [], 0
        part.append(text)
        size += len(text)
    yield part


def _ready(texts: Sequence[str], offer: Offer) -> list[str]:
    """Texts as a server can read them: cut where a model here would, without lone surrogates, and not empty elsewhere."""
    cut = [clean(text[: offer.length * CHARACTERS_PER_TOKEN]) for text in texts]
    return cut if offer.ours else [text or " " for text in cut]


def _offers(info: Any, address: str) -> tuple[Offer, ...]:
    try:
        most = max(1, int(info["max_client_batch_size"]))
        if "models" in info:
            return tuple(
                Offer(
                    name=str(item["name"]),
                    kind=str(item["kind"]),
                    fingerprint=str(item["fingerprint"]),
                    dimension=int(item["dimension"]),
                    form=str(item["form"]),
                    length=int(item["max_input_length"]),
                    most=most,
                    ours=True,
                )
                for item in info["models"]
            )
        name, sha = str(info["model_id"]), str(info.get("model_sha") or "")
        return (
            Offer(
                name=name,
                kind="bi-encoder" if "embedding" in info["model_type"] else "cross-encoder",
                fingerprint=hashlib.sha256(f"{name} {sha}".encode()).hexdigest(),
                dimension=0,
                form=str(info.get("model_dtype", "only")),
                length=int(info["max_input_length"]),
                most=most,
                ours=False,
            ),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise nonsense(address, f"an /info without {error}") from error
