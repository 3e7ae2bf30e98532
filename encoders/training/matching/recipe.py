"""The recipe of a matching network: what decides its run except the pairs and the vectors of words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from encoders.training.recipe import COUNT, POSITIVE, POSITIVE_COUNT, SHARE, Share, build_settings, parse_tasks
from encoders.training.recipe_checks import NumberRange, check_choice, check_numbers, check_text
from mappings.errors import InvalidInput

KIND: Final = "matcher"
NAMES: Final = (
    "arc-i",
    "arc-ii",
    "dssm",
    "c-dssm",
    "drmm",
    "matchpyramid",
    "anmm",
    "k-nrm",
    "conv-knrm",
    "duet",
    "mv-lstm",
    "har",
)
"""The models, named as in their papers, in lowercase."""
_NUMBERS: Final = {
    **dict.fromkeys(("batch", "negatives", "epochs", "save_every", "dev_queries", "units"), POSITIVE_COUNT),
    **dict.fromkeys(("steps", "patience", "evaluate_every", "others"), COUNT),
    **dict.fromkeys(("max_query", "max_passage"), NumberRange(4, whole=True)),
    **dict.fromkeys(("warmup", "decay", "dropout"), SHARE),
    "learning_rate": POSITIVE,
    "weight_decay": NumberRange(0),
    "threads": NumberRange(1, 1024, whole=True),
    "seed": NumberRange(whole=True),
}


@dataclass(frozen=True, slots=True)
class MatcherRecipe:
    """One run of a matching network. `words` is the file of its word vectors, which stay as they are.

    `negatives` are a pair's own, mined ones; besides, the answers to `others` other queries of the batch are negatives, and
    of held-out pairs are ranked with theirs: without them a model that reads the aspect alone can tell an answer from
    passages on related entities, and then ranks that aspect of any entity first. A query is cut to `max_query` words, a
    passage to `max_passage`. `units` is the width of a model's layers. With `adapt` a matrix that starts as the identity is
    learned over the vectors: it stands for the papers' trained embeddings, and changes words that no training pair has, too.
    `dropout` applies to the values of the vectors. The other settings are those of `encoders.training.recipe.Recipe`.
    """

    name: str
    model: str
    tasks: Mapping[str, Share]
    kind: str = KIND
    words: str = ""
    seed: int = 13
    batch: int = 16
    negatives: int = 4
    others: int = 0
    max_query: int = 20
    max_passage: int = 200
    units: int = 64
    adapt: bool = False
    dropout: float = 0.0
    learning_rate: float = 1e-3
    warmup: float = 0.0
    decay: float = 0.0
    weight_decay: float = 0.0
    epochs: int = 4
    steps: int = 0
    save_every: int = 100
    evaluate_every: int = 0
    patience: int = 0
    dev_queries: int = 200
    threads: int = 1
    device: str = "auto"

    def __post_init__(self) -> None:
        check_choice("kind", self.kind, (KIND,))
        check_choice("model", self.model, NAMES)
        check_choice("device", self.device, ("auto", "cpu", "cuda"))
        if not self.tasks:
            raise InvalidInput("a recipe names at least one task under [tasks]", field="tasks")
        for name in ("name", "words"):
            check_text(name, getattr(self, name))
        check_numbers(self, _NUMBERS)
        if not isinstance(self.adapt, bool):
            raise InvalidInput(f"adapt is {self.adapt!r}; it must be true or false", field="adapt")
        if self.dropout == 1:
            raise InvalidInput("dropout is 1, which leaves nothing of a word's vector", field="dropout")
        if self.patience and not self.evaluate_every:
            raise InvalidInput("patience needs evaluate_every, the steps between two evaluations", field="patience")

    @property
    def objective(self) -> str:
        """How batches are planned: a query with its own candidates, of which the first is the answer."""
        return "listwise"

    @property
    def choose(self) -> str:
        """Negatives are drawn from those of a pair."""
        return "drawn"

    @property
    def windows(self) -> str:
        """No window is placed in its passage."""
        return "separate"

    def as_json(self) -> dict[str, Any]:
        """The recipe as a JSON object."""
        return asdict(self)


def parse_matcher_recipe(values: Mapping[str, Any], name: str) -> MatcherRecipe:
    """Make a recipe from its TOML table. Raises `InvalidInput`, which names the setting."""
    recipe: MatcherRecipe = build_settings(MatcherRecipe, {"name": name, **values, "tasks": parse_tasks(values)})
    return recipe
