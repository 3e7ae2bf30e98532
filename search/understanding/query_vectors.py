"""The vectors of a query by the encoders of its index, computed only when an engine asks for them: it can search words meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping
from functools import cached_property

from encoders.marked import short_fingerprint
from mappings.collection import DISCOURSE
from mappings.errors import MedleyError
from search.memory.cache import Cache
from search.protocols import Encoder, IndexMeta, Vectors


class LaterVectors(Mapping[str, Vectors]):
    """Vector field → unit vector of shape (d,); `compute` is called once, in the thread that first asks for any."""

    def __init__(self, compute: Callable[[], Mapping[str, Vectors]]) -> None:
        self._compute = compute

    @cached_property
    def _vectors(self) -> Mapping[str, Vectors]:
        return self._compute()

    def __getitem__(self, name: str) -> Vectors:
        return self._vectors[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._vectors)

    def __len__(self) -> int:
        return len(self._vectors)


def find_encoders(
    meta: IndexMeta, find: Callable[[str], Encoder | None], given: Container[str], degraded: list[str]
) -> dict[str, Encoder]:
    """Vector field → the encoder that filled it, except for those that are `given` and the leg `discourse`, asked by slots.

    One that is not installed is left out, as `degraded` then says.
    """
    found = {}
    for name, fingerprint in meta.encoders.items():
        if name == DISCOURSE or name in given:
            continue
        encoder = find(fingerprint)
        if encoder is None:
            degraded.append(
                f"no encoder for '{name}': the index was built with {short_fingerprint(fingerprint)}, which is not among the installed "
                f"models; the leg '{name}' was not searched. `medley index rebuild {meta.collection}` encodes it anew"
            )
            continue
        found[name] = encoder
    return found


def encode_text(
    text: str, encoders: Mapping[str, Encoder], meta: IndexMeta, cache: Cache[Vectors], degraded: list[str]
) -> dict[str, Vectors]:
    """Vector field → the unit vector of `text`, shape (d,); cached. One whose encoder fails is left out, as `degraded` says."""
    vectors = {}
    for name, encoder in encoders.items():
        key = (meta.encoders[name], text)
        cached = cache.get(key)
        try:
            vectors[name] = cached if cached is not None else cache.put(key, encoder.encode_queries([text])[0])
        except MedleyError as error:
            degraded.append(f"the encoder for '{name}' failed ({error.message}); the leg '{name}' was not searched")
    return vectors


def vectors_key(vectors: Mapping[str, Vectors]) -> bytes:
    """What tells vectors of the same fields apart, and those of one field from those of another of its dimension."""
    return b"".join(name.encode() + vectors[name].tobytes() for name in sorted(vectors))
