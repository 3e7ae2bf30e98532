"""A matching network of any of the papers, over vectors of words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import torch
from torch import Tensor, nn
from torch.nn import functional

from encoders.training.matching.inputs import MatchBatch, WordTable
from encoders.training.matching.layers import MatcherSizes
from encoders.training.matching.models.anmm import Anmm
from encoders.training.matching.models.arc_i import ArcI
from encoders.training.matching.models.arc_ii import ArcII
from encoders.training.matching.models.c_dssm import CDssm
from encoders.training.matching.models.conv_knrm import ConvKnrm
from encoders.training.matching.models.drmm import Drmm
from encoders.training.matching.models.dssm import Dssm
from encoders.training.matching.models.duet import Duet
from encoders.training.matching.models.har import Har
from encoders.training.matching.models.k_nrm import Knrm
from encoders.training.matching.models.matchpyramid import MatchPyramid
from encoders.training.matching.models.mv_lstm import MvLstm
from encoders.training.matching.recipe import MatcherRecipe

AT_ONCE: Final = 128
"""So many passages are read at a time."""
MODELS: Final[dict[str, Any]] = {
    "arc-i": ArcI,
    "arc-ii": ArcII,
    "dssm": Dssm,
    "c-dssm": CDssm,
    "drmm": Drmm,
    "matchpyramid": MatchPyramid,
    "anmm": Anmm,
    "k-nrm": Knrm,
    "conv-knrm": ConvKnrm,
    "duet": Duet,
    "mv-lstm": MvLstm,
    "har": Har,
}


class Matcher(nn.Module):
    """The model of a recipe, and what it does to the vectors of words before: a learned matrix, dropout."""

    def __init__(self, recipe: MatcherRecipe, dimension: int) -> None:
        super().__init__()
        sizes = MatcherSizes(dimension, recipe.units, recipe.max_query, recipe.max_passage)
        self.dropout = recipe.dropout
        self.adapt = nn.Linear(dimension, dimension, bias=False) if recipe.adapt else None
        if self.adapt is not None:
            nn.init.eye_(self.adapt.weight)
        self.network = MODELS[recipe.model](sizes)

    @property
    def device(self) -> torch.device:
        """Where its weights are."""
        return next(self.parameters()).device

    def forward(self, batch: MatchBatch) -> Tensor:
        """Scores (b,)."""
        batch = batch.to(self.device)
        changed = {name: self._change(getattr(batch, name)) for name in ("query", "passage")}
        found: Tensor = self.network(replace(batch, **changed))
        return found

    def _change(self, vectors: Tensor) -> Tensor:
        found = vectors if self.adapt is None else self.adapt(vectors)
        return functional.dropout(found, self.dropout, self.training)


@torch.inference_mode()
def score_texts(model: Matcher, table: WordTable, query: str, texts: Sequence[str]) -> Tensor:
    """The score of each text, shape (texts,)."""
    parts = (texts[at : at + AT_ONCE] for at in range(0, len(texts), AT_ONCE))
    found = [model(table.batch([query] * len(part), part)).float().cpu() for part in parts]
    return torch.cat(found) if found else torch.zeros(0)
