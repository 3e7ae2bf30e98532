"""The graphs of a discourse model for ONNX Runtime: an LSTM in both directions, and what follows it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from encoders.training.discourse.document import DocumentEncoder
from encoders.training.discourse.names import NameEncoder, WordMean

Floats = NDArray[np.float32]
_OPSET: Final = 17
_GATES: Final = (0, 3, 1, 2)
"""torch orders the gates as input, forget, cell, output; ONNX as input, output, forget, cell."""


def write_name_graph(model: NameEncoder | WordMean, centre: Floats | None, path: Path) -> None:
    """`words` (n, b, d) and `lengths` (b,) to `vectors` (b, e), as `model.embed` has them.

    With a `centre`, shape (e,), the vector is relative to it and of unit length.
    """
    embedded = "vectors" if centre is None else "mean"
    if isinstance(model, WordMean):
        nodes, weights = _word_mean(embedded)
        width = model.dimension
    else:  # the mean of the last states of both directions
        nodes, weights = _lstm(model.lstm, "words", ("", "last"))
        nodes.append(helper.make_node("ReduceMean", ["last"], [embedded], axes=[0], keepdims=0))
        width = model.lstm.input_size
    if centre is not None:
        weights["centre"] = centre.astype(np.float32)
        nodes += [
            helper.make_node("Sub", ["mean", "centre"], ["centred"]),
            helper.make_node("LpNormalization", ["centred"], ["vectors"], axis=-1, p=2),
        ]
    _write(path, nodes, weights, ("words", width), ("b", "e"))


def _word_mean(output: str) -> tuple[list[Any], dict[str, NDArray[Any]]]:
    """The nodes of the mean over the words of each text, and their weights by name."""
    nodes = [
        helper.make_node("ReduceSum", ["words", "first_axis"], ["sum"], keepdims=0),
        helper.make_node("Cast", ["lengths"], ["numbers"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["numbers", "last_axis"], ["column"]),
        helper.make_node("Div", ["sum", "column"], [output]),
    ]
    return nodes, {"first_axis": np.array([0], np.int64), "last_axis": np.array([1], np.int64)}


def write_document_graph(model: DocumentEncoder, path: Path) -> None:
    """`sentences` (t, b, d + 5) and `lengths` (b,) to `vectors` (t, b, 2 e): the decoded entity beside the aspect."""
    nodes, weights = _lstm(model.lstm, "sentences", ("states", ""))
    width = 2 * model.lstm.hidden_size
    weights["joined_shape"] = np.array([0, 0, width], np.int64)
    nodes += [
        helper.make_node("Transpose", ["states"], ["by_sentence"], perm=[0, 2, 1, 3]),  # (t, b, 2, h)
        helper.make_node("Reshape", ["by_sentence", "joined_shape"], ["joined"]),
    ]
    layers = ("discourse", "joined"), ("entity", "discourse_out"), ("aspect", "discourse_out")
    for name, source in layers:
        layer = getattr(model, name)
        weights[f"{name}_w"], weights[f"{name}_b"] = _array(layer.weight).T.copy(), _array(layer.bias)
        nodes += [
            helper.make_node("MatMul", [source, f"{name}_w"], [f"{name}_product"]),
            helper.make_node("Add", [f"{name}_product", f"{name}_b"], [f"{name}_sum"]),
            helper.make_node("Tanh", [f"{name}_sum"], [f"{name}_out"]),
        ]
    nodes.append(helper.make_node("Concat", ["entity_out", "aspect_out"], ["vectors"], axis=-1))
    _write(path, nodes, weights, ("sentences", model.lstm.input_size), ("t", "b", "e"))


def _lstm(lstm: Any, source: str, outputs: tuple[str, str]) -> tuple[list[Any], dict[str, NDArray[Any]]]:
    """The node of a bidirectional LSTM and its weights by name."""
    width = lstm.hidden_size
    kinds = {
        kind: [_ordered(_array(getattr(lstm, f"{kind}_l0{suffix}")), width) for suffix in ("", "_reverse")]
        for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    }
    biases = [np.concatenate(pair) for pair in zip(kinds["bias_ih"], kinds["bias_hh"], strict=True)]
    weights = {"w": np.stack(kinds["weight_ih"]), "r": np.stack(kinds["weight_hh"]), "b": np.stack(biases)}
    inputs = [source, "w", "r", "b", "lengths"]
    node = helper.make_node("LSTM", inputs, list(outputs), direction="bidirectional", hidden_size=width)
    return [node], weights


def _ordered(values: Floats, width: int) -> Floats:
    """The rows of the four gates in the order of ONNX."""
    parts = values.reshape(4, width, *values.shape[1:])
    return np.ascontiguousarray(parts[list(_GATES)].reshape(values.shape))


def _array(parameter: Any) -> Floats:
    found: Floats = parameter.detach().cpu().float().numpy()
    return found


def _write(
    path: Path, nodes: list[Any], weights: dict[str, NDArray[Any]], source: tuple[str, int], shape: tuple[str, ...]
) -> None:
    name, width = source
    graph = helper.make_graph(
        nodes,
        path.stem,
        [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, ["t", "b", width]),
            helper.make_tensor_value_info("lengths", TensorProto.INT32, ["b"]),
        ],
        [helper.make_tensor_value_info("vectors", TensorProto.FLOAT, list(shape))],
        [numpy_helper.from_array(values, key) for key, values in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)])
    model.ir_version = 9  # what onnxruntime 1.20 reads
    onnx.checker.check_model(model)
    path.write_bytes(model.SerializeToString())
