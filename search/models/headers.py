"""HTTP headers between a model server and its clients, in addition to the API of text-embeddings-inference."""

from __future__ import annotations

from typing import Final

FINGERPRINT: Final = "X-Medley-Fingerprint"
"""Response header: the fingerprint of the model that computed the response."""

DEADLINE: Final = "X-Medley-Deadline-Ms"
"""Request header: how many milliseconds remain before the response is worthless."""

MODEL: Final = "X-Medley-Model"
"""Request header to a server with several models: the name or the fingerprint of one."""
