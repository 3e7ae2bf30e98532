"""The poly-encoder at run time, without torch: encode passages once, then score each with a few matrix products."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from threading import Lock

import numpy as np

from encoders.artifact import BASIS, SCORER, Artifact
from encoders.pooling import Floats, pool, softmax, unit
from encoders.runtime import BiEncoder, OnnxModel
from encoders.text import AROUND, TokenBatch, Tokens
from encoders.tokens.codec import TokenCodec
from encoders.tokens.format import TokenFormat
from encoders.tokens.scoring import StoredTokenScorer

KEPT = 8192
"""Passages whose compressed token vectors a reranker caches: 64 MB."""


class PolyEncoder:
    """Encodes queries and passages, and scores one against the other. Threads can share it.

    A passage becomes a matrix of token vectors; a query becomes one vector or, if the model has one code per token, a
    matrix too.
    """

    def __init__(
        self, artifact: Artifact, threads: int | None = None, form: str | None = None, device: str = ""
    ) -> None:
        self.model = OnnxModel(artifact, "poly-encoder", threads, form, device)
        queries = artifact.queries()
        self._query_encoder = None if queries is artifact else BiEncoder(queries, threads, form, device)
        self._reading = artifact.reading
        scorer: Floats = np.load(artifact.folder / SCORER).astype(np.float32)
        self._weight, self._importance = scorer[: artifact.dimension], scorer[artifact.dimension :]
        self._by_token = artifact.manifest.get("codes", "vector") == "tokens"
        self._sharpness = float(artifact.manifest["sharpness"])
        self.form = self.model.form
        self.fingerprint = artifact.fingerprint
        self.dimension = artifact.dimension
        basis = artifact.folder / BASIS
        self._codec = TokenCodec(self.dimension, np.load(basis) if basis.is_file() else None)
        self._head = StoredTokenScorer(self._weight, self._importance[0] if self._by_token else None, self._sharpness)
        self.format = TokenFormat(self.fingerprint, self.dimension, self._codec.name)

    def encode_query(self, text: str) -> Floats:
        """Shape (d,), or (k, d) for the k tokens of the query."""
        return np.asarray(self.encode_queries([text])[0])

    def encode_queries(self, texts: Sequence[str]) -> Sequence[Floats]:
        """The result of `encode_query` for each text, in input order."""
        if self._by_token:
            model = self._query_encoder.model if self._query_encoder else self.model
            return self._token_vectors(model, model.tokenizer.tokenize_queries(texts))
        if self._query_encoder:
            return list(self._query_encoder.encode_queries(texts))
        tokens = self.model.tokenizer.tokenize_queries(texts)
        vectors = self.model.map(tokens, self._pooled, (self.dimension,))
        return list(unit(vectors) if self._reading.normalise else vectors)

    def encode_passages(self, texts: Sequence[str]) -> list[Floats]:
        """The token vectors of each text, (t, d) with its own t, in input order; none of what is around a passage."""
        return self._token_vectors(self.model, self.model.tokenizer.tokenize_passages(texts))

    def compress_passages(self, texts: Sequence[str]) -> list[bytes]:
        """The result of `encode_passages`, compressed: at most 8 kB a passage."""
        return [self._codec.compress(tokens) for tokens in self.encode_passages(texts)]

    def _token_vectors(self, model: OnnxModel, tokens: Sequence[Tokens]) -> list[Floats]:
        found: list[Floats] = [np.empty((0, self.dimension), dtype=np.float32)] * len(tokens)

        def keep(output: Floats, batch: TokenBatch) -> Floats:
            for place, row in enumerate(batch.rows):
                count = int(batch.mask[place].sum())
                real = output[place, :count]
                if self._reading.reads_around:
                    real = real[batch.types[place, :count] != AROUND]
                found[row] = unit(real) if self._reading.normalise else real.copy()
            return np.zeros(len(batch.rows), dtype=np.float32)

        model.map(tokens, keep, ())
        return found

    def score(self, query: Floats, passages: Sequence[Floats]) -> Floats:
        """Score the result of `encode_query` against the token vectors of n passages -> (n,), in input order; higher is better."""
        if not passages:
            return np.zeros(0, dtype=np.float32)
        if self._by_token:
            return self._token_scores(query, passages)
        attended = np.stack([attend(query, tokens, self._sharpness) for tokens in passages])
        return np.asarray(np.maximum(attended @ self._weight.T, 0) @ query, dtype=np.float32)

    def can_read(self, content: bytes) -> bool:
        """Whether `content` has the form of what `compress_passages` returns; False for no bytes."""
        return self._codec.is_valid(content)

    def score_compressed(self, query: Floats, passages: Sequence[bytes]) -> Floats:
        """As `score`, from the result of `compress_passages` for n passages, and for all of them at once. Raises `Damaged`."""
        if not passages:
            return np.zeros(0, dtype=np.float32)
        return self._head.score(query, self._codec.read(passages), self._codec)

    def _token_scores(self, query: Floats, passages: Sequence[Floats]) -> Floats:
        """The sum of q . W y over the query's tokens q, weighted by importance; y is what the token attends to."""
        projected, shares = query @ self._weight, softmax(query @ self._importance[0])
        scores = []
        for tokens in passages:
            weights = softmax(tokens @ query.T * self._sharpness)  # (t, k)
            scores.append((weights * (tokens @ projected.T)).sum(axis=0) @ shares)
        return np.array(scores, dtype=np.float32)

    def _pooled(self, output: Floats, batch: TokenBatch) -> Floats:
        return pool(output, batch.mask, self._reading.pooling)


class PolyReranker:
    """A poly-encoder as a reranker; implements `search.protocols.Reranker`. Threads can share it.

    It scores compressed token vectors, so that a passage has the same score whether an index stores them or they are
    computed here. It caches those of the passages it scored last.
    """

    def __init__(self, encoder: PolyEncoder, kept: int = KEPT) -> None:
        self.fingerprint, self.format = encoder.fingerprint, encoder.format
        self.encoder = encoder
        self._most = kept
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._lock = Lock()

    def score(self, query: str, passages: Sequence[str]) -> Floats:
        """Shape (n,), in input order; higher is better."""
        return self.encoder.score_compressed(self.encoder.encode_query(query), self.token_vectors(passages))

    def token_vectors(self, passages: Sequence[str]) -> list[bytes]:
        """The compressed token vectors of each passage, in input order: cached, or computed now."""
        with self._lock:
            known = {text: self._kept[text] for text in passages if text in self._kept}
        new = [text for text in dict.fromkeys(passages) if text not in known]
        known |= zip(new, self.encoder.compress_passages(new), strict=True)
        self._keep(known)
        return [known[text] for text in passages]

    def over(self, stored: Mapping[str, bytes]) -> StoredTokensReranker:
        """This reranker with the compressed token vectors that are stored of some texts, for the time of a search."""
        return StoredTokensReranker(self, stored)

    def _keep(self, seen: Mapping[str, bytes]) -> None:
        with self._lock:
            self._kept.update(seen)
            for text in seen:
                self._kept.move_to_end(text)
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)


class StoredTokensReranker:
    """Scores texts by their stored token vectors, and others as the reranker does that it is made of. For one thread.

    The model reads only the query, once in the time of a search. Damaged vectors count as missing: those of its text are
    computed again.
    """

    def __init__(self, reranker: PolyReranker, stored: Mapping[str, bytes]) -> None:
        self.fingerprint = reranker.fingerprint
        self._reranker = reranker
        self._encoder = reranker.encoder
        self._stored = {text: content for text, content in stored.items() if self._encoder.can_read(content)}
        self._queries: dict[str, Floats] = {}

    def score(self, query: str, passages: Sequence[str]) -> Floats:
        """Shape (n,), in input order; higher is better."""
        if query not in self._queries:
            self._queries[query] = self._encoder.encode_query(query)
        missing = [text for text in passages if text not in self._stored]
        known = dict(zip(missing, self._reranker.token_vectors(missing), strict=True)) if missing else {}
        contents = [self._stored.get(text) or known[text] for text in passages]
        return self._encoder.score_compressed(self._queries[query], contents)


def attend(query: Floats, tokens: Floats, sharpness: float = 1.0) -> Floats:
    """The y of CAPR eq. 2: the sum of token vectors (t, d), weighted by the softmax of their products with a query (d,)."""
    return np.asarray(softmax(tokens @ query * sharpness) @ tokens, dtype=np.float32)
