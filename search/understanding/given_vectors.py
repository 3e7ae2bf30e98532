"""The vectors that the caller of a search brings, checked against the models of the index."""

from __future__ import annotations

import math

import numpy as np

from mappings.collection import DISCOURSE
from mappings.errors import InvalidInput
from search.protocols import IndexMeta, Vectors
from search.query import Query


def given_vectors(query: Query, meta: IndexMeta) -> dict[str, Vectors]:
    """Vector field -> the query's own vector of it, as a unit vector of shape (d,).

    Raises `InvalidInput` for an unknown field, and for a vector of another model than the one that filled the field.
    """
    vectors = {}
    for name, encoder, values in query.vectors:
        if name == DISCOURSE or name not in meta.encoders:
            known = ", ".join(item for item in meta.encoders if item != DISCOURSE) or "none"
            raise InvalidInput(f"the index has no vectors {name[:80]!r}; it has {known}", field="vectors")
        if encoder != meta.encoders[name]:
            raise InvalidInput(
                f"the vectors {name!r} are of the model {meta.encoders[name]}, and the given one is of {encoder[:80]!r}",
                field="vectors",
            )
        length = math.hypot(*values)  # does not overflow where the vector of this length would not
        if not (math.isfinite(length) and length):
            raise InvalidInput(f"the vector for {name!r} must have finite values, not all of them 0", field="vectors")
        vectors[name] = (np.asarray(values, dtype=np.float64) / length).astype(np.float32)
    return vectors
