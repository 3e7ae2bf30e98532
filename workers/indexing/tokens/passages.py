"""Token vectors of passages on their way into an index: what a poly-encoder that reranks would have to read otherwise.

They only make reranking faster, so nothing here makes a document fail: without them the model reads a passage when it is
first a candidate.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from encoders.tokens.format import TokenEncoder
from mappings.documents import EVERY_LABEL, Access, Passage
from mappings.errors import MedleyError
from search.protocols import IndexEntry, IndexMeta
from workers.indexing.indexer import Indexer

_log = logging.getLogger("medley.worker")

KnownTokens = Callable[[Sequence[Passage]], Mapping[str, bytes]]
"""Passages -> passage id -> its compressed token vectors, for those that another index stores of the same text."""


@dataclass(frozen=True, slots=True)
class PassageTokens:
    """Adds token vectors to entries: those that `known` finds, and of all other passages what `encoder` reads."""

    encoder: TokenEncoder
    known: KnownTokens

    def add(self, entries: Sequence[IndexEntry]) -> list[IndexEntry]:
        """The entries with the token vectors of all their passages; unchanged if the model fails, which is logged."""
        every = [passage for entry in entries for passage in entry.passages]
        try:
            found = dict(self.known(every))
            missing = [passage for passage in every if passage.id not in found]
            contents = self.encoder.compress_passages([passage.model_text for passage in missing]) if missing else []
        except Exception as error:  # whatever the library of a device raises
            _log.warning("%d passages are indexed without their token vectors: %r", len(every), error)
            return list(entries)
        found |= {passage.id: content for passage, content in zip(missing, contents, strict=True)}
        ordered = iter([found[passage.id] for passage in every])
        return [replace(entry, tokens=tuple(islice(ordered, len(entry.passages)))) for entry in entries]


def find_tokens(indexer: Indexer, meta: IndexMeta) -> PassageTokens | None:
    """What adds token vectors to what goes into an index; None if it stores none, or those of another model."""
    encoder = indexer.tokens if meta.tokens else None
    if encoder is None or encoder.format != meta.tokens:
        return None
    return PassageTokens(encoder, _find_known(indexer, meta))


def _find_known(indexer: Indexer, meta: IndexMeta) -> KnownTokens:
    """Finds token vectors in the published index, unless that is the one to be filled, or stores others."""
    old = indexer.readable()
    if old is None or old.index == meta.index or old.tokens != meta.tokens:
        return lambda passages: {}
    engine, index, access = indexer.engine, old.index, Access("indexing", frozenset({EVERY_LABEL}))
    if any(problem.is_damage for problem in engine.file_problems(index, again=False)):
        return lambda passages: {}

    def find(passages: Sequence[Passage]) -> Mapping[str, bytes]:
        ids = [passage.id for passage in passages]
        try:
            stored, texts = engine.tokens(index, ids, access), engine.passages(index, ids, access)
        except MedleyError:  # dropped meanwhile by another process
            return {}
        same = {item.id for item in passages if item.id in texts and texts[item.id].model_text == item.model_text}
        return {name: content for name, content in stored.items() if name in same}

    return find
