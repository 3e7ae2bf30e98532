"""Turn pairs into batches.

Recipe and seed determine all batches of a run before the first step, so that step i has the same batch in a new run and
in a resumed one.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TypeVar

from encoders.labels.augment import NEIGHBOURS, Neighbours, read_neighbours, vary_pair
from encoders.labels.pairs import Pair, Text, check_sides, read_pairs
from encoders.stances import is_same
from encoders.training.recipe import CANDIDATES, SINGLES, TRIPLETS, Recipe, Share
from mappings.analysis.nearest import nearest
from mappings.analysis.window_text import place_passage, place_window
from mappings.documents import Passage
from mappings.stances import ClaimPassage, Stance

T = TypeVar("T")
POSITIVES = 0.5
"""How often a teacher of stances reads the answer of a pair without a stance, rather than one of its negatives."""
SPAN = 24
"""Examples are shuffled, then sorted by length within spans of this many batches: little padding, still random."""


@dataclass(frozen=True, slots=True)
class ClaimExample:
    """A passage with its stance to the claim; `marked` says of each of its sentences whether it shows that. None: unknown."""

    passage: ClaimPassage
    stance: Stance | None
    marked: tuple[bool, ...] | None


@dataclass(frozen=True, slots=True)
class Example:
    """A query with its texts as the model reads them, positive first, and the ids of all passages that answer it.

    `counts` is False for what is shown of a pair beside its answer: a variant, or a wrong text alone.
    """

    task: str
    query: str
    texts: tuple[str, ...]
    ids: tuple[str, ...]
    relevant: frozenset[str]
    group: str = ""
    claim: ClaimExample | None = None
    counts: bool = True


def load_pairs(folder: Path, recipe: Recipe, split: str) -> dict[str, list[Pair]]:
    """The pairs of each task in the recipe, from `folder/<task>.jsonl`, on one side of the split.

    Where the model reads what is around a passage, negatives have it, too. Raises `InvalidInput`, also for a group that is on
    both sides, since held-out scores would then tell what was learned by heart.
    """
    found = {}
    for task in recipe.tasks:
        read = check_sides(read_pairs(folder / f"{task}.jsonl"))
        pairs = surround_negatives(list(read)) if recipe.windows == "surroundings" else read
        found[task] = [pair for pair in pairs if pair.split == split]
    return found


def load_neighbours(folder: Path, recipe: Recipe) -> Neighbours:
    """The neighbours of words in `folder`, if the recipe makes variants; else none. Raises `InvalidInput`."""
    return read_neighbours(folder / NEIGHBOURS) if recipe.variants else {}


def surround_negatives(pairs: Sequence[Pair]) -> list[Pair]:
    """The pairs, each negative with what is around it where it is itself an answer: a file has that only once."""
    known = {pair.positive.id: pair.positive for pair in pairs}

    def surrounded(text: Text) -> Text:
        own = known.get(text.id)
        return text if own is None or text.before or text.after else replace(text, before=own.before, after=own.after)

    return [replace(pair, negatives=tuple(map(surrounded, pair.negatives))) for pair in pairs]


def render_text(text: Text, context: bool, around: bool = False) -> str:
    """A passage as a model reads it: the text, with `context` after its title and heading, with `around` in its document."""
    shown = " ".join(part for part in ((text.title, text.heading) if context else ()) if part) + (
        f" {text.text}" if context and (text.title or text.heading) else text.text
    )
    return place_passage(" ".join(text.before), shown, " ".join(text.after)) if around else shown


def make_example(pair: Pair, share: Share, negatives: int, draw: random.Random, windows: str = "separate") -> Example:
    """The pair with `negatives` of its negatives, drawn at random, all rendered in the same way.

    If the positive has no title (because the title is the query), no negative shows one, since that would reveal the
    answer. All texts are cut to the share's window, so that their length does not reveal it either. If `windows` are late,
    texts are whole, and their windows placed in them; if they are `surroundings`, texts are placed in their documents.
    """
    context = draw.random() < share.context and bool(pair.positive.title or pair.positive.heading)
    chosen = draw.sample(pair.negatives, min(negatives, len(pair.negatives)))
    around, late = windows == "surroundings", windows in ("late", "late-context")
    texts = [
        replace(text, text=_at_window(text.text, pair.query, share.window, late)) for text in (pair.positive, *chosen)
    ]
    return Example(
        pair.task,
        pair.query,
        tuple(render_text(text, context, around) for text in texts),
        tuple(text.id for text in texts),
        frozenset((*pair.relevant, pair.positive.id)),
        pair.group,
    )


def make_claim_example(pair: Pair, share: Share, draw: random.Random, other: Text | None = None) -> Example:
    """The pair with its stance, if anybody told it; with `other` that text instead, which says nothing of the claim."""
    text = other or pair.positive
    context = " ".join(filter(None, (text.title, text.heading))) if draw.random() < share.context else ""
    passage = ClaimPassage.of(text.text, context)
    evidence = () if other else pair.evidence
    marked = (
        None if evidence is None else tuple(any(is_same(span, item) for item in evidence) for span in passage.spans)
    )
    claim = ClaimExample(passage, "neither" if other else pair.stance, marked)
    shown = f"{context} {text.text}".strip()
    return Example(pair.task, pair.query, (shown,), (text.id,), frozenset({text.id}), pair.group, claim)


def _at_window(text: str, query: str, words: int, late: bool) -> str:
    """The part of a text nearest to the query, or with `late` that part placed in the text; the text if `words` is 0."""
    if not words:
        return text
    window = nearest(Passage("", 0, 0, "", "", text), query, words)[0]
    start = text.find(window)
    return place_window("", text, start, start + len(window)) if late and window != text else window


def required_negatives(recipe: Recipe) -> int:
    """How many negatives a pair must have: none if the objective finds them in the batch."""
    return 0 if recipe.objective in TRIPLETS or recipe.kind == "stance-classifier" else recipe.negatives


def _is_usable(pair: Pair, recipe: Recipe) -> bool:
    """Whether the pair has what the model learns from: enough negatives or, of a stance classifier, a stance or a negative.

    A teacher tells the stance of any pair.
    """
    if recipe.kind == "stance-classifier":
        return bool(pair.stance or pair.negatives or recipe.teacher)
    return len(pair.negatives) >= required_negatives(recipe)


def make_examples(
    pairs: Mapping[str, Sequence[Pair]], recipe: Recipe, epoch: int = 0, neighbours: Neighbours | None = None
) -> dict[str, list[Example]]:
    """The examples of one epoch by task, with its own random draw; pairs without enough negatives are left out.

    `neighbours` are those of words, for variants of answers.
    """
    made = {}
    for task, share in recipe.tasks.items():
        usable = [_with_first(pair, recipe) for pair in pairs[task] if _is_usable(pair, recipe)]
        if share.most:
            usable = _at_most(usable, share.most, _draw(recipe, f"most:{task}", epoch))
        taken = _draw(recipe, f"take:{task}", epoch).sample(usable, min(share.take, len(usable)))
        if recipe.kind == "stance-classifier":
            made[task] = list(_make_claim_examples(taken, share, recipe, epoch))
            continue
        made[task] = [
            make_example(pair, share, recipe.negatives, _draw(recipe, f"{round_}:{pair.id}", epoch), recipe.windows)
            for round_ in range(share.repeat)
            for pair in taken
        ]
        if recipe.objective in SINGLES:
            made[task] = list(_split_examples(made[task], recipe, neighbours or {}))
    return made


def _with_first(pair: Pair, recipe: Recipe) -> Pair:
    """The pair, if the recipe says so with no more than the first negatives: those that rank highest."""
    return replace(pair, negatives=pair.negatives[: recipe.negatives]) if recipe.choose == "first" else pair


def _split_examples(made: Iterable[Example], recipe: Recipe, neighbours: Neighbours) -> Iterator[Example]:
    """Each text of an example as an example of its own, and after an answer its variants: the same ones in every epoch."""
    for item in made:
        one = replace(item, texts=item.texts[:1], ids=item.ids[:1])
        yield one
        draw = _draw(recipe, f"variants:{item.query}:{item.ids[0]}", 0)
        for query, text in vary_pair((item.query, item.texts[0]), neighbours, recipe.variants, draw, recipe.varied):
            yield replace(one, query=query, texts=(text,), counts=False)
        for name, text in zip(item.ids[1:], item.texts[1:], strict=True):
            yield replace(one, texts=(text,), ids=(name,), counts=False)


def _make_claim_examples(pairs: Sequence[Pair], share: Share, recipe: Recipe, epoch: int) -> Iterator[Example]:
    """The pairs, and for the share `further` of them another with a text that says nothing of the claim.

    Of a pair without a stance only its negatives are shown: passages that a search finds, and that say nothing of the claim.
    Where a teacher says what they say, its positive is shown half of the times, and nothing is held to be known.
    """
    texts = [pair.positive for pair in pairs if pair.stance]
    for round_ in range(share.repeat):
        for pair in pairs:
            draw = _draw(recipe, f"{round_}:{pair.id}", epoch)
            if pair.stance:
                yield make_claim_example(pair, share, draw)
            elif recipe.teacher:
                text = pair.positive if draw.random() < POSITIVES or not pair.negatives else draw.choice(pair.negatives)
                yield make_claim_example(replace(pair, positive=text, evidence=None), share, draw)
                continue
            if pair.stance is None or draw.random() < recipe.further:
                others = [text for text in draw.choices(pair.negatives or texts, k=3) if text.id not in pair.relevant]
                yield from (make_claim_example(pair, share, draw, text) for text in others[:1])


def _at_most(pairs: Sequence[Pair], most: int, draw: random.Random) -> list[Pair]:
    """At most `most` pairs of each group, drawn at random, in their original order."""
    groups: dict[str, list[int]] = defaultdict(list)
    for place, pair in enumerate(pairs):
        groups[pair.group].append(place)
    kept = {place for places in groups.values() for place in draw.sample(places, min(most, len(places)))}
    return [pair for place, pair in enumerate(pairs) if place in kept]


def plan_batches(
    pairs: Mapping[str, Sequence[Pair]], recipe: Recipe, neighbours: Neighbours | None = None
) -> list[list[Example]]:
    """The batches of the run, epoch after epoch; more epochs do not change the earlier ones.

    If the other passages of the batch are negatives, a batch has a single task, so that they are hard enough; otherwise
    tasks are mixed and batches are formed by length, but for single pairs, which are shuffled.
    """
    whole = []
    for epoch in range(recipe.epochs):
        made, draw = make_examples(pairs, recipe, epoch, neighbours), _draw(recipe, "plan", epoch)
        if recipe.objective in SINGLES:  # what varies is longer and always right, so length must not gather it
            whole += _chunks(_shuffled(list(chain.from_iterable(made.values())), draw), recipe.batch)
        elif recipe.objective in CANDIDATES or recipe.kind == "stance-classifier":
            whole += _by_length(made, recipe.batch, draw)
        else:
            whole += _by_task(made, recipe.batch, draw, recipe.gather)
    return whole


def count_pairs(batches: Iterable[Sequence[Example]]) -> dict[str, int]:
    """The number of distinct pairs of each task in the batches."""
    seen: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for item in filter(lambda item: item.counts, chain.from_iterable(batches)):
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
    """Shuffled, with up to `gather` examples of one group next to each other."""
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
