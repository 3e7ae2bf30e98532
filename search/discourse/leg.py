"""The query of the leg `discourse`: whether it is asked, by which slots, and their vector."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from encoders.marked import short_fingerprint
from mappings.clinical.reading import ConceptReader
from mappings.collection import DISCOURSE, Collection
from mappings.documents import clean
from search.discourse.models import WholeDocumentEncoder
from search.memory.cache import Cache
from search.protocols import IndexMeta, Vectors
from search.query import Query
from search.understanding.slots import QuerySlots, read_slots
from search.understanding.syntax import parse


def asked_slots(
    query: Query, collection: Collection, meta: IndexMeta, reader: ConceptReader | None
) -> QuerySlots | None:
    """The slots that the leg is asked by.

    None where the index has no such vectors, the leg has no weight in the collection, or the query has neither slot; and where
    none was typed, unless its text names both: one alone says too little of what is asked.
    """
    if DISCOURSE not in meta.encoders or not collection.fusion.weights.get(DISCOURSE, 0.0) > 0:
        return None
    free = parse(clean(query.text), collection.fields).free
    slots = read_slots(query, free, reader, collection.reads_queries and not query.plain)
    typed = clean(query.entity).strip() or clean(query.aspect).strip()
    return slots if all(slots) or typed else None


def encode_slots(
    slots: QuerySlots,
    meta: IndexMeta,
    find: Callable[[str], WholeDocumentEncoder | None],
    cache: Cache[Vectors],
    degraded: list[str],
) -> Mapping[str, Vectors]:
    """The field `discourse` -> the unit vector of the slots, shape (d,), by the model that filled it; cached.

    Empty where the slots have no words, and where the model is missing, as `degraded` then says.
    """
    fingerprint = meta.encoders[DISCOURSE]
    vector = cache.get((fingerprint, slots))
    if vector is None:
        encoder = find(fingerprint)
        if encoder is None:
            degraded.append(
                f"no model for '{DISCOURSE}': the index was built with {short_fingerprint(fingerprint)}, which is not among "
                f"the installed models; the leg '{DISCOURSE}' was not searched. `medley index rebuild {meta.collection}` "
                "reads the documents by the model that is installed, or by none"
            )
            return {}
        vector = cache.put((fingerprint, slots), encoder.encode_query(*slots))
    return {DISCOURSE: vector} if vector.any() else {}
