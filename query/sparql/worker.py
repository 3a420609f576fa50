"""The process that executes SPARQL: it reads requests from its input, a line each, and writes a line of JSON for each.

It is run by path (see `child_process`): a query that takes too long, needs too much memory or overflows the engine's
stack ends this process and nothing else. It opens its store read-only, so that no query can change it.
"""

import json
import sys
from typing import TYPE_CHECKING

import pyoxigraph as ox

if TYPE_CHECKING:
    Found = ox.QueryBoolean | ox.QuerySolutions | ox.QueryTriples


def main() -> None:
    """Answer requests `{"query", "prefixes", "rows", "signs"}` until the input ends."""
    folder = sys.argv[1]
    store = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            store = store or ox.Store.read_only(folder)
        except Exception as error:  # noqa: BLE001 - whatever the engine raises for a damaged store
            _write({"damaged": str(error)})
            return
        try:
            found = store.query(request["query"], prefixes=request["prefixes"])
            _write(_reply(found, request["rows"], request["signs"]))
        except (SyntaxError, ValueError, OSError) as error:
            _write({"error": str(error)})


def _write(reply: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(reply) + "\n")
    sys.stdout.flush()


def _reply(found: "Found", rows: int, signs: int) -> dict[str, object]:
    """Return the result in the form of SPARQL 1.1 Query Results JSON, at most `rows` rows and `signs` characters."""
    if isinstance(found, ox.QueryBoolean):
        return {"head": {}, "boolean": bool(found)}
    if isinstance(found, ox.QueryTriples):
        names = ["subject", "predicate", "object"]
    else:
        names = [each.value for each in found.variables]
    bindings: list[dict[str, dict[str, str]]] = []
    taken = 0
    complete = True
    for row in found:
        if len(bindings) == rows or taken > signs:
            complete = False
            break
        values = (row.subject, row.predicate, row.object) if isinstance(row, ox.Triple) else tuple(row)
        cells = {name: _term(value) for name, value in zip(names, values, strict=True) if value is not None}
        taken += sum(len(cell["value"]) for cell in cells.values())
        bindings.append(cells)
    return {"head": {"vars": names}, "results": {"bindings": bindings}, "complete": complete}


def _term(value: object) -> dict[str, str]:
    if isinstance(value, ox.NamedNode):
        return {"type": "uri", "value": value.value}
    if isinstance(value, ox.BlankNode):
        return {"type": "bnode", "value": value.value}
    if not isinstance(value, ox.Literal):
        return {"type": "literal", "value": str(value)}
    if value.language:
        return {"type": "literal", "value": value.value, "xml:lang": value.language}
    return {"type": "literal", "value": value.value, "datatype": value.datatype.value}


if __name__ == "__main__":
    main()
