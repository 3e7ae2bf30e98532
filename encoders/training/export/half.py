"""Make the fp16 form for GPUs: operators that are fast there, with the same stored weights as the other numeric forms.

- Attention takes its mask as an index of lengths from the runtime (`encoders.text.mask_index`): its layout decides which
  kernel of ONNX Runtime's CUDA provider runs, and with a mask of ones and zeros none of the fast ones does.
- SkipLayerNormalization stays fused: the operator is slow on CPUs but saves two passes over memory on a GPU.
- After the last attention only the first token is computed if the output is a score.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import numpy as np
import onnx
from onnx import NodeProto, TensorProto, helper, numpy_helper

import encoders.onnx  # noqa: F401 - it silences onnxruntime, whose modules are imported below
from encoders.text import MASK_INDEX
from encoders.training.export.graphs import set_nodes

PER_TOKEN = ("Add", "BiasGelu", "FastGelu", "Gelu", "LayerNormalization", "MatMul", "SkipLayerNormalization")
"""Operators whose output for a token depends only on the inputs of that token."""
AXES = "half.axes"


def halve(fused: onnx.ModelProto) -> onnx.ModelProto:
    """The graph of `graphs.build_graph` in half precision, with unchanged inputs; tensors whose bytes differ are renamed."""
    from onnxruntime.transformers import float16

    copy = onnx.ModelProto()
    copy.CopyFrom(fused)
    keep_first_token(use_mask_index(copy))
    # The exporter's types and shapes are no longer valid, and the converter would trust them.
    del copy.graph.value_info[:]
    return _rename_weights(float16.convert_float_to_float16(copy, disable_shape_infer=True))


def make_weight_nodes(name: str, axis: int, inverse: str | None) -> list[NodeProto]:
    """Nodes that compute a weight of `halve`'s graph from its int8 values; the tensor `inverse` undoes its smoothing.

    Their inputs are constants, so ONNX Runtime computes them once, at load, and keeps only the fp16 weight.
    """
    values, plain, wide = f"{name}.unpacked", f"{name}.plain", f"{name}.inverse"
    nodes = [helper.make_node("DequantizeLinear", [f"{name}.int8", f"{name}.scale"], [values], axis=axis)]
    if inverse:
        nodes.append(helper.make_node("Unsqueeze", [inverse, AXES], [wide]))
        nodes.append(helper.make_node("Mul", [values, wide], [plain]))
    source = plain if inverse else values
    return [*nodes, helper.make_node("Cast", [source], [half_name(name)], to=TensorProto.FLOAT16)]


def make_axes() -> TensorProto:
    """The constant shared by the nodes of `make_weight_nodes`."""
    return numpy_helper.from_array(np.array([1]), AXES)


def half_name(name: str) -> str:
    """The name of a tensor in the fp16 graph; the graphs share one file, in which equal names have equal bytes."""
    return f"{name}.half"


def use_mask_index(model: onnx.ModelProto) -> onnx.ModelProto:
    """Make every Attention take its mask from a new graph input, in place."""
    attentions = [node for node in model.graph.node if node.op_type == "Attention" and len(node.input) > 3]
    for node in attentions:
        node.input[3] = MASK_INDEX
    if attentions:
        model.graph.input.append(helper.make_tensor_value_info(MASK_INDEX, TensorProto.INT32, ["index"]))
    return _prune(model)


def keep_first_token(model: onnx.ModelProto) -> onnx.ModelProto:
    """Select the first token before the last layer's products, in place, if no other token of that layer is read.

    The outputs are the same. With twelve layers it saves a twelfth of the products other than those for key and value.
    """
    for place, node in enumerate(model.graph.node):
        if node.op_type == "Gather" and _axis(node) == 1 and _constant(model, node.input[1]) == 0:
            early = _GatherMover(model, node)
            result = early.take(node.input[0])
            early.nodes.append(helper.make_node("Identity", [result], node.output))
            nodes = list(model.graph.node)
            set_nodes(model, [*nodes[:place], *early.nodes, *nodes[place + 1 :]])
            return _prune(model)
    return model


class _GatherMover:
    """Moves a Gather over the tokens up through the operators in `PER_TOKEN`; `nodes` replaces it."""

    def __init__(self, model: onnx.ModelProto, gather: NodeProto) -> None:
        self.nodes: list[NodeProto] = []
        self._gather = gather
        self._fixed = {item.name for item in model.graph.initializer}
        self._makers = {name: node for node in model.graph.node for name in node.output}
        self._users: dict[str, list[NodeProto]] = defaultdict(list)
        self._done: dict[str, str] = {}
        for node in model.graph.node:
            for name in node.input:
                self._users[name].append(node)

    def take(self, name: str) -> str:
        """The name of the tensor's first token: computed from first tokens, or gathered if all tokens are needed anyway."""
        if not name or name in self._fixed:
            return name
        if name not in self._done:
            self._done[name] = f"{name}.first"
            self._make(name)
        return self._done[name]

    def _make(self, name: str) -> None:
        maker = self._makers.get(name)
        is_movable = all(user.op_type in PER_TOKEN or user is self._gather for user in self._users[name])
        if maker is None or maker.op_type not in PER_TOKEN or not is_movable:
            inputs = [name, self._gather.input[1]]
            self.nodes.append(helper.make_node("Gather", inputs, [f"{name}.first"], axis=1))
            return
        inputs = [self.take(item) for item in maker.input]
        copy = helper.make_node(maker.op_type, inputs, [f"{name}.first"], maker.name, domain=maker.domain)
        copy.attribute.extend(maker.attribute)
        self.nodes.append(copy)


def _prune(model: onnx.ModelProto) -> onnx.ModelProto:
    """Remove nodes and weights that no output depends on, in place."""
    needed = {item.name for item in model.graph.output}
    kept: list[NodeProto] = []
    for node in reversed(model.graph.node):
        if needed & set(node.output):
            needed |= set(node.input)
            kept.append(node)
    set_nodes(model, reversed(kept))
    weights = [item for item in model.graph.initializer if item.name in needed]
    del model.graph.initializer[:]
    model.graph.initializer.extend(weights)
    return model


def _rename_weights(model: onnx.ModelProto) -> onnx.ModelProto:
    halves = {item.name for item in model.graph.initializer if item.data_type == TensorProto.FLOAT16}
    for item in model.graph.initializer:
        if item.name in halves:
            item.name = half_name(item.name)
    for node in model.graph.node:
        _rename(node, halves)
    return model


def _rename(node: NodeProto, halves: Iterable[str]) -> None:
    for place, name in enumerate(node.input):
        if name in halves:
            node.input[place] = half_name(name)


def _axis(node: NodeProto) -> int:
    return next((item.i for item in node.attribute if item.name == "axis"), 0)


def _constant(model: onnx.ModelProto, name: str) -> int | None:
    """The value of a constant scalar; None for any other tensor."""
    tensors = {item.name: item for item in model.graph.initializer}
    tensors |= {node.output[0]: node.attribute[0].t for node in model.graph.node if node.op_type == "Constant"}
    values = numpy_helper.to_array(tensors[name]) if name in tensors else None
    return int(values) if values is not None and values.ndim == 0 else None
