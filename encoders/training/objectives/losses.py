"""Compute a recipe's objective on a batch: score what the objective needs and apply its formula."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from encoders.training.architectures.claims import read_claims
from encoders.training.architectures.cross_encoder import to_logit
from encoders.training.architectures.scoring import autocast, compute_logits, encode_texts, score_all, score_pairs
from encoders.training.data.batches import Example
from encoders.training.data.frozen_readings import FrozenReadings
from encoders.training.data.frozen_scores import FrozenScores
from encoders.training.objectives.anchor import Anchor
from encoders.training.objectives.formulas import (
    DISTILLATION,
    contrastive,
    listwise,
    pointwise,
    triplet,
    triplet_both,
    two_class,
    whole_batch,
)
from encoders.training.objectives.stances import stance_loss, taught_stance_loss
from encoders.training.recipe import Recipe


def compute_loss(
    model: Any,
    tokenizer: Any,
    batch: Sequence[Example],
    recipe: Recipe,
    teacher: FrozenScores | FrozenReadings | None = None,
    prior: FrozenScores | None = None,
    anchor: Anchor | None = None,
) -> Tensor:
    """The recipe's objective on one batch, with the teacher's share, the prior's scores and the anchor's if they are given."""
    if recipe.kind == "stance-classifier":
        return _of_stances(model, tokenizer, batch, recipe, teacher if isinstance(teacher, FrozenReadings) else None)
    if anchor is not None:
        own, candidates = _anchored(model, tokenizer, batch, recipe, anchor)
    elif recipe.kind != "cross-encoder" or recipe.objective == "whole-batch":
        own, candidates = _over_batch(model, tokenizer, batch, recipe)
    else:
        own, candidates = _over_candidates(model, tokenizer, batch, recipe, prior)
    if not isinstance(teacher, FrozenScores):
        return own
    wanted = teacher.scores(batch).to(candidates.device) / recipe.teacher_temperature
    taught = DISTILLATION[recipe.distillation](candidates, wanted)
    return recipe.teacher_share * taught + (1 - recipe.teacher_share) * own


def _of_stances(
    model: Any, tokenizer: Any, batch: Sequence[Example], recipe: Recipe, teacher: FrozenReadings | None
) -> Tensor:
    """Cross-entropy of the stances, and of the sentences where they are marked, with the teacher's share of both."""
    claims = [item.claim for item in batch if item.claim is not None]
    with autocast(model, recipe):
        found = read_claims(model, tokenizer, [item.query for item in batch], [one.passage for one in claims], recipe)
    own = stance_loss(found, claims, recipe.evidence)
    if teacher is None:
        return own
    taught = taught_stance_loss(found, teacher.readings(batch), recipe.evidence, recipe.teacher_temperature)
    return recipe.teacher_share * taught + (1 - recipe.teacher_share) * own


def _over_candidates(
    model: Any, tokenizer: Any, batch: Sequence[Example], recipe: Recipe, prior: FrozenScores | None
) -> tuple[Tensor, Tensor]:
    """The loss and the candidates' scores (b, 1 + k) of a cross-encoder that scores each query with its own candidates.

    The prior is added in the loss only; the returned scores are the model's own.
    """
    queries = [item.query for item in batch for _ in item.texts]
    texts = [text for item in batch for text in item.texts]
    with autocast(model, recipe):
        found = compute_logits(model, tokenizer, queries, texts, recipe)
    found = found.float().view(len(batch), -1, found.shape[1])
    scores = to_logit(found.flatten(0, 1)).view(len(batch), -1)
    if recipe.objective == "two-class":
        return two_class(found), scores
    known = 0.0 if prior is None else recipe.prior_scale * prior.scores(batch).to(scores.device)
    return {"listwise": listwise, "pointwise": pointwise}[recipe.objective](scores + known), scores


def _over_batch(model: Any, tokenizer: Any, batch: Sequence[Example], recipe: Recipe) -> tuple[Tensor, Tensor]:
    """The loss and the candidates' scores (b, 1 + k) of a model that scores each query with every passage of the batch.

    The candidates' scores are only valid if all examples have the same number of negatives, as with a teacher.
    """
    columns = list_passages(batch)
    queries, passages = [item.query for item in batch], [text for _, text in columns]
    with autocast(model, recipe):
        if recipe.kind == "cross-encoder":
            pairs = [(query, passage) for query in queries for passage in passages]
            flat = score_pairs(model, tokenizer, [query for query, _ in pairs], [text for _, text in pairs], recipe)
            found = flat.view(len(batch), -1)
        else:
            found = score_all(model, tokenizer, queries, passages, recipe)
    return _in_batch(found.float(), [name for name, _ in columns], batch, recipe)


def _anchored(
    model: Any, tokenizer: Any, batch: Sequence[Example], recipe: Recipe, anchor: Anchor
) -> tuple[Tensor, Tensor]:
    """As `_over_batch` for a bi-encoder, with the share `keep` of the loss for what its vectors drift from the base's.

    The drift is divided by the temperature, as the scores in the objective are.
    """
    columns = list_passages(batch)
    queries, passages = [item.query for item in batch], [text for _, text in columns]
    with autocast(model, recipe):
        left = encode_texts(model, tokenizer, queries, recipe, query=True)
        right = encode_texts(model, tokenizer, passages, recipe, query=False)
    left, right = left.float(), right.float()
    own, candidates = _in_batch(left @ right.T, [name for name, _ in columns], batch, recipe)
    drift = (anchor.drift(left, queries, query=True) + anchor.drift(right, passages, query=False)) / 2
    return (1 - recipe.keep) * own + recipe.keep * drift / recipe.temperature, candidates


def _in_batch(found: Tensor, names: Sequence[str], batch: Sequence[Example], recipe: Recipe) -> tuple[Tensor, Tensor]:
    """The loss and the candidates' scores (b, 1 + k) from the products (b, b * (1 + k)) with all passages of the batch."""
    known = find_known_answers(batch, names).to(found.device)
    scores = found if recipe.kind == "cross-encoder" else found / recipe.temperature
    return _batch_loss(found, scores, known, recipe), _own_candidates(scores, len(batch))


def _batch_loss(found: Tensor, scores: Tensor, known: Tensor, recipe: Recipe) -> Tensor:
    if recipe.objective == "triplet":
        return triplet(found, known, recipe.margin)
    if recipe.objective == "triplet-both":
        return triplet_both(found, known, recipe.margin, recipe.temperature, recipe.softmax)
    return contrastive(scores, known) if recipe.objective == "contrastive" else whole_batch(scores)


def _own_candidates(scores: Tensor, count: int) -> Tensor:
    """The scores of each query's own candidates, (b, 1 + k), from all scores (b, b * (1 + k))."""
    lists = scores.shape[1] // count
    return scores[:, : lists * count].view(count, lists, count).diagonal(dim1=0, dim2=2).T


def list_passages(batch: Sequence[Example]) -> list[tuple[str, str]]:
    """The (id, text) of a batch's passages: all answers, then the first negative of each query, and so on."""
    most = max(len(item.texts) for item in batch)
    return [(item.ids[at], item.texts[at]) for at in range(most) for item in batch if at < len(item.texts)]


def find_known_answers(batch: Sequence[Example], ids: Sequence[str]) -> Tensor:
    """True where the passage with that id also answers the query, (b, m); False for the query's own answer."""
    known = torch.tensor([[name in item.relevant for name in ids] for item in batch])
    known[:, : len(batch)].fill_diagonal_(False)
    return known
