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
from conspectus.storage.rdf_terms import literal
from conspectus.storage.text.literals import Literal, parse_literal

_SIGNS: dict[Comparison, str] = {"less": "<", "more": ">", "at_least": ">=", "at_most": "<="}
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


class ConditionWriter:
    """Writes the conditions of one query; variables are numbered as they are needed."""

    def __init__(self, graph: KnowledgeGraph) -> None:
        self._graph = graph
        self._numbers = count(1)

    def conditions(self, things: Things, thing: str) -> list[str]:
        """Return the patterns by which a variable meets all conditions."""
        lines: list[str] = []
        for condition in sorted(things.conditions, key=lambda each: each.negated):
            pattern = self._condition(condition, thing)
            lines += ["MINUS {", *(f"  {line}" for line in pattern), "}"] if condition.negated else pattern
        return lines

    def _condition(self, condition: Condition, thing: str) -> list[str]:
        start = self._variable() if condition.steps else thing
        if isinstance(condition.start, Things):
            lines = self.conditions(condition.start, start)
        else:
            lines = self.among(start, condition.start) if condition.start else []
        for number, step in enumerate(condition.steps, start=1):
            end = thing if number == len(condition.steps) else self._variable()
            lines.append(self._pattern(start, step, end))
            start = end
        return lines

    def among(self, variable: str, rows: Sequence[int]) -> list[str]:
        """Return the patterns by which a variable is one of some entities."""
        if len(rows) == 1:
            return [f"{variable} rdfs:label {literal(self._graph.names[rows[0]])} ."]
        name = self._variable()
        names = " ".join(literal(self._graph.names[row]) for row in rows)
        return [f"VALUES {name} {{ {names} }}", f"{variable} rdfs:label {name} ."]

    def _predicates(self, names: Sequence[str]) -> list[str]:
        return [prefixed(name) for name in names]

    def _pattern(self, start: str, step: PredicateStep, end: str) -> str:
        """Return a step as a triple pattern; alternatives and both directions are a property path."""
        names = self._predicates(step.predicates)
        if step.direction == "either":
            names = [*names, *(f"^{name}" for name in names)]
        path = names[0] if len(names) == 1 else f"({'|'.join(names)})"
        if step.through:
            path += f"/({'|'.join(self._predicates(step.through))})*"
        return f"{end} {path} {start} ." if step.direction == "backward" else f"{start} {path} {end} ."

    def _variable(self) -> str:
        return f"?x{next(self._numbers)}"


class _Writer(ConditionWriter):
    """Writes one query."""

    def __init__(self, graph: KnowledgeGraph, datatypes: Callable[[str], str]) -> None:
        super().__init__(graph)
        self._datatypes = datatypes

    def query(self, query: GraphQuery) -> str:
        """Return the query."""
        order = query.things.order
        if order and (query.form == "compare" or (query.form == "yes_no" and len(query.subjects) > 1)):
            return self._comparison(query, order)
        if query.form == "yes_no":
            lines: list[str] = []
            for number, row in enumerate(query.subjects, start=1):
                thing = f"?thing{number if len(query.subjects) > 1 else ''}"
                lines += [*self.among(thing, [row]), *self._things(query.things, thing)]
            return _asked(lines)
        lines = self._things(query.things, "?thing")
        if query.form == "count":
            return f"SELECT (COUNT(DISTINCT ?thing) AS ?count) WHERE {{\n{_indented(lines)}\n}}"
        value = " ?value" if order or query.things.bounds else ""
        return f"SELECT DISTINCT ?thing{value} WHERE {{\n{_indented(lines)}\n}}"

    def _comparison(self, query: GraphQuery, order: Order) -> str:
        if query.form == "yes_no":
            lines = []
            for number, row in enumerate(query.subjects, start=1):
                thing = f"?thing{number}"
                lines += [*self.among(thing, [row]), *self._value(thing, order, f"?value{number}")]
            return _asked([*lines, f"FILTER(?value1 {'>' if order.descending else '<'} ?value2)"])
        ranked = self._first(self.among("?thing", query.subjects), order, "?thing", "?value")
        return f"SELECT DISTINCT ?thing ?value WHERE {{\n{_indented(ranked)}\n}}"

    def _things(self, things: Things, thing: str) -> list[str]:
        """Return the patterns that a variable must match."""
        lines = self.conditions(things, thing)
        value = "?value" if thing == "?thing" else f"{thing}value"
        for number, bound in enumerate(things.bounds):
            lines += self._bound(thing, bound, value if number == 0 and not things.order else self._variable())
        return self._first(lines, things.order, thing, value) if things.order else lines

    def _first(self, lines: list[str], order: Order, thing: str, value: str) -> list[str]:
        """Return the value of the first rank, and the things that have it: things of equal rank stay together."""
        rank = f"{value}AtRank"
        ranks = [*lines, *self._value(thing, order, rank)]
        by = f"DESC({rank})" if order.descending else rank
        first = [
            f"{{ SELECT DISTINCT {rank} WHERE {{",
            *(f"    {line}" for line in ranks),
            f"  }} ORDER BY {by} LIMIT 1{f' OFFSET {order.rank - 1}' if order.rank > 1 else ''} }}",
        ]
        return [*first, *lines, *self._value(thing, order, value), f"FILTER({value} = {rank})"]

    def _bound(self, thing: str, bound: Bound, value: str) -> list[str]:
        asked = parse_literal(bound.value)
        lines, datatypes = self._literal(thing, bound.step, value)
        return [*lines, f"FILTER({_holds(value, bound.comparison, asked, datatypes) if asked else 'false'})"]

    def _value(self, thing: str, order: Order, value: str) -> list[str]:
        """Return the patterns that bind what a thing is sorted by."""
        if order.counted and order.step:
            end = self._variable()
            inner = self._pattern(thing, order.step, end)
            counted = f"SELECT {thing} (COUNT(DISTINCT {end}) AS {value}) WHERE {{ {inner} }}"
            return [f"{{ {counted} GROUP BY {thing} }}"]
        if "xsd:date" in (datatypes := self._literal_types(order.step)) and "xsd:integer" in datatypes:
            found = self._variable()
            lines, _ = self._literal(thing, order.step, found)
            days = f"YEAR({found}) * {_YEAR} + MONTH({found}) * {_MONTH} + DAY({found})"
            key = f"IF(DATATYPE({found}) = xsd:date, {days}, {found} * {_YEAR} + {_MONTH + 1})"
            return [*lines, f"BIND({key} AS {value})"]
        return self._literal(thing, order.step, value)[0]

    def _literal_types(self, step: PredicateStep | None) -> str:
        if not step or step.direction != "forward":
            return ""
        return ", ".join(filter(None, dict.fromkeys(map(self._datatypes, step.predicates))))

    def _literal(self, thing: str, step: PredicateStep | None, value: str) -> tuple[list[str], str]:
        """Return the patterns that bind the literal at a step's end, and its datatypes; else the year in a name."""
        datatypes = self._literal_types(step)
        if step and datatypes:
            path = "|".join("v" + name[1:] for name in self._predicates(step.predicates))
            return [f"{thing} {path} {value} ."], datatypes
        end = self._variable() if step else thing
        lines = [self._pattern(thing, step, end)] if step else []
        name = self._variable()
        year = f'xsd:integer(REPLACE({name}, "^(?:|.*[^0-9])(1[0-9]{{3}}|20[0-9]{{2}})(?:|[^0-9].*)$", "$1"))'
        return [*lines, f"{end} rdfs:label {name} .", f"BIND({year} AS {value})"], "xsd:integer"


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
        conditions.append(f"{value} {sign} {first if sign in ('<', '>=') else last}")
    return " || ".join(conditions) or "false"


def _years(value: str, sign: str, asked: Literal) -> str:
    """Return the condition of a time for bare years: all of the year must be before or after it."""
    first, last = Literal("time", asked.low, asked.low).date(), Literal("time", asked.high, asked.high).date()
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


def _asked(lines: Sequence[str]) -> str:
    return f"ASK {{\n{_indented(lines)}\n}}"


def _indented(lines: Sequence[str]) -> str:
    return "\n".join(f"  {line}" for line in lines)
