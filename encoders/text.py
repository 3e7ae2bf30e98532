"""Turn text into token ids: templates, truncation, and batches with little padding. No model is involved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer

from encoders.artifact import READ_TOGETHER, Kind, Reading
from encoders.late.spans import cut_to_room, span_tokens
from mappings.analysis.window_text import read_window
from mappings.documents import clean
from mappings.errors import ModelError

CHARACTERS_PER_TOKEN = 100
"""Text beyond this many characters per token is cut before tokenising, so that 5 MB of text do not take seconds."""

MASK_INDEX = "mask_index"
"""The name of the graph input that takes the result of `mask_index`."""

AROUND = 1
"""The type of the tokens around a passage, where a model reads passages in their documents."""

KEPT_START = 0.4
"""If the middle of a passage is cut, this share of what remains is its start: the topic takes fewer words than the findings."""

Ints = NDArray[np.int64]
_SAMPLE = "a"


@dataclass(frozen=True, slots=True)
class Tokens:
    """One text or pair of texts as a model's input, including special tokens."""

    ids: list[int]
    types: list[int]

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True, slots=True)
class TokenBatch:
    """Padded arrays of shape (n, t) for the inputs at the indices `rows`."""

    rows: tuple[int, ...]
    ids: Ints
    mask: Ints
    types: Ints


class ModelTokenizer:
    """A tokenizer that applies a model's `Reading`. It is immutable, so threads can share it."""

    def __init__(self, source: Path | Tokenizer, reading: Reading) -> None:
        """Of the tokenizer in a file, or of one in memory, which is copied. Raises `ModelError` for an invalid file."""
        try:
            found = (
                Tokenizer.from_file(str(source)) if isinstance(source, Path) else Tokenizer.from_str(source.to_str())
            )
        except Exception as error:  # the tokenizers library raises bare Exception
            raise ModelError(f"{source} is not a valid tokenizer file: {error}", field=str(source)) from error
        self._tokenizer = found
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._reading = reading

    @property
    def underlying(self) -> Tokenizer:
        """The tokenizer itself, without truncation and padding."""
        return self._tokenizer

    def tokenize_queries(self, texts: Sequence[str]) -> list[Tokens]:
        """Each query in its template, truncated to the query length."""
        return self._tokenize(texts, self._reading.query_template, self._reading.query_tokens)

    def tokenize_passages(self, texts: Sequence[str]) -> list[Tokens]:
        """Each passage in its template, truncated to the passage length; in its document where the model reads it there."""
        if self._reading.windows == "surroundings":
            return tokenize_in_document(self._tokenizer, self._reading, texts)
        return self._tokenize(texts, self._reading.passage_template, self._reading.passage_tokens)

    def tokenize_pairs(self, query: str, passages: Sequence[str]) -> list[Tokens]:
        """One input per (query, passage): the query is truncated to its own limit, then only the passage is."""
        reading, extra = self._reading, self._tokenizer.num_special_tokens_to_add(True)
        left = self._encode([query], reading.query_template, reading.query_tokens)[0]
        left.truncate(max(0, min(reading.query_tokens, reading.passage_tokens - extra)))
        room = max(0, reading.passage_tokens - extra - len(left.ids))
        rights = self._encode(passages, reading.passage_template, reading.passage_tokens)
        if reading.cut == "end":
            for right in rights:
                right.truncate(room)
            return [_tokens(self._tokenizer.post_process(left, right)) for right in rights]
        return [cut_middle(self._tokenizer.post_process(left, right), room) for right in rights]

    def tokenize_inputs(self, kind: Kind, pairs: Sequence[tuple[str, str]]) -> list[Tokens]:
        """(query, passage) pairs as inputs of a model of `kind`: the passages alone, or each pair as one input."""
        if kind not in READ_TOGETHER:
            return self.tokenize_passages([passage for _, passage in pairs])
        return [self.tokenize_pairs(query, [passage])[0] for query, passage in pairs]

    def count_tokens(self, texts: Sequence[str], limit: int) -> list[int]:
        """Tokens of each text before truncation, including special tokens; values above `limit` are lower bounds."""
        extra = self._tokenizer.num_special_tokens_to_add(False)
        encodings = self._encode(texts, "{text}", limit)
        return [
            limit + 1 if len(text) > limit * CHARACTERS_PER_TOKEN else len(encoding.ids) + extra
            for text, encoding in zip(texts, encodings, strict=True)
        ]

    def _tokenize(self, texts: Sequence[str], template: str, limit: int) -> list[Tokens]:
        room = max(0, limit - self._tokenizer.num_special_tokens_to_add(False))
        encodings = self._encode(texts, template, limit)
        for encoding in encodings:
            encoding.truncate(room)
        return [_tokens(self._tokenizer.post_process(encoding)) for encoding in encodings]

    def _encode(self, texts: Sequence[str], template: str, limit: int) -> list[Encoding]:
        """Encodings without special tokens and without truncation to tokens."""
        ready = [fill_template(template, text[: limit * CHARACTERS_PER_TOKEN]) for text in texts]
        return list(self._tokenizer.encode_batch_fast(ready, add_special_tokens=False))


def tokenize_in_document(tokenizer: Tokenizer, reading: Reading, texts: Sequence[str]) -> list[Tokens]:
    """Passages with what is around them (`mappings.analysis.window_text.place_passage`), whose tokens have the type `AROUND`.

    If there is more around a passage than fits, the nearest tokens are kept, as many before it as after. `tokenizer`
    neither truncates nor pads.
    """
    prefix, suffix, own = special_frame(tokenizer)
    before, after = reading.passage_template.split("{text}")
    room = max(1, reading.passage_tokens - len(prefix) - len(suffix))
    placed = [read_window(clean(text)).near(room * CHARACTERS_PER_TOKEN) for text in texts]
    encodings = tokenizer.encode_batch([f"{before}{item.whole}{after}" for item in placed], add_special_tokens=False)
    found = []
    for item, encoding in zip(placed, encodings, strict=True):
        start, end = (len(before) + at for at in item.span)
        first, last = span_tokens(encoding.offsets, start, end)
        context = span_tokens(encoding.offsets, 0, len(before) + len(item.context))[
            1
        ]  # the marker and a title count as its own
        shown, places = cut_to_room(len(encoding.ids), context, first, last, room)
        types = [own if place < shown or first <= place < last else AROUND for place in places]
        ids = [encoding.ids[place] for place in places]
        found.append(Tokens([*prefix.ids, *ids, *suffix.ids], [*prefix.types, *types, *suffix.types]))
    return found


def special_frame(tokenizer: Tokenizer) -> tuple[Tokens, Tokens, int]:
    """(the special tokens before a text, those after it, the type of its own tokens)."""
    framed = tokenizer.post_process(tokenizer.encode(_SAMPLE, add_special_tokens=False))
    mask = framed.special_tokens_mask
    first, last = mask.index(0), len(mask) - mask[::-1].index(0)
    prefix, suffix = (Tokens(framed.ids[part], framed.type_ids[part]) for part in (slice(first), slice(last, None)))
    return prefix, suffix, framed.type_ids[first]


def fill_template(template: str, text: str) -> str:
    """`text` in its template, without characters that tokenizers reject (lone surrogates, control characters)."""
    return template.replace("{text}", clean(text))


def group_by_length(lengths: Sequence[int], budget: int, least_ratio: float = 0.0) -> list[list[int]]:
    """Group inputs of similar length, longest first: at most `budget` tokens with padding, at least one input each.

    No input is shorter than `least_ratio` times the longest of its group, which bounds the padding if inputs are few.
    Every index is in exactly one group; ties keep input order, so the grouping is deterministic.
    """
    groups: list[list[int]] = []
    longest = 0
    for index in sorted(range(len(lengths)), key=lambda i: (-lengths[i], i)):
        if groups and longest * (len(groups[-1]) + 1) <= budget and lengths[index] >= least_ratio * longest:
            groups[-1].append(index)
        else:
            groups.append([index])
            longest = lengths[index]
    return groups


def pad(tokens: Sequence[Tokens], rows: Sequence[int]) -> TokenBatch:
    """The inputs at the indices `rows` as arrays, padded on the right to the longest of them."""
    shape = (len(rows), max(1, max(len(tokens[row]) for row in rows)))
    ids, mask, types = (np.zeros(shape, dtype=np.int64) for _ in range(3))
    for place, row in enumerate(rows):
        length = len(tokens[row])
        ids[place, :length] = tokens[row].ids
        types[place, :length] = tokens[row].types
        mask[place, :length] = 1
    return TokenBatch(tuple(rows), ids, mask, types)


def mask_index(mask: Ints, starts: bool) -> NDArray[np.int32]:
    """Convert a mask (n, t), padded on the right, for ONNX Runtime's attention: the length of each text, shape (n,).

    With `starts` the shape is (3n + 2,): the start of each text and the end of the last follow, once for queries and once
    for keys, as if the texts were concatenated, each t tokens long.
    """
    texts, tokens = mask.shape
    places = np.arange(texts + 1) * tokens
    parts = [mask.sum(axis=1), places, places] if starts else [mask.sum(axis=1)]
    return np.concatenate(parts).astype(np.int32)


def _tokens(encoding: Encoding) -> Tokens:
    return Tokens(encoding.ids, encoding.type_ids)


def cut_middle(pair: Encoding, room: int) -> Tokens:
    """A pair whose second text is cut to `room` tokens: its start and a larger part of its end."""
    second = [place for place, part in enumerate(pair.sequence_ids) if part == 1]
    ids, types = pair.ids, pair.type_ids
    if len(second) > room:
        kept = second[0] + round(KEPT_START * room)
        gone = slice(kept, kept + len(second) - room)
        del ids[gone], types[gone]
    return Tokens(ids, types)
