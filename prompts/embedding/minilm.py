"""The packaged model, a BERT encoder, through ONNX Runtime: it loads in a fifth of a second and needs no PyTorch.

The package contains weights (safetensors) and no graph. `bert` writes the graph of BERT (Devlin et al. 2019,
arXiv 1810.04805, section 3.1) with mean pooling and normalisation as an ONNX model. All texts of a pass have the same
number of tokens, so the graph needs no mask.

If the processor multiplies bytes exactly (`multiplies_bytes`), most products are of 8-bit integers, as in Dettmers et
al. 2022 (LLM.int8(), arXiv 2208.07339, section 2.1): each row of the input and each column of the weights has its own
scale. That is 2.3 times as fast as float32; cosines with the vectors of float32 are .997 and more. Float32 remains
where bytes lose most: in the products that make the values of the attention.

The bits of a vector do not depend on the other texts of its pass (tests/prompts/embedding/test_local.py compares them).
All operations treat each row by itself; the mean is a product with a row of 1/t and not ReduceMean, whose summation
order for a single text differs from that for several.
"""

import json
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from conspectus.prompts.embedding.onnx_graph import FLOAT, INT32, INT64, Graph, Weights
from conspectus.prompts.embedding.passes import LoadedModel
from conspectus.storage.arrays import Rows, Vectors
from conspectus.storage.blas_threads import processors
from conspectus.storage.errors import MissingPart

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

WEIGHTS = "model.safetensors"
_ONE, _TINY = 1.0, 1e-9
_MIDDLE = 128
"""The byte of zero for values of both signs."""
_LOW = 16
"""The byte of zero for the results of GELU, which are never below `_LEAST_GELU`: 239 bytes are left for the others."""
_LEAST_GELU = 0.17


def load_minilm(folder: Path) -> LoadedModel:
    """Load the packaged model.

    Args:
        folder: The folder of the model: its configuration, `tokenizer.json` and weights in float32.

    Raises:
        MissingPart: A file is missing or damaged.
    """
    from tokenizers import Tokenizer

    try:
        config = json.loads((folder / "config.json").read_bytes())
        max_tokens = int(json.loads((folder / "sentence_bert_config.json").read_bytes())["max_seq_length"])
        tokenizer = Tokenizer.from_str((folder / "tokenizer.json").read_text("utf-8"))
        graph = bert(config, Weights(folder / WEIGHTS), in_bytes=multiplies_bytes())
        session = open_session(graph, folder)
    except Exception as error:  # tokenizers and ONNX Runtime raise classes without another common base
        raise MissingPart(f"{folder}: the packaged embedding model is damaged, install it again: {error}") from error
    tokenizer.no_truncation()
    tokenizer.no_padding()

    def run(ids: list[list[int]]) -> Vectors:
        vectors: Vectors = session.run(["vectors"], _inputs(ids))[0]
        return vectors

    def run_tokens(ids: list[int]) -> tuple[Vectors, Vectors]:
        vectors, tokens = session.run(["vectors", "tokens"], _inputs([ids]))
        return vectors[0], tokens[0]

    return LoadedModel(
        tokenizer=tokenizer,
        run=run,
        run_tokens=run_tokens,
        threads=ThreadPoolExecutor(processors(), thread_name_prefix="embedder"),
        dimension=int(config["hidden_size"]),
        max_tokens=max_tokens,
    )


@cache
def multiplies_bytes() -> bool:
    """Return whether products of bytes are exact here: on x86 without VNNI, sums of two saturate at 16 bits."""
    width = 64
    graph = Graph()
    weights = graph.constant(np.full((width, width), 127, np.int8), "weights")
    graph.add("MatMulInteger", "bytes", weights, output="sums")
    model = graph.model({"bytes": (2, "n", width)}, {"sums": (INT32, "n", width)})
    (sums,) = open_session(model).run(["sums"], {"bytes": np.full((width, width), 255, np.uint8)})
    return bool((sums == 255 * 127 * width).all())


def open_session(graph: bytes, folder: Path | None = None) -> "InferenceSession":
    """Open a graph whose tensors may be in files in a folder. Each pass runs on the calling thread."""
    import onnxruntime

    onnxruntime.disable_telemetry_events()  # the environment comes too late where onnxruntime was imported before us
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors only: they are raised as exceptions
    if folder:
        options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(folder))
    return onnxruntime.InferenceSession(
        graph,
        options,
        providers=["CPUExecutionProvider"],
        disabled_optimizers=["SkipLayerNormFusion"],  # the fused operator takes four times as long as its parts
    )


def _inputs(ids: list[list[int]]) -> dict[str, Vectors | Rows]:
    n_tokens = len(ids[0])
    return {
        "ids": np.array(ids, np.int64),
        "positions": np.arange(n_tokens, dtype=np.int64),
        "shares": np.full((1, n_tokens), 1 / n_tokens, np.float32),
    }


def bert(config: dict[str, Any], weights: Weights, *, in_bytes: bool) -> bytes:
    """Return a BERT encoder with mean pooling as an ONNX model.

    Its inputs are `ids` (n, t), `positions` (t,) and `shares` (1, t), the weight of each token in the mean; its outputs
    `vectors` (n, d) and `tokens` (n, t, d) have rows of length 1.

    Args:
        config: BERT's configuration: `hidden_size`, `num_attention_heads`, `num_hidden_layers`, `layer_norm_eps`.
        weights: Its weights, in the folder from which the model will be opened.
        in_bytes: Whether products are of 8-bit integers where that costs little.

    Raises:
        KeyError: A tensor is missing.
        ValueError: The configuration or a tensor has the wrong form.
    """
    if (config["model_type"], config["hidden_act"]) != ("bert", "gelu"):
        raise ValueError("the model is not a BERT encoder with GELU")
    width, heads, epsilon = config["hidden_size"], config["num_attention_heads"], config["layer_norm_eps"]
    graph = Graph()

    def weight(name: str) -> str:
        return graph.weight(weights, name)

    def dense(x: str, name: str, zero: int = _MIDDLE) -> str:
        if in_bytes and not name.endswith("value"):
            return byte_product(graph, weights, bytes_of(graph, x, zero), name)
        return graph.add("Gemm", x, weight(f"{name}.weight"), weight(f"{name}.bias"), transB=1)

    def norm(x: str, residual: str, name: str) -> str:
        total = graph.add("Add", x, residual)
        scale, bias = weight(f"{name}.weight"), weight(f"{name}.bias")
        return graph.add("LayerNormalization", total, scale, bias, axis=-1, epsilon=epsilon)

    def split(x: str, order: list[int]) -> str:
        return graph.add("Transpose", graph.add("Reshape", x, by_head), perm=order)

    word = graph.add("Gather", weight("embeddings.word_embeddings.weight"), "ids")
    position = graph.add("Gather", weight("embeddings.position_embeddings.weight"), "positions")
    kind = graph.add("Gather", weight("embeddings.token_type_embeddings.weight"), graph.integers(0))
    embedded = norm(graph.add("Add", word, kind), position, "embeddings.LayerNorm")
    shape = graph.add("Shape", embedded)
    by_head = graph.add("Concat", graph.add("Shape", "ids"), graph.integers(heads, width // heads), axis=0)
    rows, scale = graph.integers(-1, width), graph.number((width // heads) ** -0.5)
    x = graph.add("Reshape", embedded, rows)  # (n t, d): one matrix product per layer for any number of texts
    for layer in range(config["num_hidden_layers"]):
        at = f"encoder.layer.{layer}"
        query = split(graph.add("Mul", dense(x, f"{at}.attention.self.query"), scale), [0, 2, 1, 3])
        key = split(dense(x, f"{at}.attention.self.key"), [0, 2, 3, 1])
        value = split(dense(x, f"{at}.attention.self.value"), [0, 2, 1, 3])
        attention = graph.add("Softmax", graph.add("MatMul", query, key), axis=-1)
        read = graph.add("Transpose", graph.add("MatMul", attention, value), perm=[0, 2, 1, 3])
        attended = dense(graph.add("Reshape", read, rows), f"{at}.attention.output.dense")
        x = norm(attended, x, f"{at}.attention.output.LayerNorm")
        inner = graph.add("Gelu", dense(x, f"{at}.intermediate.dense"))
        x = norm(dense(inner, f"{at}.output.dense", _LOW), x, f"{at}.output.LayerNorm")
    of_tokens = graph.add("Reshape", x, shape)
    mean = graph.add("Squeeze", graph.add("MatMul", "shares", of_tokens), graph.integers(1))
    graph.add("LpNormalization", mean, output="vectors", axis=-1, p=2)
    graph.add("LpNormalization", of_tokens, output="tokens", axis=-1, p=2)
    return graph.model(
        inputs={"ids": (INT64, "n", "t"), "positions": (INT64, "t"), "shares": (FLOAT, 1, "t")},
        outputs={"vectors": (FLOAT, "n", width), "tokens": (FLOAT, "n", "t", width)},
    )


def bytes_of(graph: Graph, x: str, zero: int) -> tuple[str, str, str]:
    """Add the rounding of an (n, k) input to bytes: byte = round(x / step) + zero, with a step for each row.

    Equal inputs have one rounding: ONNX Runtime merges equal nodes.

    Returns:
        The names of the bytes (n, k), the steps (n, 1) and the constant `zero`. At `_MIDDLE` the values of the row are
        of both signs; at `_LOW` they are not below -`_LEAST_GELU`.
    """
    room = 255 - zero
    largest = graph.add("ReduceMax", graph.add("Abs", x) if zero == _MIDDLE else x, graph.integers(-1), keepdims=1)
    least = _TINY if zero == _MIDDLE else _LEAST_GELU * room / zero
    largest = graph.add("Max", largest, graph.number(least))
    scaled = graph.add("Mul", x, graph.add("Div", graph.number(room), largest))
    constant = graph.constant(np.array(zero, np.uint8))
    found = graph.add("QuantizeLinear", scaled, graph.number(_ONE), constant)
    return found, graph.add("Mul", largest, graph.number(1 / room)), constant


def byte_product(graph: Graph, weights: Weights, rows: tuple[str, str, str], name: str) -> str:
    """Add the product of rounded rows (see `bytes_of`) with a dense layer, whose weights are rounded column by column.

    Returns:
        The name of the output (n, d), in float32.
    """
    found, steps, zero = rows
    weight = np.asarray(weights.array(f"{name}.weight"))  # (d, k)
    step = np.maximum(np.maximum(weight.max(axis=1), -weight.min(axis=1)), _TINY) / 127
    scaled = weight / step[:, np.newaxis]
    rounded = np.rint(scaled, out=scaled).astype(np.int8)
    product = graph.add(
        "MatMulIntegerToFloat",
        found,
        graph.constant(np.ascontiguousarray(rounded.T), f"{name} in bytes"),
        graph.number(_ONE),
        graph.constant(step.astype(np.float32), f"{name} steps"),
        zero,
        domain="com.microsoft",
    )
    return graph.add("Add", graph.add("Mul", product, steps), graph.weight(weights, f"{name}.bias"))
