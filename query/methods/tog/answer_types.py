"""What kind of things stand at the end of a relation: learned from the graph itself, by their names and relations."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from conspectus.prompts.embedding.embedder import Embedder
from conspectus.query.context import Context
from conspectus.query.methods.tog.beam import Way
from conspectus.query.walk.graph import KnowledgeGraph, open_graph, spoken
from conspectus.query.walk.ids import is_id
from conspectus.storage.arrays import Floats, Ints
from conspectus.storage.index import per_index

KINDS = ("person", "place", "date", "thing")
"""What who, where and when ask for, and what is none of these."""
_SAMPLE = 16
_SHARP = 0.05
_LIKELIEST = 12
_ENOUGH = 12
"""Of the names looked at, as many stored vectors do."""


@dataclass(slots=True, eq=False)
class Kinds:
    """Looks at up to 16 of the things at the end of a way, evenly spaced; what it found is kept.

    `stored` gives the vectors of names that the index holds, a row of zeros for each that it does not.
    """

    graph: KnowledgeGraph
    embedder: Embedder
    stored: Callable[[Ints], Floats] | None = None
    _names: dict[Way, Floats] = field(default_factory=dict)
    _stated: dict[Way, Floats] = field(default_factory=dict)
    _prototypes: Floats | None = None
    _words: dict[str, Floats] = field(default_factory=dict)

    def stated(self, way: Way) -> Floats:
        """Return for each predicate the share of the things at the end of a way of which it is stated, float64 (p,)."""
        if way not in self._stated:
            self._stated[way] = self.stated_of(self._sample(way))
        return self._stated[way]

    def speaks_of(self, means: Floats, stated: Floats) -> float:
        """Return how far the predicates that a word means (p,) are stated of things like those of `stated` (p,).

        Of the likeliest twelve: the cosine of what is stated beside each with `stated`, weighted by their probability.
        """
        likely = np.argsort(-means, kind="stable")[:_LIKELIEST]
        total = float(means.sum()) or 1.0
        norm = float(np.linalg.norm(stated))
        if not norm:
            return 0.0
        found = 0.0
        for predicate in likely.tolist():
            beside = self.stated(Way(predicate, False))
            found += float(means[predicate]) * float(beside @ stated) / (float(np.linalg.norm(beside)) * norm or 1.0)
        return found / total

    def stated_of(self, entities: Ints) -> Floats:
        """Return the same of given things."""
        shares = np.zeros(len(self.graph.predicates))
        edges = self.graph.edges_of(entities)
        pairs = np.unique(np.stack([edges.at, edges.predicate.astype(np.int64)])[:, edges.outgoing], axis=1)
        np.add.at(shares, pairs[1], 1 / max(1, len(entities)))
        return shares

    def likeness(self, word: str, way: Way) -> float:
        """Return the cosine of a word with the mean of the names at the end of a way."""
        if word not in self._words:
            self._words[word] = np.asarray(self.embedder.embed([word])[0], np.float64)
        return float(self._words[word] @ self._centre(way))

    def is_a(self, kind: str, way: Way) -> float:
        """Return how surely the things at the end of a way are of one of the KINDS, by their names: 0 to 1."""
        if self._prototypes is None:
            self._prototypes = np.asarray(self.embedder.embed(list(KINDS)), np.float64)
        cosines = self._prototypes @ self._centre(way)
        shares = np.exp((cosines - cosines.max()) / _SHARP)
        return float(shares[KINDS.index(kind)] / shares.sum())

    def _centre(self, way: Way) -> Floats:
        if way not in self._names:
            rows = np.array([row for row in self._sample(way) if not is_id(self.graph.names[int(row)])], np.int64)
            mean = self._vectors(rows).sum(axis=0) if len(rows) else np.zeros(self.embedder.dimension)
            mean /= np.linalg.norm(mean) or 1.0
            self._names[way] = mean
        return self._names[way]

    def _vectors(self, rows: Ints) -> Floats:
        if self.stored is not None:
            found = self.stored(rows)
            held = found.any(axis=1)
            if held.sum() >= min(_ENOUGH, len(rows)):
                return found[held]
        texts = [self.embedder.windows(spoken(self.graph.names[int(row)]))[0] for row in rows]
        return np.asarray(self.embedder.embed(texts), np.float64)

    def _sample(self, way: Way) -> Ints:
        rows = np.flatnonzero(self.graph.stated == way.predicate)
        ends = np.unique((self.graph.targets if way.outgoing else self.graph.sources)[rows])
        if len(ends) <= _SAMPLE:
            return ends
        return ends[np.linspace(0, len(ends) - 1, _SAMPLE).astype(np.int64)]


@per_index
def open_kinds(context: Context) -> Kinds:
    """Return the index's kinds, made on first use."""

    vectors = context.index.vectors("entities")
    return Kinds(open_graph(context), context.embedder, lambda rows: np.asarray(vectors.mean_vectors(rows), np.float64))
