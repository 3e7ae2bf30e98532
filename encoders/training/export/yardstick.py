"""References for `medley bench gpu`: a random cross-encoder of any size, the same model in torch, and a matrix product."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

from encoders.artifact import TOKENIZER, Artifact, Reading
from encoders.text import ModelTokenizer, Tokens, group_by_length, pad
from encoders.training.architectures.checkpoint import Checkpoint
from encoders.training.architectures.cross_encoder import new_classifier
from encoders.training.export.restore import restore
from encoders.training.export.writer import write_artifact

HEAD = 64
"""The width of an attention head, as in every BERT."""
SPREAD = 0.55
"""Weights have this standard deviation over the root of the width, like BERT's: with more, twelve random layers amplify
every rounding into noise."""
SPECIALS = ("[PAD]", "[CLS]", "[SEP]", "[UNK]")
CARD = {"name": "random", "base": "random weights", "licence": "Apache-2.0"}
WORDS = 1000
LONGEST = 512
PAIRS = 24
PRODUCTS = 10


def cross_encoder(layers: int, width: int, tokens: int, vocabulary: int, out: Path) -> Artifact:
    """Export a BERT of these sizes with random weights, through the gate."""
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=vocabulary, hidden_size=width, num_hidden_layers=layers, num_attention_heads=max(1, width // HEAD),
        intermediate_size=4 * width, max_position_embeddings=tokens, num_labels=1, attn_implementation="eager",
        initializer_range=SPREAD / width**0.5,
    )  # fmt: skip
    ready = Checkpoint(BertForSequenceClassification(config).eval(), _tokenizer(vocabulary))
    return write_artifact(ready, "cross-encoder", out, CARD, _pairs(), Reading("none", False, min(64, tokens), tokens))


def random_tokens(lengths: Sequence[int], vocabulary: int) -> list[Tokens]:
    """Random inputs of these lengths, the same in every run; the first fifth of each is the query."""
    draw = np.random.default_rng(0)
    return [
        Tokens(draw.integers(len(SPECIALS), vocabulary, length).tolist(), [0] * (length // 5) + [1] * (length - length // 5))
        for length in lengths
    ]  # fmt: skip


class Torch:
    """An artifact's model in torch with SDPA: half precision on a GPU, single precision on a CPU."""

    def __init__(self, artifact: Artifact, device: str) -> None:
        model = restore(artifact).model
        getattr(model, "backbone", model).set_attn_implementation("sdpa")
        self.model = (model.half() if device == "cuda" else model).to(device)
        self._device = device

    def logits(self, tokens: Sequence[Tokens], budget: int) -> np.ndarray:
        """One logit per input, shape (n,), in input order; batches have similar lengths and at most `budget` tokens."""
        rows, parts = [], []
        with torch.inference_mode():
            for places, arrays in self._batches(tokens, budget):
                rows.extend(places)
                parts.append(self.model(**arrays).logits[:, 0])
            found = torch.cat(parts).float().cpu().numpy()  # waits for the device
        result = np.empty_like(found)
        result[rows] = found
        return result

    def _batches(self, tokens: Sequence[Tokens], budget: int) -> Iterator[tuple[tuple[int, ...], dict[str, Any]]]:
        for group in group_by_length([len(item) for item in tokens], budget):
            batch = pad(tokens, group)
            arrays = {"input_ids": batch.ids, "token_type_ids": batch.types}
            if not batch.mask.all():  # without a mask SDPA takes its fastest kernel
                arrays["attention_mask"] = batch.mask
            yield batch.rows, {name: torch.from_numpy(value).to(self._device) for name, value in arrays.items()}


def scores(artifact: Artifact, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
    """A cross-encoder's logits of (query, passage) pairs in torch, on the CPU: shape (n,)."""
    tokenizer = ModelTokenizer(artifact.folder / TOKENIZER, artifact.reading)
    return Torch(artifact, "cpu").logits(tokenizer.tokenize_inputs(artifact.kind, pairs), LONGEST * 8)


def classifier(ready: Checkpoint) -> Checkpoint:
    """The same backbone with a plain classifier's head, for runtimes that support no other.

    Except for MaxSim it takes as long, but its scores differ.
    """
    backbone = ready.model.backbone
    backbone.config.num_labels = 1
    plain = new_classifier(backbone.config).eval()
    plain.base_model.load_state_dict(backbone.state_dict(), strict=False)
    return Checkpoint(plain, ready.tokenizer)


def matmul_seconds(device: str, side: int, rounds: int) -> float:
    """The median time of one product of two square matrices in seconds, in half precision on a GPU."""
    kind = torch.float16 if device == "cuda" else torch.float32
    left, right = (torch.randn(side, side, dtype=kind, device=device) for _ in range(2))
    times = []
    for _ in range(rounds + 1):  # the first one is a warm-up
        _wait(device)
        started = time.perf_counter()
        for _ in range(PRODUCTS):
            left @ right
        _wait(device)
        times.append((time.perf_counter() - started) / PRODUCTS)
    return statistics.median(times[1:])


def about(device: str) -> dict[str, str]:
    """The versions and the GPU, for the report."""
    gpu = {"gpu": torch.cuda.get_device_name()} if device == "cuda" else {}
    return {**gpu, "torch": torch.__version__}


def has_gpu() -> bool:
    """Whether torch can use a GPU here."""
    return torch.cuda.is_available()


def _wait(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def _pairs() -> list[tuple[str, str]]:
    """Random words in different numbers, so that random weights give them different scores."""
    draw = np.random.default_rng(1)
    texts = [" ".join(f"w{number}" for number in draw.integers(0, WORDS, 4 + place)) for place in range(2 * PAIRS)]
    return list(zip(texts[::2], texts[1::2], strict=True))


def _tokenizer(vocabulary: int) -> PreTrainedTokenizerFast:
    """A tokenizer with one token per word of `_pairs`, as many as fit in the vocabulary."""
    words = [f"w{number}" for number in range(min(WORDS, vocabulary - len(SPECIALS)))]
    known = {word: number for number, word in enumerate([*SPECIALS, *words])}
    tokenizer = Tokenizer(models.WordLevel(known, SPECIALS[-1]))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    padding, start, end, unknown = SPECIALS
    special = {"pad_token": padding, "cls_token": start, "sep_token": end, "unk_token": unknown}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special)
