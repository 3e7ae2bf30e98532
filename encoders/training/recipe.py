"""A recipe: everything that decides a training run but the pairs themselves. One small TOML file."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from mappings.errors import InvalidInput, NotFound

RECIPES = Path(__file__).parent / "recipes"
PRECISIONS = ("fp32", "bf16")
OBJECTIVES = {"bi-encoder": ("contrastive",), "cross-encoder": ("listwise", "pointwise")}


@dataclass(frozen=True, slots=True)
class Share:
    """How one task takes part: at most `take` training pairs, each seen `repeat` times, each time with other negatives.

    `context` is the share of examples whose passages are shown with title and heading.
    """

    take: int = 1_000_000
    repeat: int = 1
    context: float = 1.0


@dataclass(frozen=True, slots=True)
class Recipe:
    """One run. `batch` counts queries; `max_length` counts tokens of a passage, or of query and passage together.

    `steps` 0 means: as many as the plan has; fewer end the run (and the learning rate) early.
    `base` is `minilm`, a Hugging Face checkpoint, or a model directory, shipped (by its name) or not, to train further.
    `precision` bf16 computes in bfloat16 and keeps the weights in float32. `dropout` counts for hidden states.
    `soup` mixes the trained weights with the base's: 1 keeps the trained ones, 0 the base (weight averaging
    after Wortsman et al. 2022).
    """

    name: str
    kind: str
    objective: str
    tasks: Mapping[str, Share]
    base: str = "minilm"
    seed: int = 13
    batch: int = 8
    negatives: int = 3
    max_length: int = 192
    max_query: int = 64
    learning_rate: float = 5e-5
    warmup: float = 0.1
    weight_decay: float = 0.01
    temperature: float = 0.05
    frozen: tuple[str, ...] = ("embeddings.word_embeddings",)
    epochs: int = 1
    steps: int = 0
    save_every: int = 100
    threads: int = 2
    soup: float = 1.0
    precision: str = "fp32"
    dropout: float = 0.1

    def __post_init__(self) -> None:
        if self.kind not in OBJECTIVES:
            raise InvalidInput(f"kind is {self.kind!r}; it is one of {', '.join(OBJECTIVES)}", field="kind")
        if self.objective not in (known := OBJECTIVES[self.kind]):
            message = f"objective is {self.objective!r}; for a {self.kind} it is one of {', '.join(known)}"
            raise InvalidInput(message, field="objective")
        for name in ("batch", "epochs", "max_length", "max_query", "save_every", "threads"):
            if getattr(self, name) < 1:
                raise InvalidInput(f"{name} is {getattr(self, name)}; it is at least 1", field=name)
        if not self.tasks:
            raise InvalidInput("a recipe names at least one task under [tasks]", field="tasks")
        for name in ("soup", "dropout"):
            if not 0 <= getattr(self, name) <= 1:
                raise InvalidInput(f"{name} is {getattr(self, name)}; it lies between 0 and 1", field=name)
        if self.precision not in PRECISIONS:
            raise InvalidInput(
                f"precision is {self.precision!r}; it is one of {', '.join(PRECISIONS)}", field="precision"
            )

    def as_json(self) -> dict[str, Any]:
        """The recipe as a JSON object."""
        return {**asdict(self), "frozen": list(self.frozen)}


def load_recipe(source: Path | str) -> Recipe:
    """A recipe by path, or by the name of a shipped one. Raises `NotFound`, `InvalidInput`."""
    path = Path(source)
    if not path.is_file():
        path = RECIPES / f"{source}.toml"
    if not path.is_file():
        known = ", ".join(sorted(found.stem for found in RECIPES.glob("*.toml")))
        raise NotFound(f"there is no recipe {str(source)!r}; give a TOML file or one of: {known}", field="recipe")
    try:
        return parse_recipe(tomllib.loads(path.read_text()), path.stem)
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(f"{path.name} is not TOML: {error}", field="recipe") from None


def parse_recipe(values: Mapping[str, Any], name: str) -> Recipe:
    """A recipe from its TOML table. Raises `InvalidInput` that names the setting."""
    given = {**values, "tasks": {task: _build(Share, share) for task, share in values.get("tasks", {}).items()}}
    if "frozen" in given:
        given["frozen"] = tuple(given["frozen"])
    return _build(Recipe, {"name": name, **given})


def _build(kind: type[Any], values: Mapping[str, Any]) -> Any:
    known = {field.name for field in fields(kind)}
    if strange := sorted(values.keys() - known):
        raise InvalidInput(
            f"the recipe setting {strange[0]!r} is unknown; known: {', '.join(sorted(known))}", field=strange[0]
        )
    try:
        return kind(**values)
    except TypeError as error:
        raise InvalidInput(f"the recipe lacks a setting: {error}", field="recipe") from None
