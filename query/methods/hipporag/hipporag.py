"""HippoRAG and HippoRAG 2 as published: personalized PageRank over the memory graph of graph.py.

Gutiérrez et al. 2024, "HippoRAG: Neurobiologically Inspired Long-Term Memory for Large Language Models"
(arXiv 2405.14831), and Gutiérrez et al. 2025, "From RAG to Memory: Non-Parametric Continual Learning for Large Language
Models" (arXiv 2502.14802). They serve as comparisons; `ppr` is the recommended method.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from conspectus.query.context import Context
from conspectus.query.methods.baselines import DenseRetriever
from conspectus.query.methods.hipporag.graph import Memory, open_memory
from conspectus.query.methods.hipporag.query_nodes import (
    Facts,
    fact_sentences,
    helpful_facts,
    named_entities,
    nearest_facts,
    nearest_phrases,
    scaled_between,
)
from conspectus.query.question.question import open_question
from conspectus.query.types import Evidence, Step
from conspectus.storage.arrays import Floats, Rows, Vectors
from conspectus.storage.graph.adjacency import Adjacency
from conspectus.storage.graph.pagerank import PageRank, personalized_pagerank
from conspectus.storage.records import Entity, Relation
from conspectus.storage.settings import PprSettings

FACTS = 5  # that are nearest to the question, and phrases of them that seed the walk, as in the paper
PASSAGE_WEIGHT = 0.05
"""Weight of the passages among the seeds (2502.14802, section 3.3)."""


@dataclass(frozen=True, slots=True, eq=False)
class MemoryRanking:
    """A ranking with its seeds and walk, for the trace and the explanation.

    Attributes:
        graph: the graph of the walk.
        seeds: (s,) the nodes of the personalization vector.
        mass: (s,) its values.
        walk: the result of PageRank.
        scores: (|P|,) the scores of all passages.
        facts: rows of the triples that seed the walk (none in HippoRAG 1).
        phrases: rows of the phrases that seed the walk.
        trace: the steps.
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
        """Return the `k` best passages, and the phrases and triples that seed the walk."""
        relations, entities = context.index.each(Relation), context.index.each(Entity)
        return Evidence(
            context.best(self.scores, k),
            trace=self.trace,
            entities=tuple(entities[row] for row in self.phrases),
            relations=tuple(relations[row] for row in self.facts),
        )


@dataclass(frozen=True, slots=True)
class MemoryRetriever(ABC):
    """Retrieves passages by a ranking over the memory graph."""

    context: Context

    async def retrieve(self, question: str, k: int) -> Evidence:
        """Return the `k` best passages, those of dense retrieval if nothing seeds the walk. See `rank` for errors."""
        ranking = await self.rank(question, k)
        return ranking.evidence(self.context, k) if isinstance(ranking, MemoryRanking) else ranking

    @abstractmethod
    async def rank(self, question: str, k: int) -> MemoryRanking | Evidence:
        """Return the ranking of all passages, or the `k` best of dense retrieval if nothing seeds the walk."""


class HippoRag1(MemoryRetriever):
    """HippoRAG: from the named entities of the question via phrases to passages (section 2.3)."""

    async def rank(self, question: str, k: int) -> MemoryRanking | Evidence:
        """Return the ranking of all passages, or the `k` best of dense retrieval if the question has no named entity.

        1. The question's named entities are linked with the phrases nearest to them, the query nodes.
        2. The query nodes i get equal probability, times the specificity s_i = 1 / |P_i|, scaled to sum 1.
        3. Personalised PageRank over N with E ∪ E′, damping 0.5, gives n′.
        4. Passages are ranked by p = n′ P.

        Raises:
            ModelError: A model is configured and gives no reply.
        """
        context = self.context
        named = await named_entities(context, question)
        rows = nearest_phrases(context, named.names)
        if not len(rows):
            return await _dense(context, question, k, (named.step,), "nothing is linked")
        memory = open_memory(context)
        walk = walk_from(memory.phrases, rows, memory.specificity[rows], context.settings.ppr)
        names = ", ".join(context.index.each(Entity)[row].name for row in rows)
        return MemoryRanking(
            memory.phrases,
            rows,
            memory.specificity[rows],
            walk,
            passage_scores(memory, walk),
            np.zeros(0, np.int64),
            rows,
            (named.step, Step("link", f"query nodes: {names}"), _walk_step(walk)),
        )


class HippoRag2(MemoryRetriever):
    """HippoRAG 2: from the facts nearest to the question via phrases and passages (section 3.3)."""

    async def rank(self, question: str, k: int) -> MemoryRanking | Evidence:
        """Return the ranking of all passages, or the `k` best of dense retrieval if no fact remains.

        1. The `FACTS` triples nearest to the question; with a model, those that pass its filter.
        2. If none remains: dense retrieval.
        3. The phrases of these facts seed the walk, see `phrase_seeds`, as do all passages, each with its cosine
           scaled over all passages to [0, 1], times `PASSAGE_WEIGHT`.
        4. Personalised PageRank over phrases and passages, damping 0.5; passages are ranked by their own score.

        Raises:
            ModelError: A model is configured and gives no reply.
        """
        context = self.context
        vector = open_question(context, question).vector
        facts = nearest_facts(context, vector, FACTS)
        steps = [Step("facts", f"{len(facts.rows)} facts nearest to the question")]
        model = context.model
        if model is not None and len(facts.rows):
            facts, filtered = await helpful_facts(context, model, question, facts)
            steps.append(filtered)
        if not len(facts.rows):
            return await _dense(context, question, k, tuple(steps), "no fact is kept")
        memory = open_memory(context)
        phrases, mass = phrase_seeds(memory, facts, FACTS)
        steps.append(Step("seed", f"{'; '.join(fact_sentences(context, facts.rows))}: {len(phrases)} phrases"))
        near = PASSAGE_WEIGHT * passage_closeness(context, vector)
        nodes = np.concatenate([phrases, memory.n_phrases + np.arange(len(near))])
        mass = np.concatenate([mass, near])
        walk = walk_from(memory.whole, nodes, mass, context.settings.ppr)
        return MemoryRanking(
            memory.whole,
            nodes,
            mass,
            walk,
            walk.dense(memory.whole.n_nodes)[memory.n_phrases :],
            facts.rows,
            phrases,
            (*steps, _walk_step(walk)),
        )


def walk_from(graph: Adjacency, nodes: Rows, mass: Floats, settings: PprSettings) -> PageRank:
    """Return the walk over a graph from nodes (s,) with their mass (s,)."""
    return personalized_pagerank(graph, nodes, mass, settings.damping, exact=settings.solver == "exact")


def passage_scores(memory: Memory, walk: PageRank) -> Floats:
    """Return p = n′ P, (|P|,): a passage's score is the sum over its phrases, weighted by their counts in it."""
    scores: Floats = memory.counts.T @ walk.dense(memory.n_phrases)
    return scores


def phrase_seeds(memory: Memory, facts: Facts, most: int) -> tuple[Rows, Floats]:
    """Return the phrases that seed the walk of HippoRAG 2, ascending, and their mass.

    A phrase i that occurs in the facts F_i with the scores f has the mass mean over F_i of f / |P_i| (the mean is
    from section 3.3; |P_i|, the number of passages that contain i, from its code). The `most` phrases of the highest
    mass are used, as in its code, so phrases of many passages are dropped first; ties go to the first in the table.
    """
    ends, scores = memory.facts[facts.rows].ravel(), np.repeat(facts.scores, 2)
    phrases, place = np.unique(ends, return_inverse=True)
    means = np.bincount(place, weights=scores) / np.bincount(place)
    mass = means * memory.specificity[phrases]
    best = np.sort(np.lexsort((phrases, -mass))[:most])
    return phrases[best], mass[best]


def passage_closeness(context: Context, vector: Vectors) -> Floats:
    """Return (|P|,) the cosines of all passages with a question's vector, scaled to [0, 1]; all are 1 if they are
    equal."""
    rows = np.arange(context.index.manifest.rows["chunks"])
    cosines = context.chunk_vectors.scores(vector[np.newaxis], rows)[0].astype(np.float64)
    return scaled_between(cosines, float(cosines.min()), float(cosines.max()))


def _walk_step(walk: PageRank) -> Step:
    return Step("walk", f"{walk.solver}: {len(walk.nodes)} nodes reached, residual {walk.residual:.1e}")


async def _dense(context: Context, question: str, k: int, steps: tuple[Step, ...], why: str) -> Evidence:
    found = await DenseRetriever(context).retrieve(question, k)
    return Evidence(found.passages, trace=(*steps, Step("fall back", f"{why}: the nearest passages"), *found.trace))
