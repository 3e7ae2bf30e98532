"""What a model server and its clients say to each other, beyond the forms of text-embeddings-inference."""

from __future__ import annotations

from typing import Final

FINGERPRINT: Final = "X-Medley-Fingerprint"
"""Header of every reply that a model made: which one."""

DEADLINE: Final = "X-Medley-Deadline-Ms"
"""Header of a request: the milliseconds that are left until its answer is worthless."""

MODEL: Final = "X-Medley-Model"
"""Header of a request to a server of several models: the name or the fingerprint of one."""
