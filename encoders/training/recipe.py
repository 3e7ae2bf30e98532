"""A recipe: everything that decides a training run except the pairs. One small TOML file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, fields
from pathlib import Path
from typing import Any

from encoders.artifact import READ_TOGETHER, WINDOWS
from encoders.training.recipe_checks import NumberRange, check_choice, check_numbers, check_text, check_windows
from encoders.training.recipe_source import read_recipe
from mappings.errors import InvalidInput

OBJECTIVES = {
    "bi-encoder": ("contrastive", "whole-batch", "triplet", "triplet-both"),
    "poly-encoder": ("contrastive", "whole-batch"),
    "cross-encoder": ("listwise", "pointwise", "two-class", "two-class-pairs", "whole-batch"),
    "stance-classifier": ("stance",),
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
    "windows": WINDOWS,
    "distillation": ("none", "kl", "margin-mse"),
    "choose": ("drawn", "first"),
    "varied": ("pair", "query"),
}
COUNT, POSITIVE_COUNT = NumberRange(0, whole=True), NumberRange(1, whole=True)
SHARE, POSITIVE = NumberRange(0, 1), NumberRange(above=0)
NUMBERS = {
    **dict.fromkeys(("batch", "epochs", "save_every", "dev_queries", "gather"), POSITIVE_COUNT),
    **dict.fromkeys(("negatives", "variants", "steps", "patience", "evaluate_every", "positions", "chunk"), COUNT),
    "attention_window": NumberRange(2, whole=True),
    **dict.fromkeys(("max_length", "max_query"), NumberRange(4, whole=True)),
    **dict.fromkeys(("weight_decay", "margin", "softmax", "evidence"), NumberRange(0)),
    **dict.fromkeys(("learning_rate", "temperature", "teacher_temperature", "prior_scale", "head_rate"), POSITIVE),
    **dict.fromkeys(("warmup", "decay", "keep", "soup", "dropout", "teacher_share", "further"), SHARE),
    "threads": NumberRange(1, 1024, whole=True),
    "seed": NumberRange(whole=True),
}
TASK_NUMBERS = {"take": POSITIVE_COUNT, "repeat": POSITIVE_COUNT, "window": COUNT, "most": COUNT, "context": SHARE}
TEXTS = ("name", "base", "teacher", "teacher_form", "prior")
CANDIDATES = ("listwise", "pointwise", "two-class")
"""Objectives over a query's own candidates, which need negatives."""
SINGLES = ("two-class-pairs",)
"""Objectives over pairs of a query and one text, each an example of its own, right or wrong; `batch` counts these."""
TWO_CLASSES = ("two-class", *SINGLES)
"""Objectives of a cross-encoder with two logits."""
TRIPLETS = ("triplet", "triplet-both")
"""Objectives that find their negatives in the batch: a pair needs none of its own."""


@dataclass(frozen=True, slots=True)
class Share:
    """How one task takes part: at most `take` training pairs, each used `repeat` times, with different negatives.

    `context` is the share of examples whose passages are shown with title and heading. `window` is the maximum number of
    words shown of a passage, those nearest to the query, as a collection's windows serve them; 0 shows all. Per epoch at
    most `most` pairs of one group take part, drawn at random, so that frequent ones do not dominate; 0 means all.
    """

    take: int = 1_000_000
    repeat: int = 1
    context: float = 1.0
    window: int = 0
    most: int = 0

    def __post_init__(self) -> None:
        check_numbers(self, TASK_NUMBERS)


@dataclass(frozen=True, slots=True)
class Recipe:
    """One run. `batch` counts queries; `max_length` counts tokens of a passage, or of query and passage together.

    Base: `base` is `minilm`, a Hugging Face checkpoint, or a model directory, shipped (by its name) or not, to train
    further; `layers` are the layers of it to keep, all if empty. With `positions` it is made a Longformer for so many
    tokens, whose local attention takes `attention_window` of them (`encoders.training.architectures.longformer`).
    Model: `head` is a cross-encoder's; `pooling`, `similarity`, `towers` and `markers` (how `[QUERY]` and `[PASSAGE]`
    precede the texts: as plain text, or as new special tokens) are a bi-encoder's and a poly-encoder's. `codes` says what
    part of a query attends to a passage's tokens in a poly-encoder: its one vector, or each of its tokens. `cut` is the
    part that an overlong passage loses in a cross-encoder: the end or the middle. `windows` says how a bi-encoder reads a
    passage's windows: each as a text of its own, or late, as the mean over its tokens when it has read the whole passage
    (late chunking, Günther et al. 2024), or those and its context's (`late-context`). With `surroundings` a Longformer
    reads a passage among its document's other passages.
    Run: with `steps` 0 the run has as many steps as the plan; fewer end it (and the learning-rate schedule) early. Every
    `evaluate_every` steps, `dev_queries` held-out pairs per task are ranked; the best state is kept, and after `patience`
    evaluations without a better one the run stops (0: never).
    `chunk` limits how many sequences are read at once in training, for batches larger than memory (0: all of a batch); the
    step stays that of the whole batch (`encoders.training.loop.gradients`).
    Examples: of a pair's negatives `negatives` are drawn at random, or are the `first` ones, as `choose` says. With the
    objective `two-class-pairs` an answer has `variants` more forms, words inserted into half of them and exchanged in the
    others, in the `pair` of query and text or in the `query` alone, as `varied` says (`encoders.labels.augment`).
    Teacher: `teacher` is a cross-encoder's model directory, or the checkpoint of a run; its scores (those of a model
    directory in the numeric form `teacher_form`), divided by `teacher_temperature`, make up `teacher_share` of the loss, by
    the method `distillation`. A stance classifier's teacher is another stance classifier; it reads pairs without a stance,
    too.
    Prior: `prior` is a bi-encoder's model directory; its cosines, times `prior_scale`, are added to a cross-encoder's
    scores in the objective, so that the model learns what the first stage lacks.
    `precision` bf16 computes in bfloat16 with weights in float32, auto does so if it is faster. `dropout` applies to hidden
    states.
    `decay` is what the learning rate is multiplied by after each epoch; with 0 it falls in a line to 0.
    `head_rate` is how many times as fast a head of ours learns as the rest, which is trained already.
    `temperature` divides the scores of a bi-encoder or poly-encoder; `margin` is the triplet's, and `softmax` the weight
    of the softmax term in `triplet-both`. Up to `gather` examples of one group are put into the same batch, if the other
    passages of the batch are negatives.
    `keep` is the share of a bi-encoder's loss that keeps its vectors near those which the base gives the same texts, each
    window read alone (`encoders.training.objectives.anchor`).
    A stance classifier's loss is that of the stance, and `evidence` times that of its sentences where they are marked.
    `further` is the share of its examples that are shown again with a text that says nothing of the claim: one of its
    negatives, or of another example where it has none.
    `soup` mixes the trained weights with the base's: 1 keeps the trained ones, 0 the base (weight averaging, Wortsman et
    al. 2022).
    """

    name: str
    kind: str
    objective: str
    tasks: Mapping[str, Share]
    base: str = "minilm"
    layers: tuple[int, ...] = ()
    positions: int = 0
    attention_window: int = 512
    head: str = "cls"
    pooling: str = "mean"
    similarity: str = "cosine"
    towers: str = "shared"
    markers: str = "none"
    seed: int = 13
    batch: int = 8
    chunk: int = 0
    negatives: int = 3
    choose: str = "drawn"
    variants: int = 0
    varied: str = "pair"
    max_length: int = 192
    max_query: int = 64
    cut: str = "end"
    codes: str = "vector"
    windows: str = "separate"
    learning_rate: float = 5e-5
    warmup: float = 0.1
    decay: float = 0.0
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
    keep: float = 0.0
    soup: float = 1.0
    precision: str = "fp32"
    dropout: float = 0.1
    head_rate: float = 1.0
    evidence: float = 0.5
    further: float = 0.0

    def __post_init__(self) -> None:
        check_choice("kind", self.kind, tuple(OBJECTIVES))  # a tuple, because an unhashable value has no key
        check_choice("objective", self.objective, OBJECTIVES[self.kind], f" for a {self.kind}")
        if not self.name:
            raise InvalidInput("name is empty; runs and their rows are called by it", field="name")
        if not self.tasks:
            raise InvalidInput("a recipe names at least one task under [tasks]", field="tasks")
        for name, choices in CHOICES.items():
            check_choice(name, getattr(self, name), choices)
        for name in TEXTS:
            check_text(name, getattr(self, name))
        check_numbers(self, NUMBERS)
        self._check_base()
        self._check_combinations()

    def _check_base(self) -> None:
        if not self.base:
            raise InvalidInput("base is empty; it must be 'minilm', a checkpoint or a model directory", field="base")
        for part in self.frozen:
            if not isinstance(part, str) or not part:
                raise InvalidInput(f"frozen contains {part!r}; it must list parts of weights' names", field="frozen")
        for number in self.layers:
            if isinstance(number, bool) or not isinstance(number, int):
                raise InvalidInput(f"layers contains {number!r}; it must list integers from 0", field="layers")

    def _check_combinations(self) -> None:
        """Check settings that depend on one another."""
        if self.kind in READ_TOGETHER and self.max_query >= self.max_length:
            message = f"max_query is {self.max_query}; it must be less than max_length, {self.max_length}, the limit for both texts"
            raise InvalidInput(message, field="max_query")
        for needed, what in (
            (self.objective in (*CANDIDATES, *SINGLES), self.objective),
            (self.distillation != "none" and self.kind != "stance-classifier", "distillation"),
        ):
            if needed and not self.negatives:
                raise InvalidInput(f"negatives is 0; {what} needs at least 1", field="negatives")
        if (self.distillation == "none") == bool(self.teacher):
            raise InvalidInput("teacher and distillation must be given together or not at all", field="teacher")
        if self.kind == "stance-classifier" and self.distillation == "margin-mse":
            message = (
                "distillation is 'margin-mse', which compares a query's candidates; a stance classifier takes 'kl'"
            )
            raise InvalidInput(message, field="distillation")
        if self.prior and self.objective not in ("listwise", "pointwise"):
            message = f"a prior is added to one score per candidate; {self.objective} has no such scores"
            raise InvalidInput(message, field="prior")
        check_windows(self)
        if self.objective in SINGLES and self.distillation != "none":
            raise InvalidInput(f"{self.objective} has no candidates that a teacher compares", field="distillation")
        if self.variants and self.objective not in SINGLES:
            message = f"variants is {self.variants}; only {', '.join(SINGLES)} has variants of answers"
            raise InvalidInput(message, field="variants")
        if self.keep and (self.kind != "bi-encoder" or self.similarity != "cosine" or self.layers):
            message = "keep needs a bi-encoder with the similarity 'cosine' and all layers of its base"
            raise InvalidInput(message, field="keep")
        if self.objective in TWO_CLASSES and self.head != "cls":
            message = f"head is 'interaction', which gives one logit; {self.objective} needs 'cls'"
            raise InvalidInput(message, field="head")
        if self.objective in TRIPLETS and self.similarity != "cosine":
            raise InvalidInput(f"similarity is 'dot'; {self.objective} needs 'cosine'", field="similarity")
        if self.patience and not self.evaluate_every:
            raise InvalidInput("patience needs evaluate_every, the steps between two evaluations", field="patience")

    def as_json(self) -> dict[str, Any]:
        """The recipe as a JSON object."""
        return {**asdict(self), "frozen": list(self.frozen), "layers": list(self.layers)}


def load_recipe(source: Path | str, changes: Sequence[str] = ()) -> Recipe:
    """The recipe of a transformer; see `read_recipe`."""
    return parse_recipe(*read_recipe(source, changes))


def parse_recipe(values: Mapping[str, Any], name: str) -> Recipe:
    """Make a recipe from its TOML table. Raises `InvalidInput`, which names the setting."""
    given = {**values, "tasks": parse_tasks(values)}
    for setting in ("frozen", "layers"):
        if setting in given:
            if not isinstance(given[setting], list | tuple):
                raise InvalidInput(f"{setting} is {given[setting]!r}; it must be a list", field=setting)
            given[setting] = tuple(given[setting])
    recipe: Recipe = build_settings(Recipe, {"name": name, **given})
    return recipe


def parse_tasks(values: Mapping[str, Any]) -> dict[str, Share]:
    """The tasks of a recipe's table with their shares."""
    tables = values.get("tasks", {})
    for task, share in tables.items() if isinstance(tables, Mapping) else [("tasks", tables)]:
        if not isinstance(share, Mapping):
            raise InvalidInput(
                f"{task} is {share!r}; it must be a table of settings, such as {{ repeat = 2 }}", field=task
            )
    return {task: build_settings(Share, share) for task, share in tables.items()}


def build_settings(kind: type[Any], values: Mapping[str, Any]) -> Any:
    """A recipe, or another dataclass, from a table. Raises `InvalidInput` for an unknown or a missing setting."""
    known = {field.name for field in fields(kind)}
    if unknown := sorted(values.keys() - known):
        raise InvalidInput(
            f"the recipe setting {unknown[0]!r} is unknown; known are {', '.join(sorted(known))}", field=unknown[0]
        )
    for field in fields(kind):
        if field.default is MISSING and field.name not in values:
            raise InvalidInput(f"the recipe is missing the setting {field.name!r}", field=field.name)
    return kind(**values)
