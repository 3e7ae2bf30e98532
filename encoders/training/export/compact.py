"""Compact storage: each weight is stored once, as int8 per output channel, and shared by three graphs.

The fp32 graph dequantises the weights at load and computes in fp32; the int8 graph multiplies the int8 weights with
activations that it quantises dynamically (scales per output channel, Jacob et al. 2018, section 2); the fp16 graph, for
GPUs, dequantises them at load to fp16, without the smoothing that only int8 needs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
from onnx import NodeProto, TensorProto, helper, numpy_helper

from encoders.artifact import HALF, WEIGHTS
from encoders.training.export.graphs import set_nodes
from encoders.training.export.half import half_name, halve, make_axes, make_weight_nodes
from encoders.training.export.smoothing import find_inverses

SMALL = 4096
"""Weights with fewer values stay fp32, because there is nothing to save."""


def write_forms(model: onnx.ModelProto, fused: onnx.ModelProto, folder: Path) -> dict[str, str]:
    """Write `weights.bin` and one graph per numeric form to `folder`; returns form -> file name.

    `model` is the smoothed graph, `fused` the same model without smoothing and with fused norms.
    """
    quantised = _quantise_weights(model)
    graphs = {"fp32": _make_fp32(model, quantised), "int8": _make_int8(model, quantised)}
    graphs[HALF] = _make_fp16(model, fused, quantised)
    _store_tensors(graphs, folder)
    for form, graph in graphs.items():
        (folder / f"{form}.onnx").write_bytes(graph.SerializeToString())
    return {form: f"{form}.onnx" for form in graphs}


def quantise(weight: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray]:
    """Symmetric int8 values and one fp32 scale per index of `axis`: weight ~ values * scale."""
    other = 1 - axis
    scale = np.maximum(np.abs(weight).max(axis=other), 1e-12) / 127.0
    values = np.round(weight / np.expand_dims(scale, other)).clip(-127, 127)
    return values.astype(np.int8), scale.astype(np.float32)


def _quantise_weights(model: onnx.ModelProto) -> dict[str, tuple[np.ndarray, np.ndarray, int]]:
    """Weight name -> (values, scales, axis) for every large matrix."""
    users = defaultdict(list)
    for node in model.graph.node:
        for name in node.input:
            users[name].append(node)
    result = {}
    for item in model.graph.initializer:
        if item.data_type == TensorProto.FLOAT and len(item.dims) == 2 and np.prod(item.dims) >= SMALL:
            axis = _channel_axis(users[item.name][0])
            result[item.name] = (*quantise(numpy_helper.to_array(item), axis), axis)
    return result


def _channel_axis(user: NodeProto) -> int:
    """The axis of a weight's output channels: the rows of an embedding, the columns of a product."""
    if user.op_type in ("MatMul", "Attention"):
        return 1
    if user.op_type == "Gemm":
        return 0 if any(item.name == "transB" and item.i for item in user.attribute) else 1
    return 0


def _replace_weights(model: onnx.ModelProto, quantised: dict, named: Callable[[str], str] = str) -> onnx.ModelProto:
    """A copy with values and scales instead of the quantised weights, whose names in the graph are given by `named`."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    replaced = {named(name) for name in quantised}
    kept = [item for item in copy.graph.initializer if item.name not in replaced]
    del copy.graph.initializer[:]
    copy.graph.initializer.extend(kept)
    for name, (values, scales, _) in quantised.items():
        copy.graph.initializer.append(numpy_helper.from_array(values, f"{name}.int8"))
        copy.graph.initializer.append(numpy_helper.from_array(scales, f"{name}.scale"))
    return copy


def _dequantise(name: str, axis: int) -> NodeProto:
    return helper.make_node("DequantizeLinear", [f"{name}.int8", f"{name}.scale"], [name], f"unpack.{name}", axis=axis)


def _make_fp32(model: onnx.ModelProto, quantised: dict) -> onnx.ModelProto:
    copy = _replace_weights(model, quantised)
    nodes = [_dequantise(name, axis) for name, (_, _, axis) in quantised.items()]
    set_nodes(copy, [*nodes, *copy.graph.node])
    return copy


def _make_fp16(model: onnx.ModelProto, fused: onnx.ModelProto, quantised: dict) -> onnx.ModelProto:
    """The fp16 graph, whose weights are dequantised from the same int8 values."""
    undo = find_inverses(model)
    used = {name: entry for name, entry in quantised.items() if any(name in node.input for node in fused.graph.node)}
    copy = _replace_weights(halve(fused), used, half_name)
    stored = {item.name: item for item in model.graph.initializer}
    copy.graph.initializer.extend([make_axes(), *(stored[undo[name]] for name in used if name in undo)])
    nodes = [node for name, (_, _, axis) in used.items() for node in make_weight_nodes(name, axis, undo.get(name))]
    set_nodes(copy, [*nodes, *copy.graph.node])
    return copy


def _make_int8(model: onnx.ModelProto, quantised: dict) -> onnx.ModelProto:
    copy = _replace_weights(model, quantised)
    nodes: list[NodeProto] = []
    for node in copy.graph.node:
        takes = len(node.input) > 1 and node.input[1] in quantised
        if takes and node.op_type == "MatMul":
            nodes.append(_matmul(node))
        elif takes and node.op_type == "Attention":
            nodes.extend(_attention(node))
        else:
            nodes.append(node)
    used = {name for node in nodes for name in node.input}
    unpacked = [_dequantise(name, axis) for name, (_, _, axis) in quantised.items() if name in used]
    set_nodes(copy, [*unpacked, *nodes])
    return copy


def _matmul(node: NodeProto) -> NodeProto:
    left, right = node.input
    inputs = [left, f"{right}.int8", f"{right}.scale"]
    return helper.make_node("DynamicQuantizeMatMul", inputs, node.output, node.name, domain="com.microsoft")


def _attention(node: NodeProto) -> list[NodeProto]:
    """Attention with int8 weights, and before it the quantisation of its input."""
    left, weight, bias, *rest = node.input
    mask = rest[0] if rest else ""
    value, scale, zero = (f"{node.name}.input.{part}" for part in ("int8", "scale", "zero"))
    attention = helper.make_node(
        "QAttention", [value, f"{weight}.int8", bias, scale, f"{weight}.scale", mask, zero], node.output, node.name,
        domain="com.microsoft",
    )  # fmt: skip
    wanted = ("num_heads", "unidirectional", "mask_filter_value")
    attention.attribute.extend(item for item in node.attribute if item.name in wanted)
    return [helper.make_node("DynamicQuantizeLinear", [left], [value, scale, zero], f"{node.name}.quantise"), attention]


def _store_tensors(graphs: dict[str, onnx.ModelProto], folder: Path) -> None:
    """Move every large tensor to one file that all graphs refer to; equal names have equal bytes.

    Tensors that only the fp16 graph has stay in it, so that the weights, and the model's fingerprint, do not depend on it.
    """
    places: dict[str, tuple[int, int]] = {}
    with (folder / WEIGHTS).open("wb") as file:
        for form, graph in graphs.items():
            for item in graph.graph.initializer:
                raw = numpy_helper.to_array(item).tobytes()
                if len(raw) >= 1024 and (form != HALF or item.name in places):
                    if item.name not in places:
                        file.write(b"\0" * (-file.tell() % 64))
                        places[item.name] = (file.tell(), len(raw))
                        file.write(raw)
                    _point(item, *places[item.name])


def _point(item: TensorProto, offset: int, length: int) -> None:
    for field in ("raw_data", "float_data", "int32_data", "int64_data"):
        item.ClearField(field)
    item.data_location = TensorProto.EXTERNAL
    del item.external_data[:]
    for key, value in (("location", WEIGHTS), ("offset", str(offset)), ("length", str(length))):
        item.external_data.add(key=key, value=value)
