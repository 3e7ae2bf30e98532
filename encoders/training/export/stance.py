"""Export a stance classifier: the graph of its backbone, and its head beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from encoders.artifact import STANCE_HEAD
from encoders.stances import HEAD_ARRAYS
from encoders.training.architectures.checkpoint import Checkpoint
from encoders.training.architectures.stance import StanceModule


def split_head(loaded: Checkpoint, folder: Path) -> Checkpoint:
    """The backbone alone, after the head was written to the model directory; any other model as it is."""
    if not isinstance(loaded.model, StanceModule):
        return loaded
    state = loaded.model.head.state_dict()
    np.savez(folder / STANCE_HEAD, **{name: state[name].float().numpy() for name in HEAD_ARRAYS})
    return Checkpoint(loaded.model.backbone.eval(), loaded.tokenizer, loaded.architecture)


def join_head(model: StanceModule, stored: Any) -> None:
    """Give a restored model the head of its model directory."""
    own = model.head.state_dict()
    for name in HEAD_ARRAYS:
        own[name].copy_(own[name].new_tensor(stored[name]))
