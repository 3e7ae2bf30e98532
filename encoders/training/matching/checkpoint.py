"""A trained matching network as a folder: its recipe, its weights, the frequencies of words, and which vectors it reads."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from encoders.training.data.word_vectors import open_words
from encoders.training.matching.inputs import Frequencies, WordTable
from encoders.training.matching.matcher import Matcher, score_texts
from encoders.training.matching.recipe import MatcherRecipe, parse_matcher_recipe
from encoders.training.run_folder import CHECKPOINT, REPORT
from encoders.words.vectors import WordVectors
from mappings.errors import ModelError

MATCHER: Final = "matcher.json"
WEIGHTS: Final = "matcher.safetensors"


@dataclass(frozen=True, slots=True)
class MatchRanker:
    """A trained model with its words."""

    recipe: MatcherRecipe
    model: Matcher
    table: WordTable

    def score(self, query: str, passages: Sequence[str]) -> NDArray[np.float32]:
        """The score of each passage, in their order, shape (passages,). Raises `InvalidInput` for a text without a word."""
        return score_texts(self.model, self.table, query, passages).numpy()


def save_matcher(folder: Path, recipe: MatcherRecipe, model: Matcher, table: WordTable) -> None:
    """Write the folder; the vectors of words stay where they are."""
    folder.mkdir(parents=True, exist_ok=True)
    save_file({name: value.contiguous() for name, value in model.state_dict().items()}, folder / WEIGHTS)
    frequencies = table.frequencies
    described = {
        "recipe": recipe.as_json(),
        "words": {"fingerprint": table.vectors.fingerprint, "dimension": table.vectors.dimension},
        "frequencies": {"passages": frequencies.passages, "words": dict(sorted(frequencies.words.items()))},
    }
    partial = folder / f"{MATCHER}.partial"
    partial.write_text(json.dumps(described, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    partial.replace(folder / MATCHER)


def find_matchers(folder: Path) -> dict[str, Path]:
    """The checkpoints in a folder by name: each is a folder of its own there, or in that the `checkpoint` of a finished run."""
    return {
        own.name: place
        for own in sorted(folder.iterdir() if folder.is_dir() else ())
        for place in (own, own / CHECKPOINT)
        if (place / MATCHER).is_file() and (place is own or (own / REPORT).is_file())
    }


def load_matcher(folder: Path, words: WordVectors | None = None) -> MatchRanker:
    """The model in a checkpoint, with the vectors that its recipe names unless `words` are given.

    Raises `NotFound` for missing vectors, `ModelError` for a damaged checkpoint or other vectors than it was trained with.
    """
    try:
        described = json.loads((folder / MATCHER).read_text(encoding="utf-8"))
        recipe = parse_matcher_recipe(described["recipe"], folder.name)
        counted, expected = described["frequencies"], described["words"]
        frequencies = Frequencies(int(counted["passages"]), dict(counted["words"]))
        model = Matcher(recipe, int(expected["dimension"]))
        model.load_state_dict(load_file(folder / WEIGHTS))
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, SafetensorError) as error:
        raise ModelError(f"{folder} is not a checkpoint of a matching network: {error}", field=str(folder)) from None
    vectors = open_words(recipe.words) if words is None else words
    if (vectors.dimension, vectors.fingerprint) != (expected["dimension"], expected["fingerprint"]):
        raise ModelError(
            f"{folder} was trained with the word vectors {expected['fingerprint']} of {expected['dimension']} values;"
            f" these are {vectors.fingerprint} of {vectors.dimension}",
            field="words",
        )
    torch.set_num_threads(recipe.threads)
    return MatchRanker(recipe, model.eval(), WordTable(vectors, frequencies, recipe.max_query, recipe.max_passage))
