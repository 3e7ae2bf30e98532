"""The documents of one commit as cohorts see them: each by the slot of its first passage, with its patients and its date."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import orjson

from mappings.documents import parse_passage_id
from search.engines.codec import decode_fields
from search.engines.embedded.cohorts.patients import PatientFinder
from search.engines.embedded.cohorts.table import Numbers, PatientTable, build_table
from search.engines.embedded.queries import TantivyQueryCompiler
from search.engines.embedded.schema import column
from search.engines.embedded.slots.reader import SlotReader
from search.engines.patients import MaskCache
from search.protocols import ALONE, PatientsAnswer, PatientsRequest

Tables = Mapping[str, PatientTable]


class SnapshotDocuments:
    """Finds patients in one snapshot. `earlier` are the tables of an earlier one, by the field that groups. Thread-safe."""

    def __init__(self, searcher: Any, slots: SlotReader, compiler: TantivyQueryCompiler, earlier: Tables) -> None:
        self._searcher = searcher
        self._slots = slots
        self._compiler = compiler
        self._earlier = dict(earlier)
        self._tables: dict[str, PatientTable] = {}
        self._days: dict[str, Numbers] = {}
        self._masks = MaskCache()
        self._lock = threading.Lock()

    @property
    def tables(self) -> Tables:
        """The tables that were made, for the next snapshot of the index."""
        return self._earlier | self._tables

    def find(self, request: PatientsRequest) -> PatientsAnswer:
        """The patients who meet the criteria. Raises `InvalidInput` for a field that the index does not have."""
        table = self._table(request.group_by)
        return PatientFinder(self, self._compiler, table, self._masks, request).answer()

    def matching_slots(self, query: Any) -> Numbers:
        """The slots of the first passages that match, in any order."""
        return self._matching(query)[0]

    def days(self, name: str) -> Numbers:
        """The day number of each document's date field, ascending by slot; 0 for none."""
        if name not in self._days:
            self._compiler.field_kind(name)
            slots, addresses = self._matching(self._compiler.everything())
            days = [day or 0 for day in self._searcher.fast_field_values(column(name), addresses)]
            self._days[name] = np.asarray(days, np.int64)[np.argsort(slots)]
        return self._days[name]

    def documents_at(self, slots: Sequence[int]) -> list[str]:
        """The ids of the documents at these slots."""
        return [parse_passage_id(item)[0] for item in self._slots.passage_ids(slots)]

    def _table(self, name: str) -> PatientTable:
        with self._lock:
            if name not in self._tables:
                slots, addresses = self._matching(self._compiler.everything())
                order = np.argsort(slots)
                places = {int(slots[place]): addresses[place] for place in order.tolist()}

                def read(wanted: Sequence[int]) -> Iterator[tuple[str, ...]]:
                    documents = self.documents_at(wanted)
                    if name == "document":
                        return ((document,) for document in documents)
                    self._compiler.field_kind(name)
                    return (
                        self._patients_at(places[slot], name) or (f"{ALONE}{document}",)
                        for slot, document in zip(wanted, documents, strict=True)
                    )

                self._tables[name] = build_table(slots[order], read, self._earlier.pop(name, None))
            return self._tables[name]

    def _patients_at(self, address: Any, name: str) -> tuple[str, ...]:
        value = decode_fields(orjson.loads(self._searcher.doc(address)["shown"][0])[4]).get(name)
        values = value if isinstance(value, tuple) else (value,)
        return tuple(dict.fromkeys(str(item) for item in values if item not in (None, "")))

    def _matching(self, query: Any) -> tuple[Numbers, list[Any]]:
        limit = self._searcher.num_docs
        if not limit:
            return np.empty(0, np.int64), []
        hits = self._searcher.search(self._compiler.first_of(query), limit, count=False).hits
        addresses = [address for _, address in hits]
        return np.asarray(self._searcher.fast_field_values("slot", addresses), np.int64), addresses
