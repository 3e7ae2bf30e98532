"""Change a model's parameters as its recipe says: freeze some, mix them with the base's, set the dropout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from mappings.errors import InvalidInput


def freeze(model: Any, patterns: Sequence[str]) -> int:
    """Freeze the parameters whose name contains one of `patterns`; return how many numbers are still trained.

    Raises `InvalidInput` for a pattern that matches no name, and if nothing is left to train.
    """
    names = [name for name, _ in model.named_parameters()]
    for pattern in patterns:
        if not any(pattern in name for name in names):
            message = (
                f"frozen contains {pattern!r}, but no weight of the base has such a name; the first is {names[0]!r}"
            )
            raise InvalidInput(message, field="frozen")
    for name, parameter in model.named_parameters():
        parameter.requires_grad = not any(pattern in name for pattern in patterns)
    trained = sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)
    if not trained:
        raise InvalidInput(f"frozen is {list(patterns)}, which leaves no weight to train", field="frozen")
    return trained


def mix(model: Any, base: Any, share: float) -> None:
    """Set each weight to `share` times itself plus `1 - share` times the base's (model soup), in place."""
    base_state = base.state_dict()
    with torch.no_grad():
        for name, weight in model.state_dict().items():
            if name in base_state and weight.is_floating_point():
                weight.mul_(share).add_(base_state[name].to(weight.device), alpha=1 - share)


def set_dropout(model: Any, dropout: float) -> None:
    """Set the rate of every dropout layer that is not switched off, in place."""
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout) and module.p:
            module.p = dropout
