"""Names of kept items, each held by one item: the cluster has no unique fields, so a row of its own reserves each name.

A reservation is made before the item that has the name is written, and is cancelled after the item is gone. What a killed
process leaves is a reservation without such an item; after some minutes it counts for nothing.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from mappings.errors import MedleyError
from search.engines.opensearch.documents.tables import Table
from search.engines.opensearch.kept.rows import UNFINISHED_SECONDS, NameReservation, name_key, reservation_row
from search.kept.items import KeptItem, name_taken


class NameReservations:
    """The reservations in the table of kept items."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def reserve(self, item: KeptItem) -> NameReservation:
        """Reserve the name of an item that is to be written. Raises `Conflict` where another call holds the name."""
        reservation = NameReservation(name_key(item), secrets.token_hex(8))
        while True:
            row = self._table.read([reservation.key])[reservation.key]
            if row.source is not None:
                if row.source["mark"] == reservation.mark:  # the answer to the last attempt was lost
                    return reservation
                if self._is_held(row.source):
                    raise name_taken(item)
            if not self._table.swap({reservation.key: (reservation_row(item, reservation), row)}):
                return reservation

    def cancel(self, reservations: Sequence[NameReservation]) -> None:
        """Cancel reservations, as far as the cluster can now; one that another call has taken over meanwhile stays."""
        with suppress(MedleyError):  # the item is changed already, and what stays counts for nothing
            self._cancel(reservations)

    def _cancel(self, reservations: Sequence[NameReservation]) -> None:
        found = self._table.read([made.key for made in reservations])
        held = {made.key: found[made.key] for made in reservations}
        marks = {made.key: made.mark for made in reservations}
        ours = {key: row for key, row in held.items() if row.source is not None and row.source["mark"] == marks[key]}
        if ours:
            self._table.delete(ours)

    def _is_held(self, source: Mapping[str, Any]) -> bool:
        item = self._table.read([source["item"]])[source["item"]].source
        if item is not None and item["mark"] == source["mark"]:
            return True
        return bool(time.time() - source["since"] < UNFINISHED_SECONDS)
