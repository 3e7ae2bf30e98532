"""Anytime reranking: a cross-encoder scores the best candidates first, until the deadline; `cascade` orders them."""

from __future__ import annotations

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from encoders.tokens.format import ReadsStoredTokens, TokenFormat
from search.protocols import Reranker, Vectors
from search.timed_models import TimedOut, TimedReranker

GROUP_SIZE = 16
"""The most texts scored in one call: few enough to stop in time, enough to batch by length."""

STORED_GROUP = 256
"""The same where token vectors are stored: a call takes milliseconds."""
STORED_SECONDS = 1e-6
"""What a character is expected to take where token vectors are stored, before any call was measured."""

LEARNING_RATE = 0.3
"""How much a new measurement moves the average pace."""
STALL_FACTOR = 4.0
"""The most that a measurement counts, as a multiple of the average pace."""

Clock = Callable[[], float]


class ScoreCache:
    """Cross-encoder scores by (model fingerprint, query, passage text), the least recently used dropped first."""

    def __init__(self, entries: int = 20_000) -> None:
        self._entries = entries
        self._scores: OrderedDict[bytes, float] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, fingerprint: str, query: str, text: str) -> float | None:
        """The cached score, or None."""
        key = _key(fingerprint, query, text)
        with self._lock:
            if key in self._scores:
                self._scores.move_to_end(key)
            return self._scores.get(key)

    def put(self, fingerprint: str, query: str, text: str, score: float) -> None:
        """Cache a score."""
        with self._lock:
            self._scores[_key(fingerprint, query, text)] = score
            while len(self._scores) > self._entries:
                self._scores.popitem(last=False)


def _key(fingerprint: str, query: str, text: str) -> bytes:
    return hashlib.blake2b("\x1f".join((fingerprint, query, text)).encode("utf-8", "replace"), digest_size=16).digest()


class Pace:
    """How many seconds per character a cross-encoder takes in this process: a moving average of measured calls."""

    def __init__(self, seconds_per_character: float = 2e-5) -> None:
        self._rate = seconds_per_character
        self._measured = False

    def estimate(self, characters: int) -> float:
        """The expected seconds for a pair of this many characters."""
        return self._rate * characters

    def relax(self) -> None:
        """Lower an estimate that left no text to score: one slow call must not turn reranking off for good."""
        self._rate *= 0.7

    def learn(self, characters: int, seconds: float) -> None:
        """Add one measured call: the first sets the average, later ones move it.

        A stalled call says more about the machine than about the model: it counts as at most `STALL_FACTOR` times the
        average.
        """
        rate = seconds / max(characters, 1)
        if self._measured:
            rate = self._rate + LEARNING_RATE * (min(rate, STALL_FACTOR * self._rate) - self._rate)
        self._rate, self._measured = rate, True


@dataclass(slots=True)
class AnytimeReranker:
    """A reranker with its score cache, its pace and a clock; at most `group` texts are scored in one call.

    `stored_pace` is the pace where an index stores what the model read of the texts.
    """

    reranker: Reranker
    cache: ScoreCache
    pace: Pace
    clock: Clock = time.perf_counter
    group: int = GROUP_SIZE
    stored_pace: Pace = field(default_factory=lambda: Pace(STORED_SECONDS))

    def reads(self, tokens: TokenFormat | None) -> bool:
        """Whether the reranker can score token vectors of this format."""
        return isinstance(self.reranker, ReadsStoredTokens) and self.reranker.format == tokens

    def over(self, stored: Mapping[str, bytes]) -> AnytimeReranker:
        """This reranker for one search, with the stored token vectors of some texts. Only for one that `ReadsStoredTokens`."""
        if not stored or not isinstance(self.reranker, ReadsStoredTokens):
            return self
        return replace(self, reranker=self.reranker.over(stored), pace=self.stored_pace, group=STORED_GROUP)

    def score(self, query: str, texts: Sequence[str], until: float | None) -> list[float | None]:
        """As `score_pairs`, of one query with each text."""
        return self.score_pairs([(query, text) for text in texts], until)

    def score_pairs(self, pairs: Sequence[tuple[str, str]], until: float | None) -> list[float | None]:
        """Scores of (query, text) in input order; None for those not scored before the moment `until` (of `clock`)."""
        fingerprint = self.reranker.fingerprint
        scores = [self.cache.get(fingerprint, query, text) for query, text in pairs]
        waiting = [number for number, score in enumerate(scores) if score is None]
        while waiting:
            group = self._next_group(pairs, waiting, until)
            if not group:
                break
            found = self._score_group([pairs[number] for number in group], until)
            for place, score in found.items():
                scores[group[place]] = score
                self.cache.put(fingerprint, *pairs[group[place]], score)
            if len(found) < len(group):
                break
            waiting = waiting[len(group) :]
        return scores

    def _next_group(
        self, pairs: Sequence[tuple[str, str]], waiting: Sequence[int], until: float | None
    ) -> Sequence[int]:
        if until is None:
            return waiting[: 4 * self.group]
        remaining = until - self.clock()
        count, cost = 0, 0.0
        for number in waiting[: self.group]:
            cost += self.pace.estimate(sum(map(len, pairs[number])))
            # Use at most half of the remaining time, so that a wrong estimate is noticed in time.
            if cost > (remaining if count == 0 else remaining / 2):
                break
            count += 1
        if not count and remaining > 0:
            self.pace.relax()
        return waiting[:count]

    def _score_group(self, pairs: Sequence[tuple[str, str]], until: float | None) -> dict[int, float]:
        """The scores of the pairs by their place, some missing if the time ran out. The model is called once for each query."""
        started = self.clock()
        by_query: dict[str, list[int]] = {}
        for number, (query, _) in enumerate(pairs):
            by_query.setdefault(query, []).append(number)
        scores: dict[int, float] = {}
        try:
            for query, numbers in by_query.items():
                found = self._call_reranker(query, [pairs[number][1] for number in numbers], until)
                scores |= zip(numbers, map(float, found), strict=True)
        except TimedOut:
            if until is None:
                raise
        self.pace.learn(sum(len(query) + len(text) for query, text in pairs), self.clock() - started)
        return scores

    def _call_reranker(self, query: str, texts: Sequence[str], until: float | None) -> Vectors:
        if until is not None and isinstance(self.reranker, TimedReranker):
            return self.reranker.score_within(query, texts, until - self.clock())
        return self.reranker.score(query, texts)
