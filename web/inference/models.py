"""The models of a model server: each encodes or scores texts, with a bounded queue in front."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np

from encoders.artifact import SHIPPED, Artifact, Kind, find
from encoders.batching import Batcher, BatchPlan, Capacity, DirectRunner, RequestLifetime
from encoders.hashing import HashingEncoder
from encoders.late.windows import WindowInput, mean_windows, whole_inputs
from encoders.pooling import Floats, unit
from encoders.runtime import BiEncoder, CrossEncoder, OnnxModel
from encoders.text import Tokens
from mappings.analysis.window_text import alone
from mappings.errors import MedleyError, ModelError
from search.models.registry import HASHING
from search.settings import Settings
from search.tracing import spans

DEFAULT: Final = ("medley-biencoder", "medley-crossencoder")
"""Every model that the shipped collection kinds use."""

LINGER: Final = 0.002
"""Seconds that a batch waits for further inputs on a GPU."""

ALIKE: Final = 0.8
RUNS_A_CORE: Final = 3
NICE: Final = 5
"""The niceness of model runs on a CPU: the threads that read and reject requests have priority and need little time."""

HASHED_CHARACTERS: Final = 10_000_000
_WARMING: Final = "Does early treatment shorten the stay in hospital? "

OnRun = Callable[[str, int, int], None]
"""Called after each run with the name of the model, the number of inputs and of tokens."""


class TokenizerError(MedleyError):
    """The tokenizer could not read a text."""

    code = "tokenizer"


class TooLong(MedleyError):
    """A text is longer than the model can read, and the request forbids truncation."""

    code = "too_large"


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How models are run: how many inputs can wait for one model, and whether requests are batched together."""

    waiting: int = 512
    batching: bool = True
    on_run: OnRun = lambda name, inputs, tokens: None


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A loaded model. It reads at most `length` tokens of an input and `query_length` of a query.

    `windows` is how it reads the windows of a passage (`encoders.artifact.Reading`); `folder` is the name of its
    directory, by which collection kinds call it.
    """

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
    windows: str = "separate"
    folder: str = ""

    def embed(self, texts: Sequence[str], as_queries: bool, normalise: bool, lifetime: RequestLifetime) -> Floats:
        """Shape (n, d), in input order. Raises `Overloaded` immediately if the queue is full."""
        with self.capacity.hold(len(texts)):
            inputs = self._tokens(None, texts, as_queries)
            rows = self._run(inputs, lifetime)
        # Windows of one passage are one input, so that there can be fewer inputs than texts.
        around = bool(inputs) and isinstance(inputs[0], WindowInput)
        vectors = mean_windows(inputs, rows, len(texts)) if around else np.stack(rows)
        return unit(vectors) if normalise else vectors

    def score(self, query: str, texts: Sequence[str], lifetime: RequestLifetime) -> Floats:
        """Shape (n,), in input order; logits. Raises `Overloaded` immediately if the queue is full."""
        with self.capacity.hold(len(texts)):
            return np.stack(self._run(self._tokens(query, texts, False), lifetime))

    def check_lengths(self, texts: Sequence[str], limit: int) -> None:
        """Raise `TooLong` for a text of more than `limit` tokens, which would be truncated."""
        for number, tokens in enumerate(self.count(texts, limit)):
            if tokens > limit:
                raise TooLong(
                    f"text {number} has more than the {limit} tokens that {self.name} reads of it: "
                    "shorten it, or send truncate: true"
                )

    def check_pairs(self, query: str, texts: Sequence[str]) -> None:
        """Raise `TooLong` for a query, or a text paired with it, that would be truncated."""
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
            "windows": self.windows,
        }

    def _run(self, inputs: Sequence[Any], lifetime: RequestLifetime) -> Sequence[Floats]:
        """One row per input. The span holds the wait for a free runner, too: inputs of several requests run together."""
        with spans.span("model.run", {"medley.model": self.name, "medley.inputs": len(inputs)}):
            return self.runner.submit(inputs, lifetime)

    def _tokens(self, query: str | None, texts: Sequence[str], as_queries: bool) -> Sequence[Any]:
        try:
            return self.read(query, texts, as_queries)
        except Exception as error:  # the tokenizers library raises bare Exception
            raise TokenizerError(f"the tokenizer of {self.name} cannot read these texts: {error}") from error


def artifacts(names: Sequence[str], settings: Settings) -> list[Artifact | None]:
    """The verified directories of models by name; None means the hashing encoder. Raises `ModelError`."""
    folders = [folder for folder in (settings.models, SHIPPED) if folder is not None]
    return [None if name == HASHING else Artifact.open(find(name, folders)) for name in names]


def load(found: Sequence[Artifact | None], settings: Settings, options: RunOptions) -> list[LoadedModel]:
    """Load the models and run each once, so that no request has to wait for that. Raises `ModelError`."""
    served = [_hashing(options) if artifact is None else _of(artifact, settings, options) for artifact in found]
    for model in served:
        texts, lifetime = [_WARMING * count for count in (1, 3, 6)], RequestLifetime()
        if model.kind == "bi-encoder":
            model.embed(texts, False, True, lifetime)
        else:
            model.score(_WARMING, texts, lifetime)
    return served


def _of(artifact: Artifact, settings: Settings, options: RunOptions) -> LoadedModel:
    arguments = (artifact, settings.threads or None, settings.form or None, settings.device)
    if artifact.kind == "poly-encoder" or artifact.queries() is not artifact:
        raise ModelError(
            f"{artifact.name} has more than one graph; the model server serves only models with one", field="model"
        )
    encoder: BiEncoder | None = None
    around, pools = artifact.reading.reads_around, artifact.reading.pools_windows
    if artifact.kind == "bi-encoder":
        encoder = BiEncoder(*arguments)
        model, run = encoder.model, encoder.sums if pools else encoder.vectors
    else:
        scorer = CrossEncoder(*arguments)
        model, run = scorer.model, scorer.logits
    return LoadedModel(
        name=artifact.name,
        kind=artifact.kind,
        fingerprint=artifact.fingerprint,
        dimension=artifact.dimension,
        form=model.form,
        pooling=artifact.reading.pooling,
        length=artifact.reading.passage_tokens,
        query_length=artifact.reading.query_tokens,
        capacity=Capacity(options.waiting),
        runner=_runner(artifact.name, run, len, _plan(model), options),
        read=_read_around(encoder) if encoder and pools else partial(_read, model, around),
        count=model.tokenizer.count_tokens,
        windows=artifact.reading.windows,
        folder=artifact.folder.name,
    )


def _plan(model: OnnxModel) -> BatchPlan:
    """How to batch on the device of `model`.

    A GPU is fed by one thread, which waits briefly for a fuller batch. A CPU is kept busy by several threads per core,
    because each also waits for Python between its runs: one per core was a quarter slower than running each request
    separately, three were as fast. On a CPU, padding costs as much as tokens: in fp32, batches of mixed lengths halved
    the speed. In int8 every input runs separately.
    """
    if model.device == "cuda":
        return BatchPlan(model.budget, model.threads, LINGER)
    return BatchPlan(model.budget, RUNS_A_CORE * model.threads, least_ratio=ALIKE, nice=NICE)


def _read(model: OnnxModel, around: bool, query: str | None, texts: Sequence[str], as_queries: bool) -> list[Tokens]:
    if query is not None:
        return model.tokenizer.tokenize_pairs(query, texts)
    if as_queries:
        return model.tokenizer.tokenize_queries(texts)
    return model.tokenizer.tokenize_passages(texts if around else [*map(alone, texts)])


def _read_around(encoder: BiEncoder) -> Callable[[str | None, Sequence[str], bool], Sequence[WindowInput]]:
    """How an encoder reads its inputs that reads windows with the rest of their passages."""

    def read(query: str | None, texts: Sequence[str], as_queries: bool) -> Sequence[WindowInput]:
        return (
            whole_inputs(encoder.model.tokenizer.tokenize_queries(texts)) if as_queries else encoder.read_windows(texts)
        )

    return read


def _hashing(options: RunOptions) -> LoadedModel:
    encoder = HashingEncoder(256)
    return LoadedModel(
        name=HASHING,
        kind="bi-encoder",
        fingerprint=encoder.fingerprint,
        dimension=encoder.dimension,
        form="only",
        pooling="none",
        length=HASHED_CHARACTERS,
        query_length=HASHED_CHARACTERS,
        capacity=Capacity(options.waiting),
        runner=_runner(HASHING, encoder.encode_passages, len, BatchPlan(1), options),
        read=lambda query, texts, as_queries: texts,
        count=lambda texts, limit: [len(text) for text in texts],
    )


def _runner(
    name: str,
    run: Callable[[Sequence[Any]], Sequence[Floats] | Floats],
    length: Callable[[Any], int],
    plan: BatchPlan,
    options: RunOptions,
) -> Batcher[Any] | DirectRunner[Any]:
    if options.batching:
        return Batcher(run, length, plan, lambda inputs, tokens: options.on_run(name, inputs, tokens))
    return DirectRunner(run)


def sigmoid(logits: Floats) -> Floats:
    """Probabilities of logits, without overflow."""
    return np.asarray(0.5 * (1 + np.tanh(0.5 * logits.astype(np.float64))), dtype=np.float32)
