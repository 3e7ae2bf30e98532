"""Negatives for training as CLAIMS chooses them: the first of a query's candidates by BM25+†, never random ones (section 3.2)."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from encoders.labels.augment import NEIGHBOURS
from encoders.labels.pairs import Pair, Text, pair_files, read_pairs, write_lines
from evaluation.baselines.papers import PREPARED_MODEL, AdditiveModel, best_places
from evaluation.baselines.prepared import expansions_for, prepared_tokens
from evaluation.measures import ordered
from search.mining import COUNTS, Finder, Mining, mine, read_corpus


def mine_candidates(labels: Path, out: Path, mining: Mining, tasks: Sequence[str] = ()) -> dict[str, int]:
    """Mine `labels/pairs/<task>.jsonl` of the tasks, or of all, into `out/<task>.jsonl`; returns the number of pairs by task.

    A query is ranked over its corpus and those that mining adds to it, all as one collection. The neighbours of words,
    where labelling wrote them, are copied for recipes that vary answers. Raises as `search.mining.mine_folder` does, and
    `Unavailable` without rank-bm25.
    """
    files = pair_files(labels, tasks)
    out.mkdir(parents=True, exist_ok=True)
    for name in (COUNTS, NEIGHBOURS):
        if (labels / name).is_file():
            shutil.copyfile(labels / name, out / name)
    mined = {}
    for file in files:
        pairs = list(read_pairs(file))
        chosen = random.Random(f"{mining.seed}:{file.stem}").sample(pairs, min(mining.limit, len(pairs)))  # noqa: S311
        mined[file.stem] = write_lines(out / file.name, _mine_pairs(chosen, labels, mining))
    return mined


def _mine_pairs(pairs: Sequence[Pair], labels: Path, mining: Mining) -> Iterator[Pair]:
    """The pairs with negatives; those that have some, or a stance, which needs none, stay as they are."""
    yield from (pair for pair in pairs if pair.negatives or pair.stance)
    pairs = [pair for pair in pairs if not (pair.negatives or pair.stance)]
    for name in sorted({pair.corpus for pair in pairs}):
        own = [pair for pair in pairs if pair.corpus == name]
        corpus: dict[str, Text] = {}
        for source in (name, *mining.wider.get(name, ())):
            corpus = read_corpus(labels / "corpora" / f"{source}.jsonl") | corpus
        yield from mine(own, corpus, [make_prepared_finder(corpus, [pair.query for pair in own])], mining)


def make_prepared_finder(corpus: Mapping[str, Text], queries: Sequence[str]) -> Finder:
    """A finder by BM25+†: the abbreviations that are expanded are those of the corpus and of all `queries`."""
    names = list(corpus)
    texts = [" ".join(part for part in (text.title, text.heading, text.text) if part) for text in corpus.values()]
    prepared = partial(prepared_tokens, expansions=expansions_for([*texts, *queries]))
    model = AdditiveModel(PREPARED_MODEL, [prepared(text) for text in texts])

    def find(asked: Sequence[str], depth: int) -> list[list[str]]:
        found = []
        for query in asked:
            scores = model.get_scores(prepared(query))
            found.append(ordered({names[at]: float(scores[at]) for at in best_places(scores, depth)})[:depth])
        return found

    return find
