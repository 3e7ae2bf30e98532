"""The training objectives: functions from scores to a scalar, independent of any model.

`scores` are (b, m) for b queries and all m passages of a batch, where passage i answers query i; or (b, 1 + k) for each
query's own candidates, the answer first. They are already divided by the temperature.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional


def contrastive(scores: Tensor, known: Tensor) -> Tensor:
    """Softmax cross-entropy of each query over all passages of the batch (van den Oord et al. 2018, eq. 4).

    `scores` (b, m). `known` (b, m) is true where a passage is another known answer: it is ignored.
    """
    return whole_batch(scores.masked_fill(known, float("-inf")))


def whole_batch(scores: Tensor) -> Tensor:
    """Softmax cross-entropy in which every other passage of the batch is a negative, even a known answer (CAPR eq. 1).

    `scores` (b, m).
    """
    return functional.cross_entropy(scores, torch.arange(len(scores), device=scores.device))


def triplet(similarities: Tensor, known: Tensor, margin: float) -> Tensor:
    """Mean of max(d(q, m) - d(q, u) + margin, 0), d the cosine distance, u the hardest non-match (RADIOLOGY eq. 1).

    `similarities` (b, m) are cosines over a mega-batch; `known` (b, m) is true where another passage also matches.
    A query that every passage matches has no loss.
    """
    matched = similarities.diagonal()
    own = torch.eye(*similarities.shape, dtype=torch.bool, device=similarities.device)
    hardest = similarities.masked_fill(known | own, float("-inf")).amax(dim=1)
    return functional.relu((1 - matched) - (1 - hardest) + margin).mean()


def triplet_both(similarities: Tensor, known: Tensor, margin: float, temperature: float, softmax: float) -> Tensor:
    """Triplets from the query and from its answer (VSE++, Faghri et al. 2018, eq. 6), plus a weighted softmax term.

    The first is `triplet`; the second uses the hardest query that passage i, the answer to query i, does not match: with
    "no effusion" and "effusion" in one batch, each sentence learns which one it answers. `softmax` is the weight of
    `contrastive` in both directions, which also moves passages other than the hardest.
    """
    count = len(similarities)
    answers, matches = similarities[:, :count].T, known[:, :count].T
    hard = triplet(similarities, known, margin) + triplet(answers, matches, margin)
    soft = contrastive(similarities / temperature, known) + contrastive(answers / temperature, matches)
    return hard + softmax * soft


def listwise(scores: Tensor) -> Tensor:
    """Softmax cross-entropy with the first candidate of each row as the target. `scores` (b, 1 + k)."""
    return functional.cross_entropy(scores, torch.zeros(len(scores), dtype=torch.long, device=scores.device))


def pointwise(scores: Tensor) -> Tensor:
    """Binary cross-entropy of each candidate independently. `scores` (b, 1 + k)."""
    targets = torch.zeros_like(scores)
    targets[:, 0] = 1
    return functional.binary_cross_entropy_with_logits(scores, targets)


def two_class(logits: Tensor) -> Tensor:
    """Softmax cross-entropy over two classes of each candidate independently (CLAIMS L4). `logits` (b, 1 + k, 2)."""
    targets = torch.zeros(logits.shape[:2], dtype=torch.long, device=logits.device)
    targets[:, 0] = 1
    return functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


def two_class_pairs(logits: Tensor, right: Tensor) -> Tensor:
    """Softmax cross-entropy over two classes of pairs, each right or wrong (CLAIMS L4). `logits` (b, 2), `right` (b,)."""
    return functional.cross_entropy(logits, right.long())


def kl(student: Tensor, teacher: Tensor) -> Tensor:
    """Mean KL divergence of the teacher's softmax over a query's candidates from the student's (Hinton et al. 2015).

    Both (b, 1 + k).
    """
    return functional.kl_div(
        student.log_softmax(dim=1), teacher.log_softmax(dim=1), reduction="batchmean", log_target=True
    )


def margin_mse(student: Tensor, teacher: Tensor) -> Tensor:
    """Mean squared difference of the answer's margins over each negative (Hofstätter et al. 2020, eq. 3).

    Both (b, 1 + k).
    """
    return functional.mse_loss(student[:, :1] - student[:, 1:], teacher[:, :1] - teacher[:, 1:])


DISTILLATION: dict[str, Callable[[Tensor, Tensor], Tensor]] = {"kl": kl, "margin-mse": margin_mse}
