"""ONNX models written by hand: nodes and tensors as messages of onnx.proto (github.com/onnx/onnx).

The package onnx does the same, but adds 50 MB and a quarter of a second.
"""

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np

FLOAT, UINT8, INT8, INT32, INT64 = 1, 2, 3, 6, 7  # TensorProto.DataType
_IR_VERSION = 10
_OPSETS = {"": 20, "com.microsoft": 1}
"""The domains of operators and their versions: ONNX's, and those that ONNX Runtime adds."""
_TYPES = {"<f4": FLOAT, "|u1": UINT8, "|i1": INT8, "<i8": INT64}
_Parts = list[bytes | memoryview]
_Field = tuple[int, int | float | str | bytes | _Parts]
_AS_FLOAT, _AS_INT, _AS_INTS = 1, 2, 7  # AttributeProto.AttributeType
_EXTERNAL = 1  # TensorProto.DataLocation


class Weights:
    """A safetensors file: its tensors are float32 arrays, mapped.

    Raises:
        ValueError: The file is cut short.
    """

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            (length,) = struct.unpack("<Q", file.read(8))
            if length > path.stat().st_size:
                raise ValueError(f"{path} is cut short")
            self._header: dict[str, Any] = json.loads(file.read(length))
        self._begin = 8 + length
        self.path = path

    def place(self, name: str) -> tuple[list[int], int, int]:
        """Return the shape of a tensor, and its offset and length in the file in bytes.

        Raises KeyError if there is no such tensor, ValueError if it is not float32.
        """
        tensor = self._header[name]
        if tensor["dtype"] != "F32":
            raise ValueError(f"{name} is {tensor['dtype']}, not float32")
        first, end = tensor["data_offsets"]
        return tensor["shape"], self._begin + first, end - first

    def array(self, name: str) -> "np.ndarray[Any, np.dtype[np.float32]]":
        """Return a tensor."""
        shape, offset, _ = self.place(name)
        return np.memmap(self.path, np.float32, "r", offset, tuple(shape))


class Graph:
    """An ONNX graph under construction."""

    def __init__(self) -> None:
        self._nodes: list[bytes] = []
        self._tensors: dict[str, _Parts] = {}

    def add(
        self, operator: str, *inputs: str, output: str = "", domain: str = "", **attributes: float | list[int]
    ) -> str:
        """Add a node; return the name of its output."""
        output = output or f"_{len(self._nodes)}"
        about = [(5, _attribute(name, value)) for name, value in attributes.items()]
        names = [*((1, name) for name in inputs), (2, output)]
        self._nodes.append(_message(*names, (4, operator), *about, (7, domain)))
        return output

    def weight(self, weights: Weights, name: str) -> str:
        """Return the name of a tensor that stays in its file: ONNX Runtime maps it."""
        shape, offset, length = weights.place(name)
        place = {"location": weights.path.name, "offset": str(offset), "length": str(length)}
        external = [(13, _message((1, key), (2, value))) for key, value in place.items()]
        dims = [(1, size) for size in shape]
        self._tensors[name] = _parts(*dims, (2, FLOAT), (8, name), *external, (14, _EXTERNAL))
        return name

    def constant(self, value: "np.ndarray[Any, Any]", name: str = "") -> str:
        """Return the name of a constant tensor of float32, int64, int8 or uint8."""
        name = name or f"{value.dtype} {value.shape} {value.tolist()}"
        dims = [(1, size) for size in value.shape]
        data = np.ascontiguousarray(value).data.cast("B")
        self._tensors[name] = _parts(*dims, (2, _TYPES[value.dtype.str]), (8, name), (9, [data]))
        return name

    def integers(self, *values: int) -> str:
        """Return the name of a constant tensor of integers (k,)."""
        return self.constant(np.array(values, np.int64))

    def number(self, value: float) -> str:
        """Return the name of a constant number."""
        return self.constant(np.array(value, np.float32))

    def model(self, inputs: dict[str, tuple[int | str, ...]], outputs: dict[str, tuple[int | str, ...]]) -> bytes:
        """Return the whole model; an input or output has its type and its dimensions, a number or a name each."""
        graph = _parts(
            *((1, node) for node in self._nodes),
            (2, "graph"),
            *((5, tensor) for tensor in self._tensors.values()),
            *((11, _value(name, *of)) for name, of in inputs.items()),
            *((12, _value(name, *of)) for name, of in outputs.items()),
        )
        opsets = [(8, _message((1, domain), (2, version))) for domain, version in _OPSETS.items()]
        return _message((1, _IR_VERSION), *opsets, (7, graph))  # the only copy of the tensors


def _attribute(name: str, value: float | list[int]) -> bytes:
    """Return an AttributeProto."""
    if isinstance(value, list):
        return _message((1, name), *((8, each) for each in value), (20, _AS_INTS))
    if isinstance(value, int):
        return _message((1, name), (3, value), (20, _AS_INT))
    return _message((1, name), (2, value), (20, _AS_FLOAT))


def _value(name: str, kind: int | str, *dims: int | str) -> bytes:
    """Return a ValueInfoProto."""
    sizes = _message(*((1, _message((2, size) if isinstance(size, str) else (1, size))) for size in dims))
    return _message((1, name), (2, _message((1, _message((1, kind), (2, sizes))))))


def _message(*fields: _Field) -> bytes:
    """Return a protobuf message of (field number, value) pairs (protobuf.dev/programming-guides/encoding).

    >>> _message((1, 150), (2, "testing")).hex(" ")
    '08 96 01 12 07 74 65 73 74 69 6e 67'
    """
    return b"".join(_parts(*fields))


def _parts(*fields: _Field) -> _Parts:
    """Return a message in parts, so that tensors of megabytes are not copied into each message around them."""
    parts: _Parts = []
    for number, value in fields:
        if isinstance(value, int):
            parts.append(_varint(number << 3) + _varint(value))
        elif isinstance(value, float):
            parts.append(_varint(number << 3 | 5) + struct.pack("<f", value))
        else:
            inside = value if isinstance(value, list) else [value.encode() if isinstance(value, str) else value]
            parts += [_varint(number << 3 | 2) + _varint(sum(map(len, inside))), *inside]
    return parts


def _varint(value: int) -> bytes:
    """Return an integer in base 128, least digit first; negative ones as 64 bits in two's complement."""
    value &= (1 << 64) - 1
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    found.append(value)
    return bytes(found)
