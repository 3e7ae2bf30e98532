"""A recipe: everything that decides a training run but the pairs themselves. One small TOML file."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, fields
from pathlib import Path
from typing import Any

from mappings.errors import InvalidInput, NotFound

RECIPES = Path(__file__).parent / "recipes"
OBJECTIVES = {
    "bi-encoder": ("contrastive", "whole-batch", "triplet", "triplet-both"),
    "poly-encoder": ("contrastive", "whole-batch"),
    "cross-encoder": ("listwise", "pointwise", "two-class", "whole-batch"),
}
CHOICES = {
    "precision": ("auto", "fp32", "bf16"),
    "device": ("auto", "cpu", "cuda"),
    "head": ("cls", "interaction"),
    "pooling": ("mean", "cls"),
    "similarity": ("cosine", "dot"),
    "towers": ("shared", "separate"),
    "markers": ("none", "template", "tokens"),
    "cut": ("end", "middle"),
    "codes": ("vector", "tokens"),
    "distillation": ("none", "kl", "margin-mse"),
}
LEAST = {
    "batch": 1, "epochs": 1, "max_length": 4, "max_query": 4, "save_every": 1, "threads": 1, "dev_queries": 1,
    "negatives": 0, "steps": 0, "patience": 0, "evaluate_every": 0, "warmup": 0, "weight_decay": 0, "margin": 0,
    "softmax": 0, "gather": 1,
}  # fmt: skip
MOST = {"warmup": 1, "threads": 1024}
WHOLE = (*(name for name in LEAST if name not in ("warmup", "weight_decay", "margin", "softmax")), "seed")
POSITIVE = ("learning_rate", "temperature", "teacher_temperature", "prior_scale")
SHARES = ("soup", "dropout", "teacher_share")
TEXTS = ("name", "base", "teacher", "teacher_form", "prior")
LARGEST_WHOLE = 2**63 - 1
"""What a record in JSON can hold."""
LARGEST = 3.4e38
"""About the largest number of float32, in which weights and losses are."""
CANDIDATES = ("listwise", "pointwise", "two-class")
"""Objectives over a query's own candidates: they need negatives."""
TRIPLETS = ("triplet", "triplet-both")
"""Objectives that find their negatives in the batch: a pair needs none of its own."""


@dataclass(frozen=True, slots=True)
class Share:
    """How one task takes part: at most `take` training pairs, each seen `repeat` times, each time with other negatives.

    `context` is the share of examples whose passages are shown with title and heading. `window` is the most words
    of a passage that are shown, those nearest to the query: as a collection's windows serve it; 0 shows all.
    `most` pairs of one group take part in an epoch, drawn anew each time: what is common does not drown the rest; 0: all.
    """

    take: int = 1_000_000
    repeat: int = 1
    context: float = 1.0
    window: int = 0
    most: int = 0

    def __post_init__(self) -> None:
        for name, least in (("take", 0), ("repeat", 1), ("window", 0), ("most", 0)):
            if (value := _whole(self, name)) < least:
                raise InvalidInput(f"{name} is {value}; it is at least {least}", field=name)
        if not 0 <= _number(self, "context") <= 1:
            raise InvalidInput(f"context is {self.context}; it lies between 0 and 1", field="context")


@dataclass(frozen=True, slots=True)
class Recipe:
    """One run. `batch` counts queries; `max_length` counts tokens of a passage, or of query and passage together.

    The base: `base` is `minilm`, a Hugging Face checkpoint, or a model directory, shipped (by its name) or not, to
    train further; `layers` are those that are kept of it, all when empty.
    The model: `head` is a cross-encoder's; `pooling`, `similarity`, `towers` and `markers` (how `[QUERY]` and
    `[PASSAGE]` stand before the texts: as text, or as new special tokens) are a bi-encoder's and a poly-encoder's.
    `codes` says what of a query attends to a passage's tokens in a poly-encoder: its one vector, or each of its tokens.
    A cross-encoder's passage that is too long loses its `cut`: the end or the middle.
    The run: `steps` 0 means as many as the plan has; fewer end the run (and the learning rate) early. Every
    `evaluate_every` steps `dev_queries` held-out pairs a task are ranked; the best state is kept, and after
    `patience` evaluations without a better one the run stops (0: never).
    The teacher: `teacher` is a cross-encoder's model directory, whose scores (`teacher_form` of it, divided by
    `teacher_temperature`) make up `teacher_share` of the loss, in the way that `distillation` says.
    The prior: `prior` is a bi-encoder's model directory; its cosines, times `prior_scale`, are added to a cross-encoder's
    scores in the objective, so that it learns what the first stage lacks.
    `precision` bf16 computes in bfloat16 and keeps the weights in float32, auto where that is faster. `dropout` counts for
    hidden states.
    `temperature` divides the scores of a bi-encoder or poly-encoder; `margin` is the triplet's, and `softmax` the weight
    of the softmax beside it in `triplet-both`. So many examples of one group stand together in a batch as `gather`
    says, where the other passages of the batch are negatives.
    `soup` mixes the trained weights with the base's: 1 keeps the trained ones, 0 the base (weight averaging
    after Wortsman et al. 2022).
    """

    name: str
    kind: str
    objective: str
    tasks: Mapping[str, Share]
    base: str = "minilm"
    layers: tuple[int, ...] = ()
    head: str = "cls"
    pooling: str = "mean"
    similarity: str = "cosine"
    towers: str = "shared"
    markers: str = "none"
    seed: int = 13
    batch: int = 8
    negatives: int = 3
    max_length: int = 192
    max_query: int = 64
    cut: str = "end"
    codes: str = "vector"
    learning_rate: float = 5e-5
    warmup: float = 0.1
    weight_decay: float = 0.01
    temperature: float = 0.05
    margin: float = 0.5
    softmax: float = 0.0
    gather: int = 1
    frozen: tuple[str, ...] = ("word_embedding",)
    epochs: int = 1
    steps: int = 0
    save_every: int = 100
    evaluate_every: int = 0
    patience: int = 0
    dev_queries: int = 20
    teacher: str = ""
    teacher_form: str = "fp32"
    teacher_temperature: float = 1.0
    teacher_share: float = 1.0
    distillation: str = "none"
    prior: str = ""
    prior_scale: float = 20.0
    threads: int = 2
    device: str = "auto"
    soup: float = 1.0
    precision: str = "fp32"
    dropout: float = 0.1

    def __post_init__(self) -> None:
        if self.kind not in tuple(OBJECTIVES):  # a list can't be looked up in a mapping
            raise InvalidInput(f"kind is {self.kind!r}; it is one of {', '.join(OBJECTIVES)}", field="kind")
        if self.objective not in (known := OBJECTIVES[self.kind]):
            message = f"objective is {self.objective!r}; for a {self.kind} it is one of {', '.join(known)}"
            raise InvalidInput(message, field="objective")
        if not self.tasks:
            raise InvalidInput("a recipe names at least one task under [tasks]", field="tasks")
        for name, choices in CHOICES.items():
            if getattr(self, name) not in choices:
                message = f"{name} is {getattr(self, name)!r}; it is one of {', '.join(choices)}"
                raise InvalidInput(message, field=name)
        self._check_texts()
        self._check_numbers()
        self._check_together()

    def _check_texts(self) -> None:
        for name in TEXTS:
            if not isinstance(value := getattr(self, name), str):
                raise InvalidInput(f"{name} is {value!r}; it is a text", field=name)
        if not self.base:
            raise InvalidInput("base is empty; it is 'minilm', a checkpoint or a model directory", field="base")
        for part in self.frozen:
            if not isinstance(part, str) or not part:
                raise InvalidInput(f"frozen holds {part!r}; it lists parts of the names of weights", field="frozen")
        for number in self.layers:
            if isinstance(number, bool) or not isinstance(number, int):
                raise InvalidInput(f"layers holds {number!r}; it lists whole numbers from 0", field="layers")

    def _check_numbers(self) -> None:
        for name in WHOLE:
            _whole(self, name)
        for name in (*LEAST, *POSITIVE, *SHARES):
            _number(self, name)
        for name, least in LEAST.items():
            if getattr(self, name) < least:
                raise InvalidInput(f"{name} is {getattr(self, name)}; it is at least {least}", field=name)
        for name, most in MOST.items():
            if getattr(self, name) > most:
                raise InvalidInput(f"{name} is {getattr(self, name)}; it is at most {most}", field=name)
        for name in POSITIVE:
            if getattr(self, name) <= 0:
                raise InvalidInput(f"{name} is {getattr(self, name)}; it is more than 0", field=name)
        for name in SHARES:
            if not 0 <= getattr(self, name) <= 1:
                raise InvalidInput(f"{name} is {getattr(self, name)}; it lies between 0 and 1", field=name)

    def _check_together(self) -> None:
        """Settings that only make sense together."""
        if self.kind == "cross-encoder" and self.max_query >= self.max_length:
            message = (
                f"max_query is {self.max_query}; it is less than max_length, {self.max_length}, which holds both texts"
            )
            raise InvalidInput(message, field="max_query")
        if self.objective in CANDIDATES and not self.negatives:
            raise InvalidInput(f"negatives is 0; {self.objective} needs at least 1", field="negatives")
        if self.distillation != "none" and not self.negatives:
            raise InvalidInput("negatives is 0; distillation needs at least 1", field="negatives")
        if (self.distillation == "none") == bool(self.teacher):
            raise InvalidInput("teacher and distillation are given both or neither", field="teacher")
        if self.prior and self.objective not in ("listwise", "pointwise"):
            message = f"a prior is added to one score a candidate; {self.objective} has no such scores"
            raise InvalidInput(message, field="prior")
        if self.objective == "two-class" and self.head != "cls":
            raise InvalidInput("head is 'interaction', which gives one logit; two-class needs 'cls'", field="head")
        if self.objective in TRIPLETS and self.similarity != "cosine":
            raise InvalidInput(f"similarity is 'dot'; {self.objective} needs 'cosine'", field="similarity")
        if self.patience and not self.evaluate_every:
            raise InvalidInput("patience needs evaluate_every, the steps between two evaluations", field="patience")

    def as_json(self) -> dict[str, Any]:
        """The recipe as a JSON object."""
        return {**asdict(self), "frozen": list(self.frozen), "layers": list(self.layers)}


def _number(settings: Any, name: str) -> float:
    value = getattr(settings, name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidInput(f"{name} is {value!r}; it is a number", field=name)
    if not -LARGEST <= value <= LARGEST:  # NaN, too
        raise InvalidInput(f"{name} is {value!r}; it is a finite number of at most {LARGEST}", field=name)
    return value


def _whole(settings: Any, name: str) -> int:
    value = getattr(settings, name)
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidInput(f"{name} is {value!r}; it is a whole number", field=name)
    if abs(value) > LARGEST_WHOLE:
        raise InvalidInput(f"{name} is {value}; it is a whole number of at most {LARGEST_WHOLE}", field=name)
    return value


def load_recipe(source: Path | str) -> Recipe:
    """A recipe by path, or by the name of a shipped one. Raises `NotFound`, `InvalidInput`."""
    path = Path(source)
    if not path.is_file():
        path = RECIPES / f"{source}.toml"
    if not path.is_file():
        known = ", ".join(sorted(found.stem for found in RECIPES.glob("*.toml")))
        raise NotFound(f"there is no recipe {str(source)!r}; give a TOML file or one of: {known}", field="recipe")
    try:
        return parse_recipe(tomllib.loads(path.read_text(encoding="utf-8")), path.stem)
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path.name} is not UTF-8 from byte {error.start}: save it so", field="recipe") from None
    except ValueError as error:  # not TOMLDecodeError alone: a number may have more digits than Python reads
        raise InvalidInput(f"{path.name} is not TOML: {error}", field="recipe") from None


def parse_recipe(values: Mapping[str, Any], name: str) -> Recipe:
    """A recipe from its TOML table. Raises `InvalidInput` that names the setting."""
    tables = values.get("tasks", {})
    for task, share in tables.items() if isinstance(tables, Mapping) else [("tasks", tables)]:
        if not isinstance(share, Mapping):
            raise InvalidInput(f"{task} is {share!r}; it is a table of settings, such as {{ repeat = 2 }}", field=task)
    given = {**values, "tasks": {task: _build(Share, share) for task, share in tables.items()}}
    for setting in ("frozen", "layers"):
        if setting in given:
            if not isinstance(given[setting], list | tuple):
                raise InvalidInput(f"{setting} is {given[setting]!r}; it is a list", field=setting)
            given[setting] = tuple(given[setting])
    recipe: Recipe = _build(Recipe, {"name": name, **given})
    return recipe


def _build(kind: type[Any], values: Mapping[str, Any]) -> Any:
    known = {field.name for field in fields(kind)}
    if strange := sorted(values.keys() - known):
        raise InvalidInput(
            f"the recipe setting {strange[0]!r} is unknown; known: {', '.join(sorted(known))}", field=strange[0]
        )
    for field in fields(kind):
        if field.default is MISSING and field.name not in values:
            raise InvalidInput(f"the recipe lacks the setting {field.name!r}", field=field.name)
    return kind(**values)
