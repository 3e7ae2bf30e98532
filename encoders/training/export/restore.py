"""Restore a torch model from an artifact, to train a shipped model further and to compare with other runtimes.

`torch.json` in the artifact records where each parameter of the checkpoint is in the graph. The restored weights are the
shipped ones, including their rounding.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from transformers import AutoConfig, AutoModel, PreTrainedTokenizerFast

from encoders.artifact import SCORER, TOKENIZER, Artifact
from encoders.stances import load_head
from encoders.training.architectures.architecture import Architecture
from encoders.training.architectures.checkpoint import Checkpoint
from encoders.training.architectures.cross_encoder import new_classifier
from encoders.training.architectures.families import backbone, inputs_of, prepare_config, reads_surroundings
from encoders.training.architectures.longformer.model import PassageLongformer
from encoders.training.architectures.stance import StanceModule
from encoders.training.export.smoothing import find_inverses
from encoders.training.export.stance import join_head
from mappings.errors import ModelError

PLAN = "torch.json"
PACKED = 3
"""Fused attention stores the weights of query, key and value side by side."""


def describe_model(checkpoint: Checkpoint, architecture: Architecture, graph: onnx.ModelProto) -> dict[str, Any]:
    """The content of `torch.json`: the configuration, and each parameter's location, found by its values.

    A location is (tensor, is transposed, part of a packed tensor or -1). Parameters that the graph does not use, such as
    an unused pooler, have none.
    """
    tensors = {item.name: numpy_helper.to_array(item) for item in graph.graph.initializer}
    state = checkpoint.model.state_dict()
    found = {name: _find_location(value.float().numpy(), tensors) for name, value in state.items()}
    config = json.loads(checkpoint.model.config.to_json_string(use_diff=False))
    return {
        # The exporter's local path does not belong in a shipped model.
        "config": {name: value for name, value in config.items() if name != "_name_or_path"},
        "architecture": architecture.as_json(),
        "special_tokens": {name: str(token) for name, token in checkpoint.tokenizer.special_tokens_map.items()},
        "parameters": {name: location for name, location in found.items() if location},
    }


def read_architecture(artifact: Artifact) -> Architecture:
    """The architecture of an artifact's model. Raises `ModelError` if it has no `torch.json`."""
    return _parse_architecture(artifact, _read_description(artifact))


def restore(artifact: Artifact) -> Checkpoint:
    """The torch model and tokenizer of an artifact. Raises `ModelError` if it has no `torch.json`."""
    content = _read_description(artifact)
    architecture = _parse_architecture(artifact, content)
    config = prepare_config(AutoConfig.for_model(**content["config"]), artifact.name)
    tower = _new_tower(config, architecture)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_file=str(artifact.folder / TOKENIZER),
        model_input_names=inputs_of(tower),  # otherwise the second text of a pair would lose its segment
        model_max_length=artifact.reading.passage_tokens,
        **content["special_tokens"],
    )
    separate = artifact.queries()
    queries = None if separate is artifact else backbone(restore(separate).model.passages)
    model = architecture.assemble(tower, queries, tokenizer)
    tensors = _read_weights(onnx.load(artifact.form_path("fp32")))
    state = {name: torch.from_numpy(_take(tensors, *location)) for name, location in content["parameters"].items()}
    # A tower's parameters are named as in a checkpoint of that tower alone.
    tower = model.backbone if isinstance(model, StanceModule) else getattr(model, "passages", model)
    tower.load_state_dict(state, strict=False)
    if isinstance(model, StanceModule):
        join_head(model, load_head(artifact))
    if artifact.kind == "poly-encoder":
        scorer = torch.from_numpy(np.load(artifact.folder / SCORER))
        model.head.weight.data.copy_(scorer[: artifact.dimension])
        if model.codes == "tokens":
            model.head.importance.data.copy_(scorer[artifact.dimension])
    return Checkpoint(model.float().eval(), tokenizer, architecture)


def _new_tower(config: Any, architecture: Architecture) -> Any:
    """A model of this configuration with random weights."""
    if reads_surroundings(config):
        return PassageLongformer(config)
    return new_classifier(config) if architecture.is_classifier else AutoModel.from_config(config)


def _read_description(artifact: Artifact) -> dict[str, Any]:
    path = artifact.folder / PLAN
    if not path.is_file():
        raise ModelError(f"{path} is missing; a model without it can't be restored", field=str(path))
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


def _parse_architecture(artifact: Artifact, content: Mapping[str, Any]) -> Architecture:
    stored = content.get("architecture")
    return Architecture(**stored) if stored else Architecture.from_reading(artifact.kind, artifact.reading)


def _find_location(value: np.ndarray, tensors: Mapping[str, np.ndarray]) -> tuple[str, bool, int] | None:
    for name, tensor in tensors.items():
        for transposed in (False, True) if value.ndim == 2 else (False,):
            wanted = value.T if transposed else value
            for part, piece in _pieces(tensor, wanted.shape):
                if np.array_equal(piece, wanted):
                    return name, transposed, part
    return None


def _pieces(tensor: np.ndarray, shape: tuple[int, ...]) -> Iterable[tuple[int, np.ndarray]]:
    """The tensor itself, or its parts along the last axis, if they have the given shape."""
    if tensor.shape == shape:
        yield -1, tensor
    elif tensor.ndim == len(shape) and tensor.shape == (*shape[:-1], PACKED * shape[-1]):
        yield from enumerate(np.split(tensor, PACKED, axis=-1))


def _take(tensors: Mapping[str, np.ndarray], name: str, transposed: bool, part: int) -> np.ndarray:
    tensor = tensors[name] if part < 0 else np.split(tensors[name], PACKED, axis=-1)[part]
    return np.array(tensor.T if transposed else tensor, order="C")


def _read_weights(graph: onnx.ModelProto) -> dict[str, np.ndarray]:
    """Every weight of an fp32 graph by name, dequantised and without smoothing."""
    stored = {item.name: numpy_helper.to_array(item) for item in graph.graph.initializer}
    tensors = dict(stored)
    for node in graph.graph.node:
        if node.op_type == "DequantizeLinear":
            axis = next(item.i for item in node.attribute if item.name == "axis")
            scale = np.expand_dims(stored[node.input[1]], 1 - axis)
            tensors[node.output[0]] = stored[node.input[0]].astype(np.float32) * scale
    for weight, inverse in find_inverses(graph).items():
        tensors[weight] = tensors[weight] * stored[inverse][:, None]
    return tensors
