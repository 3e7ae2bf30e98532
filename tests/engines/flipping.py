"""A small home with an index and a store, bytes of it flipped, and everything that it answers."""

from __future__ import annotations

import random
import shutil
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from damage import change_stored

from mappings.documents import Access, Document, Section
from mappings.errors import MedleyError
from search.bootstrap import Medley
from search.protocols import LegsRequest
from search.query import LexicalQuery
from search.settings import Settings
from search.storage import Job, State
from workers.indexing.indexer import Indexer
from workers.indexing.ingest import ingest
from workers.indexing.inspection import inspect

EVERYBODY = Access("tester", frozenset({"*"}))
WARD = Access("nurse", frozenset({"ward"}))
IDS = [f"n{number}" for number in range(40)]
INDEX = "notes-1"
WEIGHTS = (
    '# weights of a test\n[fusion]\nmethod = "weighted"\nnormalisation = "minmax"\nweights = { bm25 = 1, dense = 2 }\n'
)


def build(home: Path) -> None:
    """Documents in two segments, some superseded, deleted and pending, a job, and tuned weights."""
    medley = open_home(home)
    medley.collections.create("notes")
    store = medley.collections.store("notes")
    store.put([_note(name, "heart failure") for name in IDS], "delivery")
    store.keep_job(Job("delivery", 1.0, 2.0, accepted=40))
    _index(medley)
    store.put([_note(name, "lung oedema") for name in IDS[:8]])
    store.delete(IDS[8:11])
    _index(medley)
    store.put([_note(IDS[20], "waits")])
    medley.collections.tune("notes", WEIGHTS)
    with closing(sqlite3.connect(store_file(home))) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def open_home(home: Path) -> Medley:
    return Medley.open(Settings(home=home, encoder="hashing-256", reranker="none"))


def store_file(home: Path) -> Path:
    return home / "collections" / "notes" / "store.sqlite"


def index_folder(home: Path) -> Path:
    return home / "collections" / "notes" / "indexes" / INDEX


def files(home: Path) -> list[Path]:
    """Every file that can change an answer; lock files hold only the number of a process."""
    ignored = (".lock", "-shm", "-wal")
    found = (path for path in (home / "collections").rglob("*") if path.is_file() and path.stat().st_size)
    return sorted(path.relative_to(home) for path in found if not path.name.endswith(ignored))


def flip(path: Path, position: int, mask: int) -> None:
    with path.open("r+b") as file:
        file.seek(position)
        byte = file.read(1)[0]
        file.seek(position)
        file.write(bytes([byte ^ mask]))


def flipped(home: Path, folder: Path, file: Path, rng: random.Random) -> tuple[Path, str]:
    """A copy of `home` in a new folder below `folder`, with one byte of `file` changed; and what was changed.

    Each copy has its own place: what opened the last one can still write beside it while it is removed.
    """
    aside = Path(tempfile.mkdtemp(dir=folder))
    shutil.copytree(home, aside, dirs_exist_ok=True)
    position, mask = rng.randrange((home / file).stat().st_size), rng.randrange(1, 256)
    flip(aside / file, position, mask)
    return aside, f"{file} byte {position} xor {mask}"


def change_row(home: Path, statement: str) -> None:
    """Change a row of the store of a home without its checksum."""
    change_stored(store_file(home), statement)


def findings(home: Path) -> list[str]:
    """What `medley index verify` says: its findings, or the one error it ends with."""
    try:
        return [str(item) for item in inspect(Indexer.of(open_home(home), "notes"))]
    except MedleyError as error:
        return [error.message]


def answers(home: Path) -> Any:
    """Everything that searches, reads and states answer."""
    medley = open_home(home)
    engine, store = medley.engine, medley.collections.store("notes")
    index = engine.resolve("notes").index
    legs = [
        engine.legs(request(index, word, access)) for word in ("heart", "lung", "plan") for access in (EVERYBODY, WARD)
    ]
    passages = [item.passage for leg in legs for ranking in leg.rankings.values() for item in ranking]
    return (
        engine.meta(index),
        [(leg.total, leg.facets, {name: list(ranking) for name, ranking in leg.rankings.items()}) for leg in legs],
        dict(engine.passages(index, sorted(set(passages)), EVERYBODY)),
        dict(engine.fields(index, IDS, EVERYBODY)),
        sorted(engine.contents(index)),
        dict(store.latest(IDS)),
        store.counts(index),
        [list(store.states(index, state)) for state in State],
        list(store.pending(index, 99)),
        store.oldest(index),
        store.recorded(index),
        store.job("delivery"),
        medley.collections.get("notes"),
    )


def request(index: str, word: str, access: Access = EVERYBODY) -> LegsRequest:
    """A search for one word, by text and by vector."""
    vector = np.ones(256, np.float32) / 16
    return LegsRequest(index, LexicalQuery(((word, 1.0),)), {"dense": vector}, access, 100, facets=("type",))


def _note(name: str, text: str) -> Document:
    number = int(name[1:])
    sections = (Section("HISTORY", f"{text} {name} {'word ' * (number % 7)}"), Section("PLAN", f"Rest {number}."))
    labels = frozenset({"ward"} if number % 2 else {"clinic"})
    return Document(name, f"Note {number}", sections, labels, {"type": f"kind {number % 3}"})


def _index(medley: Medley) -> None:
    list(ingest(Indexer.of(medley, "notes")))
