"""A process that changes a collection until it is killed: replaces, relabels, deletes, ingests, rebuilds and purges.

`changer.py HOME` loads everything once; each line of input (a seed) forks one changer. It prints `pid` with its process
number, `begin` with what it is going to do, `end` when that was acknowledged, and `dead` with how it ended.
"""

from __future__ import annotations

import itertools
import os
import random
import sys
import time
from dataclasses import replace
from pathlib import Path

from worlds import World, embedded_world, note

from mappings.documents import Document
from workers.indexing.purge import purge

DOCUMENTS = 30
LABELS = ("clinical", "psych")
ACTIONS = {"put": 8, "relabel": 5, "delete": 4, "ingest": 6, "rebuild": 3, "purge": 3}
"""How often each is drawn, as weights."""

WRITES = {"put": 8, "relabel": 5, "delete": 4}
"""All that every third changer does: beside the longer actions kills would hardly hit one."""

_LETTERS = "bcdfghjkmp"  # no stemmer shortens a word of these


def word(number: int) -> str:
    """A word that only one change contains."""
    return "q" + "".join(_LETTERS[int(digit)] for digit in f"{number:08}") + "q"


def say(*what: object) -> None:
    """One line, which the reader has even if this process is killed at once."""
    os.write(1, (" ".join(map(str, what)) + "\n").encode())


def change(world: World, rng: random.Random, number: int, action: str) -> None:
    """Make one change and report it."""
    name = f"d{rng.randrange(DOCUMENTS)}"
    if action in ("put", "relabel"):
        known = world.store.latest([name]).get(name)
        text = word(number)
        if action == "relabel" and known is not None and known.document is not None:
            text = known.document.sections[0].text.removeprefix("heart ")
        made = version(name, text, rng.choice(LABELS))
        say("begin", action, name, text, *made.labels)
        world.put(made)
    elif action == "delete":
        say("begin", action, name)
        world.store.delete([name])
    else:
        say("begin", action)
        {"ingest": world.ingest, "rebuild": world.rebuild, "purge": lambda: purged(world)}[action]()
    say("end")


def version(name: str, text: str, label: str) -> Document:
    """A document that holds a word, for the holders of a label."""
    return replace(note(name, f"heart {text}"), labels=frozenset({label}))


def purged(world: World) -> None:
    """Remove everything that was replaced or deleted until now, as the manual says: when the index has processed it."""
    world.ingest()
    removed = purge(world.indexer(), time.time(), grace=0.0)
    assert not removed.waiting, removed


def run(home: Path, seed: int) -> None:
    """Change without end; numbers of changes begin at a thousand times the seed."""
    world, rng = embedded_world(home), random.Random(seed)
    drawn = ACTIONS if seed % 3 else WRITES
    for number in itertools.count(seed * 1_000):
        change(world, rng, number, *rng.choices(list(drawn), drawn.values()))


def main() -> None:
    home = Path(sys.argv[1])
    for line in sys.stdin:
        child = os.fork()
        if not child:
            run(home, int(line))
        say("pid", child)
        _, status = os.waitpid(child, 0)
        say("dead", os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main()
