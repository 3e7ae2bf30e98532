"""Random checkpoints of several families, in torch."""

from __future__ import annotations

import torch
import transformers
from tiny import VOCABULARY, sentences, word_pieces

from encoders.training.architectures.checkpoint import Checkpoint

FAMILIES = ("Bert", "Roberta", "DistilBert")
PAIRS = list(zip(sentences(24, seed=3), sentences(24, seed=4), strict=True))
CARD = {"name": "tiny", "base": "random", "licence": "Apache-2.0"}


def checkpoint(family: str, head: bool, seed: int = 0) -> Checkpoint:
    torch.manual_seed(seed)
    if family == "DistilBert":
        sizes = {"dim": 32, "n_heads": 4, "n_layers": 2, "hidden_dim": 64}
    else:
        sizes = {"hidden_size": 32, "num_attention_heads": 4, "num_hidden_layers": 2, "intermediate_size": 64}
    typed = {"type_vocab_size": 2} if family == "Bert" else {"type_vocab_size": 1} if family == "Roberta" else {}
    config = getattr(transformers, f"{family}Config")(
        vocab_size=len(VOCABULARY), max_position_embeddings=80, pad_token_id=0, num_labels=1,
        attn_implementation="eager", initializer_range=0.4, **sizes, **typed,
    )  # fmt: skip
    model = getattr(transformers, f"{family}{'ForSequenceClassification' if head else 'Model'}")(config).eval()
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=word_pieces(family == "Bert"), pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]",
        sep_token="[SEP]", model_input_names=["input_ids", "attention_mask", "token_type_ids"],
    )  # fmt: skip
    return Checkpoint(model, tokenizer)
