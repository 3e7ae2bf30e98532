"""Completes what a caller types, from the counts of the documents that they may see.

The counts of a caller's documents are read from the engine once for each commit of an index, so that a letter more costs a
look-up in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mappings.clinical.concepts import ClinicalConcept, ConceptLexicon
from mappings.documents import clean
from mappings.errors import InvalidInput, NotFound
from mappings.fields import ASPECTS, CONCEPTS
from search.completion.completions import (
    ASPECT_SLOT,
    CONCEPT_SLOTS,
    Completion,
    CompletionRequest,
    Completions,
    check_slot,
)
from search.completion.names import NameIndex, SpelledName
from search.memory.cache import Cache
from search.pipeline.freshness import MAX_WITHHELD, find_withheld
from search.pipeline.services import SearchServices, Trace
from search.protocols import IndexMeta

_KEPT: Final = 100
_KEPT_LEXICONS: Final = 2
_ATTEMPTS: Final = 2
_CHANGING: Final = (
    f"more than {MAX_WITHHELD:,} changed documents wait to be indexed: nothing is completed until they are"
)
_UNREAD: Final = "the documents of this index were not read: no concepts are completed, only aspects and fields"


@dataclass(frozen=True, slots=True)
class _Choices:
    """What can complete a text: `described[n]` is the thing number n of `names`, and `counts[n]` its documents."""

    names: NameIndex
    described: tuple[Completion, ...]
    counts: NDArray[np.int64]

    def complete(self, text: str, limit: int) -> tuple[Completion, ...]:
        found = self.names.find(text, self.counts, limit)
        return tuple(
            Completion(known.name, item.text, int(self.counts[item.owner]), known.concept, known.group)
            for item in found
            for known in (self.described[item.owner],)
        )


class Completer:
    """Completes texts over the collections of one Medley. Thread-safe."""

    def __init__(self, services: SearchServices) -> None:
        self._services = services
        self._choices: Cache[_Choices] = Cache(_KEPT)
        self._lexicons: Cache[_LexiconNames] = Cache(_KEPT_LEXICONS)

    def complete(self, request: CompletionRequest) -> Completions:
        """The completions of what was typed.

        Raises `InvalidInput` for a slot that the collection does not have, `NotFound` without an index, `Unavailable`.
        """
        slot = check_slot(request.slot, self._services.collection(request.collection))
        for _ in range(_ATTEMPTS - 1):
            try:
                return self._complete(request, slot)
            except NotFound:
                continue  # an index that was dropped after it was resolved has a successor
        return self._complete(request, slot)

    def _complete(self, request: CompletionRequest, slot: str) -> Completions:
        meta, trace = self._services.engine.resolve(request.collection), Trace()
        reader = self._services.reader(self._services.collection(request.collection))
        is_concept = slot in CONCEPT_SLOTS
        if is_concept and (reader is None or not meta.reading):
            return Completions(notes=(_UNREAD,))
        withheld = find_withheld(self._services, meta, trace)
        if not withheld.complete:  # which values were those of changed documents alone cannot be told
            return Completions(notes=(_CHANGING,))
        field = CONCEPTS if is_concept else ASPECTS if slot == ASPECT_SLOT else slot
        lexicon = reader.lexicon if is_concept and reader else None
        version = lexicon.fingerprint if lexicon else ""
        key = (meta.index, meta.commit, request.access.key, field, version, withheld.documents)

        def count() -> Mapping[str, int]:
            return self._services.engine.values(meta.index, field, request.access, withheld.documents)

        try:
            choices = self._choices.get(key) or self._choices.put(key, self._read(count, lexicon))
        except InvalidInput as error:
            return Completions(notes=(_outdated(meta, error),))
        return Completions(choices.complete(clean(request.text), request.limit))

    def _read(self, count: Callable[[], Mapping[str, int]], lexicon: ConceptLexicon | None) -> _Choices:
        counts = count()
        if lexicon is None:
            return _of_values(counts)
        names = self._lexicons.get(lexicon.fingerprint)
        names = names or self._lexicons.put(lexicon.fingerprint, _LexiconNames.of(lexicon))
        return names.counted(counts)


@dataclass(frozen=True, slots=True)
class _LexiconNames:
    """The names of all concepts of a lexicon, which every caller shares; concepts in order of their names."""

    names: NameIndex
    described: tuple[Completion, ...]

    @classmethod
    def of(cls, lexicon: ConceptLexicon) -> _LexiconNames:
        ordered = sorted(lexicon, key=lambda item: (item.name, item.id))
        spelled = [name for number, item in enumerate(ordered) for name in _names_of(number, item)]
        return cls(NameIndex(spelled), tuple(Completion(item.name, "", 0, item.id, item.group) for item in ordered))

    def counted(self, counts: Mapping[str, int]) -> _Choices:
        """With the numbers of a caller's documents; a concept of another lexicon than this one is left out."""
        own = np.fromiter((counts.get(item.concept, 0) for item in self.described), np.int64, len(self.described))
        return _Choices(self.names, self.described, own)


def _names_of(number: int, concept: ClinicalConcept) -> list[SpelledName]:
    names = [SpelledName(number, name, name == concept.name) for name in concept.names]
    short = [item.text for item in concept.abbreviations] + [code for own in concept.codes.values() for code in own]
    return names + [SpelledName(number, text, short=True) for text in short]


def _of_values(counts: Mapping[str, int]) -> _Choices:
    values = sorted(counts)
    names = NameIndex(SpelledName(number, value, preferred=True) for number, value in enumerate(values))
    numbers = np.fromiter((counts[value] for value in values), np.int64, len(values))
    return _Choices(names, tuple(Completion(value, "", 0) for value in values), numbers)


def _outdated(meta: IndexMeta, error: InvalidInput) -> str:
    return (
        f"the index {meta.index} does not count {error.field} yet: `medley index rebuild {meta.collection}` adds what "
        "completes them"
    )
