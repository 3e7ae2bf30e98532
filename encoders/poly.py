"""The poly-encoder at run time, without torch: passages to token vectors once, then scores in a few products each."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from encoders.artifact import SCORER, Artifact
from encoders.pooling import Floats, pool, unit
from encoders.runtime import BiEncoder, Model
from encoders.text import Batch

KEPT = 2048
"""Passages whose token vectors a reranker keeps, in half precision: 200 KB each at 256 tokens of 384 numbers."""


class PolyEncoder:
    """Queries to vectors, passages to token vectors, and scores of one against the other. Threads may share it."""

    def __init__(
        self, artifact: Artifact, threads: int | None = None, form: str | None = None, device: str = ""
    ) -> None:
        self.model = Model(artifact, "poly-encoder", threads, form, device)
        asked = artifact.queries()
        self._asked = None if asked is artifact else BiEncoder(asked, threads, form, device)
        self._reading = artifact.reading
        self._weight: Floats = np.load(artifact.folder / SCORER).astype(np.float32)
        self._sharpness = float(artifact.manifest["sharpness"])
        self.form = self.model.form
        self.fingerprint = artifact.fingerprint
        self.dimension = artifact.dimension

    def encode_query(self, text: str) -> Floats:
        """Shape (d,)."""
        return np.asarray(self.encode_queries([text])[0])

    def encode_queries(self, texts: Sequence[str]) -> Floats:
        """Shape (n, d), in input order."""
        if self._asked:
            return self._asked.encode_queries(texts)
        tokens = self.model.reader.queries(texts)
        vectors = self.model.map(tokens, self._pooled, (self.dimension,))
        return unit(vectors) if self._reading.normalise else vectors

    def encode_passages(self, texts: Sequence[str]) -> list[Floats]:
        """For each text its token vectors (t, d), in input order; t differs."""
        found: list[Floats] = [np.empty((0, self.dimension), dtype=np.float32)] * len(texts)

        def keep(output: Floats, batch: Batch) -> Floats:
            for place, row in enumerate(batch.rows):
                real = output[place, : int(batch.mask[place].sum())]
                found[row] = unit(real) if self._reading.normalise else real.copy()
            return np.zeros(len(batch.rows), dtype=np.float32)

        self.model.map(self.model.reader.passages(texts), keep, ())
        return found

    def score(self, query: Floats, passages: Sequence[Floats]) -> Floats:
        """A query's vector (d,) against passages' token vectors -> (n,), in input order; higher is better."""
        if not passages:
            return np.zeros(0, dtype=np.float32)
        attended = np.stack([attend(query, tokens, self._sharpness) for tokens in passages])
        return np.asarray(np.maximum(attended @ self._weight.T, 0) @ query, dtype=np.float32)

    def _pooled(self, output: Floats, batch: Batch) -> Floats:
        return pool(output, batch.mask, self._reading.pooling)


class PolyReranker:
    """A poly-encoder where a reranker is wanted; fulfils `search.protocols.Reranker`. Threads may share it.

    The token vectors of the passages it saw last are kept, so that a passage that is a candidate again costs only its
    score.
    """

    def __init__(self, encoder: PolyEncoder, kept: int = KEPT) -> None:
        self.fingerprint = encoder.fingerprint
        self._encoder = encoder
        self._most = kept
        self._kept: OrderedDict[str, NDArray[np.float16]] = OrderedDict()
        self._lock = Lock()

    def score(self, query: str, passages: Sequence[str]) -> Floats:
        """Shape (n,), in input order; higher is better."""
        with self._lock:
            known = {text: self._kept[text] for text in passages if text in self._kept}
        new = [text for text in dict.fromkeys(passages) if text not in known]
        known |= zip(new, (item.astype(np.float16) for item in self._encoder.encode_passages(new)), strict=True)
        self._keep(known)
        tokens = [known[text].astype(np.float32) for text in passages]
        return self._encoder.score(self._encoder.encode_query(query), tokens)

    def _keep(self, seen: Mapping[str, NDArray[np.float16]]) -> None:
        with self._lock:
            self._kept.update(seen)
            for text in seen:
                self._kept.move_to_end(text)
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)


def attend(query: Floats, tokens: Floats, sharpness: float = 1.0) -> Floats:
    """The sum of token vectors (t, d) weighted by the softmax of their products with the query (d,): CAPR eq. 2's y."""
    products = tokens @ query * sharpness
    weights = np.exp(products - products.max())
    return np.asarray(weights @ tokens / weights.sum(), dtype=np.float32)
