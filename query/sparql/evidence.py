"""The relations that make the answer of a SPARQL query, found from the query itself.

The pattern of the query is asked for all its variables, restricted to the rows of the answer. The relations of one
such solution are those that join its entities, the names that the query writes, and its literals, by the predicates
that the query writes; where a path hides an entity, those over one entity between.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import unquote

import numpy as np
import regex
from conspectus.query.context import Context
from conspectus.query.sparql.checks import declared, tokens
from conspectus.query.sparql.result import SparqlResult, Term
from conspectus.query.sparql.run import query, row_of_entity
from conspectus.query.sparql.store import PREFIXES, typed_literal
from conspectus.query.walk.graph import KnowledgeGraph, open_graph
from conspectus.storage import rdf_terms as terms
from conspectus.storage.arrays import Ints
from conspectus.storage.errors import SparqlError

_SOLUTIONS = 200
"""Solutions whose relations are looked up."""
_SECONDS = 3.0
_INSTEAD = 6
"""Relations that are given for a no: what the graph states instead."""
_FORMS = ("SELECT", "ASK", "CONSTRUCT", "DESCRIBE")
_AGGREGATED = regex.compile(r"GROUP|HAVING")


@dataclass(frozen=True, slots=True)
class QueryParts:
    """A query in parts: its declarations, the pattern in braces, and what follows."""

    declarations: str
    pattern: str
    modifiers: str


@dataclass(frozen=True, slots=True)
class QueryTerms:
    """What a query writes: rows of entities (by name or IRI), and numbers of predicates, ascending."""

    entities: tuple[int, ...]
    predicates: Ints


@dataclass(frozen=True, slots=True)
class QueryEvidence:
    """The relations (rows) that make an answer, each once, and the names of the literals in it by their typed form."""

    relations: tuple[int, ...]
    names: dict[str, str]


def evidence(context: Context, text: str, result: SparqlResult) -> QueryEvidence:
    """Return the relations that make the answer of a query, in the order of its rows."""
    graph = open_graph(context)
    said = mentioned(graph, text)
    if result.boolean is False or (result.boolean is None and not result.rows):
        return QueryEvidence(instead(graph, said), {})
    solutions = _solutions(context, parts(text), result)
    relations: dict[int, None] = {}
    names: dict[str, str] = {}
    for row in solutions.rows:
        literals = {written for term in row if term and (written := _written(term))}
        entities = [found for term in row if (found := row_of_entity(graph, term)) is not None]
        for relation in _joining(graph, entities, literals, said, names):
            relations[relation] = None
    return QueryEvidence(tuple(relations), names)


def parts(text: str) -> QueryParts:
    """Return the parts of a query.

    >>> parts("PREFIX a: <urn:a> SELECT ?x WHERE { ?x a:b {?y ?z ?x} } LIMIT 3")
    QueryParts(declarations='PREFIX a: <urn:a> ', pattern='{ ?x a:b {?y ?z ?x} }', modifiers=' LIMIT 3')
    """
    form, begin, depth, opened = "", 0, 0, -1
    for token in tokens(text):
        if not form and token["word"] and token["word"].upper() in _FORMS:
            form, begin = token["word"].upper(), token.start()
        elif token[0] == "{":
            opened = token.start() if depth == 0 else opened
            depth += 1
        elif token[0] == "}":
            depth -= 1
            if depth == 0 and form != "CONSTRUCT":
                return QueryParts(text[:begin], text[opened : token.end()], text[token.end() :])
            if depth == 0:  # the template comes before the pattern
                form = "SELECT"
    return QueryParts(text[:begin], "{}", "")


def mentioned(graph: KnowledgeGraph, text: str) -> QueryTerms:
    """Return the entities and predicates that a query writes."""
    prefixes = {**PREFIXES, **declared(text)}
    iris: list[str] = []
    names: set[str] = set()
    for token in tokens(text):
        if token["iri"]:
            iris.append(token["iri"][1:-1])
        elif token["name"] and ":" in token["name"]:
            prefix, _, local = token["name"].partition(":")
            iris.append(prefixes.get(prefix, "") + local.rstrip(".").replace("\\", ""))
        elif token["text"]:
            names.add(_unquoted(token["text"]))
    said = {unquote(iri.removeprefix(kind)) for iri in iris for kind in _KINDS if iri.startswith(kind)}
    numbers = [number for number, text_ in enumerate(graph.predicates) if (text_ or "related") in said]
    by_iri = [row_of_entity(graph, Term("uri", iri)) for iri in iris]
    by_name = [row for row, name in enumerate(graph.names) if name in names] if names else []
    entities = {row for row in (*by_iri, *by_name) if row is not None}
    return QueryTerms(tuple(sorted(entities)), np.array(numbers, np.int64))


def instead(graph: KnowledgeGraph, said: QueryTerms) -> tuple[int, ...]:
    """Return relations of what a query writes, for the answer that there is nothing: what is stated instead."""
    if not said.entities:
        return ()
    edges = graph.edges_of(said.entities)
    kept = edges.relation[np.isin(edges.predicate, said.predicates)]
    return tuple(dict.fromkeys(kept.tolist()))[:_INSTEAD]


def _solutions(context: Context, query_parts: QueryParts, result: SparqlResult) -> SparqlResult:
    """Return the bindings of all variables of a query's pattern, for the rows of its result."""
    values, modifiers = "", query_parts.modifiers
    known = [number for number in range(len(result.variables)) if _all_entities(result.rows, number)]
    if known and result.boolean is None:
        names = " ".join(f"?{result.variables[number]}" for number in known)
        rows = (" ".join(f"<{row[number].value}>" for number in known if row[number]) for row in result.rows)  # type: ignore[union-attr]
        distinct = list(dict.fromkeys(rows))[:_SOLUTIONS]
        values = f"VALUES ({names}) {{ {' '.join(f'({row})' for row in distinct)} }}"
        modifiers = ""  # the rows are chosen already
    if _AGGREGATED.search(modifiers.upper()):
        modifiers = ""
    text = f"{query_parts.declarations} SELECT * WHERE {{ {values} {query_parts.pattern} }} {modifiers}"
    try:
        return query(context, text, _SOLUTIONS, _SECONDS)
    except SparqlError:
        return result


def _all_entities(rows: Sequence[Sequence[Term | None]], number: int) -> bool:
    return all((term := row[number]) is not None and term.value.startswith(terms.ENTITY) for row in rows)


def _joining(
    graph: KnowledgeGraph, entities: Sequence[int], literals: set[str], said: QueryTerms, names: dict[str, str]
) -> list[int]:
    """Return the relations of one solution."""
    nodes = np.unique(np.array([*entities, *said.entities], np.int64))
    edges = graph.edges_of(nodes)
    wanted = np.isin(edges.predicate, said.predicates)
    at, to, relation = edges.at[wanted], edges.neighbours[wanted], edges.relation[wanted]
    inside = np.isin(to, nodes)
    found = relation[inside].tolist()
    joined = {*at[inside].tolist(), *to[inside].tolist()}
    own = np.isin(at, np.array(entities, np.int64)) & ~inside
    if literals:
        for end, row in zip(to[own].tolist(), relation[own].tolist(), strict=True):
            written = typed_literal(graph.names[end])
            if written in literals:
                names[written] = graph.names[end]
                found.append(row)
    for lonely in [node for node in entities if node not in joined]:
        found += _over_one(lonely, at, to, relation)
    return list(dict.fromkeys(found))


def _over_one(lonely: int, at: Ints, to: Ints, relation: Ints) -> list[int]:
    """Return two relations that join an entity to another over one between, none if there are none."""
    mine = {int(end): int(row) for start, end, row in zip(at, to, relation, strict=True) if start == lonely}
    for start, end, row in zip(at.tolist(), to.tolist(), relation.tolist(), strict=True):
        if start != lonely and end in mine and mine[end] != row:
            return [row, mine[end]]
    return []


def _written(term: Term) -> str:
    return f'"{term.value}"^^<{term.datatype}>' if term.kind == "literal" and term.datatype else ""


_KINDS = (terms.PREDICATE, terms.VALUE, terms.QUALIFIER)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


def _unquoted(text: str) -> str:
    inner = text[3:-3] if text.startswith(('"""', "'''")) else text[1:-1]
    return regex.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), inner)
