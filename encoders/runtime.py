"""Bi-encoders and cross-encoders on ONNX Runtime, without torch.

A session runs on one thread; a call distributes its batches over `threads` threads. For inputs of a few hundred tokens
this uses the cores better than splitting each matrix product, leaves no thread spinning between calls (gunicorn's
workers share the cores), and lets the int8 form quantise each text separately.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stdout
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from encoders import devices, forms
from encoders.artifact import HALF, TOKENIZER, Artifact, Kind
from encoders.late.windows import WindowInput, WindowTokenizer, mean_windows, sum_spans
from encoders.onnx import ort
from encoders.pooling import Floats, pool, unit
from encoders.text import MASK_INDEX, ModelTokenizer, TokenBatch, Tokens, group_by_length, mask_index, pad
from mappings.analysis.window_text import alone
from mappings.errors import ModelError

BATCH_TOKENS = 1024
"""Tokens per batch, including padding: about four passages. Larger batches do not fit the CPU's cache."""
GPU_BATCH_TOKENS = 32_768
"""Tokens per batch on a GPU; smaller batches leave it idle."""
GPU_RUNS = 2
"""Concurrent runs on a GPU: while it computes one batch, the next is padded and copied."""


class BiEncoder:
    """Encodes texts as vectors, unit length if the model normalises; implements `search.protocols.Encoder`.

    If the model has a separate query encoder, queries run there. Threads can share it.
    """

    def __init__(
        self, artifact: Artifact, threads: int | None = None, form: str | None = None, device: str = ""
    ) -> None:
        self.model = OnnxModel(artifact, "bi-encoder", threads, form, device)
        queries = artifact.queries()
        self._query_encoder = None if queries is artifact else BiEncoder(queries, threads, form, device)
        self._reading = artifact.reading
        self._tokenizer = self.model.tokenizer
        self.form = self.model.form
        self.fingerprint = artifact.fingerprint
        self.dimension = artifact.dimension
        self.tokens_run = 0

    def encode_queries(self, texts: Sequence[str]) -> Floats:
        """Shape (n, d), unit rows, in input order."""
        if self._query_encoder:
            return self._query_encoder.encode_queries(texts)
        return self._encode(self._tokenizer.tokenize_queries(texts))

    def encode_passages(self, texts: Sequence[str]) -> Floats:
        """Shape (n, d), unit rows, in input order; of windows in their passages, each passage is read once."""
        if not self._reading.pools_windows:
            texts = texts if self.reads_around else [*map(alone, texts)]
            return self._encode(self._tokenizer.tokenize_passages(texts))
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        inputs = self.read_windows(texts)
        vectors = mean_windows(inputs, self.sums(inputs), len(texts))
        return unit(vectors) if self._reading.normalise else vectors

    @cached_property
    def _windows(self) -> WindowTokenizer:
        return WindowTokenizer(self._tokenizer.underlying, self._reading)

    @property
    def reads_around(self) -> bool:
        """Whether the vector of a window depends on what is around it."""
        return self._reading.reads_around

    @property
    def reads_surroundings(self) -> bool:
        """Whether it can read what is around a passage in its document (`mappings.analysis.window_text.place_in_document`)."""
        return self._reading.windows == "surroundings"

    def read_windows(self, texts: Sequence[str]) -> list[WindowInput]:
        """The inputs that hold the windows `texts`, for `sums`."""
        return self._windows.tokenize(texts)

    def sums(self, inputs: Sequence[WindowInput]) -> list[Floats]:
        """For each input the sums of its spans' hidden states, shape (spans, d)."""
        self.tokens_run += sum(map(len, inputs))
        found: list[Floats] = [np.empty((0, self.dimension), np.float32)] * len(inputs)

        def finish(hidden: Floats, batch: TokenBatch) -> Floats:
            for states, row in zip(hidden, batch.rows, strict=True):
                found[row] = sum_spans(states, inputs[row].spans)
            return np.zeros(len(batch.rows), dtype=np.float32)

        self.model.map([item.tokens for item in inputs], finish, ())
        return found

    def vectors(self, tokens: Sequence[Tokens]) -> Floats:
        """The pooled vectors before normalisation: shape (n, d), in input order."""
        self.tokens_run += sum(map(len, tokens))
        return self.model.map(tokens, self._pooled, (self.dimension,))

    def _encode(self, tokens: Sequence[Tokens]) -> Floats:
        vectors = self.vectors(tokens)
        return unit(vectors) if self._reading.normalise else vectors

    def _pooled(self, output: Floats, batch: TokenBatch) -> Floats:
        return pool(output, batch.mask, self._reading.pooling)


class CrossEncoder:
    """Scores passages against a query; implements `search.protocols.Reranker`. Threads can share it."""

    def __init__(
        self, artifact: Artifact, threads: int | None = None, form: str | None = None, device: str = ""
    ) -> None:
        self.model = OnnxModel(artifact, "cross-encoder", threads, form, device)
        self.form = self.model.form
        self.fingerprint = artifact.fingerprint

    def score(self, query: str, passages: Sequence[str]) -> Floats:
        """One logit per passage, shape (n,), in input order; higher is better."""
        return self.logits(self.model.tokenizer.tokenize_pairs(query, passages))

    def logits(self, tokens: Sequence[Tokens]) -> Floats:
        """One logit per input from `ModelTokenizer.tokenize_pairs`, shape (n,), in input order."""
        return self.model.map(tokens, lambda output, batch: output.reshape(len(batch.rows)), ())


class OnnxModel:
    """A verified artifact in one numeric form, loaded into ONNX Runtime.

    `budget` is the number of tokens of one run, including padding; `threads` is how many concurrent runs use the device
    fully. `starts` chooses the attention kernel for a graph that lets the runtime choose: see decision 0031.
    """

    def __init__(self, artifact: Artifact, kind: Kind, threads: int | None, form: str | None, device: str = "") -> None:
        if artifact.kind != kind:
            raise ModelError(f"the model {artifact.name} is a {artifact.kind}; a {kind} is needed here", field="model")
        if threads is not None and threads < 1:
            raise ModelError(f"threads is {threads}; it must be at least 1", field="threads")
        requested = devices.providers(device, ort.get_available_providers())
        self.threads = threads or devices.cores()
        self.tokenizer = ModelTokenizer(artifact.folder / TOKENIZER, artifact.reading)
        self.form, self.device, self._session = _open(artifact, form, device, requested, self.threads)
        self._inputs = {item.name for item in self._session.get_inputs()}
        self.starts = True
        self._pool: ThreadPoolExecutor | None = None
        if self.device == "cuda":
            self.threads, self.budget = GPU_RUNS, GPU_BATCH_TOKENS
            self._pool = ThreadPoolExecutor(GPU_RUNS)  # reused, because CUDA's libraries cache their plans per thread
        else:
            self.budget = 1 if self.form == "int8" else BATCH_TOKENS

    def map(
        self, tokens: Sequence[Tokens], finish: Callable[[Floats, TokenBatch], Floats], shape: tuple[int, ...]
    ) -> Floats:
        """Run all inputs and apply `finish` to the raw output of each batch, which gives it shape (n, *shape).

        Returns shape (len(tokens), *shape), in input order.
        """
        result = np.zeros((len(tokens), *shape), dtype=np.float32)

        def run_batch(rows: Sequence[int]) -> None:
            batch = pad(tokens, rows)
            result[list(rows)] = finish(self._run(batch), batch)

        self._distribute(run_batch, group_by_length([len(item) for item in tokens], self.budget))
        return result

    def run_all(self, tokens: Sequence[Tokens]) -> None:
        """Run all inputs and discard the outputs, to measure the time."""
        self.map(tokens, lambda _, batch: np.zeros(len(batch.rows), dtype=np.float32), ())

    def _distribute(self, work: Callable[[Sequence[int]], None], groups: Sequence[Sequence[int]]) -> None:
        """Run groups on all threads, longest first, so that no thread ends with a long one while the others wait."""
        if len(groups) < 2 or self.threads == 1:
            for group in groups:
                work(group)
            return
        if self._pool:
            list(self._pool.map(work, groups))
            return
        with ThreadPoolExecutor(min(self.threads, len(groups))) as pool_of_threads:
            list(pool_of_threads.map(work, groups))

    def _run(self, batch: TokenBatch) -> Floats:
        arrays: dict[str, Any] = {"input_ids": batch.ids, "attention_mask": batch.mask, "token_type_ids": batch.types}
        if MASK_INDEX in self._inputs:
            arrays[MASK_INDEX] = mask_index(batch.mask, self.starts)
        feed = {name: arrays[name] for name in self._inputs}
        output: Any = self._run_bound(feed) if self.device == "cuda" else self._session.run(None, feed)
        return np.asarray(output[0], dtype=np.float32)

    def _run_bound(self, feed: Mapping[str, Any]) -> Any:
        """Run with bound inputs and output, so that ONNX Runtime copies each once."""
        binding = self._session.io_binding()
        for name, array in feed.items():
            binding.bind_cpu_input(name, array)
        binding.bind_output(self._session.get_outputs()[0].name)
        self._session.run_with_iobinding(binding)
        return binding.copy_outputs_to_cpu()


def _open(
    artifact: Artifact, form: str | None, device: str, requested: Sequence[str], threads: int
) -> tuple[str, str, ort.InferenceSession]:
    """(numeric form, device, session) of a model; without a named form, the one for the device where it really runs."""
    if requested[0] == devices.CUDA:
        chosen = form or _gpu_form(artifact)
        opened = open_session(artifact.form_path(chosen), providers=requested)
        actual = devices.actual_device(device, requested, opened.get_providers())
        if actual == "cuda" or form:
            return chosen, actual, opened
    chosen = form or _fastest_form(artifact, threads)
    return chosen, "cpu", open_session(artifact.form_path(chosen))


@cache
def _load_libraries() -> None:
    """Load the CUDA libraries that are installed as Python packages, where the system's loader does not look.

    ONNX Runtime prints which ones it did not find; that goes to stderr, because stdout is often a command's JSON.
    """
    if hasattr(ort, "preload_dlls"):  # from 1.21 on
        with redirect_stdout(sys.stderr):
            ort.preload_dlls()


def _fastest_form(artifact: Artifact, threads: int) -> str:
    """The numeric form that is fastest on this CPU, by measurement; see `encoders.forms`."""
    known = artifact.processor_forms

    def measure() -> dict[str, float]:
        models = {form: OnnxModel(artifact, artifact.kind, threads, form, "cpu") for form in known}
        tokens = next(iter(models.values())).tokenizer.tokenize_inputs(artifact.kind, forms.sample())
        return forms.race({form: partial(model.run_all, tokens) for form, model in models.items()})

    # The kind of products is part of the key: a choice that was measured with another kind is measured again.
    runtime = f"{ort.__version__}, exact int8, {'VNNI' if devices.has_vnni(devices.processor_fields()) else 'unsigned'}"
    return forms.fastest(known, forms.machine_key(artifact.fingerprint, threads, runtime), measure)


def _gpu_form(artifact: Artifact) -> str:
    """fp16 if the model has it, otherwise fp32: the operators of int8 are made for CPUs."""
    return HALF if HALF in artifact.forms else "fp32"


def open_session(path: Path, threads: int = 1, providers: Sequence[str] = (devices.CPU,)) -> ort.InferenceSession:
    """A session over a graph file, on the CPU by default. Raises `ModelError` if ONNX Runtime can't load it."""
    if providers[0] == devices.CUDA:
        _load_libraries()
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # On a CPU the operator of SkipLayerNormFusion is six times slower than those it replaces (training/export/graphs.py).
    disabled = [] if providers[0] == devices.CUDA else ["SkipLayerNormFusion"]
    # Weights are stored as int8; without this they would be dequantised at every run instead of once at load.
    options.add_session_config_entry("session.disable_quant_qdq", "1")
    if not devices.has_vnni(devices.processor_fields()):
        # Sums of unsigned times signed int8 are cut off there, and vectors and scores drift; unsigned times unsigned is exact.
        # With VNNI both are exact, and the second takes three times as long.
        options.add_session_config_entry("session.x64quantprecision", "1")
    try:
        return ort.InferenceSession(str(path), options, providers=list(providers), disabled_optimizers=disabled)
    except Exception as error:  # onnxruntime's errors share no base class
        raise ModelError(f"{path} can't be run by ONNX Runtime {ort.__version__}: {error}", field=str(path)) from error
