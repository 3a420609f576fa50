"""Textual graphs as arrays: the encodings of their nodes and edges. Reading them needs no torch-geometric."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from conspectus.prompts.embedding.embedder import Embedder
from conspectus.query.types.textual_graph import TextualGraph
from conspectus.storage.arrays import Ints, Vectors, unit_sum
from conspectus.storage.hashing import digest
from conspectus.storage.memo import Memo

Encode = Callable[[Sequence[str]], Vectors]
"""Returns a vector for each text, float32 (n, d)."""


@dataclass(frozen=True, slots=True)
class EncodedGraph:
    """A graph as arrays: encodings of nodes (n, d) and edges (m, d), and the ends of the edges, int64 (2, m)."""

    nodes: Vectors
    ends: Ints
    edges: Vectors


_KIND = "graph encodings"
_AT_ONCE = 4096
_MOST_KNOWN = 500_000
"""Encodings cached in memory, three quarters of a gigabyte with MiniLM; the others are in the memo."""


class RememberedEncodings:
    """Encodings of texts by an embedder, cached in memory and, if a path is given, in a memo.

    The encoding of a text longer than the embedder's input is the normalised sum of its windows' vectors.
    """

    def __init__(self, embedder: Embedder, memo: Path | None = None) -> None:
        self._embedder = embedder
        self._memo = Memo(memo) if memo else None
        self._known: dict[str, Vectors] = {}

    @property
    def name(self) -> str:
        """The embedder's name; equal names have equal encodings."""
        return self._embedder.name

    @property
    def width(self) -> int:
        """The length of a vector."""
        return self._embedder.dimension

    def __call__(self, texts: Sequence[str]) -> Vectors:
        """Return float32 (n, width), a vector for each text."""
        self.prepare(texts)
        return np.stack([self._known[text] for text in texts]) if texts else np.zeros((0, self.width), np.float32)

    def prepare(self, texts: Sequence[str]) -> None:
        """Encode the texts that are not cached; large batches are faster."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if self._known and len(self._known) + len(new) > _MOST_KNOWN:
            self._known = {}
            new = list(dict.fromkeys(texts))
        for start in range(0, len(new), _AT_ONCE):
            self._learn(new[start : start + _AT_ONCE])

    def _learn(self, texts: Sequence[str]) -> None:
        kind = f"{_KIND} {self.name}"
        keys = {text: digest(text) for text in texts}
        stored = self._memo.get_many(kind, keys.values()) if self._memo else {}
        self._known |= {text: np.frombuffer(stored[key], np.float32) for text, key in keys.items() if key in stored}
        new = [text for text, key in keys.items() if key not in stored]
        if not new:
            return
        pieces = [self._embedder.windows(text) for text in new]
        vectors = iter(self._embedder.embed([piece for of_text in pieces for piece in of_text]))
        made = {text: unit_sum([next(vectors) for _ in of_text]) for text, of_text in zip(new, pieces, strict=True)}
        self._known |= made
        if self._memo:
            self._memo.put_many(kind, {keys[text]: vector.tobytes() for text, vector in made.items()})


def encoded(graph: TextualGraph, encode: Encode) -> EncodedGraph:
    """Return a graph with the encodings of its nodes and edges."""
    ends = np.array([graph.sources, graph.targets], np.int64).reshape(2, -1)
    return EncodedGraph(encode(graph.nodes), ends, encode([edge.text for edge in graph.edges]))


def texts_of(graphs: Iterable[TextualGraph]) -> list[str]:
    """Return the distinct texts of the nodes and edges of graphs."""
    return list(
        dict.fromkeys(text for graph in graphs for text in (*graph.nodes, *(edge.text for edge in graph.edges)))
    )
