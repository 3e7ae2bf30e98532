"""More positives from the same headline (CLAIMS, section 3.2): words inserted or substituted by distributional similarity.

At most 10 tokens of a sentence, and at most 30 %, change; half of the variants insert a similar word beside a word, half
substitute one. `vary` changes a query alone; `vary_pair` what the paper classifies: a headline and its abstract. Words that
reverse a claim ("no", "lower") stay as they are, since distributional similarity cannot tell "increase" from "decrease"; so
do numbers and function words.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import orjson

from encoders.labels.pairs import Pair
from encoders.labels.split import TRAIN
from mappings.analysis.sentences import sentences
from mappings.analysis.words import STOP_WORDS
from mappings.errors import InvalidInput

MAX_CHANGES: Final = 10
MAX_SHARE: Final = 0.3
SEED: Final = 13
NEIGHBOURS: Final = "neighbours.jsonl"

Neighbours = Mapping[str, Sequence[str]]
"""Lowercase word -> similar words, most similar first."""

_TOKEN: Final = re.compile(r"\S+")
_WORD: Final = re.compile(r"[A-Za-z][A-Za-z'-]*")
_REVERSING_WORDS: Final = (
    "no not none never nor without neither cannot lack lacks absence absent fail fails failed unable increase "
    "increases increased increasing decrease decreases decreased decreasing reduce reduces reduced reducing raise "
    "raises raised lower lowers lowered lowering higher high low more less fewer greater smaller better worse "
    "improve improves improved worsen worsens worsened gain loss positive negative up down rise rises fall falls "
    "before after early late prevent prevents cause causes caused protect protects harm harms promote promotes "
    "inhibit inhibits activate activates suppress suppresses enhance enhances impair impairs upregulate "
    "downregulate "
)
_REVERSING: Final = frozenset(_REVERSING_WORDS.split())
_TRIES: Final = 4


def augment(pairs: Iterable[Pair], neighbours: Neighbours, m: int, seed: int = SEED) -> Iterator[Pair]:
    """Every pair; a training pair is followed by at most `m` variants of its query, a held-out pair by none.

    The same on every machine. A query that is short, or has few words with neighbours, gets fewer variants or none.
    """
    for pair in pairs:
        yield pair
        if pair.split == TRAIN:
            draw = random.Random(f"{seed}:{pair.id}")  # noqa: S311 - reproducible, not secret
            for number, query in enumerate(vary(pair.query, neighbours, m, draw), 1):
                yield replace(pair, id=f"{pair.id}+{number}", query=query)


def vary(query: str, neighbours: Neighbours, m: int, draw: random.Random) -> list[str]:
    """At most `m` distinct variants of the query: first insertions, m // 2 of them, then substitutions."""
    tokens, places = _tokens_of(query, neighbours)
    changes = _most(tokens, places)
    found: dict[str, None] = {query: None}
    for inserts, wanted in ((True, m // 2), (False, m - m // 2)):
        for _ in range(wanted * _TRIES if changes else 0):
            if wanted:
                made = _changed(tokens, places, neighbours, inserts, draw)
                wanted -= made not in found
                found.setdefault(made)
    return list(found)[1:]


def vary_pair(
    pair: tuple[str, str], neighbours: Neighbours, m: int, draw: random.Random, varied: str = "pair"
) -> Iterator[tuple[str, str]]:
    """At most `m` variants of a query and its answer, each different from it: first insertions, m // 2 of them.

    In each variant every sentence changes that can, of both texts (`pair`) or of the `query` alone.
    """
    sides = [
        [_tokens_of(text[item.start : item.end], neighbours) for item in sentences(text)]
        for text in (pair if varied == "pair" else pair[:1])
    ]
    for number in range(m if any(_most(*item) for side in sides for item in side) else 0):
        made = [" ".join(_changed(*item, neighbours, number < m // 2, draw) for item in side) for side in sides]
        yield made[0], made[1] if varied == "pair" else pair[1]


def _tokens_of(text: str, neighbours: Neighbours) -> tuple[list[str], list[int]]:
    """The tokens of a sentence, and the places of those that can change."""
    tokens = _TOKEN.findall(text)
    return tokens, [place for place, token in enumerate(tokens) if _similar(token, neighbours)]


def _most(tokens: Sequence[str], places: Sequence[int]) -> int:
    """How many tokens of a sentence change."""
    return min(MAX_CHANGES, int(MAX_SHARE * len(tokens)), len(places))


def _changed(
    tokens: Sequence[str], places: Sequence[int], neighbours: Neighbours, inserts: bool, draw: random.Random
) -> str:
    chosen = frozenset(draw.sample(places, _most(tokens, places)))
    return " ".join(_change(tokens, chosen, neighbours, inserts, draw))


def _change(
    tokens: Sequence[str], chosen: frozenset[int], neighbours: Neighbours, inserts: bool, draw: random.Random
) -> Iterator[str]:
    for place, token in enumerate(tokens):
        if place not in chosen:
            yield token
            continue
        other = draw.choice(_similar(token, neighbours))
        if inserts:
            yield from (other, token)
        else:
            yield _dress(token, other)


def _similar(token: str, neighbours: Neighbours) -> Sequence[str]:
    word = _WORD.search(token)
    small = word[0].lower() if word and not any(map(str.isdigit, token)) else ""  # "p53" is not "p"
    near = () if small in _REVERSING or small in STOP_WORDS else neighbours.get(small, ())
    return [other for other in near if other not in _REVERSING]


def _dress(token: str, other: str) -> str:
    """The other word with the token's capital and punctuation: "Statins," and "aspirin" give "Aspirin,"."""
    capital = _WORD.search(token)
    cased = other.capitalize() if capital and capital[0][0].isupper() else other
    return _WORD.sub(lambda _: cased, token, count=1)


def read_neighbours(path: Path) -> Neighbours:
    """The neighbours that `medley label vectors` wrote. Raises `InvalidInput` with file and line."""
    if not path.is_file():
        raise InvalidInput(f"{path} does not exist; `medley label vectors LABELS` writes it", field="neighbours")
    found: dict[str, list[str]] = {}
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        try:
            record = orjson.loads(line)
            found[record["word"]] = [str(word) for word in record["near"]]
        except (orjson.JSONDecodeError, KeyError, TypeError):
            raise InvalidInput(
                f'{path.name}, line {number}: a line must be {{"word": …, "near": [words]}}', field="neighbours"
            ) from None
    return found
