"""The steps that an OpenSearch's own pipelines ask for: a document read, a query understood, hits scored.

Each is a step of a search by Medley itself, on one kind of collection, without an index: the cluster keeps the documents,
finds them and fuses their scores (`search.engines.opensearch.plugin` writes the pipelines that call these).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from encoders.artifact import Kind
from encoders.marked import MarkedEncoder, short_fingerprint
from mappings.analysis.headings import normalise_heading
from mappings.analysis.passages import passages, placed_windows
from mappings.analysis.words import terms
from mappings.clinical.placing import PRESENT, RULED_OUT, keys_of, read_passages
from mappings.clinical.reading import ConceptReader, shipped_reader
from mappings.collection import Collection, load
from mappings.documents import EVERY_LABEL, Access, Document, Passage, clean
from mappings.errors import InvalidInput, ModelError
from mappings.formats.jsonl import split
from search.engines.opensearch.plugin.queries import lexical_query
from search.engines.titles import title_or_lead
from search.protocols import Encoder
from search.query import Query
from search.ranking.anytime import AnytimeReranker, Pace, ScoreCache
from search.ranking.candidates import NO_CONTRIBUTIONS, Candidate
from search.ranking.cascade import RerankStages, combine, score_window
from search.ranking.wording import Wording
from search.understanding.understand import Understanding, understand
from web.inference.models import LoadedModel
from web.inference.served import ServedEncoder, ServedReranker

_EVERYTHING: Final = Access("pipeline", frozenset({EVERY_LABEL}))
_ASSERTED: Final = {"present": PRESENT, "ruled_out": RULED_OUT}
"""Field of the index -> the assertion whose concepts it names."""
_WORST: Final = -100.0
"""The logit of a text without a word."""


def _document(title: str, text: str, collection: Collection, name: str = "document") -> Document:
    return Document(name, clean(title), split(clean(text), collection))


@dataclass(frozen=True, slots=True)
class PipelineKind:
    """A kind of collection, what reads its documents, and the models that its vectors and its order come from."""

    collection: Collection
    reader: ConceptReader | None
    encoder: Encoder
    stages: RerankStages

    def read_document(self, title: str, text: str) -> dict[str, Any]:
        """What the index gets beside title and text: a vector of each window, and what the document asserts.

        `also`, `title_words` and `heading_words` are searched, too (`mappings.indexes`); `proves` are the keys by which
        queries prefer documents. `tie` is the same number for all, which the search pipeline needs
        (`search.engines.opensearch.plugin`); `encoder` is the fingerprint of what made the vectors.
        """
        found = read_passages(_document(title, text, self.collection), 1, self.collection, self.reader)
        windows = [window for passage in found for window in placed_windows(passage, self.collection.window_words)]
        rows = self.encoder.encode_passages(windows).astype(np.float16).astype(np.float32)
        return {
            "windows": [{"vector": row} for row in rows],
            "also": " ".join(passage.also for passage in found if passage.also),
            "title_words": "" if terms(title) else title_or_lead(found[0]),
            "heading_words": " ".join(dict.fromkeys(passage.heading for passage in found if passage.heading)),
            "aspects": sorted({normalise_heading(passage.heading) for passage in found} - {""}),
            **self._asserted(found),
            "tie": 0.0,
            "encoder": self.encoder.fingerprint,
        }

    def _asserted(self, found: Sequence[Passage]) -> dict[str, list[str]]:
        if self.reader is None:
            return {"proves": [], **{name: [] for name in _ASSERTED}}
        lexicon = self.reader.lexicon
        keys = sorted({key for passage in found for key in keys_of(passage, lexicon)})
        pairs = [key.split("|") for key in keys]
        names = {
            name: sorted({lexicon.get(concept).name for concept, said in pairs if said == assertion})
            for name, assertion in _ASSERTED.items()
        }
        return {"proves": keys, **names}

    def understand(self, text: str) -> Understanding:
        """As a search of the collection understands a text; filters can't be typed. Raises `InvalidInput`."""
        kind = self.collection
        query = Query(kind.name, _EVERYTHING, text)
        return understand(query, {}, self.reader, kind.reads_queries, kind.name_weight)

    def query_body(self, text: str) -> dict[str, Any]:
        """The lexical leg of a text, as a query of OpenSearch. Raises `InvalidInput`."""
        boosts = {"title": self.collection.title_boost, "heading": self.collection.heading_boost}
        return lexical_query(self.understand(text).lexical, boosts)

    def query_vectors(self, texts: Sequence[str]) -> np.ndarray:
        """Shape (n, d), unit rows: the vectors of what the models read of texts. Raises `InvalidInput`."""
        return self.encoder.encode_queries([self.understand(text).model_text or text for text in texts])

    def check_encoders(self, fingerprints: Iterable[str]) -> None:
        """Raise `ModelError` if the vectors of some hits are of another encoder than those of queries."""
        if others := sorted(set(fingerprints) - {self.encoder.fingerprint}):
            known = ", ".join(short_fingerprint(name) if name else "an unknown one" for name in others)
            raise ModelError(
                f"vectors of these hits are of another encoder ({known}) than those of queries "
                f"({short_fingerprint(self.encoder.fingerprint)}): index the documents again, or serve the encoder that read them",
                field="encoders",
            )

    def score_hits(self, query: str, hits: Sequence[tuple[str, str]], fused: Sequence[float]) -> list[float]:
        """The final scores of hits (title, text) with fused scores in [0, 1], in input order.

        As in a search: the best ones by their fused scores are reranked until the deadline of the kind; the others come
        after them. Raises `InvalidInput`, and as the model does.
        """
        reranking, understood = self.collection.reranking, self.understand(query)
        every = {str(number): self._split(str(number), *hit) for number, hit in enumerate(hits)}
        candidates = [
            Candidate(passage.id, name, score, NO_CONTRIBUTIONS)
            for (name, found), score in zip(every.items(), fused, strict=True)
            for passage in found
        ]
        candidates.sort(key=lambda item: -item.score)
        window = candidates[: reranking.candidates]
        by_id = {passage.id: passage for found in every.values() for passage in found}
        until = time.perf_counter() + reranking.deadline_ms / 1000 if reranking.deadline_ms else None
        scores = score_window(
            self.stages,
            reranking,
            Wording(understood.model_text, understood.names),
            window,
            [by_id[item.passage] for item in window],
            until,
        )
        best: dict[str, float] = {}
        for item in combine(candidates, scores, reranking):
            best.setdefault(item.document, item.score)  # the best passage comes first
        return [best.get(name, 0.0) for name in every]  # a hit without any text has no passage

    def relevance(self, query: str, texts: Sequence[str]) -> list[float]:
        """The logit of each text, in input order, without any other score; of a long text, of its best passage."""
        understood, reranking = self.understand(query), self.collection.reranking
        found = [self._split(str(number), "", text) for number, text in enumerate(texts)]
        every = [passage for own in found for passage in own]
        window = [Candidate(passage.id, passage.document, 0.0, NO_CONTRIBUTIONS) for passage in every]
        wording = Wording(understood.model_text, understood.names)
        scores = score_window(self.stages, reranking, wording, window, every, None).last
        return [max((scores[passage.id] for passage in own), default=_WORST) for own in found]

    def _split(self, name: str, title: str, text: str) -> tuple[Passage, ...]:
        """The passages of a hit; none of one without any text."""
        if not (title.strip() or text.strip()):
            return ()
        return passages(_document(title, text, self.collection, name), 1, self.collection)


class PipelineKinds:
    """The kinds that these models can serve, each made when it is first asked for; threads may share it.

    `folder` has further kinds (`mappings.collection.kinds`).
    """

    def __init__(self, models: Sequence[LoadedModel], folder: Path | None) -> None:
        self._models, self._folder = models, folder
        self._kinds: dict[str, PipelineKind] = {}
        self._lock = threading.Lock()

    def get(self, name: str) -> PipelineKind:
        """Raises `NotFound` for an unknown kind, `ModelError` where a model of it is not served, `InvalidInput`."""
        with self._lock:
            if name not in self._kinds:
                self._kinds[name] = self._make(load(name, name, self._folder))
            return self._kinds[name]

    def _make(self, collection: Collection) -> PipelineKind:
        if collection.feedback is not None or len(collection.vectors) != 1:
            raise InvalidInput(
                f"the kind {collection.kind!r} searches twice or by several vectors, which a pipeline can't: ask the gateway",
                field="kind",
            )
        (model,) = collection.vectors.values()
        encoder: Encoder = ServedEncoder(self._served("bi-encoder", model))
        if collection.marking is not None:
            encoder = MarkedEncoder(encoder, collection.marking)
        reranker = ServedReranker(self._served("cross-encoder", collection.reranking.model))
        stages = RerankStages(AnytimeReranker(reranker, ScoreCache(), Pace()))
        one = replace(collection, reranking=replace(collection.reranking, first=None))
        return PipelineKind(one, shipped_reader() if collection.concepts else None, encoder, stages)

    def _served(self, kind: Kind, name: str) -> LoadedModel:
        called = Path(name).name
        found = next((m for m in self._models if m.kind == kind and called in (m.folder, m.name)), None)
        if found is None:
            served = ", ".join(model.folder or model.name for model in self._models)
            raise ModelError(
                f"this server lacks the {kind} {name} of the kind; it serves {served}: name all that the kind needs, "
                "each with --model, when it is started",
                field="model",
            )
        return found
