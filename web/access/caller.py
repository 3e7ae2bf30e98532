"""Who is asking, and what they may do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from mappings.documents import EVERY_LABEL, Access
from web.access.tokens import EVERY_COLLECTION


@dataclass(frozen=True, slots=True)
class Caller:
    """Who is asking: what they may see, the id of their token, and the collections they may write into.

    `token` is None for the user of this machine, who needs none. An `operator` may see the installation's counts.
    """

    access: Access
    token: str | None = None
    writes: frozenset[str] = frozenset()
    operator: bool = False

    def may_write(self, collection: str) -> bool:
        """Whether they may add documents to a collection and delete them there, whatever the labels are."""
        return not self.writes.isdisjoint({collection, EVERY_COLLECTION})

    @property
    def sees_every_collection(self) -> bool:
        """Whether they know of every collection, even of one without any document for them."""
        return self.operator or self.access.everything or EVERY_COLLECTION in self.writes


def local_caller(user: str = "local", labels: frozenset[str] = frozenset({EVERY_LABEL})) -> Caller:
    """The user of this machine, who may do everything; with fewer `labels`, a reader who sees documents with any of them."""
    access = Access(user, labels)
    if not access.everything:
        return Caller(access)
    return Caller(access, None, frozenset({EVERY_COLLECTION}), operator=True)


LOCAL: Final = local_caller()
