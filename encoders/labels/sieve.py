"""One place that keeps evaluation data, and what nearly repeats it, out of every labelled task and corpus."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from encoders.labels.evaluated import Evaluated
from encoders.labels.guard import LEAST_TEXT, LEAST_TITLE, SHARED
from encoders.labels.leaks import Twins, normalise
from encoders.labels.pairs import Pair, Text

SAME_CLAIM: Final = 0.6
"""Two claims that share this part of their words (Jaccard) say the same or its opposite: one story, one side."""

SAME_TEXT: Final = (3, 0.8)
"""Two passages that share this part of their three-word shingles are one text; templates differ in one name."""


class Sieve:
    """What passes may be trained on. What does not is counted, by task or corpus and by suite."""

    def __init__(self, suites: Sequence[Evaluated], dropped: Counter[str]) -> None:
        self._dropped = dropped
        self._suites: defaultdict[str, set[str]] = defaultdict(set)
        for found in suites:
            for text in (*found.queries, *(part for item in found.texts for part in (item.title, item.text))):
                self._suites[normalise(text)].add(found.suite)
        self._queries = frozenset(normalise(query) for found in suites for query in found.queries)
        self._claims = Twins((query for found in suites if found.claims for query in found.queries), 1, SAME_CLAIM)
        texts = [text for found in suites for text in found.texts]
        self._titles = frozenset(normalise(t.title) for t in texts if len(t.title.split()) >= LEAST_TITLE)
        self._texts = Twins((t.text for t in texts if len(t.text.split()) >= LEAST_TEXT), *SAME_TEXT)
        self._verdicts: dict[int, frozenset[str]] = {}

    def pairs(self, found: Iterable[Pair]) -> Iterator[Pair]:
        """The pairs whose query and answer no suite holds, each once."""
        seen: set[tuple[str, ...]] = set()
        for pair in found:
            keys = {(pair.id,), (pair.query, pair.positive.id)}
            if seen & keys:
                self._dropped[f"{pair.task}: repeated pairs"] += 1
                continue
            seen |= keys
            if suite := self._asking(pair):
                self._dropped[f"{pair.task}: queries near one of {suite}"] += 1
            elif suite := self._holding(pair.positive, pair.task):
                self._dropped[f"{pair.task}: answers near a passage of {suite}"] += 1
            else:
                yield pair

    def corpus(self, name: str, texts: Iterable[Text]) -> Iterator[Text]:
        """The passages that no suite judges; the corpus of SciFact or of Check-COVID keeps those of its own suite."""
        for text in texts:
            if suite := self._holding(text, name):
                self._dropped[f"corpus {name}: passages near one of {suite}"] += 1
            else:
                yield text

    def _asking(self, pair: Pair) -> str:
        """The suite that asks nearly this, or whose passage is entitled so."""
        query = normalise(pair.query)
        same = [query] if query in self._queries else []
        suites = {suite for text in (*same, *self._claims.of(pair.query)) for suite in self._suites[text]}
        if query in self._titles:
            suites |= self._suites[query] - ({pair.task} & SHARED)
        return min(suites, default="")

    def _holding(self, text: Text, own: str) -> str:
        """The suite that judges nearly this passage, or one of its title."""
        key = hash((text.title, text.text))
        if key not in self._verdicts:
            title = normalise(text.title)
            same = (*([title] if title in self._titles else []), *self._texts.of(text.text))
            self._verdicts[key] = frozenset(suite for found in same for suite in self._suites[found])
        return min(self._verdicts[key] - ({own} & SHARED), default="")
