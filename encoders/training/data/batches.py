"""From pairs to batches.

The whole plan of a run is fixed by recipe and seed before the first step, so that step i is the same batch in a
fresh run and in a resumed one.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TypeVar

from encoders.labels.pairs import Pair, Text, read_pairs
from encoders.training.recipe import CANDIDATES, TRIPLETS, Recipe, Share
from mappings.analysis.nearest import nearest
from mappings.documents import Passage

T = TypeVar("T")
SPAN = 24
"""Batches are filled by length within this many batches' worth of shuffled examples: little padding, still random."""


@dataclass(frozen=True, slots=True)
class Example:
    """A query with its texts as the model reads them, the positive first, and what else answers the query."""

    task: str
    query: str
    texts: tuple[str, ...]
    ids: tuple[str, ...]
    relevant: frozenset[str]
    group: str = ""


def load_pairs(folder: Path, recipe: Recipe, split: str) -> dict[str, list[Pair]]:
    """The pairs of each task of the recipe on one side of the split: `folder/<task>.jsonl`. Raises `InvalidInput`."""
    return {task: [p for p in read_pairs(folder / f"{task}.jsonl") if p.split == split] for task in recipe.tasks}


def shown(text: Text, context: bool) -> str:
    """A passage as a model reads it: title and heading before the text, or the text alone."""
    return " ".join(part for part in ((text.title, text.heading) if context else ()) if part) + (
        f" {text.text}" if context and (text.title or text.heading) else text.text
    )


def example(pair: Pair, share: Share, negatives: int, draw: random.Random) -> Example:
    """The pair with `negatives` of its negatives, drawn, all shown in the same way.

    A positive without a title (the title is its query) lets no negative show one: it would give the answer away.
    All are cut to the share's window, so that no length gives it away either.
    """
    context = draw.random() < share.context and bool(pair.positive.title or pair.positive.heading)
    chosen = draw.sample(pair.negatives, min(negatives, len(pair.negatives)))
    texts = [replace(text, text=_nearest(text.text, pair.query, share.window)) for text in (pair.positive, *chosen)]
    return Example(
        pair.task,
        pair.query,
        tuple(shown(text, context) for text in texts),
        tuple(text.id for text in texts),
        frozenset((*pair.relevant, pair.positive.id)),
        pair.group,
    )


def _nearest(text: str, query: str, words: int) -> str:
    """What is shown of a text: all of it for 0 words, else the part that the query asks for, as collections serve parts."""
    return nearest(Passage("", 0, 0, "", "", text), query, words)[0] if words else text


def needed(recipe: Recipe) -> int:
    """How many negatives a pair must have of its own: none where a triplet finds its negative in the batch."""
    return 0 if recipe.objective in TRIPLETS else recipe.negatives


def examples(pairs: Mapping[str, Sequence[Pair]], recipe: Recipe, epoch: int = 0) -> dict[str, list[Example]]:
    """The examples of one epoch by task, drawn anew each time; pairs without enough negatives are left out."""
    made = {}
    for task, share in recipe.tasks.items():
        usable = [pair for pair in pairs[task] if len(pair.negatives) >= needed(recipe)]
        if share.most:
            usable = _at_most(usable, share.most, _draw(recipe, f"most:{task}", epoch))
        taken = _draw(recipe, f"take:{task}", epoch).sample(usable, min(share.take, len(usable)))
        made[task] = [
            example(pair, share, recipe.negatives, _draw(recipe, f"{round_}:{pair.id}", epoch))
            for round_ in range(share.repeat)
            for pair in taken
        ]
    return made


def _at_most(pairs: Sequence[Pair], most: int, draw: random.Random) -> list[Pair]:
    """The pairs with at most so many of each group, drawn, in their order."""
    groups: dict[str, list[int]] = defaultdict(list)
    for place, pair in enumerate(pairs):
        groups[pair.group].append(place)
    kept = {place for places in groups.values() for place in draw.sample(places, min(most, len(places)))}
    return [pair for place, pair in enumerate(pairs) if place in kept]


def plan(pairs: Mapping[str, Sequence[Pair]], recipe: Recipe) -> list[list[Example]]:
    """The batches of the run, in order, epoch after epoch: more epochs leave the earlier ones as they were.

    Where the other passages of the batch are negatives, a batch holds one task, so that they are hard enough to
    teach; else it mixes tasks, filled by length.
    """
    whole = []
    for epoch in range(recipe.epochs):
        made, draw = examples(pairs, recipe, epoch), _draw(recipe, "plan", epoch)
        if recipe.objective in CANDIDATES:
            whole += _by_length(made, recipe.batch, draw)
        else:
            whole += _by_task(made, recipe.batch, draw, recipe.gather)
    return whole


def used(batches: Iterable[Sequence[Example]]) -> dict[str, int]:
    """How many different pairs of each task the batches show."""
    seen: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for item in chain.from_iterable(batches):
        seen[item.task].add((item.query, item.ids[0]))
    return {task: len(found) for task, found in sorted(seen.items())}


def _draw(recipe: Recipe, purpose: str, epoch: int) -> random.Random:
    seed = f"{recipe.seed}:{purpose}" + (f":{epoch}" if epoch else "")
    return random.Random(seed)  # noqa: S311 - reproducible, not secret


def _by_task(made: Mapping[str, list[Example]], size: int, draw: random.Random, gather: int = 1) -> list[list[Example]]:
    ordered = (_gathered(found, gather, draw) for found in made.values())
    batches = list(chain.from_iterable(_chunks(found, size) for found in ordered))
    return _shuffled([batch for batch in batches if len(batch) == size], draw)


def _gathered(found: Sequence[Example], gather: int, draw: random.Random) -> list[Example]:
    """Shuffled, with runs of at most `gather` examples of one group."""
    mixed = _shuffled(found, draw)
    if gather == 1:
        return mixed
    groups: dict[str, list[Example]] = defaultdict(list)
    for item in mixed:
        groups[item.group].append(item)
    runs = [run for items in groups.values() for run in _chunks(items, gather)]
    return list(chain.from_iterable(_shuffled(runs, draw)))


def _by_length(made: Mapping[str, list[Example]], size: int, draw: random.Random) -> list[list[Example]]:
    mixed = _shuffled(list(chain.from_iterable(made.values())), draw)
    spans = (_chunks(sorted(span, key=_longest), size) for span in _chunks(mixed, SPAN * size))
    return [batch for chunks in spans for batch in _shuffled(chunks, draw)]


def _longest(item: Example) -> int:
    return len(item.query) + max(map(len, item.texts))


def _chunks(items: Sequence[T], size: int) -> list[list[T]]:
    return [list(items[at : at + size]) for at in range(0, len(items), size)]


def _shuffled(items: Sequence[T], draw: random.Random) -> list[T]:
    return draw.sample(items, len(items))
