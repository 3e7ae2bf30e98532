"""The corpora of passages in which hard negatives are searched: each indexed once, as a search would have it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import accumulate, chain
from pathlib import Path
from typing import Any

from encoders.labels.pairs import Text
from encoders.late.surrounded import SurroundedEncoder
from mappings.analysis.passages import placed_windows
from mappings.analysis.window_text import place_passage
from mappings.analysis.words import ANALYSIS_VERSION
from mappings.collection import Collection, load
from mappings.documents import Passage
from search.engines.administration import Engine
from search.engines.embedded.layout import write_atomic
from search.protocols import Encoder, IndexEntry, IndexMeta

CORPUS_KINDS: Mapping[str, str] = {
    "health": "articles",
    "notes": "notes",
    "entity-aspect-articles": "articles",
    "entity-aspect-notes": "notes",
    "entity-aspect-reports": "reports",
}
"""Corpus → its collection kind; any other corpus is of kind abstracts."""

TEXT_ONLY = frozenset({"health", "entity-aspect-articles"})
"""Corpora whose passages are ranked by their text alone, without title and heading, as in their evaluation."""

LABEL = "mining"
INDEX_RECORD = "corpus.json"
"""The file beside a corpus's indexes that says which index holds which passages."""


def collection_of(name: str) -> Collection:
    """The collection in which a corpus is indexed for mining."""
    return replace(load(CORPUS_KINDS.get(name, "abstracts")), name=name)


def index_corpus(
    engine: Engine, record: Path, name: str, corpus: Sequence[Text], encoder: Encoder | None, batch: int = 256
) -> None:
    """Index the passages of a corpus, one per document, unless an index of them with these vectors is already published.

    `record` is the file that says which index holds which passages.
    """
    vectors = {"dense": (encoder.fingerprint, encoder.dimension)} if encoder else {}
    digest, recorded = _digest(corpus), _read_record(record)
    if any(
        published and _has_vectors(meta, encoder) and recorded == {"index": meta.index, "passages": digest}
        for meta, published in engine.list(name)
    ):
        return
    meta = engine.create(name, vectors)
    with engine.writer(meta.index) as writer:
        for start in range(0, len(corpus), batch):
            writer.write(_entries(corpus[start : start + batch], name, encoder))
        writer.commit()
    engine.publish(meta.index)
    write_atomic(record, json.dumps({"index": meta.index, "passages": digest}).encode())


def _digest(corpus: Iterable[Text]) -> str:
    state = sha256(ANALYSIS_VERSION.encode())
    for text in corpus:
        parts = (text.id, text.title, text.heading, text.text, *text.before, *text.after)
        state.update("\x1f".join(parts).encode("utf-8", "replace") + b"\x1d")
    return state.hexdigest()


def _read_record(file: Path) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _has_vectors(meta: IndexMeta, encoder: Encoder | None) -> bool:
    """Whether the index has the encoder's vectors of the windows that a search uses; True without an encoder."""
    if encoder is None:
        return True
    return (
        meta.encoders == {"dense": encoder.fingerprint} and meta.windows == collection_of(meta.collection).window_words
    )


def _entries(texts: Sequence[Text], name: str, encoder: Encoder | None) -> list[IndexEntry]:
    passages = [_passage(text, name) for text in texts]
    words = collection_of(name).window_words
    parts = [placed_windows(passage, words) if encoder else () for passage in passages]
    if isinstance(encoder, SurroundedEncoder):
        around = ((" ".join(text.before), " ".join(text.after)) for text in texts)
        parts = [
            (place_passage(before, passage.model_text, after),)
            for passage, (before, after) in zip(passages, around, strict=True)
        ]
    vectors = encoder.encode_passages(list(chain.from_iterable(parts))) if encoder else None
    ends = list(accumulate(map(len, parts)))
    return [
        IndexEntry(
            document=passage.document,
            version=1,
            labels=frozenset({LABEL}),
            fields={},
            passages=(passage,),
            vectors={} if vectors is None else {"dense": vectors[end - len(own) : end]},
            windows=(len(own),) if own else (),
        )
        for passage, own, end in zip(passages, parts, ends, strict=True)
    ]


def _passage(text: Text, name: str) -> Passage:
    title, heading = ("", "") if name in TEXT_ONLY else (text.title, text.heading)
    return Passage(text.id, 1, 0, title, heading, text.text, context=f"{title} {heading}".strip())
