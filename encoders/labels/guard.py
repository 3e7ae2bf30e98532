"""The last check before training: a file that contains evaluation data is refused, by hash.

Labelling also drops near-twins (`sieve`); here only identical normalised text counts, so that pairs of any origin can be
checked in seconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Final

from encoders.labels.evaluated import JudgedData, read_judged_data
from encoders.labels.leaks import name_key, normalise
from encoders.labels.pairs import Pair, Text, located_pairs
from mappings.errors import InvalidInput

MIN_TEXT_WORDS: Final = 8
MIN_TITLE_WORDS: Final = 5
"""A shorter text ("No known drug allergies") or title ("Gout") is common property, not a leak."""

SHARED: Final = frozenset({"scifact", "check-covid"})
"""Suites whose training and evaluation claims share one corpus by design: there the claim decides, not the abstract.
Their own training claims can show a judged abstract, as answer or as negative; no other task can."""

STANCES_OF: Final = "stance-"
"""The tasks of what texts say of claims are named so and after their data set."""

ARTICLES: Final = frozenset({"health", "entity-aspect-articles", "definitions"})
"""Corpora whose titles are the entities that their passages are about."""

NOTES: Final = frozenset({"notes", "entity-aspect-notes"})
"""Corpora of sections of notes."""


def shared_suite(task: str) -> frozenset[str]:
    """The suite of which pairs of this task can show a judged abstract; empty for most."""
    return SHARED & {task.removeprefix(STANCES_OF)}


def digest(text: str) -> bytes:
    """SHA-256 of the normalised text."""
    return sha256(normalise(text).encode()).digest()


class JudgedEntities:
    """The names of all judged entities, each with its suite."""

    def __init__(self, suites: Iterable[JudgedData]) -> None:
        self._suites = {name: judged.suite for judged in suites for name in judged.names}

    def find(self, text: Text, corpus: str) -> str:
        """The suite that judges the entity that an article is about, under any of its names; "" for none."""
        return self._suites.get(name_key(text.title), "") if corpus in ARTICLES else ""


class Guard:
    """The hashes of all evaluation queries, judged texts and their titles, each with its suite; and the judged entities."""

    def __init__(self, suites: Sequence[JudgedData]) -> None:
        self._queries: dict[bytes, str] = {}
        self._texts: dict[bytes, set[str]] = {}
        self._known: dict[int, frozenset[str]] = {}
        self._entities = JudgedEntities(suites)
        for judged in suites:
            self._queries |= {digest(query): judged.suite for query in judged.queries}
            for query in judged.queries:  # as a title or a passage it would be shown with an answer
                if len(query.split()) >= MIN_TITLE_WORDS:
                    self._texts.setdefault(digest(query), set()).add(judged.suite)
            for text in judged.texts:
                for part, least in ((text.title, MIN_TITLE_WORDS), (text.text, MIN_TEXT_WORDS)):
                    if len(part.split()) >= least:
                        self._texts.setdefault(digest(part), set()).add(judged.suite)

    @classmethod
    def of(cls, data: Path) -> Guard:
        """The guard of the data sets in `data`."""
        return cls(read_judged_data(data))

    def check(self, pair: Pair) -> None:
        """Raise `InvalidInput`, naming suite and field, if the pair contains an evaluation query, a judged text or entity."""
        suite = self._queries.get(digest(pair.query)) or self._judging_suite(pair.query, pair.task)
        if suite:
            raise InvalidInput(f"the query is one of the suite {suite}: {_REFUSED}", field="query")
        for name, texts in (("positive", (pair.positive,)), ("negatives", pair.negatives)):
            for text in texts:
                for part in (text.text, text.title, *text.before, *text.after):
                    if suite := self._judging_suite(part, pair.task):
                        what = "is" if part in (text.text, text.title) else "has a passage beside it that is"
                        message = f"{_named(name, text)} {what} judged by the suite {suite}: {_REFUSED}"
                        raise InvalidInput(message, field=name)
                if suite := self._entities.find(text, pair.corpus):
                    what = f"is an article on {text.title!r}, an entity of the suite {suite} by one of its names"
                    raise InvalidInput(f"{_named(name, text)} {what}: {_REFUSED}", field=name)

    def check_text(self, text: Text, corpus: str) -> None:
        """Raise `InvalidInput`, naming the suite, if a text of a corpus is judged, or is an article on a judged entity."""
        if suite := self._judging_suite(text.text, corpus) or self._judging_suite(text.title, corpus):
            raise InvalidInput(f"the text {text.id!r} is judged by the suite {suite}: {_REFUSED}", field=corpus)
        if suite := self._entities.find(text, corpus):
            what = f"is an article on {text.title!r}, an entity of the suite {suite} by one of its names"
            raise InvalidInput(f"the text {text.id!r} {what}: {_REFUSED}", field=corpus)

    def _judging_suite(self, text: str, task: str) -> str:
        """The suite that judges `text`; "" for none, or if the task shares that suite's corpus."""
        key = hash(text)  # one passage is a negative of many pairs
        suites = self._known.get(key)
        if suites is None:
            suites = self._known[key] = frozenset(self._texts.get(digest(text), ()))
        return min(suites - shared_suite(task), default="")


_REFUSED: Final = "evaluation data in the training file (refused by hash)"


def _named(field: str, text: Text) -> str:
    return f"the {'positive' if field == 'positive' else 'negative'} passage {text.id!r}"


def check_pairs_file(pairs_file: Path, data: Path) -> None:
    """Raise `InvalidInput` with file, line and suite for the first pair in the file that contains evaluation data of `data`."""
    guard = _guard(data.resolve())
    for place, pair in located_pairs(pairs_file):
        try:
            guard.check(pair)
        except InvalidInput as error:
            raise InvalidInput(f"{place}: {error.message}", field=error.field) from None


def check_corpus(name: str, texts: Iterable[Text], data: Path) -> None:
    """Raise `InvalidInput`, naming corpus and text, for the first text that is evaluation data of `data`."""
    guard = _guard(data.resolve())
    for text in texts:
        guard.check_text(text, name)


@lru_cache(1)
def _guard(data: Path) -> Guard:
    """One guard for all files of a run: building it takes seconds."""
    return Guard.of(data)
