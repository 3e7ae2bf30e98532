"""How many documents are in each state, kept by triggers: whoever writes a row need not know it, and a reader counts nothing.

A group of documents is those that are deleted or not and in one state of one index. `counts` has the size of each group,
`job_counts` the same of the documents whose newest version one job brought. The index '' and the state '' stand for all
documents: those that an index has not settled are the rest of them. The check of a store counts all of them anew.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator
from typing import Final

from mappings.errors import Damaged
from search.storage import State, StoreCounts

_KEYS: Final = {"counts": "place, deleted, state", "job_counts": "job, place, deleted, state"}
"""Table -> its key."""

_TABLE: Final = (
    "place TEXT NOT NULL, deleted INTEGER NOT NULL, state TEXT NOT NULL, documents INTEGER NOT NULL, PRIMARY KEY({})"
)
_EVERY: Final = "SELECT '' AS place, l.hash IS NULL AS deleted, '' AS state, l.job AS job FROM latest l"
_SETTLED: Final = (
    "SELECT s.place AS place, l.hash IS NULL AS deleted, s.state AS state, l.job AS job "
    "FROM latest l JOIN states s ON s.id = l.id AND s.version >= l.version AND s.state <> 'received'"
)


def migration() -> Iterator[str]:
    """The statements that add the counts to the tables of schema version 3."""
    for table, key in _KEYS.items():
        job = "job TEXT NOT NULL, " * (table == "job_counts")
        yield f"CREATE TABLE {table}({job}{_TABLE.format(key)}) WITHOUT ROWID"
        yield f"INSERT INTO {table} {_full_count(table)}"
    yield from _triggers()


def read(database: sqlite3.Connection, index: str, job: str | None = None) -> StoreCounts:
    """The counts for an index, whether it has states or not; of one job where given. Raises `Damaged`."""
    table, among, values = ("counts", "", []) if job is None else ("job_counts", "job = ? AND ", [job])
    statement = f"SELECT place, deleted, state, documents FROM {table} WHERE {among}place IN ('', ?)"
    kept, deleted = Counter[State](), Counter[State]()
    for place, is_deleted, state, documents in database.execute(statement, (*values, index)):
        if not isinstance(documents, int):
            raise Damaged(f"store.sqlite is damaged: {documents!r} is not a count; run `medley index verify`")
        group = deleted if is_deleted else kept
        if place:
            group[_state(state)] += documents
        group[State.RECEIVED] += -documents if place else documents
    return StoreCounts(kept.total(), deleted.total(), dict(+kept), max(0, deleted[State.RECEIVED]))


def forget(database: sqlite3.Connection, index: str) -> None:
    """Remove the counts of an index whose states are removed with them: no trigger takes those out one by one."""
    for table in _KEYS:
        database.execute(f"DELETE FROM {table} WHERE place = ?", (index,))


def are_right(database: sqlite3.Connection) -> bool:
    """Whether the counts are those of the documents; reads all of them."""
    for table, key in _KEYS.items():
        kept, counted = f"SELECT {key}, documents FROM {table} WHERE documents <> 0", _full_count(table)
        for one, other in ((kept, counted), (counted, kept)):
            if database.execute(f"SELECT * FROM ({one}) EXCEPT SELECT * FROM ({other}) LIMIT 1").fetchone():
                return False
    return True


def count_anew(database: sqlite3.Connection) -> None:
    """Replace the counts by those of the documents."""
    for table in _KEYS:
        database.execute(f"DELETE FROM {table}")
        database.execute(f"INSERT INTO {table} {_full_count(table)}")


def _full_count(table: str) -> str:
    key = _KEYS[table]
    return f"SELECT {key}, COUNT(*) FROM ({_EVERY} UNION ALL {_SETTLED}) GROUP BY {key}"


def _triggers() -> Iterator[str]:
    """What keeps the counts of rows that are inserted, replaced, changed or removed.

    REPLACE removes a row without the trigger for that, so what an insertion may replace is taken out before. In `latest` no
    column that is counted is ever updated: a new version replaces the row, and no index has settled it yet. States are
    removed after their document or with their index (`forget`), so removing one changes no count.
    """
    known = "EXISTS (SELECT 1 FROM latest WHERE id = NEW.id)"
    yield _trigger("latest_replaced", f"BEFORE INSERT ON latest WHEN {known}", _take_out_document("NEW"))
    yield _trigger("latest_counted", "AFTER INSERT ON latest", _count_document())
    yield _trigger("latest_removed", "BEFORE DELETE ON latest", _take_out_document("OLD"))
    known = "EXISTS (SELECT 1 FROM states WHERE place = NEW.place AND id = NEW.id)"
    yield _trigger("states_replaced", f"BEFORE INSERT ON states WHEN {known}", _take_out_state("NEW"))
    yield _trigger("states_counted", "AFTER INSERT ON states", _count_state())
    columns = "UPDATE OF place, id, version, state ON states"
    yield _trigger("states_before_change", f"BEFORE {columns}", _take_out_state("OLD"))
    yield _trigger("states_after_change", f"AFTER {columns}", _count_state())


def _trigger(name: str, event: str, steps: Iterator[str]) -> str:
    return f"CREATE TRIGGER {name} {event} BEGIN {' '.join(f'{step};' for step in steps)} END"


def _count_document() -> Iterator[str]:
    yield f"INSERT INTO counts VALUES ('', NEW.hash IS NULL, '', 1) {_or_one_more('counts')}"
    yield f"INSERT INTO job_counts VALUES (NEW.job, '', NEW.hash IS NULL, '', 1) {_or_one_more('job_counts')}"


def _count_state() -> Iterator[str]:
    newest = "latest WHERE id = NEW.id AND version <= NEW.version AND NEW.state <> 'received'"
    yield f"INSERT INTO counts SELECT NEW.place, hash IS NULL, NEW.state, 1 FROM {newest} {_or_one_more('counts')}"
    group = "job, NEW.place, hash IS NULL, NEW.state, 1"
    yield f"INSERT INTO job_counts SELECT {group} FROM {newest} {_or_one_more('job_counts')}"


def _or_one_more(table: str) -> str:
    return f"ON CONFLICT({_KEYS[table]}) DO UPDATE SET documents = documents + 1"


def _take_out_document(row: str) -> Iterator[str]:
    """Take the document with the id of a trigger's row out of all of its groups."""
    of_it = f"FROM latest WHERE id = {row}.id"
    state = (
        "SELECT s.state FROM states s WHERE s.place = {0}.place AND s.id = " + row + ".id "
        f"AND s.version >= (SELECT version {of_it}) AND s.state <> 'received'"
    )
    for table in _KEYS:
        in_job = f"job = (SELECT job {of_it}) AND " * (table == "job_counts")
        in_group = f"state = CASE place WHEN '' THEN '' ELSE ({state.format(table)}) END"
        yield f"UPDATE {table} SET documents = documents - 1 WHERE {in_job}deleted = (SELECT hash IS NULL {of_it}) AND {in_group}"
    yield _drop_empty(row)


def _take_out_state(row: str) -> Iterator[str]:
    """Take the document and the index of a trigger's row out of their group; before it is settled there is none."""
    for table, key in _KEYS.items():
        group = f"SELECT {key} FROM ({_SETTLED} WHERE l.id = {row}.id AND s.place = {row}.place)"
        yield f"UPDATE {table} SET documents = documents - 1 WHERE ({key}) = ({group})"
    yield _drop_empty(row)


def _drop_empty(row: str) -> str:
    """Jobs go with their documents, and there can be many."""
    return f"DELETE FROM job_counts WHERE job = (SELECT job FROM latest WHERE id = {row}.id) AND documents <= 0"


def _state(text: str) -> State:
    try:
        return State(text)
    except ValueError as error:
        raise Damaged(f"store.sqlite is damaged: {text!r} is not a state; run `medley index verify`") from error
