"""The recipe of a discourse model: what decides its run except the corpora and the vectors of words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from encoders.training.recipe import COUNT, POSITIVE, POSITIVE_COUNT, SHARE, Recipe, Share, build_settings
from encoders.training.recipe_checks import NumberRange, check_choice, check_numbers, check_text
from mappings.errors import InvalidInput

KIND: Final = "discourse"
EMBEDDED: Final = "embedded"
BY_WORDS: Final = "words"
POOLED: Final = "pooled"
FIRST_STEP: Final = {"fine_tune_epochs": 0, "fine_tune_steps": 0, "fine_tune_rate": 2e-5, "chunk": 64}
"""The settings of the second step, as they are where there is none: the first one doesn't depend on them."""
WARMUP: Final = 0.1
SAVES: Final = 10
"""States are saved so many times as often in the second step, whose steps take longer."""
_NUMBERS: Final = {
    **dict.fromkeys(("batch", "epochs", "save_every", "hidden", "discourse", "dimension"), POSITIVE_COUNT),
    **dict.fromkeys(("name_batch", "name_epochs", "name_bits", "name_hashes"), POSITIVE_COUNT),
    **dict.fromkeys(("steps", "most_passages", "fine_tune_epochs", "fine_tune_steps", "chunk"), COUNT),
    **dict.fromkeys(("warmup", "decay", "name_dropout"), SHARE),
    **dict.fromkeys(("learning_rate", "name_rate", "fine_tune_rate"), POSITIVE),
    "sentence_length": NumberRange(4, whole=True),
    "weight_decay": NumberRange(0),
    "threads": NumberRange(1, 1024, whole=True),
    "seed": NumberRange(whole=True),
}


@dataclass(frozen=True, slots=True)
class DiscourseRecipe:
    """One run: entity and aspect embeddings, then the document encoder on them (Arnold et al. 2020, section 5.2).

    `words` is the file of the word vectors, which stay as they are. `documents` are the corpora (`corpora/<name>.jsonl`)
    whose texts, grouped by title, are documents with headings, of `most_passages` texts at most (0: all of one title);
    with `headless` texts without a heading tell of their entity alone, and otherwise they are left out. With `linked` a
    sentence also tells of the conditions that it names, beside its title's (equation 15). `descriptions` are those whose
    titles and texts describe entities, for the entity embedding alone. With `entities = "words"` an entity has the mean of its mention's
    words instead, and with `aspects = "words"` an aspect that of its heading's: they are not learned, so a name that no
    document has lies beside those that share its words, and `dimension` is that of the words. A setting that begins with
    `name_` is of the embeddings: a name's id is a Bloom filter of `name_bits` bits with `name_hashes` hashes. `hidden` is the width of
    the document's LSTM in each direction, `discourse` that of the discourse vector, `dimension` that of an entity's and an
    aspect's vector, each. With `centred` the embeddings of names are taken relative to their mean and to unit length, so that
    entity and aspect count alike in the cosine; without, as the paper has them.
    With `sentences = "pooled"` a sentence is read by the transformer `base`, as many tokens of it as `sentence_length` with
    special ones, instead of being the mean of its words (section 4.1.2): by the mean of its last hidden states, which stay as
    they are. With `fine_tune_epochs` a second step follows, in which the transformer is trained jointly with the document
    encoder, and read by its CLS token (CDV fine-tuned, section 3.2 of "Self-supervised Answer Retrieval on Clinical Notes"):
    at the rate `fine_tune_rate`, the document encoder at `learning_rate`, in at most `fine_tune_steps` steps (0: all), with
    `chunk` sentences at once in memory (0: all of a batch). The other settings are those of
    `encoders.training.recipe.Recipe`.
    """

    name: str
    documents: tuple[str, ...]
    descriptions: tuple[str, ...] = ()
    entities: str = EMBEDDED
    aspects: str = EMBEDDED
    headless: bool = False
    most_passages: int = 0
    linked: bool = False
    kind: str = KIND
    words: str = ""
    seed: int = 13
    batch: int = 16
    hidden: int = 512
    discourse: int = 256
    dimension: int = 128
    learning_rate: float = 1e-3
    warmup: float = 0.0
    decay: float = 0.975
    weight_decay: float = 1e-4
    epochs: int = 50
    steps: int = 0
    save_every: int = 200
    name_batch: int = 128
    name_epochs: int = 5
    name_rate: float = 1e-3
    name_dropout: float = 0.5
    name_bits: int = 1024
    name_hashes: int = 5
    centred: bool = True
    sentences: str = BY_WORDS
    base: str = "minilm"
    sentence_length: int = 96
    fine_tune_epochs: int = 0
    fine_tune_steps: int = 0
    fine_tune_rate: float = 2e-5
    chunk: int = 64
    threads: int = 1
    device: str = "auto"

    def __post_init__(self) -> None:
        check_choice("kind", self.kind, (KIND,))
        check_choice("device", self.device, ("auto", "cpu", "cuda"))
        for name in ("entities", "aspects"):
            check_choice(name, getattr(self, name), (EMBEDDED, BY_WORDS))
        check_choice("sentences", self.sentences, (BY_WORDS, POOLED))
        for name in ("name", "words", "base"):
            check_text(name, getattr(self, name))
        for name in ("documents", "descriptions"):
            if any(not isinstance(item, str) or not item for item in getattr(self, name)):
                raise InvalidInput(f"{name} must list names of corpora", field=name)
        if not self.documents:
            raise InvalidInput("documents is empty; name at least one corpus", field="documents")
        check_numbers(self, _NUMBERS)
        for name in ("centred", "linked", "headless"):
            if not isinstance(getattr(self, name), bool):
                raise InvalidInput(f"{name} is {getattr(self, name)!r}; it must be true or false", field=name)
        if self.name_dropout == 1:
            raise InvalidInput("name_dropout is 1, which leaves nothing of a name", field="name_dropout")
        if self.name_hashes > self.name_bits:
            raise InvalidInput("name_hashes is more than name_bits", field="name_hashes")
        self._check_sentences()

    def _check_sentences(self) -> None:
        """Check the settings of a transformer that reads sentences."""
        if self.sentences == POOLED and not self.base:
            raise InvalidInput("base is empty; it must be 'minilm', a checkpoint or a model directory", field="base")
        if self.fine_tune_epochs and self.sentences != POOLED:
            message = "fine_tune_epochs trains a transformer that reads sentences; it needs sentences = 'pooled'"
            raise InvalidInput(message, field="fine_tune_epochs")
        if self.fine_tune_steps and not self.fine_tune_epochs:
            raise InvalidInput("fine_tune_steps needs fine_tune_epochs", field="fine_tune_steps")

    @property
    def evaluate_every(self) -> int:
        """No part is evaluated before it is trained to its end."""
        return 0

    @property
    def patience(self) -> int:
        """So none stops early."""
        return 0

    def of_names(self) -> DiscourseRecipe:
        """The schedule of the embeddings: their own epochs, batch and learning rate."""
        return replace(self, epochs=self.name_epochs, batch=self.name_batch, learning_rate=self.name_rate, steps=0)

    def first_step(self) -> DiscourseRecipe:
        """The same without the second step: what a state of the first one depends on."""
        return replace(self, **FIRST_STEP)

    def of_fine_tuning(self) -> DiscourseRecipe:
        """The schedule of the second step: as transformers are trained, with a warm-up, then falling in a line to 0."""
        return replace(
            self,
            epochs=self.fine_tune_epochs,
            steps=self.fine_tune_steps,
            learning_rate=self.fine_tune_rate,
            warmup=WARMUP,
            decay=0.0,
            save_every=max(1, self.save_every // SAVES),
        )

    def of_sentences(self, pooling: str) -> Recipe:
        """The transformer that reads sentences, as the recipe of a bi-encoder; `pooling` is mean or cls.

        Without dropout, as CDV is trained (section 5.2).
        """
        return Recipe(
            self.name,
            "bi-encoder",
            "contrastive",
            {"sentences": Share()},
            base=self.base,
            pooling=pooling,
            similarity="dot",
            max_length=self.sentence_length,
            max_query=self.sentence_length,
            seed=self.seed,
            threads=self.threads,
            device=self.device,
            dropout=0.0,
        )

    def as_json(self) -> dict[str, Any]:
        """The recipe as a JSON object."""
        return {**asdict(self), "documents": list(self.documents), "descriptions": list(self.descriptions)}


def parse_discourse_recipe(values: Mapping[str, Any], name: str) -> DiscourseRecipe:
    """Make a recipe from its TOML table. Raises `InvalidInput`, which names the setting."""
    given = dict(values)
    for setting in ("documents", "descriptions"):
        if setting in given:
            if not isinstance(given[setting], list | tuple):
                raise InvalidInput(f"{setting} is {given[setting]!r}; it must be a list", field=setting)
            given[setting] = tuple(given[setting])
    recipe: DiscourseRecipe = build_settings(DiscourseRecipe, {"name": name, **given})
    return recipe
