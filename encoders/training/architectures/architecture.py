"""The components of a model besides its base: enough to rebuild it from a checkpoint or an artifact."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from encoders.artifact import QUERIES, READ_TOGETHER, Kind, Reading
from encoders.training.architectures.bi_encoder import BiEncoderModule
from encoders.training.architectures.cross_encoder import InteractionCrossEncoder
from encoders.training.architectures.families import backbone, is_cls_last, reads_surroundings
from encoders.training.architectures.markers import templates
from encoders.training.architectures.poly_encoder import PolyEncoderModule
from encoders.training.architectures.stance import StanceModule
from encoders.training.recipe import TWO_CLASSES, Recipe
from mappings.errors import ModelError


@dataclass(frozen=True, slots=True)
class Architecture:
    """`classes` counts a cross-encoder's logits, `sharpness` is a poly-encoder's; the other fields are those of a recipe."""

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
    windows: str = "separate"

    @classmethod
    def from_recipe(cls, recipe: Recipe) -> Architecture:
        """The architecture that a recipe describes. Products of unit vectors are divided by the temperature of the loss."""
        names = ("kind", "head", "pooling", "similarity", "towers", "markers", "cut", "codes", "windows")
        return cls(
            **{name: getattr(recipe, name) for name in names},
            classes=2 if recipe.objective in TWO_CLASSES else 1,
            sharpness=1 / recipe.temperature
            if recipe.kind == "poly-encoder" and recipe.similarity == "cosine"
            else 1.0,
        )

    @classmethod
    def from_reading(cls, kind: Kind, reading: Reading) -> Architecture:
        """The architecture of a model of which only the reading is known."""
        pooling = "mean" if reading.pooling == "mean" else "cls"
        similarity = "cosine" if reading.normalise else "dot"
        return cls(kind, pooling=pooling, similarity=similarity, windows=reading.windows)

    @property
    def is_classifier(self) -> bool:
        """Whether the model is one of Hugging Face's sequence classifiers, without a head of ours."""
        return self.kind == "cross-encoder" and self.head == "cls"

    @property
    def normalises(self) -> bool:
        """Whether vectors are normalised to unit length."""
        return self.kind not in READ_TOGETHER and self.similarity == "cosine"

    def as_json(self) -> dict[str, Any]:
        """As a JSON object."""
        return asdict(self)

    def reading(self, config: Any, query_tokens: int = 64, passage_tokens: int = 256) -> Reading:
        """How a model with this configuration reads texts when it serves, with these limits."""
        pooling = "last" if self.pooling == "cls" and is_cls_last(config) else self.pooling
        if self.kind == "cross-encoder":
            pooling = "none"
        if self.kind == "stance-classifier":
            pooling = "mean"  # as the export compares it; the head pools by sentence
        texts = templates(self.markers)
        return Reading(pooling, self.normalises, query_tokens, passage_tokens, *texts, self.cut, self.windows)

    def assemble(self, passages: Any, queries: Any | None, tokenizer: Any) -> Any:
        """Build the model over its towers: one for passages or joint inputs, and one for queries if it is separate.

        Raises `ModelError` if this kind can't be built over them.
        """
        if reads_surroundings(passages.config) and self.kind in READ_TOGETHER:
            message = f"a Longformer reads passages in their documents; a {self.kind} reads each with its query"
            raise ModelError(message, field="base")
        if self.is_classifier:
            return passages
        return _BUILDERS[self.kind](self, backbone(passages), queries, tokenizer)


def get_towers(model: Any) -> Mapping[str, Any]:
    """The Hugging Face models inside a model, by their folder within a checkpoint."""
    if isinstance(model, InteractionCrossEncoder | StanceModule):
        return {"": model.backbone}
    if isinstance(model, BiEncoderModule | PolyEncoderModule):
        return {"": model.passages} | ({QUERIES: model.queries} if model.queries is not None else {})
    return {"": model}


def get_head(model: Any) -> Any | None:
    """The part of a model that is not a Hugging Face model; None if there is none."""
    return model.head if isinstance(model, InteractionCrossEncoder | PolyEncoderModule | StanceModule) else None


def _bi(plan: Architecture, passages: Any, queries: Any | None, tokenizer: Any) -> BiEncoderModule:
    return BiEncoderModule(passages, queries, plan.pooling, plan.normalises)


def _poly(plan: Architecture, passages: Any, queries: Any | None, tokenizer: Any) -> PolyEncoderModule:
    if reads_surroundings(passages.config):
        passages.config.masks_surroundings = True
    return PolyEncoderModule((passages, queries), plan.pooling, plan.normalises, plan.codes, plan.sharpness)


def _interaction(plan: Architecture, passages: Any, queries: Any | None, tokenizer: Any) -> InteractionCrossEncoder:
    return InteractionCrossEncoder(passages, tokenizer.cls_token_id, tokenizer.sep_token_id)


def _stance(plan: Architecture, passages: Any, queries: Any | None, tokenizer: Any) -> StanceModule:
    if is_cls_last(passages.config):
        raise ModelError(
            "a stance classifier reads the CLS token from the start of its input; XLNet has it at the end", field="base"
        )
    return StanceModule(passages)


_BUILDERS: Mapping[str, Callable[[Architecture, Any, Any | None, Any], Any]] = {
    "bi-encoder": _bi,
    "poly-encoder": _poly,
    "cross-encoder": _interaction,
    "stance-classifier": _stance,
}
