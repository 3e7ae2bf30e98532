"""What a model is made of, beside its base: enough to build it again from a checkpoint or an artifact."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from encoders.artifact import QUERIES, Kind, Reading
from encoders.training.architectures.bi_encoder import BiEncoder
from encoders.training.architectures.cross_encoder import InteractionCrossEncoder
from encoders.training.architectures.families import backbone, cls_last
from encoders.training.architectures.markers import templates
from encoders.training.architectures.poly_encoder import PolyEncoder
from encoders.training.recipe import Recipe


@dataclass(frozen=True, slots=True)
class Architecture:
    """`classes` are a cross-encoder's logits, `codes` and `sharpness` are a poly-encoder's; the rest is named as in a recipe."""

    kind: Kind
    head: str = "cls"
    classes: int = 1
    pooling: str = "mean"
    similarity: str = "cosine"
    towers: str = "shared"
    markers: str = "none"
    cut: str = "end"
    sharpness: float = 1.0
    codes: str = "vector"

    @classmethod
    def of(cls, recipe: Recipe) -> Architecture:
        """The one that a recipe asks for. Products of unit vectors are sharpened as the loss sharpens them."""
        names = ("kind", "head", "pooling", "similarity", "towers", "markers", "cut", "codes")
        return cls(
            **{name: getattr(recipe, name) for name in names},
            classes=2 if recipe.objective == "two-class" else 1,
            sharpness=1 / recipe.temperature
            if recipe.kind == "poly-encoder" and recipe.similarity == "cosine"
            else 1.0,
        )

    @classmethod
    def told(cls, kind: Kind, reading: Reading) -> Architecture:
        """The one of a model of which no more is known than how it reads."""
        pooling = "mean" if reading.pooling == "mean" else "cls"
        return cls(kind, pooling=pooling, similarity="cosine" if reading.normalise else "dot")

    @property
    def classifies(self) -> bool:
        """Whether Hugging Face's own classes say it all: a sequence classifier."""
        return self.kind == "cross-encoder" and self.head == "cls"

    @property
    def normalises(self) -> bool:
        """Whether vectors have length one."""
        return self.kind != "cross-encoder" and self.similarity == "cosine"

    def as_json(self) -> dict[str, Any]:
        """As a JSON object."""
        return asdict(self)

    def reading(self, config: Any, query_tokens: int = 64, passage_tokens: int = 256) -> Reading:
        """How a model with this configuration reads texts when it serves, up to these lengths."""
        pooling = "last" if self.pooling == "cls" and cls_last(config) else self.pooling
        if self.kind == "cross-encoder":
            pooling = "none"
        return Reading(pooling, self.normalises, query_tokens, passage_tokens, *templates(self.markers), self.cut)

    def assemble(self, passages: Any, queries: Any | None, tokenizer: Any) -> Any:
        """The model over its towers: of the passages or of the joint input, and of the queries where that is apart."""
        if self.classifies:
            return passages
        return _BUILDERS[self.kind](self, backbone(passages), queries, tokenizer)


def towers(model: Any) -> Mapping[str, Any]:
    """The Hugging Face models inside a model, by the folder in which each lies within a checkpoint."""
    if isinstance(model, InteractionCrossEncoder):
        return {"": model.backbone}
    if isinstance(model, BiEncoder | PolyEncoder):
        return {"": model.passages} | ({QUERIES: model.queries} if model.queries is not None else {})
    return {"": model}


def head(model: Any) -> Any | None:
    """What a model has of its own beside its towers; None for nothing."""
    return model.head if isinstance(model, InteractionCrossEncoder | PolyEncoder) else None


def _bi(plan: Architecture, passages: Any, queries: Any | None, tokenizer: Any) -> BiEncoder:
    return BiEncoder(passages, queries, plan.pooling, plan.normalises)


def _poly(plan: Architecture, passages: Any, queries: Any | None, tokenizer: Any) -> PolyEncoder:
    return PolyEncoder((passages, queries), plan.pooling, plan.normalises, plan.codes, plan.sharpness)


def _interaction(plan: Architecture, passages: Any, queries: Any | None, tokenizer: Any) -> InteractionCrossEncoder:
    return InteractionCrossEncoder(passages, tokenizer.cls_token_id, tokenizer.sep_token_id)


_BUILDERS: Mapping[str, Callable[[Architecture, Any, Any | None, Any], Any]] = {
    "bi-encoder": _bi,
    "poly-encoder": _poly,
    "cross-encoder": _interaction,
}
