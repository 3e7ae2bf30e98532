"""Late chunking (Günther et al. 2024): a passage is read once, and each of its windows is the mean over its own tokens there.

So a window lacks what the passage's title says, unless its tokens have taken it up; the mean can have the title's, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from tokenizers import Encoding, Tokenizer

from encoders.artifact import Reading
from encoders.late.spans import Run, TokenSpan, add_context, plan_runs, span_tokens
from encoders.pooling import Floats
from encoders.text import CHARACTERS_PER_TOKEN, Tokens, special_frame
from mappings.analysis.window_text import PlacedWindow, read_window
from mappings.documents import clean


@dataclass(frozen=True, slots=True)
class WindowInput:
    """One input of a model, and which of its tokens count for which text."""

    tokens: Tokens
    spans: tuple[TokenSpan, ...]

    def __len__(self) -> int:
        return len(self.tokens)


class WindowTokenizer:
    """Reads texts that are windows in their passages, each passage once. It is immutable, so threads can share it."""

    def __init__(self, tokenizer: Tokenizer, reading: Reading) -> None:
        self._tokenizer = tokenizer
        self._before, self._after = reading.passage_template.split("{text}")
        self._with_context = reading.windows == "late-context"
        self._room = max(1, reading.passage_tokens - tokenizer.num_special_tokens_to_add(False))
        self._prefix, self._suffix, self._type = special_frame(tokenizer)

    def tokenize(self, texts: Sequence[str]) -> list[WindowInput]:
        """Inputs that together hold every token of each of `texts`, as `mappings.analysis.window_text` makes them.

        A span's `row` is the place of its text in `texts`. A passage longer than the model reads takes several inputs.
        Of a text without end, a hundred characters for each token that the model reads are enough.
        """
        placed = [read_window(clean(text[: self._room * CHARACTERS_PER_TOKEN])) for text in texts]
        passages: dict[str, list[int]] = {}
        for row, item in enumerate(placed):
            passages.setdefault(item.whole, []).append(row)
        wholes = [f"{self._before}{whole}{self._after}" for whole in passages]
        encodings = self._tokenizer.encode_batch(wholes, add_special_tokens=False)
        return [
            self._frame(encoding, run)
            for encoding, rows in zip(encodings, passages.values(), strict=True)
            for run in self._plan(encoding, {row: placed[row] for row in rows})
        ]

    def _plan(self, encoding: Encoding, windows: dict[int, PlacedWindow]) -> list[Run]:
        moved, offsets = len(self._before), encoding.offsets
        spans = []
        for row, item in windows.items():
            start, end = item.span
            first, last = span_tokens(offsets, moved + start, moved + end)
            # A text with nothing around it is all of its input, and so is a window of which the tokenizer leaves nothing.
            whole = not last or item.window == item.whole
            spans.append(TokenSpan(row, 0, len(offsets)) if whole else TokenSpan(row, first, last))
        context = span_tokens(offsets, 0, moved + max(len(item.context) for item in windows.values()))[1]
        runs = plan_runs(len(offsets), context, spans, self._room)
        return [add_context(run, context) for run in runs] if self._with_context and context else runs

    def _frame(self, encoding: Encoding, run: Run) -> WindowInput:
        """A run with the model's special tokens around it, which count only for a text that is all of the passage."""
        body = encoding.ids[: run.context] + encoding.ids[run.start : run.stop]
        ids = [*self._prefix.ids, *body, *self._suffix.ids]
        types = [*self._prefix.types, *[self._type] * len(body), *self._suffix.types]
        moved, length = len(self._prefix), len(encoding.ids)
        spans = (
            TokenSpan(row, 0, len(ids)) if last - first == length else TokenSpan(row, first + moved, last + moved)
            for row, first, last in run.spans
        )
        return WindowInput(Tokens(ids, types), tuple(spans))


def whole_inputs(tokens: Sequence[Tokens]) -> list[WindowInput]:
    """Inputs of texts that are all window, in order."""
    return [WindowInput(item, (TokenSpan(row, 0, len(item)),)) for row, item in enumerate(tokens)]


def sum_spans(hidden: Floats, spans: Sequence[TokenSpan]) -> Floats:
    """The hidden states (t, d) of an input -> the sum over the tokens of each span, (spans, d)."""
    return np.stack([hidden[span.first : span.last].sum(axis=0, dtype=np.float32) for span in spans])


def mean_windows(inputs: Sequence[WindowInput], sums: Sequence[Floats], count: int) -> Floats:
    """The mean over all tokens of each text, shape (count, d), of the sums (spans, d) of each input's spans."""
    total = np.zeros((count, sums[0].shape[1]), dtype=np.float32)
    tokens = np.zeros((count, 1), dtype=np.float32)
    for item, own in zip(inputs, sums, strict=True):
        for span, row in zip(item.spans, own, strict=True):
            total[span.row] += row
            tokens[span.row] += span.last - span.first
    return np.asarray(total / np.maximum(tokens, 1), dtype=np.float32)
