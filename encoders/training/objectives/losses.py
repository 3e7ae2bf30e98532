"""A recipe's objective on a batch: read what the objective needs and apply its formula."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from encoders.training.architectures.claims import read_claims
from encoders.training.architectures.cross_encoder import to_logit
from encoders.training.architectures.scoring import autocast, compute_logits, represent_texts
from encoders.training.architectures.stance import StanceOutput
from encoders.training.data.batches import Example
from encoders.training.data.frozen_readings import FrozenReadings
from encoders.training.data.frozen_scores import FrozenScores
from encoders.training.loop.gradients import Representation, Side
from encoders.training.objectives.anchor import Anchor, drift
from encoders.training.objectives.formulas import (
    DISTILLATION,
    contrastive,
    listwise,
    pointwise,
    triplet,
    triplet_both,
    two_class,
    two_class_pairs,
    whole_batch,
)
from encoders.training.objectives.stances import stance_loss, taught_stance_loss
from encoders.training.recipe import SINGLES, Recipe
from mappings.stances import ClaimPassage


@dataclass(frozen=True, slots=True)
class Objective:
    """A recipe's objective for one model: what the model reads of a batch, and the loss of what it read.

    With the teacher's share, the prior's scores and the anchor's if they are given.
    """

    model: Any
    tokenizer: Any
    recipe: Recipe
    teacher: FrozenScores | FrozenReadings | None = None
    prior: FrozenScores | None = None
    anchor: Anchor | None = None

    def loss(self, batch: Sequence[Example]) -> Tensor:
        """The loss on a batch that is read at once."""
        with autocast(self.model, self.recipe):  # weights are rounded once for all sides
            found = {name: side.read(side.items) for name, side in self.sides(batch).items()}
        return self.compare(batch, found)

    def sides(self, batch: Sequence[Example]) -> dict[str, Side]:
        """What the model reads of a batch, in the order in which it reads it."""
        if self.recipe.kind == "stance-classifier":
            claims = [(item.query, item.claim.passage) for item in batch if item.claim is not None]
            return {"claims": Side(claims, self._read_claims)}
        if self.recipe.kind == "cross-encoder":
            return {"pairs": Side(self._pairs(batch), self._read_pairs)}
        queries, passages = [item.query for item in batch], [text for _, text in list_passages(batch)]
        found = {
            "queries": Side(queries, partial(self._represent, True)),
            "passages": Side(passages, partial(self._represent, False)),
        }
        if self.recipe.kind == "poly-encoder":
            return dict(reversed(found.items()))
        if self.anchor is not None:
            found["kept queries"] = Side(queries, partial(self._read_anchor, True), trained=False)
            found["kept passages"] = Side(passages, partial(self._read_anchor, False), trained=False)
        return found

    def compare(self, batch: Sequence[Example], found: Mapping[str, Representation]) -> Tensor:
        """The loss of what the model read of each side of a batch."""
        recipe, teacher = self.recipe, self.teacher
        if recipe.kind == "stance-classifier":
            return self._of_stances(batch, StanceOutput(*found["claims"]))
        if recipe.kind != "cross-encoder" or recipe.objective == "whole-batch":
            own, candidates = self._over_batch(batch, found)
        else:
            own, candidates = self._over_candidates(batch, found["pairs"][0].float())
        if not isinstance(teacher, FrozenScores):
            return own
        wanted = teacher.scores(batch).to(candidates.device) / recipe.teacher_temperature
        taught = DISTILLATION[recipe.distillation](candidates, wanted)
        return recipe.teacher_share * taught + (1 - recipe.teacher_share) * own

    def _pairs(self, batch: Sequence[Example]) -> list[tuple[str, str]]:
        """The pairs that a cross-encoder reads: each query with its own candidates, or with every passage of the batch."""
        if self.recipe.objective != "whole-batch":
            return [(item.query, text) for item in batch for text in item.texts]
        passages = [text for _, text in list_passages(batch)]
        return [(item.query, passage) for item in batch for passage in passages]

    def _represent(self, query: bool, texts: Sequence[str]) -> Representation:
        with autocast(self.model, self.recipe):
            return represent_texts(self.model, self.tokenizer, texts, self.recipe, query)

    def _read_anchor(self, query: bool, texts: Sequence[str]) -> Representation:
        return () if self.anchor is None else (self.anchor.vectors(texts, query),)

    def _read_pairs(self, pairs: Sequence[tuple[str, str]]) -> Representation:
        queries, texts = [query for query, _ in pairs], [text for _, text in pairs]
        with autocast(self.model, self.recipe):
            return (compute_logits(self.model, self.tokenizer, queries, texts, self.recipe),)

    def _read_claims(self, items: Sequence[tuple[str, ClaimPassage]]) -> Representation:
        claims, passages = [claim for claim, _ in items], [passage for _, passage in items]
        with autocast(self.model, self.recipe):
            found = read_claims(self.model, self.tokenizer, claims, passages, self.recipe)
        return found.stances, found.evidence, found.known

    def _of_stances(self, batch: Sequence[Example], found: StanceOutput) -> Tensor:
        """Cross-entropy of the stances, and of the sentences where they are marked, with the teacher's share of both."""
        recipe, teacher = self.recipe, self.teacher
        own = stance_loss(found, [item.claim for item in batch if item.claim is not None], recipe.evidence)
        if not isinstance(teacher, FrozenReadings):
            return own
        taught = taught_stance_loss(found, teacher.readings(batch), recipe.evidence, recipe.teacher_temperature)
        return recipe.teacher_share * taught + (1 - recipe.teacher_share) * own

    def _over_candidates(self, batch: Sequence[Example], logits: Tensor) -> tuple[Tensor, Tensor]:
        """The loss and the candidates' scores (b, 1 + k) of a cross-encoder that scores each query with its own candidates.

        The prior is added in the loss only; the returned scores are the model's own.
        """
        recipe, scores = self.recipe, to_logit(logits).view(len(batch), -1)
        if recipe.objective in SINGLES:
            right = torch.tensor([item.ids[0] in item.relevant for item in batch], device=logits.device)
            return two_class_pairs(logits, right), scores
        if recipe.objective == "two-class":
            return two_class(logits.view(len(batch), -1, logits.shape[1])), scores
        known = 0.0 if self.prior is None else recipe.prior_scale * self.prior.scores(batch).to(scores.device)
        return {"listwise": listwise, "pointwise": pointwise}[recipe.objective](scores + known), scores

    def _over_batch(self, batch: Sequence[Example], found: Mapping[str, Representation]) -> tuple[Tensor, Tensor]:
        """The loss and the candidates' scores (b, 1 + k) of a model that scores each query with every passage of the batch.

        The candidates' scores are only valid if all examples have the same number of negatives, as with a teacher. With an
        anchor, the share `keep` of the loss is what a bi-encoder's vectors drift from the base's, divided by the
        temperature as the scores in the objective are.
        """
        recipe, names = self.recipe, [name for name, _ in list_passages(batch)]
        if recipe.kind == "cross-encoder":
            return _in_batch(to_logit(found["pairs"][0]).float().view(len(batch), -1), names, batch, recipe)
        scores = self.model.compare(found["queries"], found["passages"]).float()
        own, candidates = _in_batch(scores, names, batch, recipe)
        if self.anchor is None:
            return own, candidates
        drifts = [drift(found[side][0], found[f"kept {side}"][0]) for side in ("queries", "passages")]
        return (1 - recipe.keep) * own + recipe.keep * sum(drifts) / 2 / recipe.temperature, candidates


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
