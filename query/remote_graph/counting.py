"""Decide which answers hold for a whole graph if only a part of it was read.

One query asks the endpoint how many things meet the conditions. That number answers a count. A list is complete only if
all of these things were read; an order or a bound also requires that all their statements were read.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from urllib.parse import unquote

from conspectus.query.graph_question.structured_query import Condition, GraphAnswer, GraphQuery, PredicateStep, Things
from conspectus.query.remote_graph.graph import LiveGraph
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
        if things.types or (query.form == "yes_no" and (things.order or things.bounds)):
            return answer, _UNTOLD
        if query.form == "yes_no":
            return answer, _UNTOLD if self._counted(self.written(graph, query)) else ""
        every = replace(query, form="things", things=replace(things, order=None, bounds=(), offset=0, limit=None))
        written = self.written(graph, every)
        number = self._counted(written)
        found = run(graph, every, cited=0).found
        if things.order or things.bounds:
            lengths = [len(bound.steps) for bound in things.bounds]
            lengths += [len(things.order.steps)] if things.order else []
            known = all(self._live.has_all_of(unquote(graph.entity_ids[each.entity])) for each in found)
            return answer, "" if number == len(found) and known and max(lengths) <= 1 else _UNTOLD
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
        lines = _Writer(self._live, graph).things(query.things, "?thing")
        if query.subjects:
            lines = [_values("?thing", graph, query.subjects), *lines]
        return f"SELECT (COUNT(DISTINCT ?thing) AS ?n) WHERE {{ {' '.join(lines)} }}"


class _Writer:
    """Writes conditions as SPARQL with the IRIs of the endpoint; variables are numbered on demand."""

    def __init__(self, live: LiveGraph, graph: KnowledgeGraph) -> None:
        self._live = live
        self._graph = graph
        self._numbers = count(1)

    def things(self, things: Things, thing: str) -> list[str]:
        lines: list[str] = []
        for condition in sorted(things.conditions, key=lambda each: each.negated):
            if condition.negated and not condition.steps and isinstance(condition.start, tuple):
                left_out = ", ".join(unquote(self._graph.entity_ids[row]) for row in condition.start)
                lines.append(f"FILTER({thing} NOT IN ({left_out}))")
                continue
            pattern = self._condition(condition, thing)
            lines += ["FILTER NOT EXISTS {", *pattern, "}"] if condition.negated else pattern
        return lines

    def _condition(self, condition: Condition, thing: str) -> list[str]:
        start = f"?x{next(self._numbers)}" if condition.steps else thing
        lines: list[str] = []
        if isinstance(condition.start, Things):
            lines = self.things(condition.start, start)
        elif condition.start is not None:
            lines = [_values(start, self._graph, condition.start)]
        path = "/".join(self._step(step) for step in condition.steps)
        return [*lines, f"{start} {path} {thing} ."] if path else lines

    def _step(self, step: PredicateStep) -> str:
        live = self._live
        iris = [iri for iri, name in zip(live.predicate_iris, live.predicates, strict=True) if name in step.predicates]
        backward = [f"^{iri}" for iri in iris]
        ways = iris if step.direction == "forward" else backward if step.direction == "backward" else [*iris, *backward]
        return f"({'|'.join(ways)})"


def _values(variable: str, graph: KnowledgeGraph, rows: Sequence[int]) -> str:
    return f"VALUES {variable} {{ {' '.join(unquote(graph.entity_ids[row]) for row in rows)} }}"
