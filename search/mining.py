"""Hard negatives: passages that a ranking puts high and that do not answer (CLAIMS L4: never random ones)."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from encoders.labels.leaks import normalise
from encoders.labels.pairs import Pair, Text

Finder = Callable[[Sequence[str], int], Sequence[Sequence[str]]]
"""(queries, depth) -> for each query the ids of the best passages, best first."""


@dataclass(frozen=True, slots=True)
class Mining:
    """How negatives are taken: `count` a pair, drawn without replacement from the first `depth` of every ranking."""

    count: int = 8
    depth: int = 30
    seed: int = 13


def mine(
    pairs: Iterable[Pair], corpus: Mapping[str, Text], finders: Sequence[Finder], mining: Mining, batch: int = 256
) -> Iterator[Pair]:
    """Each pair with negatives from all finders; training pairs draw, held-out pairs take the best-ranked.

    A passage is no negative when it is a known answer of the query, repeats the text of one, or has the
    positive's title and heading.
    """
    for group in _batches(pairs, batch):
        rankings = [finder([pair.query for pair in group], mining.depth) for finder in finders]
        for number, pair in enumerate(group):
            found = _interleave([ranking[number] for ranking in rankings])
            usable = [corpus[name] for name in found if name in corpus and not _answers(corpus[name], pair, corpus)]
            yield replace(pair, negatives=_choose(pair, usable, mining))


def _batches(pairs: Iterable[Pair], size: int) -> Iterator[list[Pair]]:
    group: list[Pair] = []
    for pair in pairs:
        group.append(pair)
        if len(group) == size:
            yield group
            group = []
    if group:
        yield group


def _interleave(rankings: Sequence[Sequence[str]]) -> list[str]:
    longest = max(map(len, rankings), default=0)
    return list(dict.fromkeys(ranking[at] for at in range(longest) for ranking in rankings if at < len(ranking)))


def _answers(text: Text, pair: Pair, corpus: Mapping[str, Text]) -> bool:
    if text.id in pair.relevant or text.id == pair.positive.id:
        return True
    known = [corpus[name] for name in pair.relevant if name in corpus] + [pair.positive]
    same = any(_plain(text) == _plain(other) for other in known)
    titled = text.heading != "" and (text.title, text.heading) == (pair.positive.title, pair.positive.heading)
    return same or titled


@lru_cache(maxsize=65_536)
def _plain(text: Text) -> str:
    return normalise(text.text)


def _choose(pair: Pair, usable: Sequence[Text], mining: Mining) -> tuple[Text, ...]:
    if pair.split == "held-out":
        return tuple(usable[: mining.count])
    draw = random.Random(f"{mining.seed}:{pair.id}")  # noqa: S311 - reproducible, not secret
    return tuple(draw.sample(usable, min(mining.count, len(usable))))
