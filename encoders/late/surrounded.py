"""A bi-encoder whose passages are read among the other passages of their document, and whose index says so.

The fingerprint is that of the encoder and the version of the rule by which passages are placed
(`mappings.analysis.window_text.place_in_document`). An index that the same encoder filled from passages alone has the plain
fingerprint: it goes on to be filled and searched as it was made, and its vectors are never mixed with these.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from encoders.cache import Encodes
from encoders.marked import base_fingerprint
from encoders.pooling import Floats

SURROUNDINGS_VERSION: Final = "surroundings-1"


class SurroundedEncoder:
    """An encoder of placed passages over `encoder`; implements `search.protocols.Encoder`. Queries are read as ever."""

    reads_around = True
    reads_surroundings = True

    def __init__(self, encoder: Encodes) -> None:
        self.encoder = encoder
        self.fingerprint = surrounded_fingerprint(encoder.fingerprint)

    @property
    def dimension(self) -> int:
        """The length d of a vector."""
        return self.encoder.dimension

    @property
    def form(self) -> str:
        """The numeric form of the wrapped encoder; "" if it has none."""
        return str(getattr(self.encoder, "form", ""))

    @property
    def tokens_run(self) -> int:
        """How many tokens the wrapped encoder has read so far; 0 if it does not count them."""
        return int(getattr(self.encoder, "tokens_run", 0))

    def encode_queries(self, texts: Sequence[str]) -> Floats:
        """Shape (n, d), unit rows, in input order."""
        return self.encoder.encode_queries(texts)

    def encode_passages(self, texts: Sequence[str]) -> Floats:
        """Shape (n, d), unit rows, in input order, of texts from `place_in_document`."""
        return self.encoder.encode_passages(texts)


def reads_surroundings(encoder: object) -> bool:
    """Whether an encoder can read what is around a passage in its document. May ask a model server."""
    return bool(getattr(encoder, "reads_surroundings", False))


def surrounded_fingerprint(fingerprint: str) -> str:
    """The fingerprint of an encoder that reads passages in their documents."""
    return f"{fingerprint}+{SURROUNDINGS_VERSION}"


def is_surrounded(fingerprint: str) -> bool:
    """Whether a fingerprint is that of an encoder that reads passages in their documents, placed by this version's rule."""
    return fingerprint == surrounded_fingerprint(base_fingerprint(fingerprint))
