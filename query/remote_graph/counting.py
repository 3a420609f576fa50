"""Decide which answers hold for a whole graph if only a part of it was read.

One query asks the endpoint how many things meet the conditions. That number answers a count. A list is complete only if
all of these things were read; an order or a bound also requires that all their statements were read.
"""

from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import unquote

from conspectus.query.graph_question.structured_query import GraphAnswer, GraphQuery, Things
from conspectus.query.remote_graph.graph import LiveGraph
from conspectus.query.sparql.render import ConditionWriter
from conspectus.query.walk.graph import KnowledgeGraph
from conspectus.query.walk.run_query import run
from conspectus.storage.errors import SparqlError

_UNTOLD = "only a part of the graph was read (endpoint.most_triples), from which this cannot be told"
_SOME = "{:,} of the {:,} things that it has were read (endpoint.most_triples, endpoint.hops)"


class PartOfGraph:
    """Completes the answers of queries over a part of a live graph."""

    def __init__(self, live: LiveGraph) -> None:
        self._live = live

    def completed(self, graph: KnowledgeGraph, query: GraphQuery, answer: GraphAnswer) -> tuple[GraphAnswer, str]:
        """Return an answer that holds for the whole graph, and the reason if there is none ("" otherwise).

        Args:
            graph: The part that was read.
            query: The query.
            answer: The answer of the query over that part.

        Raises:
            SparqlError: The endpoint does not answer.
        """
        things = query.things
        if query.form == "compare" or (query.form == "yes_no" and answer.verdict):
            return answer, ""
        if query.form == "yes_no":
            unsure = things.order or things.bounds or self._counted(self.written(graph, query))
            return answer, _UNTOLD if unsure else ""
        every = replace(query, form="things", things=Things(things.conditions))
        written = self.written(graph, every)
        number = self._counted(written)
        found = run(graph, every, cited=0).found
        if things.order or things.bounds:
            known = all(self._live.has_all_of(unquote(graph.entity_ids[each.entity])) for each in found)
            return answer, "" if number == len(found) and known else _UNTOLD
        if query.form == "count":
            self._live.note(f"{number:,} by {written}", "counted")
            return replace(answer, count=number, known=answer.known or number > 0), ""
        return answer, _SOME.format(len(found), number) if number > len(found) else ""

    def _counted(self, written: str) -> int:
        [[found]] = self._live.endpoint.query(written, 1).rows or [[None]]
        if found is None or not found.value.isdigit():
            raise SparqlError(f"{self._live.endpoint.host} gave no number for {written}")
        return int(found.value)

    def written(self, graph: KnowledgeGraph, query: GraphQuery) -> str:
        """Return the SPARQL query for the number of things (?n), or of the subjects among them."""
        writer = _Writer(self._live, graph)
        lines = writer.among("?thing", query.subjects) if query.subjects else []
        lines += writer.conditions(query.things, "?thing")
        return f"SELECT (COUNT(DISTINCT ?thing) AS ?n) WHERE {{ {' '.join(lines)} }}"


class _Writer(ConditionWriter):
    """Writes conditions with the IRIs of the endpoint."""

    def __init__(self, live: LiveGraph, graph: KnowledgeGraph) -> None:
        super().__init__(graph)
        self._iris = list(zip(live.predicate_iris, live.predicates, strict=True))

    def among(self, variable: str, rows: Sequence[int]) -> list[str]:
        return [f"VALUES {variable} {{ {' '.join(unquote(self._graph.entity_ids[row]) for row in rows)} }}"]

    def _predicates(self, names: Sequence[str]) -> list[str]:
        return [iri for iri, name in self._iris if name in names]
