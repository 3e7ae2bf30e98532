"""The file of kept items: damage is named and never shown, and several processes share it."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from mappings.documents import Access
from mappings.errors import Conflict, Damaged
from search.engines.embedded.kept.store import EmbeddedKeptStore
from search.kept.items import KeptDraft, KeptFilter

ANN = Access("ann", frozenset({"study"}))
BOB = Access("bob", frozenset({"study"}))
DRAFT = KeptDraft("bundle", "anticoagulants", {"terms": ["warfarin"]}, "", frozenset({"study"}))


@pytest.fixture
def store(tmp_path: Path) -> EmbeddedKeptStore:
    return EmbeddedKeptStore(tmp_path, lambda name: None)


def change(store: EmbeddedKeptStore, statement: str) -> None:
    """Change the file as a fault of the disk, or somebody with another program, does."""
    with sqlite3.connect(store.path) as database:
        assert database.execute(statement).rowcount == 1
    database.close()


@pytest.mark.parametrize(
    "column",
    [
        'content = CAST(\'{"terms":["heparin"]}\' AS BLOB)',
        "content = CAST('{' AS BLOB)",
        "owner = 'bob'",
        'labels = \'["study", "public"]\'',
        "labels = '['",
        "name = 'another'",
        "collection = 'notes'",
        "revision = 7",
        "changed = 'x'",
        "checksum = 0",
    ],
)
def test_a_row_that_was_changed_on_the_disk_is_never_shown(store, column):
    made = store.add(ANN, DRAFT)
    change(store, f"UPDATE items SET {column}")
    for call in (
        lambda: store.get(ANN, made.id),
        lambda: store.get(BOB, made.id),
        lambda: store.replace(ANN, made.id, 1, DRAFT),
        lambda: list(store.export()),
        lambda: store.list_items(BOB, KeptFilter(), 9),
    ):
        with pytest.raises(Damaged, match=f"{made.id}' is damaged: remove it with `medley kept delete`"):
            call()
    assert store.remove(made.id)
    assert store.add(ANN, DRAFT).id != made.id


def test_a_share_that_was_added_on_the_disk_shows_nothing(store):
    store.add(ANN, KeptDraft("cohort", "private", {}))
    change(store, "INSERT INTO shares(label, id) SELECT 'study', id FROM items")
    assert store.list_items(BOB, KeptFilter(), 9).items == ()


def test_a_damaged_file_says_what_to_do(store):
    store.path.write_bytes(b"not a database, but long enough to be taken for one" * 99)
    with pytest.raises(Damaged, match=r"kept\.sqlite is damaged .*: restore it from a copy of"):
        store.add(ANN, DRAFT)


def test_a_file_of_a_later_version_is_refused(store):
    store.add(ANN, DRAFT)
    with sqlite3.connect(store.path) as database:
        database.execute("PRAGMA user_version = 2")
    database.close()
    with pytest.raises(Conflict, match=r"kept\.sqlite has schema version 2; this program reads up to 1"):
        EmbeddedKeptStore(store.path.parent, lambda name: None).add(BOB, DRAFT)


RACER = """
import json, sys
from pathlib import Path
from mappings.documents import Access
from mappings.errors import Conflict
from search.engines.embedded.kept.store import EmbeddedKeptStore
from search.kept.items import KeptDraft
home, identifier, own = sys.argv[1:]
store, ann, won = EmbeddedKeptStore(Path(home), lambda name: None), Access("ann", frozenset()), []
sys.stdin.read(1)
for _ in range(200):
    found = store.get(ann, identifier)
    steps = [*found.content["steps"], own]
    try:
        store.replace(ann, identifier, found.revision, KeptDraft("cohort", "raced", {"steps": steps}))
    except Conflict:
        continue
    won.append(own)
print(json.dumps(len(won)))
"""


def test_processes_never_lose_a_change_of_each_other(store):
    made = store.add(ANN, KeptDraft("cohort", "raced", {"steps": []}))
    command = [sys.executable, "-c", RACER, str(store.path.parent), made.id]
    racers = [
        subprocess.Popen([*command, own], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for own in "ab"
    ]
    for racer in racers:
        racer.stdin.write("x")
        racer.stdin.flush()
    won = [json.loads(racer.communicate()[0]) for racer in racers]
    last = store.get(ANN, made.id)
    assert all(won)
    assert last.revision == 1 + sum(won)
    assert [last.content["steps"].count(own) for own in "ab"] == won
