"""A process that ingests, deletes, relabels, rebuilds and purges is killed at random moments, again and again.

What was acknowledged is never lost, and what was erased is never found again: not by a search, not in any file.
`MEDLEY_TEST_KILLS` sets how often it is killed.
"""

from __future__ import annotations

import logging
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from changer import DOCUMENTS, WRITES, version
from markers import files
from worker_process import ROOT
from worlds import World, embedded_world

from mappings.documents import Document
from search.engines import codec
from workers.indexing.inspection import inspect

pytestmark = pytest.mark.slow
_log = logging.getLogger(__name__)

KILLS = int(os.environ.get("MEDLEY_TEST_KILLS", "20"))
INSPECT_EVERY = 10
LONGEST_SECONDS = 0.4
"""Of a changer's life; rebuilds and purges take about a tenth of a second."""

PACKED = 100
"""So many erased documents are looked for in packed form at each inspection."""

SEED = 7
DRAWN = [f"d{number}" for number in range(DOCUMENTS)]
WORD = re.compile(rb"q[bcdfghjkmp]{8}q")
CHANGER = Path(__file__).with_name("changer.py")

Content = tuple[str, str] | None
"""The word and the label of a document, None where there is none."""


class Changers:
    """Starts and kills one changer after the other."""

    def __init__(self, home: Path) -> None:
        command = ["setpriv", "--pdeathsig", "KILL", sys.executable, str(CHANGER), str(home)]
        paths = os.pathsep.join((str(ROOT), str(ROOT / "tests" / "services")))
        environment = {"PATH": os.environ["PATH"], "PYTHONPATH": paths}
        self._process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    def life(self, seed: int, seconds: float) -> list[list[str]]:
        """The lines of a changer that lives so long. Raises `AssertionError` where it ended by itself."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(seed, file=self._process.stdin, flush=True)
        lines: list[list[str]] = []
        for line in self._process.stdout:
            lines.append(line.split())
            if lines[-1][0] == "pid":
                time.sleep(seconds)
                os.kill(int(lines[-1][1]), signal.SIGKILL)
            elif lines[-1][0] == "dead":
                break
        assert lines[-1] == ["dead", str(-signal.SIGKILL)], lines[-3:]
        return [line for line in lines if line[0] in ("begin", "end")]

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


@dataclass
class Ledger:
    """What was acknowledged of each document, and which contents a purge has erased.

    `former` was replaced or deleted since; `possible` are writes that were interrupted before they were acknowledged.
    """

    current: dict[str, Content] = field(default_factory=dict)
    possible: dict[str, list[str]] = field(default_factory=dict)
    former: set[tuple[str, str, str]] = field(default_factory=set)
    erased: set[tuple[str, str, str]] = field(default_factory=set)
    interrupted: Counter[str] = field(default_factory=Counter)
    acknowledged: int = 0

    def enter(self, lines: list[list[str]], world: World) -> list[str]:
        """Take over what a changer reported; what is wrong with the store after its death."""
        begun: list[str] = []
        for line in lines:
            if line[0] == "begin":
                begun = line[1:]
                continue
            self.acknowledged += 1
            self._made(begun)
            begun = []
        if begun:
            self.interrupted[begun[0]] += 1
        if begun and begun[0] in WRITES:
            self.possible[begun[1]] = begun
        return [wrong for name in DRAWN if (wrong := self._check(name, stored(world, name)))]

    def _check(self, name: str, found: Content) -> str:
        """What is wrong with a document; a write that was interrupted can be there, and can show later than at once."""
        begun = self.possible.get(name)
        if begun is not None and found == wanted(begun):
            self._made(begun)
        content = self.current.get(name)
        return "" if found == content else f"{name} is {found}, not {content}"

    def _made(self, action: list[str]) -> None:
        if action[0] == "purge":
            self.erased |= self.former
            self.former.clear()
        if action[0] in WRITES:
            before, now = self.current.get(action[1]), wanted(action)
            self.current[action[1]] = now
            self.possible.pop(action[1], None)
            if before is not None and before != now:
                self.former.add((action[1], *before))
            if now is not None:  # a label can come back
                self.former.discard((action[1], *now))
                self.erased.discard((action[1], *now))

    def words(self) -> set[str]:
        """The words of the documents that are there."""
        return {content[0] for content in self.current.values() if content is not None}


def wanted(action: list[str]) -> Content:
    """What a document is after an action."""
    return None if action[0] == "delete" else (action[2], action[3])


def stored(world: World, name: str) -> Content:
    """What the store has of a document."""
    found = world.store.latest([name]).get(name)
    document = None if found is None else found.document
    return None if document is None else (document.sections[0].text.removeprefix("heart "), *document.labels)


def problems(world: World, ledger: Ledger, home: Path, rng: random.Random) -> list[str]:
    """Bring the index up to date; everything that is wrong with it, and every trace of what was erased."""
    world.ingest()
    alive = {name: content for name, content in ledger.current.items() if content is not None}
    index = world.engine.resolve("notes").index
    found = [
        f"{name} is not in the index" for name in alive.keys() - {item[0] for item in world.engine.contents(index)}
    ]
    found += [str(item) for item in inspect(world.indexer())]
    found += [
        f"{content[0]} finds {world.found(content[0])}"
        for name, content in alive.items()
        if world.found(content[0]) != [name]
    ]
    gone = {word for _, word, _ in ledger.erased | ledger.former} - ledger.words()
    found += [f"{word} finds {names}" for word in sorted(gone)[-50:] if (names := world.found(word))]
    return found + traces(ledger, home, rng)


def traces(ledger: Ledger, home: Path, rng: random.Random) -> list[str]:
    """Each erased text that a file holds: any of their words, and some of their documents, packed."""
    kept = ledger.words() | {word for _, word, _ in ledger.former}
    erased = [content for content in ledger.erased if content[1] not in kept]  # labels alone leave the text as it was
    words = {content[1].encode() for content in erased}
    marks = [packed(version(*content)) for content in rng.sample(erased, min(PACKED, len(erased)))]
    found = []
    for path in files(home):
        content = path.read_bytes()
        held = words.intersection(WORD.findall(content)) | {mark for mark in marks if mark in content}
        found += [f"{path.relative_to(home)} holds {mark!r}" for mark in held]
    return found


def packed(document: Document) -> bytes:
    """A packed document as a file holds it, but for its first bytes: the first that are overwritten when a row goes."""
    return codec.pack(codec.dump(document))[8:]


@pytest.fixture
def changers(tmp_path):
    made = Changers(tmp_path)
    yield made
    made.close()


def test_nothing_acknowledged_is_lost_and_nothing_erased_found_again(tmp_path, changers):
    ledger, rng = Ledger(), random.Random(SEED)
    number = 0
    while number < KILLS or (not ledger.erased and number < 3 * KILLS):
        number += 1
        # On a busy machine no purge may end within the lives of quiet ones: then the changers live longer.
        longest = LONGEST_SECONDS * (1 if number <= KILLS else 5)
        lines = changers.life(number, rng.uniform(0, longest))
        world = embedded_world(tmp_path)
        assert ledger.enter(lines, world) == []
        if number % INSPECT_EVERY == 0 or number >= KILLS:
            assert problems(world, ledger, tmp_path, rng) == []
    _log.info(
        "%d changes, interrupted: %s; erased %d", ledger.acknowledged, dict(ledger.interrupted), len(ledger.erased)
    )
    assert ledger.erased, "no purge ended: it proved nothing"
    assert sum(ledger.interrupted.values()) > KILLS / 2, "few kills interrupted anything: they proved nothing"
