"""What `medley bench gpu` measures with: a cross-encoder of any size with random weights, torch on the same, a plain product."""

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
from encoders.training.export.writer import export

HEAD = 64
"""Width of an attention head, as in every BERT."""
SPREAD = 0.55
"""Weights have this spread over the root of the width, as BERT's: with more, twelve random layers turn every rounding into noise."""
SPECIALS = ("[PAD]", "[CLS]", "[SEP]", "[UNK]")
CARD = {"name": "random", "base": "random weights", "licence": "Apache-2.0"}
WORDS = 1000
LONGEST = 512
PAIRS = 24
PRODUCTS = 10


def cross_encoder(layers: int, width: int, tokens: int, vocabulary: int, out: Path) -> Artifact:
    """A BERT of these sizes with random weights, through the project's own export and its gate."""
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=vocabulary, hidden_size=width, num_hidden_layers=layers, num_attention_heads=max(1, width // HEAD),
        intermediate_size=4 * width, max_position_embeddings=tokens, num_labels=1, attn_implementation="eager",
        initializer_range=SPREAD / width**0.5,
    )  # fmt: skip
    ready = Checkpoint(BertForSequenceClassification(config).eval(), _tokenizer(vocabulary))
    return export(ready, "cross-encoder", out, CARD, _pairs(), Reading("none", False, min(64, tokens), tokens))


def random_tokens(lengths: Sequence[int], vocabulary: int) -> list[Tokens]:
    """Inputs of these lengths, the same in every run; the first fifth of each is its query."""
    draw = np.random.default_rng(0)
    return [
        Tokens(draw.integers(len(SPECIALS), vocabulary, length).tolist(), [0] * (length // 5) + [1] * (length - length // 5))
        for length in lengths
    ]  # fmt: skip


class Torch:
    """An artifact's model in torch with SDPA: half precision on a GPU, single on a processor."""

    def __init__(self, artifact: Artifact, device: str) -> None:
        model = restore(artifact).model
        getattr(model, "backbone", model).set_attn_implementation("sdpa")
        self.model = (model.half() if device == "cuda" else model).to(device)
        self._device = device

    def logits(self, tokens: Sequence[Tokens], budget: int) -> np.ndarray:
        """Shape (n,), in input order; in batches of alike length of at most `budget` tokens."""
        rows, parts = [], []
        with torch.inference_mode():
            for places, arrays in self._batches(tokens, budget):
                rows.extend(places)
                parts.append(self.model(**arrays).logits[:, 0])
            found = torch.cat(parts).float().cpu().numpy()  # waits for all of them
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
    """A cross-encoder's logits of (query, passage) pairs in torch, on the processor: shape (n,)."""
    tokenizer = ModelTokenizer(artifact.folder / TOKENIZER, artifact.reading)
    return Torch(artifact, "cpu").logits(tokenizer.tokenize_inputs(artifact.kind, pairs), LONGEST * 8)


def classifier(ready: Checkpoint) -> Checkpoint:
    """The same backbone under a plain classifier's head, for runtimes that know no other.

    It takes as long, but for MaxSim, and scores otherwise.
    """
    backbone = ready.model.backbone
    backbone.config.num_labels = 1
    plain = new_classifier(backbone.config).eval()
    plain.base_model.load_state_dict(backbone.state_dict(), strict=False)
    return Checkpoint(plain, ready.tokenizer)


def matmul_seconds(device: str, side: int, rounds: int) -> float:
    """Seconds of one product of two square matrices, in half precision on a GPU: the median over the rounds."""
    kind = torch.float16 if device == "cuda" else torch.float32
    left, right = (torch.randn(side, side, dtype=kind, device=device) for _ in range(2))
    times = []
    for _ in range(rounds + 1):  # the first warms up
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
    """Random words in unlike numbers, so that random weights score them unlike."""
    draw = np.random.default_rng(1)
    texts = [" ".join(f"w{number}" for number in draw.integers(0, WORDS, 4 + place)) for place in range(2 * PAIRS)]
    return list(zip(texts[::2], texts[1::2], strict=True))


def _tokenizer(vocabulary: int) -> PreTrainedTokenizerFast:
    """A token a word of `_pairs`, as far as the vocabulary reaches."""
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
