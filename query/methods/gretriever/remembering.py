"""A subgraph with what a conversation keeps of it."""

from collections.abc import Iterable
from dataclasses import replace

from conspectus.query.context import Context
from conspectus.query.methods.gretriever.carry_over import kept_of
from conspectus.query.types.subgraph import RetrievedSubgraph
from conspectus.query.walk.graph import open_graph


def with_kept(context: Context, subgraph: RetrievedSubgraph, answers: Iterable[str]) -> RetrievedSubgraph:
    """Return a subgraph with what is kept of it for further questions; `answers` are the names that answered."""
    graph = open_graph(context)
    entities = [graph.entity_ids[row] for row in subgraph.nodes]
    relations = [graph.relation_ids[row] for row in subgraph.relations]
    return replace(subgraph, kept=kept_of(subgraph, entities, relations, answers))
