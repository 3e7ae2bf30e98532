"""Tiny random checkpoints of every family, over a vocabulary of eighteen words, pairs that can be learned, and runs on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from encoders.labels.pairs import Pair, Text, write_lines
from encoders.training.architectures.checkpoint import Checkpoint, save_checkpoint
from encoders.training.architectures.scoring import score_pairs
from encoders.training.data.batches import Example
from encoders.training.export.service import export_run
from encoders.training.recipe import Recipe, Share
from encoders.training.runs.train import train

FAMILIES = ("bert", "roberta", "distilbert", "mpnet", "xlnet")
WORDS = [
    "statins",
    "aspirin",
    "walking",
    "masks",
    "stroke",
    "sleep",
    "pain",
    "virus",
    "lower",
    "raise",
    "stop",
    "help",
    "in",
    "the",
    "old",
    "young",
    "query",
    "passage",
]
SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
VOCABULARY = {word: number for number, word in enumerate((*SPECIALS, *WORDS))}
SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64,
         "max_position_embeddings": 80}  # fmt: skip
XLNET = {"d_model": 32, "n_layer": 2, "n_head": 2, "d_inner": 64, "pad_token_id": 0}
DISTIL = {"dim": 32, "n_layers": 2, "n_heads": 2, "hidden_dim": 64, "max_position_embeddings": 80}
CROSS = Recipe(
    "tiny",
    "cross-encoder",
    "listwise",
    {"claim": Share(repeat=4)},
    learning_rate=2e-3,
    save_every=4,
    frozen=(),
    max_length=78,
    threads=1,  # two would wait for each other, busily, where another test has the other core
)
BI = replace(CROSS, kind="bi-encoder", objective="contrastive", negatives=1)


def config(family: str, size: int = len(VOCABULARY)) -> Any:
    """The configuration of a tiny model over `size` tokens. XLNet's differs from the others' in about everything."""
    return {
        "bert": lambda: transformers.BertConfig(vocab_size=size, **SMALL),
        "roberta": lambda: transformers.RobertaConfig(vocab_size=size, pad_token_id=0, type_vocab_size=1, **SMALL),
        "distilbert": lambda: transformers.DistilBertConfig(vocab_size=size, **DISTIL),
        "mpnet": lambda: transformers.MPNetConfig(vocab_size=size, **SMALL),
        "xlnet": lambda: transformers.XLNetConfig(vocab_size=size, **XLNET),
        "longformer": lambda: transformers.LongformerConfig(
            vocab_size=size, pad_token_id=0, type_vocab_size=1, attention_window=8, **SMALL
        ),
    }[family]()


def tokenizer(family: str, vocabulary: Mapping[str, int] = VOCABULARY) -> Any:
    """Words as tokens, in the family's template: XLNet's CLS token comes last and its padding first."""
    backend = Tokenizer(models.WordPiece(dict(vocabulary), unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer()
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    templates = {
        "bert": ("[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1"),
        "roberta": ("[CLS] $A [SEP]", "[CLS] $A [SEP] [SEP] $B [SEP]"),
        "distilbert": ("[CLS] $A [SEP]", "[CLS] $A [SEP] $B [SEP]"),
        "mpnet": ("[CLS] $A [SEP]", "[CLS] $A [SEP] [SEP] $B [SEP]"),
        "xlnet": ("$A [SEP] [CLS]:2", "$A [SEP] $B:1 [SEP]:1 [CLS]:2"),
        "longformer": ("[CLS] $A [SEP]", "[CLS] $A [SEP] [SEP] $B [SEP]"),
    }
    single, pair = templates[family]
    special = [(name, VOCABULARY[name]) for name in ("[CLS]", "[SEP]")]
    backend.post_processor = processors.TemplateProcessing(single=single, pair=pair, special_tokens=special)
    typed = ["token_type_ids"] if family in ("bert", "xlnet") else []
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=backend, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]",
        mask_token="[MASK]", padding_side="left" if family == "xlnet" else "right",
        model_input_names=["input_ids", "attention_mask", *typed],
    )  # fmt: skip


def write_base(
    folder: Path, family: str = "bert", layers: int = 2, words: Sequence[str] = WORDS, **changes: Any
) -> Path:
    """A random checkpoint that knows `words`, the same each time; `changes` are settings of its configuration."""
    torch.manual_seed(0)
    vocabulary = {word: number for number, word in enumerate((*SPECIALS, *words))}
    wanted = config(family, len(vocabulary))
    for name, value in {"num_hidden_layers": layers, **changes}.items():
        setattr(wanted, name, value)
    save_checkpoint(transformers.AutoModel.from_config(wanted), tokenizer(family, vocabulary), folder)
    return folder


def write_pairs(folder: Path) -> Path:
    """Queries of one word, half of them held out: the answer holds it and helps, the others stop something else."""
    found = [
        Pair("claim", f"{split}:{word}", f"{split} {word}", split, "c", f"{word} {asked}", (word,),
             Text(word, "", "", f"{word} help the old"),
             tuple(Text(f"no {other}", "", "", f"{other} stop the young") for other in WORDS[:8] if other != word))
        for split, asked in (("train", "stop"), ("held-out", "raise"))
        for word in WORDS[:8]
    ]  # fmt: skip
    write_lines(folder / "claim.jsonl", found)
    return folder


def write_home(folder: Path, families: Sequence[str] = ("bert",)) -> Path:
    """A folder with pairs and a base of each family, in folders named after them."""
    for family in families:
        write_base(folder / family, family)
    write_pairs(folder / "pairs")
    return folder


def train_model(home: Path, recipe: Recipe, name: str) -> Path:
    """Train `recipe` for four steps on the pairs in `home` and export the model there as `name`."""
    train(replace(recipe, base=str(home / "bert"), steps=4, threads=1), home / "pairs", home / f"{name}-run")
    export_run(home / f"{name}-run", home / "pairs", home / name, queries=0)
    return home


def score_candidates(ready: Checkpoint, batch: Sequence[Example], recipe: Recipe) -> torch.Tensor:
    """A cross-encoder's scores of each query's candidates, (b, 1 + k)."""
    with torch.inference_mode():
        rows = [
            score_pairs(ready.model, ready.tokenizer, [item.query] * len(item.texts), item.texts, recipe)
            for item in batch
        ]
    return torch.stack(rows)
