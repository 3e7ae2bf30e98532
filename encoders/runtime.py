"""Models on ONNX Runtime: a bi-encoder and a cross-encoder, without torch.

A session runs on one thread; a call spreads its batches over `threads` of them. On inputs of a few hundred tokens
that keeps the cores busier than splitting each matrix product, leaves no thread spinning between calls (gunicorn's
workers share the cores), and lets the int8 form quantise each text by itself.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stdout
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort

from encoders import devices, forms
from encoders.artifact import HALF, Artifact, Kind
from encoders.pooling import Floats, pool, unit
from encoders.text import MASK_INDEX, Batch, Reader, Tokens, batches, mask_index, pad
from mappings.errors import ModelError

BATCH_TOKENS = 1024
"""Tokens in one batch, padding included: about four passages. Larger ones leave the processor's cache."""


GPU_BATCH_TOKENS = 32_768
"""Tokens in one batch on a GPU, which is idle with less."""
GPU_RUNS = 2
"""Runs at once on a GPU: while it computes one batch, the next is padded and copied."""


class BiEncoder:
    """Texts to vectors, of length one where the model normalises; fulfils `search.protocols.Encoder`.

    A model with a tower for queries alone runs them there. Threads may share it.
    """

    def __init__(
        self, artifact: Artifact, threads: int | None = None, form: str | None = None, device: str = ""
    ) -> None:
        self.model = Model(artifact, "bi-encoder", threads, form, device)
        asked = artifact.queries()
        self._asked = None if asked is artifact else BiEncoder(asked, threads, form, device)
        self._reading = artifact.reading
        self._reader = self.model.reader
        self.form = self.model.form
        self.fingerprint = artifact.fingerprint
        self.dimension = artifact.dimension
        self.tokens_run = 0

    def encode_queries(self, texts: Sequence[str]) -> Floats:
        """Shape (n, d), unit rows, in input order."""
        return self._asked.encode_queries(texts) if self._asked else self._encode(self._reader.queries(texts))

    def encode_passages(self, texts: Sequence[str]) -> Floats:
        """Shape (n, d), unit rows, in input order."""
        return self._encode(self._reader.passages(texts))

    def vectors(self, tokens: Sequence[Tokens]) -> Floats:
        """Shape (n, d), in input order, as they leave the pooling: of any length."""
        self.tokens_run += sum(map(len, tokens))
        return self.model.map(tokens, self._pooled, (self.dimension,))

    def _encode(self, tokens: Sequence[Tokens]) -> Floats:
        vectors = self.vectors(tokens)
        return unit(vectors) if self._reading.normalise else vectors

    def _pooled(self, output: Floats, batch: Batch) -> Floats:
        return pool(output, batch.mask, self._reading.pooling)


class CrossEncoder:
    """Scores passages against a query; fulfils `search.protocols.Reranker`. Threads may share it."""

    def __init__(
        self, artifact: Artifact, threads: int | None = None, form: str | None = None, device: str = ""
    ) -> None:
        self.model = Model(artifact, "cross-encoder", threads, form, device)
        self.form = self.model.form
        self.fingerprint = artifact.fingerprint

    def score(self, query: str, passages: Sequence[str]) -> Floats:
        """Shape (n,), in input order; a logit, higher is better."""
        return self.logits(self.model.reader.pairs(query, passages))

    def logits(self, tokens: Sequence[Tokens]) -> Floats:
        """Shape (n,), in input order, of pairs as `Reader.pairs` makes them."""
        return self.model.map(tokens, lambda output, batch: output.reshape(len(batch.rows)), ())


class Model:
    """A verified artifact in one form, ready to run.

    `budget` is the tokens, padding included, of one run; `threads` is how many runs at once use the device fully.
    `starts` chooses the kernel of attention for a graph that lets the runtime choose: see decision 0031.
    """

    def __init__(self, artifact: Artifact, kind: Kind, threads: int | None, form: str | None, device: str = "") -> None:
        if artifact.kind != kind:
            raise ModelError(f"the model {artifact.name} is a {artifact.kind}; a {kind} is needed here", field="model")
        if threads is not None and threads < 1:
            raise ModelError(f"threads is {threads}; it must be at least 1", field="threads")
        asked = devices.providers(device, ort.get_available_providers())
        self.threads = threads or cores()
        self.reader = Reader(artifact.folder / "tokenizer.json", artifact.reading)
        self.form, self.device, self._session = _opened(artifact, form, device, asked, self.threads)
        self._inputs = {item.name for item in self._session.get_inputs()}
        self.starts = True
        self._kept: ThreadPoolExecutor | None = None
        if self.device == "cuda":
            self.threads, self.budget = GPU_RUNS, GPU_BATCH_TOKENS
            self._kept = ThreadPoolExecutor(GPU_RUNS)  # kept, as CUDA's libraries keep what they planned by thread
        else:
            self.budget = 1 if self.form == "int8" else BATCH_TOKENS

    def map(
        self, tokens: Sequence[Tokens], finish: Callable[[Floats, Batch], Floats], shape: tuple[int, ...]
    ) -> Floats:
        """Run all inputs; `finish` makes (n, *shape) of a batch's raw output. In input order: (len(tokens), *shape)."""
        result = np.zeros((len(tokens), *shape), dtype=np.float32)

        def one(rows: Sequence[int]) -> None:
            batch = pad(tokens, rows)
            result[list(rows)] = finish(self._run(batch), batch)

        self._spread(one, batches([len(item) for item in tokens], self.budget))
        return result

    def run_all(self, tokens: Sequence[Tokens]) -> None:
        """Run all inputs for nothing but the time it takes."""
        self.map(tokens, lambda _, batch: np.zeros(len(batch.rows), dtype=np.float32), ())

    def _spread(self, work: Callable[[Sequence[int]], None], groups: Sequence[Sequence[int]]) -> None:
        """Longest group first, so no thread is left alone with a long one at the end."""
        if len(groups) < 2 or self.threads == 1:
            for group in groups:
                work(group)
            return
        if self._kept:
            list(self._kept.map(work, groups))
            return
        with ThreadPoolExecutor(min(self.threads, len(groups))) as pool_of_threads:
            list(pool_of_threads.map(work, groups))

    def _run(self, batch: Batch) -> Floats:
        arrays: dict[str, Any] = {"input_ids": batch.ids, "attention_mask": batch.mask, "token_type_ids": batch.types}
        if MASK_INDEX in self._inputs:
            arrays[MASK_INDEX] = mask_index(batch.mask, self.starts)
        given = {name: arrays[name] for name in self._inputs}
        output: Any = self._bound(given) if self.device == "cuda" else self._session.run(None, given)
        return np.asarray(output[0], dtype=np.float32)

    def _bound(self, given: Mapping[str, Any]) -> Any:
        """A run with its inputs and output bound, so that ONNX Runtime copies each once."""
        binding = self._session.io_binding()
        for name, array in given.items():
            binding.bind_cpu_input(name, array)
        binding.bind_output(self._session.get_outputs()[0].name)
        self._session.run_with_iobinding(binding)
        return binding.copy_outputs_to_cpu()


def _opened(
    artifact: Artifact, form: str | None, device: str, asked: Sequence[str], threads: int
) -> tuple[str, str, ort.InferenceSession]:
    """(form, device, session) of a model: the form is the one named, or the one for where it really runs."""
    if asked[0] == devices.CUDA:
        chosen = form or _on_gpu(artifact)
        opened = session(artifact.form_path(chosen), providers=asked)
        settled = devices.settled(device, asked, opened.get_providers())
        if settled == "cuda" or form:
            return chosen, settled, opened
    chosen = form or _fastest(artifact, threads)
    return chosen, "cpu", session(artifact.form_path(chosen))


@cache
def _load_libraries() -> None:
    """Load the CUDA libraries that came as Python packages: the system's loader does not look for them there.

    ONNX Runtime prints what it could not find; the output is a command's own, often JSON, so that goes beside it.
    """
    if hasattr(ort, "preload_dlls"):  # from 1.21 on
        with redirect_stdout(sys.stderr):
            ort.preload_dlls()


def cores() -> int:
    """The cores that this process may use, which in a container can be fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _fastest(artifact: Artifact, threads: int) -> str:
    """The form that is fastest on this processor, by measurement; see `encoders.forms`."""
    known = artifact.processor_forms

    def measure() -> dict[str, float]:
        models = {form: Model(artifact, artifact.kind, threads, form, "cpu") for form in known}
        tokens = next(iter(models.values())).reader.inputs(artifact.kind, forms.sample())
        return forms.race({form: partial(model.run_all, tokens) for form, model in models.items()})

    return forms.fastest(known, forms.machine_key(artifact.fingerprint, threads, ort.__version__), measure)


def _on_gpu(artifact: Artifact) -> str:
    """Half precision where the model has it: int8's operators are made for processors."""
    return HALF if HALF in artifact.forms else "fp32"


def session(path: Path, threads: int = 1, providers: Sequence[str] = (devices.CPU,)) -> ort.InferenceSession:
    """A session over a graph file, on the CPU by default. Raises `ModelError` when ONNX Runtime refuses it."""
    if providers[0] == devices.CUDA:
        _load_libraries()
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # On a processor the operator of SkipLayerNormFusion is six times slower than what it replaces (training/graphs.py).
    left_out = [] if providers[0] == devices.CUDA else ["SkipLayerNormFusion"]
    # Weights are stored as int8; without this they would be unpacked at every run instead of once at load.
    options.add_session_config_entry("session.disable_quant_qdq", "1")
    try:
        return ort.InferenceSession(str(path), options, providers=list(providers), disabled_optimizers=left_out)
    except Exception as error:  # onnxruntime's errors share no base class
        raise ModelError(f"{path} can't be run by ONNX Runtime {ort.__version__}: {error}", field=str(path)) from error
