"""The transformer that reads sentences (CDV, Arnold et al. 2020, section 4.1.2), and what it says of them while it is frozen.

Each distinct sentence is read once, and its vector kept in a file in the run's folder, which grows while they are read: a
kill costs the batch that it hit.
"""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from itertools import accumulate
from pathlib import Path
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from encoders.artifact import Reading
from encoders.pooling import Floats
from encoders.text import ModelTokenizer, Tokens, group_by_length, pad
from encoders.training.architectures.checkpoint import Checkpoint
from encoders.training.architectures.families import inputs_of
from encoders.training.run_folder import Log

BATCH_TOKENS: Final = {"cpu": 4_096, "cuda": 65_536}
"""Tokens that are read at once, with padding, where no gradients are kept."""
LOGGED: Final = 50
"""Batches between two entries of the log."""
ITEM: Final = np.dtype(np.float16)
"""Vectors are kept in half precision: the corpora of the paper have hundreds of thousands of sentences."""


class SentenceTower:
    """A bi-encoder in torch with its tokenizer, reading sentences as the exported one will."""

    def __init__(self, ready: Checkpoint, length: int) -> None:
        """`length` counts the tokens that are read of a sentence, with special ones."""
        self.ready, self.model = ready, ready.model
        self.reading: Reading = ready.architecture.reading(self.model.config, length, length)
        self._tokenizer = ModelTokenizer(ready.tokenizer.backend_tokenizer, self.reading)
        self._names = inputs_of(self.model)

    @property
    def dimension(self) -> int:
        """The number of values of a vector."""
        return int(self.model.config.hidden_size)

    def tokenize(self, sentences: Sequence[str]) -> list[Tokens]:
        """Each sentence as an input, cut to the length."""
        return self._tokenizer.tokenize_passages(sentences)

    def read(self, sentences: Sequence[Tokens]) -> Tensor:
        """Equation 9: the vector of each sentence, pooled from its last hidden states, shape (sentences, d)."""
        batch = pad(sentences, range(len(sentences)))
        arrays = {"input_ids": batch.ids, "attention_mask": batch.mask, "token_type_ids": batch.types}
        inputs = {name: torch.from_numpy(arrays[name]).to(self.model.device) for name in self._names}
        vectors: Tensor = self.model.vectors(inputs, query=False)
        return vectors


class SentenceVectors:
    """Vectors by sentence, in half precision."""

    def __init__(self, places: Mapping[str, int], vectors: NDArray[np.float16]) -> None:
        self._places, self._vectors = places, vectors

    @property
    def dimension(self) -> int:
        """The number of values of a vector."""
        return int(self._vectors.shape[1])

    def lookup(self, sentences: Sequence[str]) -> Floats:
        """Shape (sentences, d). Raises `KeyError` for a sentence that was not read."""
        found: Floats = self._vectors[[self._places[sentence] for sentence in sentences]].astype(np.float32)
        return found


def read_frozen(tower: SentenceTower, sentences: Iterable[str], folder: Path, base: str, log: Log) -> SentenceVectors:
    """The vector of each distinct sentence, by the tower as it is, from the file in `folder` as far as it has them.

    The file is named after what decides its content: `base`, which identifies the weights, how the tower reads, and the
    sentences. Rows are in the order of reading, the longest sentence first, so a run that goes on has the same batches.
    """
    texts = list(dict.fromkeys(sentences))
    tokens = tower.tokenize(texts)
    groups = group_by_length([len(item) for item in tokens], BATCH_TOKENS[tower.model.device.type])
    path = folder / f"sentences-{_identify(texts, base, tower.reading)}.bin"
    done = _drop_partial(path, [len(group) for group in groups], tower.dimension * ITEM.itemsize)
    tower.model.eval()
    with path.open("ab") as file:
        for number, rows in enumerate(groups[done:], done + 1):
            with torch.inference_mode():
                found = tower.read([tokens[row] for row in rows])
            file.write(found.cpu().numpy().astype(ITEM).tobytes())
            file.flush()
            if number % LOGGED == 0 or number == len(groups):
                log({"sentences": sum(map(len, groups[:number])), "of": len(texts)})
    order = [row for group in groups for row in group]
    vectors = np.fromfile(path, ITEM).reshape(len(order), tower.dimension)
    return SentenceVectors({texts[row]: place for place, row in enumerate(order)}, vectors)


def _identify(texts: Sequence[str], base: str, reading: Reading) -> str:
    found = hashlib.sha256(json.dumps([base, asdict(reading)]).encode())
    for text in texts:
        found.update(f"{text}\0".encode(errors="replace"))
    return found.hexdigest()[:16]


def _drop_partial(path: Path, sizes: Sequence[int], row_bytes: int) -> int:
    """How many batches of `sizes` rows are complete in a file; what a kill left of the next one is removed."""
    if not path.is_file():
        return 0
    ends = [row_bytes * rows for rows in accumulate(sizes)]
    done = bisect_right(ends, path.stat().st_size)
    with path.open("r+b") as file:
        file.truncate(ends[done - 1] if done else 0)
    return done
