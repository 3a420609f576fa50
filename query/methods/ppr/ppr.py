"""Passages by personalised PageRank over names and passages: evidence that takes several hops.

The road of HippoRAG (Gutierrez et al. 2024, section 2.3): link the question to nodes, let a walk spread from them,
read off the passages. What differs, each by measurement (DECISIONS.md): the graph has precise name edges beside
vague occurrence edges (storage/graph/walk_graph.py), passages near in words and meaning seed the walk besides the
names (seeds.py), the best passages are ranked again in linked pairs (pairs.py), and what the first of them name is
asked about in a second hop (bridges.py).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from conspectus.query.context import Context
from conspectus.query.methods.ppr.candidates import best_chunks, led_mass, priors, with_others
from conspectus.query.methods.ppr.links import joined_by_titles, linked_by_names
from conspectus.query.methods.ppr.pairs import Pairs, pair_parts
from conspectus.query.methods.ppr.second_hop import Bridge, First, SecondHop, find_bridges, second_hop
from conspectus.query.methods.ppr.seeds import TextScores, personalization, text_scores, walk_from
from conspectus.query.question.linking import Links
from conspectus.query.question.question import Question, open_question
from conspectus.query.types import Evidence, Step
from conspectus.storage.arrays import Floats, Rows
from conspectus.storage.graph.pagerank import PageRank

_FLOOR = 1e-6
"""Walk score of a passage that the walk did not reach."""
_PAIR_WEIGHT = 4.0
"""Weight of what passages say (alone, in pairs, after a second hop) against the walk. Fitted: docs/retrieval.md."""
_PROOF_WEIGHT = 3.0
_WORDS_WEIGHT = 0.5
"""What a title that joins two passages, and words, count for where no title in the question leads anywhere."""
_PHRASE_WEIGHT = 0.5
"""What a phrase of the question counts for, beside its words."""
FORMULA = (
    f"(walk + near + led + {_FLOOR:g}) * "
    f"exp({_PAIR_WEIGHT:g} * (closeness + gain + max(joint, alone)"
    f" + {_PROOF_WEIGHT:g} * proof + {_WORDS_WEIGHT:g} * words))"
)
"""How a passage's score is made, in the terms of pool.py, bridges.py and pairs.py; `near` is the tail."""


@dataclass(frozen=True, slots=True)
class Pool:
    """Chunk rows that are ranked, and in step with them (n,) all that the first hop says of them.

    `prior` is the walk's score and the tail for text, `closeness` the cosine with the question. A title in the question
    leads the walk; where there is none, `proof` is that of the pairs and `words` the BM25 score, 1 the best of all
    chunks, and both are 0 where there is one.
    """

    rows: Rows
    prior: Floats
    closeness: Floats
    pairs: Pairs
    proof: Floats
    words: Floats

    @property
    def said(self) -> Floats:
        """How much of the question each passage says, by itself or with another."""
        unled = _PROOF_WEIGHT * self.proof + _WORDS_WEIGHT * self.words
        said: Floats = self.closeness + self.pairs.together + unled
        return said


@dataclass(frozen=True, slots=True)
class Search:
    """Everything that made one ranking: what it is told by, and explained from.

    The walk starts at `seeds` with `mass`. In step with the rows of the pool are `hop`, what the bridges say of them,
    `led`, the mass that the second hop adds to their prior, and `scores`.
    """

    asked: Question
    near: TextScores
    seeds: Rows
    mass: Floats
    walk: PageRank
    pool: Pool
    bridges: tuple[Bridge, ...]
    hop: SecondHop
    led: Floats
    scores: Floats

    @property
    def linked(self) -> Links:
        """What the question names."""
        return self.asked.links

    def order(self) -> Rows:
        """Return the places in the pool, best first, ties by chunk id."""
        return np.lexsort((self.pool.rows, -self.scores))


class PprRetriever:
    """Personalised PageRank, then pairs, then a second hop."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._settings = context.settings.ppr

    async def retrieve(self, question: str, k: int) -> Evidence:
        """Return the `k` best passages; their scores are only comparable within one question."""
        found = self.search(question, k)
        if isinstance(found, Step):
            return Evidence(trace=(found,))
        best = found.order()[:k]
        passages = tuple(self._context.passage(int(found.pool.rows[i]), float(found.scores[i])) for i in best)
        return Evidence(passages, trace=self.trace(found))

    def search(self, question: str, k: int) -> Search | Step:
        """Return how the passages rank, at least `k` where there are so many, or the step that says why none does."""
        context, settings = self._context, self._settings
        n_chunks = context.index.manifest.rows["chunks"]
        if n_chunks == 0:
            return Step("ppr", "the index holds no chunk")
        asked = open_question(context, question)
        near = text_scores(context, asked)
        graph = context.index.graph()
        seeds, mass = personalization(context, graph, asked.links, near, settings.text_seeds)
        if not mass.sum() > 0:
            return Step("ppr", "the question names nothing here, and nothing is near to it")
        walk = walk_from(graph, seeds, mass, settings)

        first = self._pool(asked, walk, near, best_chunks(walk, near, n_chunks, max(k, settings.pool)))
        bridges = find_bridges(context, asked, self._firsts(asked, first), settings.bridge_names)
        reached = with_others(first.rows, (each.holders for each in bridges))
        pool = self._pool(asked, walk, near, reached) if len(reached) > len(first.rows) else first
        hop = second_hop(pool.rows, pool.closeness, bridges, self._cosines(bridges, pool.rows))
        led = led_mass(pool.rows, hop.fit)
        # exp of log(prior) + weight * (closeness + ...): the order of the sum, as a positive score (FORMULA)
        scores = (pool.prior + led + _FLOOR) * np.exp(_PAIR_WEIGHT * (pool.said + hop.gain))
        return Search(asked, near, seeds, mass, walk, pool, tuple(bridges), hop, led, scores)

    def _pool(self, asked: Question, walk: PageRank, near: TextScores, rows: Rows) -> Pool:
        """Return all that the first hop says of chunk rows."""
        context = self._context
        graph = context.index.graph()
        held = np.concatenate(
            [asked.terms.contained_in(rows), asked.phrases.contained_in(context, rows, asked.terms)], axis=1
        )
        weights = np.concatenate([asked.terms.weights, _PHRASE_WEIGHT * asked.phrases.weights])
        vectors = context.chunk_vectors.mean_vectors(rows).astype(np.float64)
        closeness = context.chunk_vectors.scores(asked.vector[np.newaxis], rows)[0].astype(np.float64)
        pairs = pair_parts(
            closeness,
            vectors @ vectors.T,
            linked_by_names(graph, rows, asked.links, len(context.chunks)),
            joined_by_titles(context, graph, rows),
            held,
            weights / max(weights.sum(), 1e-9),
        )
        led = bool(asked.links.names)
        proof = np.zeros(len(rows)) if led else pairs.proof
        words = np.zeros(len(rows)) if led else asked.bm25_scores[rows]
        return Pool(rows, priors(walk, near, rows), closeness, pairs, proof, words)

    def _firsts(self, asked: Question, pool: Pool) -> list[First]:
        """Return the best passages of the first hop; they stand to the best as the root of their share of its score."""
        logs = np.log(pool.prior + _FLOOR) + _PAIR_WEIGHT * pool.said
        best = np.lexsort((pool.rows, -logs))[: self._settings.bridge_passages]
        held = asked.terms.contained_in(pool.rows[best])
        return [
            First(int(pool.rows[place]), float(np.exp((logs[place] - logs.max()) / 2)), asked.terms, holds)
            for place, holds in zip(best, held, strict=True)
        ]

    def _cosines(self, bridges: Sequence[Bridge], rows: Rows) -> Floats:
        """Return (b, n) the cosines of the rewritten questions with chunk rows."""
        if not bridges:
            return np.zeros((0, len(rows)))
        vectors = self._context.embedder.embed_queries([each.question for each in bridges])
        return self._context.chunk_vectors.scores(vectors, rows).astype(np.float64)

    def trace(self, found: Search) -> tuple[Step, ...]:
        """Return the steps of a search in words."""
        linked, near, walk = found.linked, found.near, found.walk
        named = ", ".join(name.name for name in linked.names) or "no title"
        return (
            Step("link", f"the question names {named}, and {len(linked.entity_rows)} entities"),
            Step("seed", f"{min(len(near.rows), self._settings.text_seeds)} passages near in words and meaning"),
            Step("walk", f"{walk.solver}: {len(walk.nodes)} nodes reached, residual {walk.residual:.1e}"),
            Step("pairs", f"{len(found.pool.rows)} passages ranked again with the passages they are linked with"),
            Step("second hop", _told(found)),
        )


def _told(found: Search) -> str:
    """Return in words which rewritten question led farthest."""
    if not found.bridges:
        return "the first passages name nothing that leads on"
    best = int(found.hop.by[found.hop.fit.argmax()])
    told = f", above all as {found.bridges[best].question!r}" if best >= 0 else ""
    return f"asked again with {len(found.bridges)} names of the first passages{told}"
