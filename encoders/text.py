"""Text to token ids: templates, truncation, and batches without waste. No model here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer

from encoders.artifact import Kind, Reading
from mappings.documents import clean
from mappings.errors import ModelError

CHARACTERS_PER_TOKEN = 100
"""Text beyond this many characters a token is cut before tokenising: it keeps 5 MB of text from costing seconds."""

MASK_INDEX = "mask_index"
"""The input of a graph that takes its mask as `mask_index` makes it."""

KEPT_START = 0.4
"""Of a passage whose middle is cut so much is its start: what it is about is said in fewer words than what it found."""

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Tokens:
    """One text, or one pair of texts, as the model reads it; special tokens included."""

    ids: list[int]
    types: list[int]

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True, slots=True)
class Batch:
    """Padded arrays of shape (n, t) for the inputs numbered `rows`."""

    rows: tuple[int, ...]
    ids: Ints
    mask: Ints
    types: Ints


class Reader:
    """A tokenizer with a model's reading. It never changes after construction, so threads may share it."""

    def __init__(self, path: Path, reading: Reading) -> None:
        try:
            self._tokenizer = Tokenizer.from_file(str(path))
        except Exception as error:  # the tokenizers library raises bare Exception
            raise ModelError(f"{path} is not a tokenizer that can be read: {error}", field=str(path)) from error
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._reading = reading

    def queries(self, texts: Sequence[str]) -> list[Tokens]:
        """Each query in its template, cut to the query's length."""
        return self._singles(texts, self._reading.query_template, self._reading.query_tokens)

    def passages(self, texts: Sequence[str]) -> list[Tokens]:
        """Each passage in its template, cut to the passage's length."""
        return self._singles(texts, self._reading.passage_template, self._reading.passage_tokens)

    def pairs(self, query: str, passages: Sequence[str]) -> list[Tokens]:
        """(query, passage) as one input each: the query cut to its own limit, then only the passage gives way."""
        reading, extra = self._reading, self._tokenizer.num_special_tokens_to_add(True)
        left = self._plain([query], reading.query_template, reading.query_tokens)[0]
        left.truncate(max(0, min(reading.query_tokens, reading.passage_tokens - extra)))
        room = max(0, reading.passage_tokens - extra - len(left.ids))
        rights = self._plain(passages, reading.passage_template, reading.passage_tokens)
        if reading.cut == "end":
            for right in rights:
                right.truncate(room)
            return [_tokens(self._tokenizer.post_process(left, right)) for right in rights]
        return [without_middle(self._tokenizer.post_process(left, right), room) for right in rights]

    def inputs(self, kind: Kind, pairs: Sequence[tuple[str, str]]) -> list[Tokens]:
        """(query, passage) pairs as a model of `kind` reads them: the passages, or each pair as one input."""
        if kind != "cross-encoder":
            return self.passages([passage for _, passage in pairs])
        return [self.pairs(query, [passage])[0] for query, passage in pairs]

    def lengths(self, texts: Sequence[str], limit: int) -> list[int]:
        """Tokens of each text by itself, special tokens included, before anything is cut; above `limit` not counted on."""
        extra = self._tokenizer.num_special_tokens_to_add(False)
        encodings = self._plain(texts, "{text}", limit)
        return [
            limit + 1 if len(text) > limit * CHARACTERS_PER_TOKEN else len(encoding.ids) + extra
            for text, encoding in zip(texts, encodings, strict=True)
        ]

    def _singles(self, texts: Sequence[str], template: str, limit: int) -> list[Tokens]:
        room = max(0, limit - self._tokenizer.num_special_tokens_to_add(False))
        encodings = self._plain(texts, template, limit)
        for encoding in encodings:
            encoding.truncate(room)
        return [_tokens(self._tokenizer.post_process(encoding)) for encoding in encodings]

    def _plain(self, texts: Sequence[str], template: str, limit: int) -> list[Encoding]:
        ready = [fill(template, text[: limit * CHARACTERS_PER_TOKEN]) for text in texts]
        return list(self._tokenizer.encode_batch_fast(ready, add_special_tokens=False))


def fill(template: str, text: str) -> str:
    """`text` in its template, without what a tokenizer can't take (lone surrogates, control characters)."""
    return template.replace("{text}", clean(text))


def batches(lengths: Sequence[int], budget: int, alike: float = 0.0) -> list[list[int]]:
    """Group inputs of alike length: longest first, at most `budget` tokens with padding, at least one input each.

    None is shorter than the share `alike` of its group's longest, which bounds the padding where inputs are few.
    Every index stands in exactly one group; ties keep input order, so grouping is deterministic.
    """
    groups: list[list[int]] = []
    longest = 0
    for index in sorted(range(len(lengths)), key=lambda i: (-lengths[i], i)):
        if groups and longest * (len(groups[-1]) + 1) <= budget and lengths[index] >= alike * longest:
            groups[-1].append(index)
        else:
            groups.append([index])
            longest = lengths[index]
    return groups


def pad(tokens: Sequence[Tokens], rows: Sequence[int]) -> Batch:
    """The inputs numbered `rows` as arrays, padded on the right to the longest of them."""
    shape = (len(rows), max(1, max(len(tokens[row]) for row in rows)))
    ids, mask, types = (np.zeros(shape, dtype=np.int64) for _ in range(3))
    for place, row in enumerate(rows):
        length = len(tokens[row])
        ids[place, :length] = tokens[row].ids
        types[place, :length] = tokens[row].types
        mask[place, :length] = 1
    return Batch(tuple(rows), ids, mask, types)


def mask_index(mask: Ints, starts: bool) -> NDArray[np.int32]:
    """A mask (n, t), padded on the right, as ONNX Runtime's attention takes it: the length of each text, (n,).

    With `starts`, (3n + 2,): then come the start of each text and the end of the last, for queries and again for keys,
    as if all texts lay one after the other, each t tokens long.
    """
    texts, tokens = mask.shape
    places = np.arange(texts + 1) * tokens
    parts = [mask.sum(axis=1), places, places] if starts else [mask.sum(axis=1)]
    return np.concatenate(parts).astype(np.int32)


def _tokens(encoding: Encoding) -> Tokens:
    return Tokens(encoding.ids, encoding.type_ids)


def without_middle(pair: Encoding, room: int) -> Tokens:
    """A pair whose second part keeps `room` tokens: its start and, mostly, its end."""
    second = [place for place, part in enumerate(pair.sequence_ids) if part == 1]
    ids, types = pair.ids, pair.type_ids
    if len(second) > room:
        kept = second[0] + round(KEPT_START * room)
        gone = slice(kept, kept + len(second) - room)
        del ids[gone], types[gone]
    return Tokens(ids, types)
