"""Explanations for HippoRAG and HippoRAG 2: the paths to a passage over phrases, triples and synonyms."""

from dataclasses import dataclass, replace

import numpy as np
from conspectus.query.context import Context
from conspectus.query.explain.labels import Naming, hops_of
from conspectus.query.explain.ppr import LEAST_SHARE
from conspectus.query.explain.types import Explained, Path, PathHop, PathNode, ScorePart
from conspectus.query.methods.hipporag.graph import Memory, open_memory
from conspectus.query.methods.hipporag.hipporag import HippoRag1, HippoRag2, MemoryRanking
from conspectus.query.methods.hipporag.query_nodes import fact_sentences
from conspectus.storage.arrays import Ints
from conspectus.storage.graph.ppr_paths import MassPath, top_paths
from conspectus.storage.index import per_index
from conspectus.storage.records import Relation, Synonym

_MOST_PHRASES = 10
"""Number of phrases shown of a passage's sum, and searched for paths."""
_MOST_PREDICATES = 3

MEMORIES: dict[str, tuple[type[HippoRag1] | type[HippoRag2], str]] = {
    "ppr:hipporag1": (HippoRag1, "the sum over the passage's phrases of walk times how often each stands in it"),
    "ppr:hipporag2": (HippoRag2, "walk"),
}
"""The retriever of each method, and the formula that combines the parts of a score."""


@dataclass(frozen=True, slots=True)
class MemoryExplainer:
    """Explains the passages that a HippoRAG method ranks for one question."""

    context: Context
    method: str
    found: MemoryRanking
    most_paths: int

    def best(self, k: int) -> list[int]:
        """Return the rows of the `k` best passages."""
        order = np.argsort(-self.found.scores, kind="stable")[:k]
        return [int(row) for row in order if self.found.scores[row] > 0]

    def explained(self, row: int) -> Explained:
        """Return the explanation of a chunk."""
        score = float(self.found.scores[row])
        rank = (
            1 + int((self.found.scores > score).sum() + (self.found.scores[:row] == score).sum()) if score > 0 else None
        )
        paths = self._paths(row, score) if score > 0 else []
        shares = [path.mass / score for path in paths]
        return Explained(
            rank=rank,
            passage=self.context.passage(row, score),
            parts=self._parts(row, score),
            mass=score,
            told=min(sum(shares), 1.0),
            paths=tuple(self._path(path, row, share) for path, share in zip(paths, shares, strict=True)),
            note="" if rank else "the walk brings nothing here",
        )

    @property
    def _memory(self) -> Memory:
        return open_memory(self.context)

    @property
    def _over_passages(self) -> bool:
        """Whether the walk visits passages (HippoRAG 2); otherwise it ends at the phrases they contain."""
        return self.method == "ppr:hipporag2"

    def _held(self, row: int) -> list[tuple[int, float, float]]:
        """Return the phrases that contribute most to a passage: row, contribution, number of occurrences."""
        column = self._memory.counts[:, [row]].tocoo()
        phrases, counts = column.coords[0].astype(np.int64), column.data
        brought = self.found.walk.dense(self._memory.n_phrases)[phrases] * counts
        order = np.lexsort((phrases, -brought))[:_MOST_PHRASES]
        return [(int(phrases[i]), float(brought[i]), float(counts[i])) for i in order if brought[i] > 0]

    def _parts(self, row: int, score: float) -> tuple[ScorePart, ...]:
        if self._over_passages:
            return (ScorePart("walk", score, "part of the walk over the graph that ends here"),)
        held = self._held(row)
        parts = [
            ScorePart(self._node(phrase).name, brought, f"stands here {count:.0f} x, walk {brought / count:.4g}")
            for phrase, brought, count in held
        ]
        rest = score - sum(part.value for part in parts)
        return (*parts, ScorePart("others", rest, "its other phrases")) if rest > 1e-12 * score else tuple(parts)

    def _paths(self, row: int, score: float) -> list[MassPath]:
        if self._over_passages:
            return self._top(self._memory.n_phrases + row, LEAST_SHARE * score)
        found = [
            replace(path, mass=path.mass * count)
            for phrase, _, count in self._held(row)
            for path in self._top(phrase, LEAST_SHARE * score / count)
        ]
        return sorted(found, key=lambda result: (-result.mass, result.nodes))[: self.most_paths]

    def _top(self, target: int, least: float) -> list[MassPath]:
        found, damping = self.found, self.context.settings.ppr.damping
        return top_paths(
            found.graph, found.seeds, found.mass, target, damping=damping, count=self.most_paths, least=least
        )

    def _path(self, path: MassPath, row: int, share: float) -> Path:
        hops = hops_of(path, self.found.graph, self._node, self._edge)
        if not self._over_passages:
            hops.append(PathHop(Naming(self.context).node(row), "is mentioned in", 1.0))
        return Path(self._why(path.nodes[0]), tuple(hops), share)

    def _node(self, number: int) -> PathNode:
        """Return a node of the memory graph. Here phrases precede passages, unlike in `ppr`."""
        n_phrases, n_chunks = self._memory.n_phrases, len(self.context.chunks)
        return Naming(self.context).node(number - n_phrases if number >= n_phrases else number + n_chunks)

    def _why(self, seed: int) -> str:
        if not self._over_passages:
            return "the question names it, or something near to it in meaning"
        if seed >= self._memory.n_phrases:
            return "every passage begins with a little, the nearest to the question with most"
        of_seed = self.found.facts[(self._memory.facts[self.found.facts] == seed).any(axis=1)]
        return f"near to the question: {'; '.join(fact_sentences(self.context, of_seed))}"

    def _edge(self, source: int, end: int) -> str:
        """Return the label of an edge, as a verb from the first node to the second."""
        n_phrases = self._memory.n_phrases
        if source >= n_phrases or end >= n_phrases:
            return "mentions" if source >= n_phrases else "is mentioned in"
        ids = frozenset((self._node(source).id, self._node(end).id))
        if ids in _synonym_pairs(self.context):
            return "means nearly the same as"
        facts: Ints = self._memory.facts
        relations = self.context.index.each(Relation)
        there = np.flatnonzero((facts[:, 0] == source) & (facts[:, 1] == end))
        back = np.flatnonzero((facts[:, 0] == end) & (facts[:, 1] == source))
        verbs = dict.fromkeys(relations[row].predicate or "is related to" for row in there.tolist())
        turned = dict.fromkeys(f"(turned round) {relations[row].predicate or 'is related to'}" for row in back.tolist())
        return ", ".join([*verbs, *turned][:_MOST_PREDICATES])


@per_index
def _synonym_pairs(context: Context) -> set[frozenset[str]]:
    return {frozenset((pair.source_id, pair.target_id)) for pair in context.index.rows(Synonym)}
