"""ONNX graphs written byte by byte, so that the runtime is tested without the onnx package and without a binary file.

Only what the tests need of the format: https://github.com/onnx/onnx/blob/main/onnx/onnx.proto3
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

TYPES = {"float32": 1, "uint8": 2, "int8": 3, "int32": 6, "int64": 7}


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def field(number: int, value: int | bytes | str) -> bytes:
    """One protobuf field: a number as varint, anything else with its length before it."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    raw = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(raw)) + raw


def tensor(name: str, array: np.ndarray) -> bytes:
    dims = b"".join(field(1, size) for size in array.shape)
    return dims + field(2, TYPES[array.dtype.name]) + field(8, name) + field(9, array.tobytes())


def external(name: str, array: np.ndarray, location: str, offset: int) -> bytes:
    """A tensor whose bytes lie in another file."""
    dims = b"".join(field(1, size) for size in array.shape)
    entries = {"location": location, "offset": str(offset), "length": str(array.nbytes)}
    data = b"".join(field(13, field(1, key) + field(2, value)) for key, value in entries.items())
    return dims + field(2, TYPES[array.dtype.name]) + field(8, name) + data + field(14, 1)


def node(op: str, inputs: Sequence[str], output: str, attributes: Mapping[str, int] | None = None) -> bytes:
    parts = [field(1, name) for name in inputs] + [field(2, output), field(4, op)]
    for name, value in (attributes or {}).items():
        parts.append(field(5, field(1, name) + field(3, value) + field(20, 2)))
    return b"".join(parts)


def value(name: str, dtype: str, dims: Sequence[str]) -> bytes:
    shape = b"".join(field(1, field(2, dim)) for dim in dims)
    return field(1, name) + field(2, field(1, field(1, TYPES[dtype]) + field(2, shape)))


def model(nodes: Sequence[bytes], tensors: Sequence[bytes], inputs: Sequence[bytes], output: bytes) -> bytes:
    graph = b"".join(
        [
            *(field(1, item) for item in nodes),
            field(2, "g"),
            *(field(5, item) for item in tensors),
            *(field(11, item) for item in inputs),
            field(12, output),
        ]
    )
    return field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 17))
