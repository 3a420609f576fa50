"""The result of a SPARQL query, from the index's own store or from an endpoint."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Term:
    """An RDF term: an IRI, a literal with its datatype or language, or a blank node.

    Attributes:
        kind: What it is.
        value: The IRI, the text of the literal, or the label of the blank node.
        datatype: The datatype of a literal, "" for a text.
        language: The language tag of a literal.
        name: For an entity of the index its name.
    """

    kind: Literal["uri", "literal", "bnode"]
    value: str
    datatype: str = ""
    language: str = ""
    name: str = ""

    def __str__(self) -> str:
        """Return the name of an entity, else the value."""
        return self.name or self.value


@dataclass(frozen=True, slots=True)
class SparqlResult:
    """What a query gives.

    Attributes:
        query: The query as it was executed.
        variables: The columns, without question marks; none for ASK.
        rows: The rows, a term or None for each variable. CONSTRUCT and DESCRIBE have subject, predicate and object.
        boolean: The answer to ASK, None for other queries.
        complete: False if there were more rows than the limit.
    """

    query: str
    variables: tuple[str, ...]
    rows: tuple[tuple[Term | None, ...], ...]
    boolean: bool | None = None
    complete: bool = True

    def dicts(self) -> list[dict[str, str]]:
        """Return the rows as mappings of variables to texts: names of entities, else values."""
        return [
            {name: str(term) for name, term in zip(self.variables, row, strict=True) if term is not None}
            for row in self.rows
        ]

    def as_json(self) -> dict[str, Any]:
        """Return the result as SPARQL 1.1 Query Results JSON; entities have their `name` too."""
        if self.boolean is not None:
            return {"query": self.query, "head": {}, "boolean": self.boolean}
        bindings = [
            {name: _json(term) for name, term in zip(self.variables, row, strict=True) if term is not None}
            for row in self.rows
        ]
        found = {"head": {"vars": list(self.variables)}, "results": {"bindings": bindings}}
        return {"query": self.query, **found, "complete": self.complete}


def _json(term: Term) -> dict[str, str]:
    parts = {"type": term.kind, "value": term.value, "datatype": term.datatype, "xml:lang": term.language}
    return {key: text for key, text in {**parts, "name": term.name}.items() if text or key in ("type", "value")}


def result_of(query: str, reply: object, rows: int) -> SparqlResult:
    """Return a result from SPARQL 1.1 Query Results JSON, which may come from anywhere; at most `rows` rows.

    Raises:
        ValueError: The reply has not the form of a result.
    """
    if not isinstance(reply, dict):
        raise ValueError("the result is not an object")
    if isinstance(reply.get("boolean"), bool):
        return SparqlResult(query, (), (), reply["boolean"])
    head, results = reply.get("head"), reply.get("results")
    names = head.get("vars") if isinstance(head, dict) else None
    bindings = results.get("bindings") if isinstance(results, dict) else None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError("the result names no variables")
    if not isinstance(bindings, list) or not all(isinstance(row, dict) for row in bindings):
        raise ValueError("the result has no rows")
    complete = bool(reply.get("complete", True)) and len(bindings) <= rows
    found = tuple(tuple(_term(row[name]) if name in row else None for name in names) for row in bindings[:rows])
    return SparqlResult(query, tuple(names), found, None, complete)


_KINDS: Mapping[str, Literal["uri", "literal", "bnode"]] = {
    "uri": "uri",
    "literal": "literal",
    "typed-literal": "literal",
    "bnode": "bnode",
}
_TEXT = "http://www.w3.org/2001/XMLSchema#string"


def _term(found: object) -> Term:
    if not isinstance(found, dict) or found.get("type") not in _KINDS or not isinstance(found.get("value"), str):
        raise ValueError("a value of the result is not an RDF term")
    datatype, language = found.get("datatype", ""), found.get("xml:lang", "")
    datatype = datatype if isinstance(datatype, str) and datatype != _TEXT else ""
    return Term(_KINDS[found["type"]], found["value"], datatype, language if isinstance(language, str) else "")
