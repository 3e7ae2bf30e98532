"""The table of the patients of a commit: made from that of an earlier one, it is the same, and reads only what is new."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from search.engines.embedded.cohorts.table import PatientTable, build_table

names = st.lists(st.sampled_from(["ann", "bob", "cem", "id:x"]), min_size=1, max_size=2, unique=True).map(tuple)
written = st.dictionaries(st.integers(0, 60), names, max_size=25)


def build(content, slots, previous=None) -> tuple[PatientTable, list[int]]:
    asked: list[int] = []

    def read(wanted):
        asked.extend(wanted)
        return [content[slot] for slot in wanted]

    return build_table(np.asarray(sorted(slots), np.int64), read, previous), asked


def pairs(table: PatientTable) -> list[tuple[int, str]]:
    slots = table.slots[table.document].tolist()
    return [(slot, table.names[number]) for slot, number in zip(slots, table.patient.tolist(), strict=True)]


@given(written, st.data())
def test_a_table_made_from_an_earlier_one_is_the_same_and_reads_what_is_new(content, data):
    before = data.draw(st.sets(st.sampled_from(sorted(content)))) if content else set()
    after = data.draw(st.sets(st.sampled_from(sorted(content)))) if content else set()
    earlier, _ = build(content, before)
    table, asked = build(content, after, earlier)
    assert asked == sorted(after - before)
    assert pairs(table) == [(slot, name) for slot in sorted(after) for name in content[slot]]
    assert table.names == tuple(sorted({name for slot in after for name in content[slot]}))
