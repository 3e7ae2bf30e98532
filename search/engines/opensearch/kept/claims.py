"""Names of kept items, each held by one item: the cluster has no unique fields, so a row of its own claims each name.

A claim comes before the item that has the name, and goes after it. What a killed process leaves is a claim without such an
item; after some minutes it counts for nothing.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from mappings.errors import MedleyError
from search.engines.opensearch.documents.tables import Table
from search.engines.opensearch.kept.rows import UNFINISHED_SECONDS, Claim, claim_row, name_key
from search.kept.items import KeptItem, name_taken


class Claims:
    """The claims in the table of kept items."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def make(self, item: KeptItem) -> Claim:
        """Claim the name of an item that is to be written. Raises `Conflict` where another call holds the name."""
        claim = Claim(name_key(item), secrets.token_hex(8))
        while True:
            row = self._table.read([claim.key])[claim.key]
            if row.source is not None:
                if row.source["mark"] == claim.mark:  # the answer to the last attempt was lost
                    return claim
                if self._is_held(row.source):
                    raise name_taken(item)
            if not self._table.swap({claim.key: (claim_row(item, claim), row)}):
                return claim

    def release(self, claims: Sequence[Claim]) -> None:
        """Give up claims, as far as the cluster can now; one that another call has taken over meanwhile stays."""
        with suppress(MedleyError):  # the item is changed already, and what stays counts for nothing
            self._release(claims)

    def _release(self, claims: Sequence[Claim]) -> None:
        found = self._table.read([claim.key for claim in claims])
        held = {claim.key: found[claim.key] for claim in claims}
        marks = {claim.key: claim.mark for claim in claims}
        ours = {key: row for key, row in held.items() if row.source is not None and row.source["mark"] == marks[key]}
        if ours:
            self._table.delete(ours)

    def _is_held(self, source: Mapping[str, Any]) -> bool:
        item = self._table.read([source["item"]])[source["item"]].source
        if item is not None and item["mark"] == source["mark"]:
            return True
        return bool(time.time() - source["since"] < UNFINISHED_SECONDS)
