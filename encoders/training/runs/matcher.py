"""Train a matching network: pairs, vectors of words and a recipe in; what every run writes out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import orjson
import torch

from encoders.ancestry.record import Ancestry
from encoders.ancestry.seen import SeenTexts
from encoders.labels.pairs import Pair
from encoders.training.data.batches import Example, count_pairs, load_pairs, plan_batches, render_text
from encoders.training.data.word_vectors import open_words
from encoders.training.loop.optimise import LoopContext, optimise
from encoders.training.loop.precision import choose_device
from encoders.training.loop.state import check_state, make_identity
from encoders.training.matching.checkpoint import save_matcher
from encoders.training.matching.inputs import Frequencies, WordTable
from encoders.training.matching.matcher import Matcher
from encoders.training.matching.recipe import MatcherRecipe
from encoders.training.matching.scoring import compute_match_loss, evaluate_matcher
from encoders.training.run_folder import CHECKPOINT, REPORT, Log
from encoders.training.runs.parents import make_ancestry, words_parent
from encoders.training.runs.record import RunRecord, hash_pairs
from encoders.training.runs.recorded import (
    explain_unused,
    make_folder,
    read_label_counts,
    refuse_evaluated,
    run_recorded,
)
from encoders.words.vectors import WordVectors, has_word
from mappings.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class _MatcherSetup:
    """What a run starts with, loaded and checked before anything in its folder changes."""

    recipe: MatcherRecipe
    model: Matcher
    table: WordTable
    dev: Mapping[str, Sequence[Pair]]
    batches: Sequence[Sequence[Example]]
    identity: Mapping[str, Any]
    label_counts: Mapping[str, Any]
    ancestry: Ancestry


def train_matcher(
    recipe: MatcherRecipe, data: Path, out: Path, evaluated: Path | None = None, watch: Log | None = None
) -> dict[str, Any]:
    """Train by `recipe` on the pairs in `data`, as `encoders.training.runs.train.train` does a transformer.

    The checkpoint holds the model and the frequencies of words; the vectors stay where the recipe says. All held-out pairs
    score the model before and after. Raises `InvalidInput`, `NotFound`, `ModelError` and `Conflict`.
    """
    device = choose_device(recipe)
    if evaluated is not None:
        refuse_evaluated(recipe, data, evaluated)
    words, hashes = open_words(recipe.words), hash_pairs(data, recipe)
    identity = make_identity(recipe, {**hashes, "words": words.fingerprint})
    check_state(out, identity)
    setup = _prepare(recipe, data, words, identity, evaluated is not None)
    setup.model.to(device)
    make_folder(out)
    return run_recorded(RunRecord.start(recipe, hashes, device), out, watch, partial(_run, setup, out))


def _prepare(
    recipe: MatcherRecipe, data: Path, words: WordVectors, identity: Mapping[str, Any], checked: bool
) -> _MatcherSetup:
    torch.set_num_threads(recipe.threads)
    torch.manual_seed(recipe.seed)
    pairs, dev = load_pairs(data, recipe, "train"), load_pairs(data, recipe, "held-out")
    if recipe.evaluate_every and not any(dev.values()):
        raise InvalidInput("evaluate_every needs held-out pairs, and the files have none", field="evaluate_every")
    batches = plan_batches(pairs, recipe)
    if missing := recipe.tasks.keys() - count_pairs(batches):
        task = min(missing)
        raise InvalidInput(explain_unused(task, pairs[task], recipe), field=task)
    every = list(chain.from_iterable(pairs.values()))
    _require_words(chain(every, *dev.values()))
    frequencies = Frequencies.count(
        render_text(text, False) for pair in every for text in (pair.positive, *pair.negatives)
    )
    seen = SeenTexts.of_pairs(chain(every, *dev.values()))
    parent = words_parent(recipe.words, words)
    return _MatcherSetup(
        recipe=recipe,
        model=Matcher(recipe, words.dimension),
        table=WordTable(words, frequencies, recipe.max_query, recipe.max_passage),
        dev=dev,
        batches=batches,
        identity=identity,
        label_counts=read_label_counts(data),
        ancestry=make_ancestry([parent], recipe, identity["inputs"], seen, checked),
    )


def _require_words(pairs: Iterable[Pair]) -> None:
    """Raise `InvalidInput` for a text without a word, before the run begins: a network would stop at its batch."""
    for pair in pairs:
        texts = (render_text(text, False) for text in (pair.positive, *pair.negatives))
        for side, text in (("query", pair.query), *(("passage", text) for text in texts)):
            if not has_word(text):
                raise InvalidInput(
                    f"{pair.task}.jsonl, pair {pair.id!r}: the {side} {text!r} has no word of letters a to z or digits",
                    field=side,
                )


def _run(setup: _MatcherSetup, out: Path, log: Log) -> dict[str, Any]:
    """Train, save and evaluate; returns the report of the run."""
    recipe, model, table = setup.recipe, setup.model, setup.table
    counts = count_pairs(setup.batches[: recipe.steps or None])
    trainable = sum(weight.numel() for weight in model.parameters())
    log({"recipe": recipe.as_json(), "pairs": counts, "batches": len(setup.batches), "trainable": trainable})
    everything = max(map(len, setup.dev.values()), default=0)
    base = evaluate_matcher(model, table, setup.dev, recipe, everything)
    progress = optimise(
        LoopContext(
            model=model,
            recipe=recipe,
            folder=out,
            log=log,
            identity=setup.identity,
            loss=partial(compute_match_loss, model, table, others=recipe.others),
            evaluate=partial(_evaluate_states, setup),
        ),
        setup.batches,
    )
    save_matcher(out / CHECKPOINT, recipe, model, table)
    setup.ancestry.write(out / CHECKPOINT)
    trained = evaluate_matcher(model, table, setup.dev, recipe, everything)
    report = {
        "recipe": recipe.as_json(),
        "words": {"fingerprint": table.vectors.fingerprint, "dimension": table.vectors.dimension},
        "pairs": counts,
        "data": dict(setup.label_counts),
        "steps": progress.step,
        "best_step": progress.best_step or progress.step,
        "held_out": {"base": base, "trained": trained},
    }
    (out / REPORT).write_bytes(orjson.dumps(report, option=orjson.OPT_INDENT_2))
    return report


def _evaluate_states(setup: _MatcherSetup) -> tuple[Mapping[str, Any], float]:
    """The development pairs ranked by the model as it is, and the mean by which its states are compared."""
    recipe = setup.recipe
    table = evaluate_matcher(setup.model, setup.table, setup.dev, recipe, recipe.dev_queries)
    return table, table["mean"]["RR"]
