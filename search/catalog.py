"""What the catalog of an installation says about its collections, whichever engine keeps it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

Phase = Literal["", "arriving", "leaving"]
"""`arriving`: a rename is still filling the collection; `leaving`: it is being deleted. Both are hidden from users."""


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """A collection in the catalog: its kind, and the weights from `medley tune`, as TOML or empty.

    `invented`: its documents are made up, as those of the demo. `id` differs between two collections that had the same
    name one after the other; those of earlier versions have none. `origin` and `origin_id` are the name and the id of the
    collection that a rename makes this one from, until it is finished.
    """

    kind: str
    tuned: str = ""
    invented: bool = False
    phase: Phase = ""
    origin: str = ""
    origin_id: str = ""
    id: str = field(default="", compare=False)


class Catalog(Protocol):
    """The collections of an installation; every process sees the same, a cluster's changes within `fresh_seconds`."""

    fresh_seconds: float

    def names(self) -> Sequence[str]:
        """Every collection that is not hidden, sorted by name."""
        ...

    def hidden(self) -> Sequence[str]:
        """Every collection that is arriving or leaving, sorted by name."""
        ...

    def read(self, name: str) -> CatalogEntry | None:
        """The entry of a collection, hidden or not; None where it does not exist."""
        ...

    def add(self, name: str, entry: CatalogEntry) -> None:
        """Add a collection, or replace its entry; its tuned weights stay as they are."""
        ...

    def tune(self, name: str, weights: str) -> str:
        """Replace the tuned weights (TOML) of a collection; returns where they are stored."""
        ...

    def size(self, name: str) -> int:
        """How many bytes the store and the indexes of a collection take on the disks, copies included."""
        ...

    def remove(self, name: str) -> None:
        """Remove a collection with everything that is left of it, the entry last.

        No later index has the number of one of its indexes: other processes can know those by name.
        """
        ...
