"""Triple retrieval by embedding similarity around topic entities (KAPING).

Baek, Aji and Saffari 2023, "Knowledge-Augmented Language Model Prompting for Zero-Shot Knowledge Graph Question
Answering", section 3.2: the triples within one or two hops of the question's entities are verbalised, and those nearest
to the question by a sentence encoder are kept.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from conspectus.query.context import Context
from conspectus.query.types.trace import Considered, Hop
from conspectus.query.walk.graph import KnowledgeGraph, open_graph, predicate_vectors, sentence
from conspectus.storage.arrays import Ints


@dataclass(frozen=True, slots=True)
class NearTriple:
    """A relation (its row), its cosine with the question, and its ends; `near` is the end closer to the topics."""

    relation: int
    cosine: float
    near: int
    far: int
    outgoing: bool
    """Whether it is walked from its source."""

    @property
    def hop(self) -> Hop:
        """The triple as a step of a walk."""
        return Hop(self.relation, self.near, self.far, self.outgoing)


def nearest(
    context: Context, question: str, relations: Ints, distance: Ints, *, most: int, candidates: int
) -> list[NearTriple]:
    """Return the `most` relations whose sentences are nearest to the question, ties by their rows.

    If there are more than `candidates`, only those with the nearest predicates are compared, ties by topic distance.
    """
    graph = open_graph(context)
    if not len(relations):
        return []
    vector = context.embedder.embed_query(question)
    if len(relations) > candidates:
        predicates = np.round(predicate_vectors(context) @ vector, 6)[graph.stated[relations]]
        reach = np.minimum(_far(distance, graph.sources[relations]), _far(distance, graph.targets[relations]))
        relations = relations[np.lexsort((relations, reach, -predicates))[:candidates]]
    embedder = context.embedder
    said = [embedder.windows(sentence(graph, int(row)))[0] for row in relations]  # a description may be long
    cosines = np.round(embedder.embed(said) @ vector, 6)
    order = np.lexsort((relations, -cosines))[:most]
    return [_near(graph, int(relations[place]), float(cosines[place]), distance) for place in order]


def considered(
    graph: KnowledgeGraph, triples: Sequence[NearTriple], kept: Sequence[NearTriple]
) -> tuple[Considered, ...]:
    """Return triples as candidates of a decision, for the trace."""
    chosen = {item.relation for item in kept}
    return tuple(
        Considered(
            sentence(graph, triple.relation),
            triple.relation in chosen,
            "same predicate and entity as the best" if triple.relation in chosen else "another predicate or entity",
            triple.cosine,
        )
        for triple in triples
    )


def alike(graph: KnowledgeGraph, triples: Sequence[NearTriple]) -> list[NearTriple]:
    """Return the best triple and those with the same predicate, direction and near end."""
    if not triples:
        return []
    best = triples[0]
    return [
        triple
        for triple in triples
        if (triple.near, triple.outgoing, graph.stated[triple.relation])
        == (best.near, best.outgoing, graph.stated[best.relation])
    ]


def _near(graph: KnowledgeGraph, relation: int, cosine: float, distance: Ints) -> NearTriple:
    source, target = int(graph.sources[relation]), int(graph.targets[relation])
    if _far(distance, np.array([target]))[0] < _far(distance, np.array([source]))[0]:
        return NearTriple(relation, cosine, target, source, False)
    return NearTriple(relation, cosine, source, target, True)


def _far(distance: Ints, rows: Ints) -> Ints:
    """Return the distances, with unreachable entities farther than all others."""
    found: Ints = np.where(distance[rows] < 0, np.iinfo(np.int64).max, distance[rows])
    return found
