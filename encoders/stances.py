"""Stance classifiers on ONNX Runtime, without torch: what passages say of a claim, and in which of their sentences.

As in MultiVerS (Wadden et al. 2022, section 3), both are read off one encoding of `[CLS] claim [SEP] passage [SEP]`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
from tokenizers import Tokenizer

from encoders.artifact import STANCE_HEAD, Artifact, Reading
from encoders.pooling import Floats, softmax
from encoders.runtime import OnnxModel
from encoders.text import CHARACTERS_PER_TOKEN, KEPT_START, TokenBatch, Tokens, fill_template
from mappings.errors import ModelError
from mappings.stances import ClaimPassage, StanceReading

HIDDEN: Final = 128
"""Units of the hidden layer before the three stances."""
NO_SENTENCE: Final = -1
"""The place of a token that belongs to no sentence of the passage: one of the claim, of the title, or a special one."""
HEAD_ARRAYS: Final = (
    "evidence.weight",
    "evidence.bias",
    "hidden.weight",
    "hidden.bias",
    "stance.weight",
    "stance.bias",
)


class ClaimInput(NamedTuple):
    """A claim and a passage as one input; for each token the place of its sentence among the passage's, or `NO_SENTENCE`."""

    tokens: Tokens
    places: list[int]


def claim_inputs(
    tokenizer: Tokenizer, reading: Reading, claims: Sequence[str], passages: Sequence[ClaimPassage]
) -> list[ClaimInput]:
    """One input for each claim with its passage: the claim is truncated to its own limit, then only the passage is.

    `reading.cut` says where. `tokenizer` neither pads nor truncates; it reads the texts in parallel.
    """
    extra = tokenizer.num_special_tokens_to_add(True)
    short = reading.query_tokens * CHARACTERS_PER_TOKEN
    asked = [fill_template(reading.query_template, claim[:short]) for claim in claims]
    before, after = reading.passage_template.split("{text}")
    contexts = [f"{before}{passage.context} " if passage.context else before for passage in passages]
    texts = [passage.text[: reading.passage_tokens * CHARACTERS_PER_TOKEN] for passage in passages]
    shown = [fill_template("{text}", f"{context}{text}{after}") for context, text in zip(contexts, texts, strict=True)]
    lefts = tokenizer.encode_batch(asked, add_special_tokens=False)
    rights = tokenizer.encode_batch(shown, add_special_tokens=False)
    found = []
    for left, right, passage, context in zip(lefts, rights, passages, contexts, strict=True):
        left.truncate(max(0, min(reading.query_tokens, reading.passage_tokens - extra)))
        room = max(0, reading.passage_tokens - extra - len(left.ids))
        pair = tokenizer.post_process(left, right)
        spans = [(start + len(context), end + len(context)) for start, end in passage.spans]
        second = [part == 1 for part in pair.sequence_ids]
        places = _places([at if own else (-1, -1) for at, own in zip(pair.offsets, second, strict=True)], spans)
        found.append(_cut(ClaimInput(Tokens(pair.ids, pair.type_ids), places), second, room, reading.cut))
    return found


def _places(offsets: Sequence[tuple[int, int]], spans: Sequence[tuple[int, int]]) -> list[int]:
    """For each token's characters the sentence in which they begin."""
    starts = [start for start, _ in spans]
    found = []
    for start, _ in offsets:
        place = bisect_right(starts, start) - 1
        found.append(place if start >= 0 and place >= 0 and start < spans[place][1] else NO_SENTENCE)
    return found


def _cut(item: ClaimInput, second: Sequence[bool], room: int, cut: str) -> ClaimInput:
    own = [place for place, is_own in enumerate(second) if is_own]
    if len(own) <= room:
        return item
    kept = room if cut == "end" else round(KEPT_START * room)
    gone = slice(own[0] + kept, own[0] + kept + len(own) - room)
    ids, types, places = list(item.tokens.ids), list(item.tokens.types), list(item.places)
    del ids[gone], types[gone], places[gone]
    return ClaimInput(Tokens(ids, types), places)


class StanceClassifier:
    """Reads what passages say of a claim. Threads can share it."""

    def __init__(
        self, artifact: Artifact, threads: int | None = None, form: str | None = None, device: str = ""
    ) -> None:
        self.model = OnnxModel(artifact, "stance-classifier", threads, form, device)
        self.form = self.model.form
        self.fingerprint = artifact.fingerprint
        self._reading = artifact.reading
        self._head = load_head(artifact)

    def read(self, claim: str, passages: Sequence[ClaimPassage]) -> list[StanceReading]:
        """What each passage says, in input order."""
        inputs = claim_inputs(self.model.tokenizer.underlying, self._reading, [claim] * len(passages), passages)
        found = [StanceReading((0.0, 0.0, 0.0), ())] * len(inputs)

        def finish(states: Floats, batch: TokenBatch) -> Floats:
            for own, row in zip(states, batch.rows, strict=True):
                length = len(inputs[row].places)
                found[row] = apply_head(self._head, own[:length], inputs[row].places, len(passages[row].spans))
            return np.zeros(len(batch.rows), dtype=np.float32)

        self.model.map([item.tokens for item in inputs], finish, ())
        return found

    def score(self, claim: str, passages: Sequence[str]) -> Floats:
        """How far each passage supports the claim: the log odds of supporting against refuting it, shape (n,)."""
        readings = self.read(claim, [ClaimPassage.of(text) for text in passages])
        return np.array([support_odds(item) for item in readings], dtype=np.float32)


def load_head(artifact: Artifact) -> Mapping[str, Floats]:
    """The arrays of a stance classifier's head, by name. Raises `ModelError` if one is missing."""
    with np.load(artifact.folder / STANCE_HEAD) as stored:
        if missing := set(HEAD_ARRAYS) - set(stored.files):
            raise ModelError(
                f"{artifact.folder / STANCE_HEAD} has no {min(missing)}; export the model again", field="head"
            )
        return {name: stored[name].astype(np.float32) for name in HEAD_ARRAYS}


def apply_head(head: Mapping[str, Floats], states: Floats, places: Sequence[int], count: int) -> StanceReading:
    """The reading of one input from its hidden states (t, d); see `encoders.training.architectures.stance.StanceHead`."""
    member = np.array(places)[None, :] == np.arange(count)[:, None]  # (s, t)
    sizes = member.sum(axis=1)
    means = (member.astype(np.float32) @ states) / np.maximum(sizes, 1)[:, None]
    evidence = np.where(sizes > 0, means @ head["evidence.weight"][0] + head["evidence.bias"][0], -np.inf)
    read = np.zeros(states.shape[1], dtype=np.float32)
    if (sizes > 0).any():
        read = softmax(evidence) @ means
    hidden = np.tanh(head["hidden.weight"] @ np.concatenate((states[0], read)) + head["hidden.bias"])
    stances = softmax(head["stance.weight"] @ hidden + head["stance.bias"])
    first, second, third = map(float, stances)
    return StanceReading((first, second, third), tuple(map(float, evidence)))


def is_same(span: tuple[int, int], marked: tuple[int, int]) -> bool:
    """Whether more than half of the shorter of two ranges is in the other: data sets end sentences elsewhere."""
    shared = min(span[1], marked[1]) - max(span[0], marked[0])
    return shared > 0.5 * min(span[1] - span[0], marked[1] - marked[0])


def support_odds(item: StanceReading) -> float:
    """The log odds of supporting against refuting."""
    supports, refutes, _ = (max(value, 1e-9) for value in item.probabilities)
    return float(np.log(supports) - np.log(refutes))
