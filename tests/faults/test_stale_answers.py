"""Relabelling, replacing and deleting while others search: no answer shows what its caller may not see any more.

Every change is noted when it is acknowledged. A search that begins after that must not show an earlier version: not as a
hit, in its text, its total or its facets. `MEDLEY_TEST_OPERATIONS` sets how many changes are made.
"""

from __future__ import annotations

import logging
import os
import random
import secrets
import threading
import time
from contextlib import suppress

import pytest

from mappings.documents import Access, Document, Section
from mappings.errors import Conflict
from search.bootstrap import Medley
from search.engines.opensearch.client import Cluster, Connection
from search.query import Query
from search.settings import Settings
from workers.indexing.indexer import Indexer
from workers.indexing.ingest import ingest
from workers.indexing.rebuild import rebuild

pytestmark = pytest.mark.slow
_log = logging.getLogger(__name__)

OPERATIONS = int(os.environ.get("MEDLEY_TEST_OPERATIONS", "200"))
DOCUMENTS = 40
SEARCHES = 20
REBUILD_EVERY = 25
SEED = 20
LABELS = ("clinical", "psych")
ENGINES = ["embedded", pytest.param("opensearch", marks=pytest.mark.opensearch)]


@pytest.fixture(params=ENGINES)
def medley(request, tmp_path):
    settings = {"home": tmp_path, "encoder": "hashing-256", "reranker": "none"}
    if request.param == "embedded":
        yield Medley.open(Settings(**settings))
        return
    url, prefix = request.getfixturevalue("node").url, f"t{secrets.token_hex(5)}"
    yield Medley.open(Settings(**settings, opensearch=url, opensearch_prefix=prefix))
    cluster = Cluster(Connection((url,), prefix=prefix))
    cluster.write("DELETE", f"/{prefix}.*")
    cluster.close()


class Ledger:
    """What was acknowledged of each document, and when: (moment, revision, label), None as label for a deletion."""

    def __init__(self, medley: Medley) -> None:
        self._store = medley.collections.store("abstracts")
        self._lines: dict[str, list[tuple[float, int, str | None]]] = {}

    def change(self, name: str, revision: int, label: str | None) -> None:
        """Make a change, and note when it was acknowledged."""
        if label is None:
            self._store.delete([name])
        else:
            text = f"Aspirin, revision r{revision}x of the study."
            fields = {"journal": f"{name} r{revision}"}
            self._store.put([Document(name, "", (Section("", text),), frozenset({label}), fields)])
        lines = [*self._lines.get(name, ()), (time.monotonic(), revision, label)]
        self._lines[name] = lines  # replaced, not appended to: readers never see half of it

    def may_show(self, name: str, shown: int, label: str, began: float) -> bool:
        """Whether a search that began then may show this revision of a document to a holder of `label`."""
        lines = self._lines.get(name, [])
        newest = [line for line in lines if line[0] <= began][-1:] + [line for line in lines if line[0] > began]
        # A change whose acknowledgement is not noted yet can be visible already.
        unnoted = not lines or shown > lines[-1][1]
        return unnoted or (shown, label) in [(revision, own) for _, revision, own in newest]


def wrong_answers(medley: Medley, ledger: Ledger, label: str) -> list[str]:
    """One search by a holder of `label`; what it shows and should not."""
    began = time.monotonic()
    query = Query("abstracts", Access("reader", frozenset({label})), "aspirin revision", size=100, facets=("journal",))
    results = medley.search(query)
    facets = [item.value.partition(" r") for item in results.facets["journal"]]
    shown = [("facet", name, int(revision)) for name, _, revision in facets]
    shown += [("hit", hit.document, int(hit.text.partition("revision r")[2].partition("x")[0])) for hit in results.hits]
    wrong = [item for item in shown if not ledger.may_show(item[1], item[2], label, began)]
    surplus = results.total.value > DOCUMENTS
    return [f"{label}: {item}" for item in wrong] + ([f"total {results.total.value}"] if surplus else [])


def keep_indexing(medley: Medley, done: threading.Event) -> None:
    """Index what is pending until the end, now and then by a rebuild."""
    step = 0
    while not done.is_set():
        step += 1
        time.sleep(0.05)
        with suppress(Conflict):
            indexer = Indexer.of(medley, "abstracts")
            list(rebuild(indexer, grace=0.5) if step % REBUILD_EVERY == 0 else ingest(indexer))


def test_no_answer_shows_what_its_caller_may_not_see_any_more(medley):
    medley.collections.create("abstracts")
    ledger, chance, done = Ledger(medley), random.Random(SEED), threading.Event()
    names = [f"d{number}" for number in range(DOCUMENTS)]
    for revision, name in enumerate(names):
        ledger.change(name, revision, chance.choice(LABELS))
    list(ingest(Indexer.of(medley, "abstracts")))
    wrong: list[str] = []
    searches = [0, 0]

    def read(number: int) -> None:
        while not done.is_set():
            wrong.extend(wrong_answers(medley, ledger, LABELS[number]))
            searches[number] += 1

    threads = [threading.Thread(target=read, args=(number,)) for number in range(len(LABELS))]
    threads.append(threading.Thread(target=keep_indexing, args=(medley, done)))
    for thread in threads:
        thread.start()
    try:
        revision = DOCUMENTS
        while revision < DOCUMENTS + OPERATIONS or min(searches) < SEARCHES:
            ledger.change(chance.choice(names), revision, chance.choice((*LABELS, *LABELS, None)))
            revision += 1
    finally:
        done.set()
        for thread in threads:
            thread.join()
    _log.info("%d changes, %d searches, %d wrong answers", revision - DOCUMENTS, sum(searches), len(wrong))
    assert wrong == []
