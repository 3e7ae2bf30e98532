"""A process that stores and indexes notes for ever, and logs each change once it is acknowledged, until it is killed."""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path

from worlds import note

from mappings.documents import Deletion
from search.bootstrap import Medley
from search.settings import read
from web.cli.indexing import fill
from workers.delivery import Delivery

NAMES = 400


def feed(log: Path, seed: int) -> None:
    """Put and delete random notes; an acknowledged change is a line "id version" in `log`."""
    rng = random.Random(seed)
    medley = Medley.open(read())
    medley.collections.create("notes")
    delivery = Delivery(medley.collections.store("notes"), "notes")
    while True:
        names = [f"n{number}" for number in rng.sample(range(NAMES), 12)]
        accepted = delivery.accept(
            [Deletion(name) if rng.random() < 0.1 else note(name, f"heart {rng.random()}") for name in names]
        )
        _append(log, "".join(f"{item.id} {item.version}\n" for item in accepted if item.version))
        if rng.random() < 0.2:
            list(fill(medley, "notes"))


def _append(log: Path, lines: str) -> None:
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(descriptor, lines.encode())
    os.close(descriptor)


def acknowledged(log: Path) -> dict[str, int]:
    """The highest acknowledged version of each note so far."""
    found: dict[str, int] = {}
    for line in log.read_text().splitlines() if log.exists() else []:
        name, version = line.split()
        found[name] = max(found.get(name, 0), int(version))
    return found


if __name__ == "__main__":
    feed(Path(sys.argv[1]), int(sys.argv[2]))
