"""The packaged model, a BERT encoder, through ONNX Runtime: it loads in a tenth of a second and needs no PyTorch.

The package holds weights (safetensors) and no graph. `onnx_graph` writes the graph of BERT (Devlin et al. 2019, arXiv
1810.04805, section 3.1) with mean pooling and normalisation as an ONNX model of 20 kB, whose tensors are places in the
file of the weights; ONNX Runtime maps that file. Every pass holds texts with the same number of tokens, so the graph
needs no mask.

The mean is taken as a product with a row of 1/t and not by ReduceMean, which adds in another order for a single text
than for several. All other operations treat each row by itself, so the bits of a vector do not depend on the other
texts of its pass (tests/prompts/embedding/test_local.py compares them).
"""

import json
import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from conspectus.prompts.embedding.passes import LoadedModel
from conspectus.storage.arrays import Vectors
from conspectus.storage.errors import MissingPart

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

WEIGHTS = "model.safetensors"
_IR_VERSION, _OPSET = 10, 20
_FLOAT, _INT64 = 1, 7  # TensorProto.DataType
_AS_FLOAT, _AS_INT, _AS_INTS = 1, 2, 7  # AttributeProto.AttributeType
_EXTERNAL = 1  # TensorProto.DataLocation


def load_minilm(folder: Path) -> LoadedModel:
    """Load the packaged model.

    Args:
        folder: The folder of the model: its configuration, `tokenizer.json` and weights in float32.

    Raises:
        MissingPart: A file is missing or damaged.
    """
    from concurrent.futures import ThreadPoolExecutor

    from tokenizers import Tokenizer

    try:
        config = json.loads((folder / "config.json").read_bytes())
        max_tokens = int(json.loads((folder / "sentence_bert_config.json").read_bytes())["max_seq_length"])
        tokenizer = Tokenizer.from_str((folder / "tokenizer.json").read_text("utf-8"))
        session = _session(folder, onnx_graph(config, *_tensors(folder / WEIGHTS)))
    except Exception as error:  # tokenizers and ONNX Runtime raise classes that have no other base in common
        raise MissingPart(f"{folder}: the packaged embedding model is damaged, install it again: {error}") from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return LoadedModel(
        tokenizer=tokenizer,
        run=_running(session),
        threads=ThreadPoolExecutor(_processors(), thread_name_prefix="embedder"),
        dimension=int(config["hidden_size"]),
        max_tokens=max_tokens,
    )


def _session(folder: Path, graph: bytes) -> "InferenceSession":
    """Open a graph whose tensors lie in a folder. Each pass runs on the thread that asks for it."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors only: they come as exceptions
    options.enable_cpu_mem_arena = False  # it would keep the memory of the largest pass
    options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(folder))
    return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])


def _running(session: "InferenceSession") -> Callable[[list[list[int]]], Vectors]:
    """Return the function from the token ids of n texts with t tokens each to their unit vectors (n, d)."""

    def run(ids: list[list[int]]) -> Vectors:
        n_tokens = len(ids[0])
        inputs = {
            "ids": np.array(ids, np.int64),
            "positions": np.arange(n_tokens, dtype=np.int64),
            "shares": np.full((1, n_tokens), 1 / n_tokens, np.float32),
        }
        vectors: Vectors = session.run(["vectors"], inputs)[0]
        return vectors

    return run


def _processors() -> int:
    """Return how many passes run at once: OMP_NUM_THREADS, or the processors that this process may use."""
    said = os.environ.get("OMP_NUM_THREADS", "")
    if said.isdecimal() and int(said):
        return int(said)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _tensors(path: Path) -> tuple[dict[str, Any], int]:
    """Return the header of a safetensors file (dtype, shape and place of each tensor), and where the tensors begin."""
    with path.open("rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        if length > path.stat().st_size:
            raise ValueError(f"{path} is cut short")
        return json.loads(file.read(length)), 8 + length


def onnx_graph(config: dict[str, Any], tensors: dict[str, Any], begin: int) -> bytes:
    """Return a BERT encoder with mean pooling as an ONNX model.

    Its inputs are `ids` (n, t), `positions` (t,) and `shares` (1, t), the weight of each token in the mean; its output
    `vectors` (n, d) has rows of length 1.

    Args:
        config: BERT's configuration: `hidden_size`, `num_attention_heads`, `num_hidden_layers`, `layer_norm_eps`.
        tensors: The header of the safetensors file.
        begin: Where in that file the tensors begin, in bytes.

    Raises:
        KeyError: A tensor is missing.
        ValueError: The configuration or a tensor is of another kind.
    """
    if (config["model_type"], config["hidden_act"]) != ("bert", "gelu"):
        raise ValueError("the model is not a BERT encoder with GELU")
    width, heads, epsilon = config["hidden_size"], config["num_attention_heads"], config["layer_norm_eps"]
    graph = _Graph(tensors, begin)

    def dense(x: str, name: str) -> str:
        return graph.add("Gemm", x, graph.weight(f"{name}.weight"), graph.weight(f"{name}.bias"), transB=1)

    def norm(x: str, residual: str, name: str) -> str:
        total = graph.add("Add", x, residual)
        scale, bias = graph.weight(f"{name}.weight"), graph.weight(f"{name}.bias")
        return graph.add("LayerNormalization", total, scale, bias, axis=-1, epsilon=epsilon)

    def split(x: str, order: list[int]) -> str:
        return graph.add("Transpose", graph.add("Reshape", x, by_head), perm=order)

    word = graph.add("Gather", graph.weight("embeddings.word_embeddings.weight"), "ids")
    position = graph.add("Gather", graph.weight("embeddings.position_embeddings.weight"), "positions")
    kind = graph.add("Gather", graph.weight("embeddings.token_type_embeddings.weight"), graph.integers(0))
    embedded = norm(graph.add("Add", word, kind), position, "embeddings.LayerNorm")
    shape = graph.add("Shape", embedded)
    by_head = graph.add("Concat", graph.add("Shape", "ids"), graph.integers(heads, width // heads), axis=0)
    rows, scale = graph.integers(-1, width), graph.number((width // heads) ** -0.5)
    x = graph.add("Reshape", embedded, rows)  # (n t, d): a matrix product a layer, however many texts there are
    for layer in range(config["num_hidden_layers"]):
        at = f"encoder.layer.{layer}"
        query = split(dense(x, f"{at}.attention.self.query"), [0, 2, 1, 3])
        key = split(dense(x, f"{at}.attention.self.key"), [0, 2, 3, 1])
        value = split(dense(x, f"{at}.attention.self.value"), [0, 2, 1, 3])
        weights = graph.add("Softmax", graph.add("Mul", graph.add("MatMul", query, key), scale), axis=-1)
        read = graph.add("Transpose", graph.add("MatMul", weights, value), perm=[0, 2, 1, 3])
        attended = dense(graph.add("Reshape", read, rows), f"{at}.attention.output.dense")
        x = norm(attended, x, f"{at}.attention.output.LayerNorm")
        inner = graph.add("Gelu", dense(x, f"{at}.intermediate.dense"))
        x = norm(dense(inner, f"{at}.output.dense"), x, f"{at}.output.LayerNorm")
    mean = graph.add("Squeeze", graph.add("MatMul", "shares", graph.add("Reshape", x, shape)), graph.integers(1))
    graph.add("LpNormalization", mean, output="vectors", axis=-1, p=2)
    return graph.model(
        inputs={"ids": (_INT64, "n", "t"), "positions": (_INT64, "t"), "shares": (_FLOAT, 1, "t")},
        outputs={"vectors": (_FLOAT, "n", width)},
    )


class _Graph:
    """An ONNX graph under construction: nodes and tensors as messages of onnx.proto (github.com/onnx/onnx).

    The package onnx writes them too, and brings 50 MB and a quarter of a second.
    """

    def __init__(self, tensors: dict[str, Any], begin: int) -> None:
        self._in_file, self._begin = tensors, begin
        self._nodes: list[bytes] = []
        self._tensors: dict[str, bytes] = {}

    def add(self, operator: str, *inputs: str, output: str = "", **attributes: float | list[int]) -> str:
        """Add a node; return the name of its output."""
        output = output or f"_{len(self._nodes)}"
        about = [(5, _attribute(name, value)) for name, value in attributes.items()]
        self._nodes.append(_message(*((1, name) for name in inputs), (2, output), (4, operator), *about))
        return output

    def weight(self, name: str) -> str:
        """Return the name of a tensor of the weights' file."""
        tensor = self._in_file[name]
        if tensor["dtype"] != "F32":
            raise ValueError(f"{name} is {tensor['dtype']}, not float32")
        first, end = tensor["data_offsets"]
        place = {"location": WEIGHTS, "offset": str(self._begin + first), "length": str(end - first)}
        external = [(13, _message((1, key), (2, value))) for key, value in place.items()]
        dims = [(1, size) for size in tensor["shape"]]
        self._tensors[name] = _message(*dims, (2, _FLOAT), (8, name), *external, (14, _EXTERNAL))
        return name

    def integers(self, *values: int) -> str:
        """Return the name of a constant tensor (k,)."""
        name = f"integers {values}"
        data = struct.pack(f"<{len(values)}q", *values)
        self._tensors[name] = _message((1, len(values)), (2, _INT64), (8, name), (9, data))
        return name

    def number(self, value: float) -> str:
        """Return the name of a constant."""
        name = f"number {value}"
        self._tensors[name] = _message((2, _FLOAT), (8, name), (9, struct.pack("<f", value)))
        return name

    def model(self, inputs: dict[str, tuple[int | str, ...]], outputs: dict[str, tuple[int | str, ...]]) -> bytes:
        """Return the whole model; an input or output has its type and its dimensions, a number or a name each."""
        graph = _message(
            *((1, node) for node in self._nodes),
            (2, "bert"),
            *((5, tensor) for tensor in self._tensors.values()),
            *((11, _value(name, *of)) for name, of in inputs.items()),
            *((12, _value(name, *of)) for name, of in outputs.items()),
        )
        return _message((1, _IR_VERSION), (8, _message((1, ""), (2, _OPSET))), (7, graph))


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


def _message(*fields: tuple[int, int | float | str | bytes]) -> bytes:
    """Return a protobuf message of (field number, value) pairs (protobuf.dev/programming-guides/encoding).

    >>> _message((1, 150), (2, "testing")).hex(" ")
    '08 96 01 12 07 74 65 73 74 69 6e 67'
    """
    parts = []
    for number, value in fields:
        if isinstance(value, int):
            parts.append(_varint(number << 3) + _varint(value))
        elif isinstance(value, float):
            parts.append(_varint(number << 3 | 5) + struct.pack("<f", value))
        else:
            data = value.encode() if isinstance(value, str) else value
            parts.append(_varint(number << 3 | 2) + _varint(len(data)) + data)
    return b"".join(parts)


def _varint(value: int) -> bytes:
    """Return an integer in base 128, least digit first; negative ones as 64 bits in two's complement."""
    value &= (1 << 64) - 1
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    found.append(value)
    return bytes(found)
