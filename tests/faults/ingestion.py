"""What is fed to an installation whose processes are killed meanwhile: a plan from a seed, and the expected result."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from quick_worker import CONFUSES, RAISES
from worlds import note

from mappings.documents import Deletion, Document
from mappings.errors import Unavailable
from search.storage import Accepted, Change, DocumentStore
from workers.delivery import Delivery
from workers.queueing.queue import Queue

PUT, DELETE = "put", "delete"
KINDS = ("analysis", "encoding", "date", "patient")
"""Where a poison document fails: in a worker's analysis or encoding, or at a field that the index refuses."""

_LETTERS = "bcdfghjkmp"  # no stemmer shortens a word of these
_SOON = 40
"""So many records later a document is changed that may still be pending."""


@dataclass(frozen=True)
class Plan:
    """How much is fed, in batches of how many records, and what is killed in which order."""

    seed: int
    documents: int
    deletions: int
    replacements: int
    batch: int
    kills: Sequence[str]
    poison: int = 20

    @classmethod
    def of(cls, seed: int, documents: int, batch: int, deletions: int, **kills: int) -> Plan:
        """A plan with so many kills of each kind, in an order drawn from the seed."""
        order = [name for name, count in kills.items() for _ in range(count)]
        random.Random(seed).shuffle(order)
        return cls(seed, documents, deletions, documents // 10, batch, order)


@dataclass(frozen=True)
class Record:
    """One change of a document; it must end up indexed, deleted, or failed with a cause that contains `cause`."""

    number: int
    revision: int
    change: Change
    cause: str = ""

    @property
    def word(self) -> str:
        """A word that only this version of this document contains."""
        return word(self.number, self.revision)


def word(number: int, revision: int) -> str:
    """A word for each version of each document."""
    return "q" + "".join(_LETTERS[int(digit)] for digit in f"{number}{revision:02}") + "q"


def records(plan: Plan) -> list[Record]:
    """Everything that is fed, in order: each document once, some changed or deleted soon after or much later."""
    rng = random.Random(plan.seed)
    numbers = list(range(plan.documents))
    rng.shuffle(numbers)
    bad, rest = numbers[: plan.poison], numbers[plan.poison :]
    begun = {number: rng.uniform(0, plan.documents) for number in numbers}
    turns = [(moment, number, PUT) for number, moment in begun.items()]

    def later(number: int) -> float:
        return begun[number] + rng.uniform(0, rng.choice((_SOON, plan.documents)))

    # Each poison document replaces a good version: what that left in the index must go.
    turns += [(later(number), number, KINDS[place % len(KINDS)]) for place, number in enumerate(bad)]
    turns += [(later(number), number, DELETE) for number in rest[: plan.deletions]]
    turns += [(later(number), number, PUT) for number in rng.choices(rest, k=plan.replacements)]
    made: Counter[int] = Counter()
    found = []
    for _, number, what in sorted(turns):
        found.append(_record(number, made[number], what))
        made[number] += 1
    return found


def _record(number: int, revision: int, what: str) -> Record:
    name = f"n{number}"
    if what == DELETE:
        return Record(number, revision, Deletion(name))
    fine = note(name, f"heart {word(number, revision)}")
    if what == "analysis":
        return Record(number, revision, replace(fine, title=f"{CONFUSES}{name}"), f"{CONFUSES}{name}")
    if what == "encoding":
        return Record(number, revision, replace(fine, title=f"{RAISES}{name}"), f"{RAISES}{name}")
    if what in KINDS:
        value = "x" * 9_000 if what == "patient" else "yesterday"
        return Record(number, revision, replace(fine, fields={what: value}), f"field {what!r} must")
    return Record(number, revision, fine)


@dataclass
class Accounts:
    """What was accepted: the last record of each document with its version, and the words of those before."""

    last: dict[str, tuple[Record, int]] = field(default_factory=dict)
    superseded: list[str] = field(default_factory=list)

    def enter(self, record: Record, accepted: Accepted) -> None:
        """The store took a record."""
        before = self.last.get(accepted.id)
        if before is not None:
            assert accepted.version > before[1], f"{accepted.id}: a version was given twice"
            self.superseded.append(before[0].word)
        self.last[accepted.id] = (record, accepted.version)

    def alive(self) -> Iterator[tuple[str, Record, int]]:
        """(id, record, version) of every document that must be found."""
        for name, (record, version) in self.last.items():
            if isinstance(record.change, Document) and not record.cause:
                yield name, record, version

    def failed(self) -> dict[str, str]:
        """Id -> a part of the cause, of every document that must have failed."""
        return {name: record.cause for name, (record, _) in self.last.items() if record.cause}


class Feeder:
    """Feeds records in batches, one after the other; one refused while a dependency is down is sent until it is accepted."""

    def __init__(self, store: DocumentStore, queue: Queue, plan: Plan, pause: float) -> None:
        self._store, self._queue, self._plan, self._pause = store, queue, plan, pause
        self.accounts = Accounts()
        self.refusals = 0
        self.error: BaseException | None = None
        self._hurry, self._stop = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._feed, name="feeder", daemon=True)
        self._thread.start()

    def finish(self, seconds: float) -> None:
        """Send the rest without pauses; raises the error that stopped it, if any."""
        self._hurry.set()
        self._thread.join(seconds)
        if self.error is not None:
            raise self.error
        assert not self._thread.is_alive(), "not everything was accepted"

    def stop(self) -> None:
        """Stop, whatever is left."""
        self._hurry.set()
        self._stop.set()
        self._thread.join()

    def _feed(self) -> None:
        try:
            every = records(self._plan)
            for start in range(0, len(every), self._plan.batch):
                if self._stop.is_set():
                    return
                self._deliver(every[start : start + self._plan.batch])
                self._hurry.wait(self._pause)
        except BaseException as error:
            self.error = error

    def _deliver(self, batch: Sequence[Record]) -> None:
        while not self._stop.is_set():
            try:
                delivery = Delivery(self._store, "notes", self._queue)
                accepted = delivery.accept([record.change for record in batch])
                break
            except Unavailable:
                self.refusals += 1
                self._stop.wait(0.2)
        else:
            return
        for record, result in zip(batch, accepted, strict=True):
            self.accounts.enter(record, result)
