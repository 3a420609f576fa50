"""The schema of a graph for whoever writes SPARQL: its predicates with their number, an example, and literals."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import regex
from conspectus.query.context import Context
from conspectus.query.sparql.store import predicate_iri, typed_literal
from conspectus.query.walk.graph import KnowledgeGraph, open_graph
from conspectus.storage import rdf_terms as terms
from conspectus.storage.arrays import Ints
from conspectus.storage.index import per_index

_SAMPLE = 20
"""Objects of a predicate that are looked at to tell whether it has literals."""


@dataclass(frozen=True, slots=True)
class PredicateSummary:
    """A predicate of a graph.

    Attributes:
        predicate: Its text.
        term: How SPARQL writes it, with a prefix: `p:directed_by`.
        count: How many relations have it.
        subject, object: The names of an example.
        datatype: The datatype of the literals that its objects are, "" if they are none.
    """

    predicate: str
    term: str
    count: int
    subject: str
    object: str
    datatype: str

    def line(self) -> str:
        """Return the summary as one line of a schema."""
        value = f"; its value: v:{self.term[2:]} ({self.datatype})" if self.datatype else ""
        return f"{self.term}  {self.count:,}: {self.subject} | {self.object}{value}"


def prefixed(predicate: str) -> str:
    """Return a predicate as SPARQL writes it.

    >>> print(prefixed("directed_by"), prefixed("people.person.parents"), prefixed("born in"), prefixed("et al."))
    p:directed_by p:people.person.parents p:born%20in p:et%20al\\.
    """
    local = predicate_iri(predicate).removeprefix(terms.PREDICATE)
    return "p:" + regex.sub(r"^-|~|\.$", r"\\\g<0>", local)  # signs that a local name of SPARQL must escape


@per_index
def predicates(context: Context) -> tuple[PredicateSummary, ...]:
    """Return the predicates of a graph, the most frequent first."""
    graph = open_graph(context)
    counts = np.bincount(graph.stated, minlength=len(graph.predicates))
    order = np.argsort(graph.stated, kind="stable")
    starts = np.searchsorted(graph.stated[order], np.arange(len(graph.predicates)))
    ranked = sorted(range(len(graph.predicates)), key=lambda number: (-int(counts[number]), number))
    return tuple(
        _summary(graph, number, order[starts[number] : starts[number] + min(_SAMPLE, int(counts[number]))], counts)
        for number in ranked
        if counts[number]
    )


def _summary(graph: KnowledgeGraph, number: int, relations: Ints, counts: Ints) -> PredicateSummary:
    predicate = graph.predicates[number]
    first = int(relations[0])
    found = [typed_literal(graph.names[target]) for target in graph.targets[relations].tolist()]
    datatypes = {literal.rpartition("#")[2].rstrip(">") for literal in found if literal}
    mostly = sum(map(bool, found)) * 2 > len(found)
    return PredicateSummary(
        predicate,
        prefixed(predicate),
        int(counts[number]),
        graph.names[graph.sources[first]],
        graph.names[graph.targets[first]],
        ", ".join(f"xsd:{name}" for name in sorted(datatypes)) if mostly else "",
    )


@per_index
def datatypes_of(context: Context) -> Callable[[str], str]:
    """Return the function that gives the datatypes of a predicate's literals, "" for a predicate without any."""
    known = {each.predicate: each.datatype for each in predicates(context)}
    return lambda predicate: known.get(predicate, "")


def text(summaries: Iterable[PredicateSummary]) -> str:
    """Return the schema in words, a line for each predicate."""
    return "\n".join(summary.line() for summary in summaries)


def as_json(summaries: Sequence[PredicateSummary]) -> list[dict[str, object]]:
    """Return the schema as JSON."""
    return [
        {
            "predicate": each.predicate,
            "term": each.term,
            "value": f"v:{each.term[2:]}" if each.datatype else None,
            "datatype": each.datatype or None,
            "relations": each.count,
            "example": [each.subject, each.object],
        }
        for each in summaries
    ]
