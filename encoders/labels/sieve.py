"""The one filter that keeps evaluation data, and text that nearly repeats it, out of every labelled task and corpus."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from encoders.labels.evaluated import JudgedData
from encoders.labels.guard import MIN_TEXT_WORDS, MIN_TITLE_WORDS, NOTES, JudgedEntities, shared_suite
from encoders.labels.leaks import SAME_CLAIM, Twins, normalise, unmask
from encoders.labels.pairs import Pair, Text
from mappings.datasets.abstracts import bare_title

SAME_TEXT: Final = (3, 0.8)
"""Two passages that share this part of their three-word shingles are one text: templates differ in one name."""


class Sieve:
    """Lets through what training is allowed to see; counts the rest, by task or corpus and by suite."""

    def __init__(self, suites: Sequence[JudgedData], dropped: Counter[str]) -> None:
        self._dropped = dropped
        self._suites: defaultdict[str, set[str]] = defaultdict(set)
        for found in suites:
            for text in (*found.queries, *(part for item in found.texts for part in (item.title, item.text))):
                self._suites[normalise(text)].add(found.suite)
        self._queries = frozenset(normalise(query) for found in suites for query in found.queries)
        self._claims = Twins((query for found in suites if found.claims for query in found.queries), 1, SAME_CLAIM)
        texts = [text for found in suites for text in found.texts]
        whole = (*(text.title for text in texts), *(query for found in suites for query in found.queries))
        self._whole = frozenset(normalise(text) for text in whole if len(text.split()) >= MIN_TITLE_WORDS)
        self._texts = Twins((t.text for t in texts if len(t.text.split()) >= MIN_TEXT_WORDS), *SAME_TEXT)
        self._clinical = _ClinicalTwins(found for found in suites if found.clinical)
        self._entities = JudgedEntities(suites)
        self._verdicts: dict[int, frozenset[str]] = {}

    def filter_pairs(self, found: Iterable[Pair]) -> Iterator[Pair]:
        """The pairs whose query and answer are in no suite, each once."""
        seen: set[tuple[str, ...]] = set()
        for pair in found:
            keys = {(pair.id,), (pair.query, pair.positive.id)}
            if seen & keys:
                self._dropped[f"{pair.task}: repeated pairs"] += 1
                continue
            seen |= keys
            if suite := self._suite_of_query(pair):
                self._dropped[f"{pair.task}: queries near one of {suite}"] += 1
            elif suite := self._suite_of_text(pair.positive, pair.task, pair.corpus):
                self._dropped[f"{pair.task}: answers near a passage of {suite}"] += 1
            else:
                yield replace(pair, positive=self._without_judged_surroundings(pair.positive, pair.task, pair.corpus))

    def filter_corpus(self, name: str, texts: Iterable[Text]) -> Iterator[Text]:
        """The passages that no suite judges; the corpora of SciFact and of Check-COVID keep those of their own suite."""
        for text in texts:
            if suite := self._suite_of_text(text, name, name):
                self._dropped[f"corpus {name}: passages near one of {suite}"] += 1
            else:
                yield text

    def _without_judged_surroundings(self, text: Text, own: str, corpus: str) -> Text:
        """The passage without those passages around it that a suite judges."""

        def kept(around: Sequence[str]) -> tuple[str, ...]:
            judged = [bool(self._suite_of_text(Text("", "", "", part), own, corpus)) for part in around]
            if any(judged):
                self._dropped[f"{own}: passages beside an answer, near one that a suite judges"] += sum(judged)
            return tuple(part for part, found in zip(around, judged, strict=True) if not found)

        return replace(text, before=kept(text.before), after=kept(text.after)) if text.before or text.after else text

    def _suite_of_query(self, pair: Pair) -> str:
        """The suite that has nearly this query, or nearly as a passage, or a passage with this title; "" for none."""
        query = normalise(pair.query)
        same = [query] if query in self._queries else []
        suites = {suite for text in (*same, *self._claims.find(pair.query)) for suite in self._suites[text]}
        shown = {query, normalise(bare_title(pair.query))} & self._whole
        for text in (*shown, *self._texts.find(pair.query)):
            suites |= self._suites[text] - shared_suite(pair.task)
        return min(suites, default="")

    def _suite_of_text(self, text: Text, own: str, corpus: str) -> str:
        """The suite that judges nearly this passage, one with its title, or its article's entity; "" for none.

        A title or passage that is itself a query of a suite shows it with an answer.
        """
        key = hash((text.title, text.text, corpus in NOTES))
        if key not in self._verdicts:
            parts = {normalise(part) for part in (text.title, bare_title(text.title), text.text)}
            same = (*(parts & self._whole), *self._texts.find(text.text))
            cut = self._clinical.find(text.text) if corpus in NOTES else ()
            self._verdicts[key] = frozenset(suite for found in same for suite in self._suites[found]).union(cut)
        named = self._entities.find(text, corpus)
        return named or min(self._verdicts[key] - shared_suite(own), default="")


class _ClinicalTwins:
    """The sections of notes that are judged, to be found also where they are cut elsewhere or masked differently."""

    def __init__(self, suites: Iterable[JudgedData]) -> None:
        self._suites: defaultdict[str, set[str]] = defaultdict(set)
        for found in suites:
            for text in found.texts:
                if len(text.text.split()) >= MIN_TEXT_WORDS:
                    self._suites[normalise(unmask(text.text))].add(found.suite)
        self._texts = Twins(self._suites, *SAME_TEXT, either=True)

    def find(self, text: str) -> set[str]:
        """The suites of the judged sections that contain nearly all of `text`, or of which it contains nearly all.

        A text of few words is in many notes; only its whole twin counts.
        """
        if len(text.split()) < MIN_TEXT_WORDS:
            return set()
        return {suite for found in self._texts.find(unmask(text)) for suite in self._suites[found]}
