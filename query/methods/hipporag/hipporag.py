"""HippoRAG and HippoRAG 2 as their papers have them, over the memory of memory.py.

Gutiérrez et al. 2024, "HippoRAG: Neurobiologically Inspired Long-Term Memory for Large Language Models"
(arXiv 2405.14831), and Gutiérrez et al. 2025, "From RAG to Memory: Non-Parametric Continual Learning for Large Language
Models" (arXiv 2502.14802). They stand here to be measured against; `ppr` is the road that we recommend.
"""

from dataclasses import dataclass

import numpy as np
from conspectus.query.context import Context
from conspectus.query.methods.baselines.dense import DenseRetriever
from conspectus.query.methods.hipporag.facts import Facts, between, helpful_facts, nearest_facts, told
from conspectus.query.methods.hipporag.graph import Memory, open_memory
from conspectus.query.methods.hipporag.question_entities import entities_of, nearest_phrases
from conspectus.query.methods.ppr.seeds import walk_from
from conspectus.query.question.question import open_question
from conspectus.query.types import Evidence, Step
from conspectus.storage.arrays import Floats, Rows, Vectors
from conspectus.storage.graph.adjacency import Adjacency
from conspectus.storage.graph.pagerank import PageRank
from conspectus.storage.records import Entity, Relation
from conspectus.storage.settings import PprSettings


@dataclass(frozen=True, slots=True, eq=False)
class Search:
    """Everything that made one ranking: what it is told by, and explained from.

    The walk over `graph` starts at `seeds` with `mass`; `scores` (|P|,) are those of all passages, `facts` the rows of
    the triples that seeded it (none in HippoRAG 1), `phrases` those of the phrases that did.
    """

    graph: Adjacency
    seeds: Rows
    mass: Floats
    walk: PageRank
    scores: Floats
    facts: Rows
    phrases: Rows
    trace: tuple[Step, ...]

    def evidence(self, context: Context, k: int) -> Evidence:
        """Return the `k` best passages, and the phrases and triples that led to them."""
        relations, entities = context.index.rows(Relation), context.index.rows(Entity)
        return Evidence(
            context.best(self.scores, k),
            trace=self.trace,
            entities=tuple(entities[row] for row in self.phrases),
            relations=tuple(relations[row] for row in self.facts),
        )


@dataclass(frozen=True, slots=True)
class HippoRag1:
    """From the entities of the question over the phrases to the passages that hold them (section 2.3)."""

    context: Context

    async def retrieve(self, question: str, k: int) -> Evidence:
        """Return the `k` best of the passages that the walk reaches; the dense ones where the question names nothing.

        1. The question's entities are linked with the phrases nearest to them, the query nodes.
        2. Each query node i has the same probability, times its specificity s_i = 1 / |P_i|, scaled to sum 1.
        3. Personalised PageRank over N with E ∪ E′, damping 0.5, gives n′.
        4. Passages are ranked by p = n′ P.
        """
        found = await self.search(question, k)
        return found.evidence(self.context, k) if isinstance(found, Search) else found

    async def search(self, question: str, k: int) -> Search | Evidence:
        """Return how the passages rank, or the `k` dense ones where the question names nothing."""
        context = self.context
        listed = await entities_of(context, question)
        rows = nearest_phrases(context, listed.names)
        if not len(rows):
            return await _dense(context, question, k, (listed.step,), "nothing is linked")
        memory = open_memory(context)
        walk = entity_walk(memory, rows, context.settings.ppr)
        names = ", ".join(context.index.rows(Entity)[row].name for row in rows)
        return Search(
            memory.phrases,
            rows,
            memory.specificity[rows],
            walk,
            passage_scores(memory, walk),
            np.zeros(0, np.int64),
            rows,
            (listed.step, Step("link", f"query nodes: {names}"), _walked(walk)),
        )


@dataclass(frozen=True, slots=True)
class HippoRag2:
    """From the facts near to the question over phrases and passages (section 3.3)."""

    context: Context

    async def retrieve(self, question: str, k: int) -> Evidence:
        """Return the `k` best passages.

        1. The `hipporag.facts` triples nearest to the question; with a model, of these what its filter keeps.
        2. Where none is kept: the dense passages.
        3. The phrases of these facts seed the walk, see `phrase_seeds`, and all passages besides, each with its cosine
           scaled over all passages to [0, 1] times `hipporag.passage_weight` (0.05).
        4. Personalised PageRank over phrases and passages, damping 0.5; passages are ranked by their own score.
        """
        found = await self.search(question, k)
        return found.evidence(self.context, k) if isinstance(found, Search) else found

    async def search(self, question: str, k: int) -> Search | Evidence:
        """Return how the passages rank, or the `k` dense ones where no fact is kept."""
        context, settings = self.context, self.context.settings.hipporag
        vector = open_question(context, question).vector
        facts = nearest_facts(context, vector, settings.facts)
        steps = [Step("facts", f"{len(facts.rows)} facts nearest to the question")]
        model = context.model
        if model is not None and settings.fact_filter and len(facts.rows):
            facts, filtered = await helpful_facts(context, model, question, facts)
            steps.append(filtered)
        if not len(facts.rows):
            return await _dense(context, question, k, tuple(steps), "no fact is kept")
        memory = open_memory(context)
        phrases, mass = phrase_seeds(memory, facts, settings.facts)
        steps.append(Step("seed", f"{'; '.join(told(context, facts.rows))}: {len(phrases)} phrases"))
        near = settings.passage_weight * passage_closeness(context, vector)
        walk = fact_walk(memory, phrases, mass, near, context.settings.ppr)
        return Search(
            memory.whole,
            np.concatenate([phrases, memory.n_phrases + np.arange(len(near))]),
            np.concatenate([mass, near]),
            walk,
            walk.dense(memory.whole.n_nodes)[memory.n_phrases :],
            facts.rows,
            phrases,
            (*steps, _walked(walk)),
        )


def entity_walk(memory: Memory, rows: Rows, settings: PprSettings) -> PageRank:
    """Return the walk over phrases, n′, from query nodes: each with the same probability times its specificity."""
    return walk_from(memory.phrases, rows, memory.specificity[rows], settings)


def fact_walk(memory: Memory, phrases: Rows, mass: Floats, near: Floats, settings: PprSettings) -> PageRank:
    """Return the walk over phrases and passages from phrases (s,) with their mass (s,) and all passages with `near`."""
    nodes = np.concatenate([phrases, memory.n_phrases + np.arange(len(near))])
    return walk_from(memory.whole, nodes, np.concatenate([mass, near]), settings)


def passage_scores(memory: Memory, walk: PageRank) -> Floats:
    """Return p = n′ P, (|P|,): the score of a passage is that of its phrases, each as often as it stands there."""
    scores: Floats = memory.counts.T @ walk.dense(memory.n_phrases)
    return scores


def phrase_seeds(memory: Memory, facts: Facts, most: int) -> tuple[Rows, Floats]:
    """Return the phrases that seed the walk of HippoRAG 2, ascending, and their mass.

    A phrase i that stands in the facts F_i with the scores f has the mass mean over F_i of f / |P_i| (section 3.3 has
    the mean; its program has |P_i|, the passages that hold i). The `most` phrases of the highest mean of f are taken,
    of equal ones the first in the table.
    """
    ends, scores = memory.facts[facts.rows].ravel(), np.repeat(facts.scores, 2)
    phrases, place = np.unique(ends, return_inverse=True)
    means = np.bincount(place, weights=scores) / np.bincount(place)
    best = np.sort(np.lexsort((phrases, -means))[:most])
    return phrases[best], means[best] * memory.specificity[phrases[best]]


def passage_closeness(context: Context, vector: Vectors) -> Floats:
    """Return (|P|,) the cosines of all passages with a question's vector, scaled to [0, 1]; 1 where all are equal."""
    every = np.arange(context.index.manifest.rows["chunks"])
    cosines = context.chunk_vectors.scores(vector[np.newaxis], every)[0].astype(np.float64)
    return between(cosines, float(cosines.min()), float(cosines.max()))


def _walked(walk: PageRank) -> Step:
    return Step("walk", f"{walk.solver}: {len(walk.nodes)} nodes reached, residual {walk.residual:.1e}")


async def _dense(context: Context, question: str, k: int, steps: tuple[Step, ...], why: str) -> Evidence:
    found = await DenseRetriever(context).retrieve(question, k)
    return Evidence(found.passages, trace=(*steps, Step("fall back", f"{why}: the nearest passages"), *found.trace))
