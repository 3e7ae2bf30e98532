"""One of several processes that replace the same document, each as fast as it can: accepted, indexed, again.

`racer.py NAME TIMES`, over the Medley of the settings. It prints `ready`, begins at a line of input, and prints the
version it was given each time.
"""

import sys

from mappings.documents import Document, Section
from search import settings
from search.bootstrap import Medley
from workers.indexing.indexer import Indexer, IndexingOptions
from workers.indexing.ingest import ingest

SECTIONS = 3
ID = "same"


def version(who: str, number: int) -> Document:
    """A document of three passages, each with the mark of its version."""
    mark = f"{who}x{number}"
    sections = tuple(Section(f"PART {part}", f"heart {mark} {mark}p{part}") for part in range(SECTIONS))
    return Document(ID, f"Consultation {mark}", sections, frozenset({"clinical"}), {})


def say(what: object) -> None:
    sys.stdout.write(f"{what}\n")
    sys.stdout.flush()


def main() -> None:
    who, times = sys.argv[1], int(sys.argv[2])
    medley = Medley.open(settings.read(), patient=True)
    indexer = Indexer.of(medley, "notes", IndexingOptions(wait=60.0))
    say("ready")
    sys.stdin.readline()
    for number in range(times):
        (accepted,) = indexer.store.put([version(who, number)])
        say(accepted.version)
        for _ in ingest(indexer, [ID]):
            pass


if __name__ == "__main__":
    main()
