"""The models that a server offers: texts in, rows out, through a bounded queue."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from encoders.artifact import SHIPPED, Artifact, Kind, find
from encoders.batching import Batcher, BatchPlan, Capacity, DirectRunner, RequestLifetime
from encoders.hashing import HashingEncoder
from encoders.pooling import Floats, unit
from encoders.runtime import BiEncoder, CrossEncoder, OnnxModel
from encoders.text import Tokens
from mappings.errors import MedleyError, ModelError
from search.models.registry import HASHING
from search.settings import Settings

DEFAULT: Final = ("medley-biencoder", "medley-crossencoder", "medley-crossencoder-small")
"""Every model that a shipped collection names."""

LINGER: Final = 0.002
"""Seconds that a group waits for more on a GPU."""

ALIKE: Final = 0.8
RUNS_A_CORE: Final = 3
NICE: Final = 5
"""Steps that runs on a processor stand back for the threads that read and refuse requests, which need little of it."""

HASHED_CHARACTERS: Final = 10_000_000
_WARMING: Final = "Does early treatment shorten the stay in hospital? "

Ran = Callable[[str, int, int], None]
"""Called with a model's name, inputs and tokens of each run."""


class Untokenised(MedleyError):
    """The tokenizer could not read a text."""

    code = "tokenizer"
    status = 422


class TooLong(MedleyError):
    """A text is longer than the model reads, and may not be cut."""

    code = "too_large"
    status = 413


@dataclass(frozen=True, slots=True)
class Running:
    """How models are run: inputs that may wait for one model, and whether requests are batched together."""

    waiting: int = 512
    batching: bool = True
    ran: Ran = lambda name, inputs, tokens: None


@dataclass(frozen=True, slots=True)
class Served:
    """A model that is served. `length` is the most tokens that it reads of an input, `query_length` of a query."""

    name: str
    kind: Kind
    fingerprint: str
    dimension: int
    form: str
    pooling: str
    length: int
    query_length: int
    capacity: Capacity
    runner: Batcher[Any] | DirectRunner[Any]
    read: Callable[[str | None, Sequence[str], bool], Sequence[Any]]
    count: Callable[[Sequence[str], int], Sequence[int]]

    def embed(self, texts: Sequence[str], as_queries: bool, normalise: bool, lifetime: RequestLifetime) -> Floats:
        """Shape (n, d), in input order. Raises `Overloaded` at once when too many wait."""
        with self.capacity.hold(len(texts)):
            vectors = self.runner.submit(self._tokens(None, texts, as_queries), lifetime)
        return unit(vectors) if normalise else vectors

    def score(self, query: str, texts: Sequence[str], lifetime: RequestLifetime) -> Floats:
        """Shape (n,), in input order; logits. Raises `Overloaded` at once when too many wait."""
        with self.capacity.hold(len(texts)):
            return self.runner.submit(self._tokens(query, texts, False), lifetime)

    def check_lengths(self, texts: Sequence[str], limit: int) -> None:
        """Raise `TooLong` for a text of more than `limit` tokens, which would be cut."""
        for number, tokens in enumerate(self.count(texts, limit)):
            if tokens > limit:
                raise TooLong(
                    f"text {number} has more than the {limit} tokens that {self.name} reads of it: "
                    "shorten it, or send truncate: true"
                )

    def check_pairs(self, query: str, texts: Sequence[str]) -> None:
        """Raise `TooLong` for a query, or a text beside it, that would be cut."""
        self.check_lengths([query], self.query_length)
        self.check_lengths(texts, self.length - self.count([query], self.query_length)[0])

    def as_json(self) -> dict[str, Any]:
        """The model as `/info` lists it."""
        return {
            "name": self.name,
            "kind": self.kind,
            "fingerprint": self.fingerprint,
            "dimension": self.dimension,
            "form": self.form,
            "max_input_length": self.length,
        }

    def _tokens(self, query: str | None, texts: Sequence[str], as_queries: bool) -> Sequence[Any]:
        try:
            return self.read(query, texts, as_queries)
        except Exception as error:  # the tokenizers library raises bare Exception
            raise Untokenised(f"the tokenizer of {self.name} can't read these texts: {error}") from error


def artifacts(names: Sequence[str], settings: Settings) -> list[Artifact | None]:
    """The verified directories of models by name; None stands for the hashing encoder. Raises `ModelError`."""
    folders = [folder for folder in (settings.models, SHIPPED) if folder is not None]
    return [None if name == HASHING else Artifact.open(find(name, folders)) for name in names]


def load(found: Sequence[Artifact | None], settings: Settings, running: Running) -> list[Served]:
    """The models, loaded and run once, so that no request waits for either. Raises `ModelError`."""
    served = [_hashing(running) if artifact is None else _of(artifact, settings, running) for artifact in found]
    for model in served:
        texts, lifetime = [_WARMING * count for count in (1, 3, 6)], RequestLifetime()
        if model.kind == "bi-encoder":
            model.embed(texts, False, True, lifetime)
        else:
            model.score(_WARMING, texts, lifetime)
    return served


def _of(artifact: Artifact, settings: Settings, running: Running) -> Served:
    arguments = (artifact, settings.threads or None, settings.form or None, settings.device)
    if artifact.kind == "poly-encoder" or artifact.queries() is not artifact:
        raise ModelError(
            f"{artifact.name} has more than one graph; the model server serves models of one", field="model"
        )
    if artifact.kind == "bi-encoder":
        encoder = BiEncoder(*arguments)
        model, run = encoder.model, encoder.vectors
    else:
        scorer = CrossEncoder(*arguments)
        model, run = scorer.model, scorer.logits
    return Served(
        name=artifact.name,
        kind=artifact.kind,
        fingerprint=artifact.fingerprint,
        dimension=artifact.dimension,
        form=model.form,
        pooling=artifact.reading.pooling,
        length=artifact.reading.passage_tokens,
        query_length=artifact.reading.query_tokens,
        capacity=Capacity(running.waiting),
        runner=_runner(artifact.name, run, len, _plan(model), running),
        read=lambda query, texts, as_queries: _read(model, query, texts, as_queries),
        count=model.tokenizer.count_tokens,
    )


def _plan(model: OnnxModel) -> BatchPlan:
    """A GPU is fed by one thread, which waits a moment for a fuller batch.

    A processor is kept busy by several a core, as each also waits for Python between its runs: one a core was a quarter
    slower than requests that run by themselves, three were as fast. Padding costs there what tokens cost: in fp32
    groups of unlike lengths halved the speed. In int8 every input runs by itself.
    """
    if model.device == "cuda":
        return BatchPlan(model.budget, model.threads, LINGER)
    return BatchPlan(model.budget, RUNS_A_CORE * model.threads, least_ratio=ALIKE, nice=NICE)


def _read(model: OnnxModel, query: str | None, texts: Sequence[str], as_queries: bool) -> list[Tokens]:
    if query is not None:
        return model.tokenizer.tokenize_pairs(query, texts)
    return model.tokenizer.tokenize_queries(texts) if as_queries else model.tokenizer.tokenize_passages(texts)


def _hashing(running: Running) -> Served:
    encoder = HashingEncoder(256)
    return Served(
        name=HASHING,
        kind="bi-encoder",
        fingerprint=encoder.fingerprint,
        dimension=encoder.dimension,
        form="only",
        pooling="none",
        length=HASHED_CHARACTERS,
        query_length=HASHED_CHARACTERS,
        capacity=Capacity(running.waiting),
        runner=_runner(HASHING, encoder.encode_passages, len, BatchPlan(1), running),
        read=lambda query, texts, as_queries: texts,
        count=lambda texts, limit: [len(text) for text in texts],
    )


def _runner(
    name: str,
    run: Callable[[Sequence[Any]], Floats],
    length: Callable[[Any], int],
    plan: BatchPlan,
    running: Running,
) -> Batcher[Any] | DirectRunner[Any]:
    if running.batching:
        return Batcher(run, length, plan, lambda inputs, tokens: running.ran(name, inputs, tokens))
    return DirectRunner(run)


def sigmoid(logits: Floats) -> Floats:
    """Probabilities of logits, without overflow."""
    return np.asarray(0.5 * (1 + np.tanh(0.5 * logits.astype(np.float64))), dtype=np.float32)
