"""Convert a torch model to one fused ONNX graph in fp32."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import onnx
import torch
from onnx import NodeProto, helper

import encoders.onnx  # noqa: F401 - it silences onnxruntime, whose modules are imported below
from encoders.training.architectures.cross_encoder import to_logit
from encoders.training.architectures.families import INPUTS, inputs_of

OPSET = 17


class _Output(torch.nn.Module):
    """A model as a function of positional tensors with one output: hidden states (n, t, d), or logits (n,)."""

    def __init__(self, model: Any, names: Sequence[str]) -> None:
        super().__init__()
        self.model, self.names = model, tuple(names)

    def forward(self, *arrays: torch.Tensor) -> torch.Tensor:
        return get_result(self.model(**dict(zip(self.names, arrays, strict=True))))


def get_result(output: Any) -> torch.Tensor:
    """The part of a model's output that a graph returns: hidden states (n, t, d), or one logit per pair (n,)."""
    states: torch.Tensor = output.last_hidden_state if hasattr(output, "last_hidden_state") else to_logit(output.logits)
    return states


def build_graph(model: Any, work: Path) -> onnx.ModelProto:
    """The model's graph with ONNX Runtime's fused operators for attention, norms and activations; `work` is for temporary files."""
    return _fuse(_trace(model, work / "traced.onnx"), model.config)


def unfuse_norms(model: onnx.ModelProto) -> onnx.ModelProto:
    """Make a graph for CPUs: replace each SkipLayerNormalization by additions and a LayerNormalization.

    ONNX Runtime 1.31's fused operator is not vectorised: 521 instead of 87 microseconds on 225 x 384 values, measured,
    which is a fifth of the whole model in int8.
    """
    nodes: list[NodeProto] = []
    for node in model.graph.node:
        nodes.extend(_unfuse_norm(node) if node.op_type == "SkipLayerNormalization" else [node])
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    set_nodes(copy, nodes)
    return copy


def set_nodes(model: onnx.ModelProto, nodes: Iterable[NodeProto]) -> None:
    """Replace the nodes of a graph; they must be in topological order."""
    ordered = [NodeProto.FromString(node.SerializeToString()) for node in nodes]
    del model.graph.node[:]
    model.graph.node.extend(ordered)


def _unfuse_norm(node: NodeProto) -> list[NodeProto]:
    left, right, gamma, beta, *rest = node.input
    nodes = []
    if rest and rest[0]:
        nodes.append(helper.make_node("Add", [left, rest[0]], [f"{node.name}.biased"], f"{node.name}.bias"))
        left = f"{node.name}.biased"
    total = f"{node.name}.total"
    epsilon = next((item.f for item in node.attribute if item.name == "epsilon"), 1e-12)
    nodes.append(helper.make_node("Add", [left, right], [total], f"{node.name}.add"))
    nodes.append(
        helper.make_node(
            "LayerNormalization", [total, gamma, beta], node.output[:1], node.name, axis=-1, epsilon=epsilon
        )
    )
    return nodes


def _trace(model: Any, path: Path) -> Path:
    names = inputs_of(model)
    # The wrapper is in evaluation mode, too, because the exporter resets every part to the mode of the outermost module.
    wrapped = _Output(model, names).eval()
    ids = torch.randint(5, min(40, model.config.vocab_size), (2, 9))
    mask = torch.ones_like(ids)
    mask[1, 6:] = 0
    arrays = dict(zip(INPUTS, (ids, mask, torch.zeros_like(ids)), strict=True))
    axes = {name: {0: "batch", 1: "tokens"} for name in names} | {"output": {0: "batch"}}
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")  # the tracer warns about every shape that becomes a constant
        torch.onnx.export(
            wrapped, tuple(arrays[name] for name in names), str(path), input_names=names, output_names=["output"],
            opset_version=OPSET, dynamic_axes=axes, dynamo=False,
        )  # fmt: skip
    return path


def _fuse(path: Path, config: Any) -> onnx.ModelProto:
    from onnxruntime.transformers import optimizer

    heads, width = config.num_attention_heads, config.hidden_size
    return optimizer.optimize_model(str(path), model_type="bert", num_heads=heads, hidden_size=width, opt_level=0).model
