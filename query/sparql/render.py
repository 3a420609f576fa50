"""Write a structured query as SPARQL, so that it can be shown, run, and run elsewhere.

`run_query.run` and the SPARQL give the same things; the tests hold that. What SPARQL cannot say as shortly is
left to it: of several literals of a thing any counts here, and literals of two scales are not mixed.
"""

from collections.abc import Callable, Sequence
from itertools import count

from conspectus.query.graph_question.structured_query import (
    Bound,
    Comparison,
    Condition,
    GraphQuery,
    Order,
    PredicateStep,
    Things,
)
from conspectus.query.sparql.schema import prefixed
from conspectus.query.sparql.store import typed
from conspectus.query.walk.graph import KnowledgeGraph
from conspectus.storage import rdf_terms as terms
from conspectus.storage.rdf_terms import literal, named
from conspectus.storage.text.literals import Literal, parse_literal

_SIGNS: dict[Comparison, str] = {
    "before": "<",
    "less": "<",
    "after": ">",
    "more": ">",
    "at_least": ">=",
    "at_most": "<=",
    "equal": "=",
}
_MONTH, _YEAR = 31, 372
"""Days of a month and a year on a scale on which dates and bare years are put in order."""


def render(graph: KnowledgeGraph, query: GraphQuery, datatypes: Callable[[str], str]) -> str:
    """Return a query as SPARQL: ?thing, and ?value where it is sorted or bounded; ?count; or an ASK.

    Args:
        graph: The graph, for the names of entities.
        query: The query.
        datatypes: Returns the datatypes of a predicate's literals ("xsd:integer, xsd:date"), "" if it has none.
    """
    return _Writer(graph, datatypes).query(query)


class _Writer:
    """Writes one query; variables are numbered as they are needed."""

    def __init__(self, graph: KnowledgeGraph, datatypes: Callable[[str], str]) -> None:
        self._graph = graph
        self._datatypes = datatypes
        self._numbers = count(1)

    def query(self, query: GraphQuery) -> str:
        """Return the query."""
        if query.form == "compare" or (query.form == "yes_no" and query.things.order and len(query.subjects) > 1):
            return self._comparison(query)
        if query.form == "yes_no":
            lines: list[str] = []
            for number, row in enumerate(query.subjects, start=1):
                thing = f"?thing{number if len(query.subjects) > 1 else ''}"
                lines += [self._label(thing, row), *self._things(query.things, thing)]
            return _asked(lines)
        lines = self._things(query.things, "?thing")
        if query.form == "count":
            return f"SELECT (COUNT(DISTINCT ?thing) AS ?count) WHERE {{\n{_indented(lines)}\n}}"
        value = " ?value" if query.things.order or query.things.bounds else ""
        order = query.things.order
        last = "" if order is None else f" ORDER BY {_direction(order, '?value')}"
        page = "" if order else _page(query.things)
        return f"SELECT DISTINCT ?thing{value} WHERE {{\n{_indented(lines)}\n}}{last}{page}"

    def _comparison(self, query: GraphQuery) -> str:
        order = query.things.order
        assert order is not None
        if query.form == "yes_no":
            first, second = "?value1", "?value2"
            lines = [self._label("?thing1", query.subjects[0]), *self._value("?thing1", order, first)]
            lines += [self._label("?thing2", query.subjects[1]), *self._value("?thing2", order, second)]
            return _asked([*lines, f"FILTER({first} {'>' if order.descending else '<'} {second})"])
        names = " ".join(literal(self._graph.names[row]) for row in query.subjects)
        lines = [f"VALUES ?name {{ {names} }}", "?thing rdfs:label ?name ."]
        ranked = self._ranked(lines, Things((), order=order, limit=1), order, "?thing", "?value")
        return f"SELECT DISTINCT ?thing ?value WHERE {{\n{_indented(ranked)}\n}}"

    def _things(self, things: Things, thing: str) -> list[str]:
        """Return the patterns that a variable must match."""
        lines: list[str] = []
        for condition in sorted(things.conditions, key=lambda each: each.negated):
            pattern = self._condition(condition, thing)
            if condition.negated:
                lines += ["FILTER NOT EXISTS {", *(f"  {line}" for line in pattern), "}"]
            else:
                lines += pattern
        if things.types:
            kinds = " ".join(f"<{named(terms.TYPE_OF, kind)}>" for kind in things.types)
            lines += [f"VALUES {thing}type {{ {kinds} }}", f"{thing} a {thing}type ."]
        value = "?value" if thing == "?thing" else f"{thing}value"
        for number, bound in enumerate(things.bounds):
            shown = value if number == 0 and not things.order else self._variable()
            lines += self._bound(thing, bound, shown)
        if things.order is None:
            return lines
        return self._ranked(lines, things, things.order, thing, value)

    def _ranked(self, lines: list[str], things: Things, order: Order, thing: str, value: str) -> list[str]:
        """Return the values at the wanted ranks, and the things that have one: things of equal rank stay together."""
        ordered = [*lines, *self._value(thing, order, value)]
        if things.limit is None and not things.offset:
            return ordered
        rank = f"{value}AtRank"
        ranks = [*lines, *self._value(thing, order, rank)]
        page = f"ORDER BY {_direction(order, rank)}{_page(things)}"
        within = [f"{{ SELECT DISTINCT {rank} WHERE {{", *(f"    {line}" for line in ranks), f"  }} {page} }}"]
        return [*within, *ordered, f"FILTER({value} = {rank})"]

    def _condition(self, condition: Condition, thing: str) -> list[str]:
        if condition.start is None:
            start = self._variable()
            lines = [] if condition.steps else [f"{thing} rdfs:label {self._variable()} ."]
        elif isinstance(condition.start, Things):
            start = thing if not condition.steps else self._variable()
            lines = self._things(condition.start, start)
        else:
            start = thing if not condition.steps else self._variable()
            lines = self._labels(start, condition.start)
        for number, step in enumerate(condition.steps, start=1):
            end = thing if number == len(condition.steps) else self._variable()
            lines.append(_pattern(start, step, end))
            start = end
        return lines

    def _labels(self, variable: str, rows: Sequence[int]) -> list[str]:
        if len(rows) == 1:
            return [self._label(variable, rows[0])]
        name = self._variable()
        names = " ".join(literal(self._graph.names[row]) for row in rows)
        return [f"VALUES {name} {{ {names} }}", f"{variable} rdfs:label {name} ."]

    def _label(self, variable: str, row: int) -> str:
        return f"{variable} rdfs:label {literal(self._graph.names[row])} ."

    def _bound(self, thing: str, bound: Bound, value: str) -> list[str]:
        asked = parse_literal(bound.value)
        lines, datatypes = self._literal(thing, bound.steps, value)
        return [*lines, f"FILTER({_holds(value, bound.comparison, asked, datatypes) if asked else 'false'})"]

    def _value(self, thing: str, order: Order, value: str) -> list[str]:
        """Return the patterns that bind what a thing is sorted by."""
        if order.by == "count":
            end = self._variable()
            inner = self._path(thing, order.steps, end)
            counted = f"SELECT {thing} (COUNT(DISTINCT {end}) AS {value}) WHERE {{ {' '.join(inner)} }}"
            return [f"{{ {counted} GROUP BY {thing} }}"]
        if "xsd:date" in (datatypes := self._literal_types(order.steps)) and "xsd:integer" in datatypes:
            found = self._variable()
            lines, _ = self._literal(thing, order.steps, found)
            days = f"YEAR({found}) * {_YEAR} + MONTH({found}) * {_MONTH} + DAY({found})"
            key = f"IF(DATATYPE({found}) = xsd:date, {days}, {found} * {_YEAR} + {_MONTH + 1})"
            return [*lines, f"BIND({key} AS {value})"]
        return self._literal(thing, order.steps, value)[0]

    def _literal_types(self, steps: Sequence[PredicateStep]) -> str:
        if not steps or steps[-1].direction != "forward":
            return ""
        return ", ".join(filter(None, dict.fromkeys(map(self._datatypes, steps[-1].predicates))))

    def _literal(self, thing: str, steps: Sequence[PredicateStep], value: str) -> tuple[list[str], str]:
        """Return the patterns that bind the literal at the end of steps, and its datatypes; else the year in a name."""
        datatypes = self._literal_types(steps)
        if datatypes:
            last = steps[-1]
            before = self._variable() if len(steps) > 1 else thing
            lines = self._path(thing, steps[:-1], before)
            return [*lines, _pattern(before, last, value, "v")], datatypes
        end = self._variable() if steps else thing
        name = self._variable()
        year = f'xsd:integer(REPLACE({name}, "^(?:|.*[^0-9])(1[0-9]{{3}}|20[0-9]{{2}})(?:|[^0-9].*)$", "$1"))'
        return [*self._path(thing, steps, end), f"{end} rdfs:label {name} .", f"BIND({year} AS {value})"], "xsd:integer"

    def _path(self, start: str, steps: Sequence[PredicateStep], end: str) -> list[str]:
        lines = []
        for number, step in enumerate(steps, start=1):
            to = end if number == len(steps) else self._variable()
            lines.append(_pattern(start, step, to))
            start = to
        return lines

    def _variable(self) -> str:
        return f"?x{next(self._numbers)}"


def _pattern(start: str, step: PredicateStep, end: str, prefix: str = "p") -> str:
    """Return a step as a triple pattern; alternatives and both directions are a property path."""
    names = [prefix + prefixed(predicate)[1:] for predicate in step.predicates]
    if step.direction == "either":
        names = [*names, *(f"^{name}" for name in names)]
    path = names[0] if len(names) == 1 else f"({'|'.join(names)})"
    if step.through:
        path += f"/({'|'.join(prefix + prefixed(predicate)[1:] for predicate in step.through)})*"
    return f"{end} {path} {start} ." if step.direction == "backward" else f"{start} {path} {end} ."


def _holds(value: str, comparison: Comparison, asked: Literal, datatypes: str) -> str:
    """Return the condition of a bound, for each datatype that the literals have."""
    sign = _SIGNS[comparison]
    days = (asked.low, asked.high) if asked.kind == "time" else asked.day
    conditions = []
    if asked.kind != "time" and datatypes != "xsd:date":
        conditions.append(f"{value} {sign} {typed_short(asked)}")
    elif asked.kind == "time" and "xsd:integer" in datatypes:
        conditions.append(_years(value, sign, asked))
    if days and "xsd:date" in datatypes:
        first, last = (f'"{_iso(day)}"^^xsd:date' for day in days)
        if comparison == "equal":
            conditions.append(f"({value} >= {first} && {value} <= {last})")
        else:
            conditions.append(f"{value} {sign} {first if sign in ('<', '>=') else last}")
    return " || ".join(conditions) or "false"


def _years(value: str, sign: str, asked: Literal) -> str:
    """Return the condition of a time for bare years: all of the year must be before or after it."""
    first, last = Literal("time", asked.low, asked.low).date(), Literal("time", asked.high, asked.high).date()
    if sign == "=":
        return f"({value} >= {first[0]} && {value} <= {last[0]})"
    if sign == ">=":
        return f"{value} >= {first[0] + (first[1:] != (1, 1))}"
    if sign == "<=":
        return f"{value} <= {last[0] - (last[1:] != (12, 31))}"
    return f"{value} {sign} {first[0] if sign == '<' else last[0]}"


def _iso(day: float) -> str:
    year, month, of_month = Literal("time", day, day).date()
    return f"{'-' if year < 0 else ''}{abs(year):04}-{month:02}-{of_month:02}"


def typed_short(found: Literal) -> str:
    """Return a literal as a person writes it in SPARQL: a number as it is, another with its datatype's prefix.

    >>> typed_short(parse_literal("2005")), typed_short(parse_literal("90 min"))
    ('2005', '"PT5400S"^^xsd:dayTimeDuration')
    """
    text = typed(found)
    value, _, datatype = text.partition("^^")
    name = datatype.strip("<>").removeprefix(terms.XSD)
    return value.strip('"') if name in ("integer", "decimal") else f"{value}^^xsd:{name}"


def _direction(order: Order, value: str) -> str:
    return f"DESC({value})" if order.descending else value


def _page(things: Things) -> str:
    offset = f" OFFSET {things.offset}" if things.offset else ""
    return f" LIMIT {things.limit}{offset}" if things.limit is not None else offset


def _asked(lines: Sequence[str]) -> str:
    return f"ASK {{\n{_indented(lines)}\n}}"


def _indented(lines: Sequence[str]) -> str:
    return "\n".join(f"  {line}" for line in lines)
