"""Read a knowledge graph from files, in a process with limits of time and memory.

JSON may be lists of triples or edges, nodes with edges, results of SPARQL, dumps of Wikidata, JSON-LD. Nodes with edges
are what networkx (node-link and adjacency data), Cytoscape, D3, graphology and Neo4j write. A dump of Wikidata is an
array with one entity a line, read line by line: the statements of preferred or normal rank, their qualifiers, and the
labels of the entities that they use. Values are items, times, quantities and texts; identifiers of other databases,
media, addresses and places on the globe are left out.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import Any, cast

from conspectus.pipelines.exchange.kg.builder import (
    ALTERNATIVE,
    LAST_LABEL,
    GraphBuilder,
    ImportedGraph,
    TripleAttributes,
)
from conspectus.pipelines.exchange.kg.nodes_and_edges import (
    NETWORKS,
    Item,
    NodesAndEdges,
    read_network,
    read_nodes_and_edges,
    text_of_value,
)
from conspectus.pipelines.exchange.kg.rdf import FORMATS, read_rdf
from conspectus.pipelines.exchange.kg.statements import Statements, Thing, lines_of, opened, suffix_of, thing_with_id
from conspectus.pipelines.exchange.kg.tables import Records, read_labels, read_table
from conspectus.pipelines.readers.encodings import decoded
from conspectus.pipelines.readers.process import file_reader
from conspectus.pipelines.readers.rows import Lost, items, mapping
from conspectus.storage.errors import InputError
from conspectus.storage.settings import InputSettings, KgSettings

_ANY_LANGUAGE = "mul"
"""Wikidata's code for a label that is valid in all languages."""
_KINDS = {"item": "Q", "property": "P", "lexeme": "L"}
_TIME = re.compile(r"([+-])0*(\d{1,9})-(\d\d)-(\d\d)T")
_CENTURY, _DECADE, _YEAR, _MONTH, _DAY = 7, 8, 9, 10, 11
"""Precisions of a time value."""
_ORDINALS = {1: "st", 2: "nd", 3: "rd"}
_UNIT = re.compile(r"https?://www\.wikidata\.org/entity/(Q\d+)")
_UNIT_LABELS = {
    "Q11573": "metre", "Q174728": "centimetre", "Q174789": "millimetre", "Q828224": "kilometre", "Q3710": "foot",
    "Q218593": "inch", "Q253276": "mile", "Q11570": "kilogram", "Q41803": "gram", "Q100995": "pound",
    "Q712226": "square kilometre", "Q25343": "square metre", "Q35852": "hectare", "Q11574": "second", "Q7727": "minute",
    "Q25235": "hour", "Q573": "day", "Q23387": "week", "Q5151": "month", "Q577": "year", "Q4917": "US dollar",
    "Q4916": "euro", "Q25224": "pound sterling", "Q11229": "percent",
}  # fmt: skip
"""Labels of units, for excerpts of a dump that lack them; labels in the dump take precedence."""


def read_wikidata(path: Path, into: Statements, settings: KgSettings) -> None:
    """Read a dump; a line that is not an entity is a failure. Statements of a deprecated rank are left out."""
    language = settings.language
    left_out: Counter[str] = Counter()
    into.form(f"{path.name}: entities of Wikidata")
    for item, entity in _json_lines(path, into):
        if not isinstance(entity, dict) or not isinstance(entity.get("id"), str) or not entity["id"].strip():
            into.fail(item, "not an entity of Wikidata", str(entity)[:100])
            continue
        id_ = entity["id"].strip()
        for rank, code in enumerate((language, _ANY_LANGUAGE)):
            label = mapping(mapping(entity.get("labels")).get(code)).get("value")
            if isinstance(label, str) and label.strip():
                into.label(id_, label, rank)
        for alias in items(mapping(entity.get("aliases")).get(language)):
            if isinstance(name := mapping(alias).get("value"), str) and name.strip():
                into.label(id_, name, ALTERNATIVE)
        for predicate, statement in _in_lists(entity.get("claims")):
            is_wanted = statement.get("rank") in {"preferred", "normal"}
            value = _value(mapping(statement.get("mainsnak")), language, left_out) if is_wanted else None
            if value is not None:
                qualifiers = _qualifiers(statement, language, left_out)
                ids = [part for each in qualifiers for part in each]
                attributes = TripleAttributes(statements=(tuple(qualifiers),)) if qualifiers else None
                into.add(thing_with_id(id_), predicate, value, attributes, ids)
    for unit, label in _UNIT_LABELS.items():
        into.label(unit, label, LAST_LABEL)
    if left_out:
        told = ", ".join(f"{count:,} of type {kind}" for kind, count in sorted(left_out.items()))
        into.note(f"values of {path.name} left out: {told}")


def _in_lists(value: object) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the objects in the lists of an object, each with the property that has the list."""
    for predicate, several in mapping(value).items():
        for each in items(several):
            yield predicate, mapping(each)


def _qualifiers(statement: Mapping[str, Any], language: str, left_out: Counter[str]) -> list[tuple[str, str]]:
    """Return the properties and values of a statement's qualifiers."""
    found = []
    for predicate, snak in _in_lists(statement.get("qualifiers")):
        value = _value(snak, language, left_out)
        if value is not None:
            _, text, *unit = ("", value) if isinstance(value, str) else value
            found.append((predicate, " ".join((text, *(_UNIT_LABELS.get(each, each) for each in unit)))))
    return found


def _value(snak: Mapping[str, Any], language: str, left_out: Counter[str]) -> Thing | None:
    """Return the value of a main statement or a qualifier, None if it is missing or not imported."""
    if snak.get("snaktype") != "value":
        return None
    data = mapping(snak.get("datavalue"))
    kind, content = data.get("type"), data.get("value")
    if kind == "time":
        text = _time(mapping(content))
    elif kind == "quantity":
        return _quantity(mapping(content))
    elif kind == "monolingualtext":
        text = str(mapping(content).get("text", "")) if mapping(content).get("language") == language else ""
    elif kind == "string" and snak.get("datatype", "string") == "string":
        text = content if isinstance(content, str) else ""
    elif isinstance(content, dict) and (id_ := _entity_id(content)):  # only items have ids
        return thing_with_id(id_)
    else:
        left_out[str(snak.get("datatype") or kind or "unknown")[:40]] += 1
        return None
    return " ".join(text.split()) or None


def _time(content: Mapping[str, Any]) -> str:
    """Return a time in a form that `storage.text.literals` reads, as precise as stated; "" if coarser than a century.

    >>> _time({"time": "+1952-03-11T00:00:00Z", "precision": 11})
    '1952-03-11'
    >>> _time({"time": "-0044-03-00T00:00:00Z", "precision": 9})
    '44 BC'
    """
    found, precision = _TIME.match(str(content.get("time", ""))), content.get("precision", _DAY)
    if found is None or type(precision) is not int or precision < _CENTURY:
        return ""
    before, year = found[1] == "-", int(found[2])
    if precision == _CENTURY:
        number = (year + 99) // 100
        ending = "th" if number % 100 in (11, 12, 13) else _ORDINALS.get(number % 10, "th")
        return f"{number}{ending} century{' BC' if before else ''}"
    if precision <= _YEAR:
        return f"{year} BC" if before else str(year) if precision == _YEAR else f"{year // 10 * 10}s"
    iso = f"-{year - 1:04}" if before else f"{year:04}"  # the year 1 BC is -0001 in Wikidata and 0000 in ISO 8601
    return "-".join([iso, found[3], found[4]][: precision - _YEAR + 1])


def _quantity(content: Mapping[str, Any]) -> Thing | None:
    amount, unit = content.get("amount"), _UNIT.fullmatch(str(content.get("unit", "")))
    if not isinstance(amount, str) or not amount.strip():
        return None
    amount = amount.strip().removeprefix("+")
    return ("quantity", amount, unit[1]) if unit else amount


def _entity_id(value: Mapping[str, Any]) -> str:
    """Return the id of an entity; older dumps give only its kind and number."""
    if isinstance(value.get("id"), str):
        return str(value["id"])
    kind, number = _KINDS.get(str(value.get("entity-type"))), value.get("numeric-id")
    return f"{kind}{number}" if kind and isinstance(number, int) else ""


_FORMS = (
    "a list of triples (lists, or objects with source, relation and target), nodes with links or edges (networkx, "
    "Cytoscape, D3), results of SPARQL, a dump of Wikidata, or JSON-LD"
)
_EDGES = ("links", "edges", "relationships", "relations")
_TRIPLES = ("triples", "graph", "data", *_EDGES)
_NESTED = ("data", "attributes", "properties", "metadata")
_SOURCES, _TARGETS = ("source", "from", "start"), ("target", "to", "end")


def read_json(path: Path, into: Statements, settings: KgSettings) -> None:
    """Read a file; InputError if its form is unknown."""
    if _is_dump(path):
        read_wikidata(path, into, settings)
        return
    try:
        with opened(path) as stream:
            content = json.loads(decoded(stream.read()))
    except ValueError as error:
        if str(error).startswith("Extra data: line 2"):
            read_jsonl(path, into, settings)
            return
        raise InputError(f"it is not JSON: {error}") from error
    if isinstance(content, dict) and content.keys() & {"@context", "@graph", "@id"}:
        read_rdf(path, into, settings)
    elif graph := _nodes_and_edges(content):
        read_nodes_and_edges(graph, path, into)
    else:
        rows = _rows(content)
        if not rows:
            raise InputError(f"its form is unknown; {_FORMS} can be read")
        records = Records(path, into)
        for place, row in enumerate(rows):
            records.take(f"{path.name}#{place}", row)


def read_jsonl(path: Path, into: Statements, _settings: KgSettings) -> None:
    """Read lines of triples, edges or nodes, or of objects whose `graph` is a list of triples."""
    records = Records(path, into)
    for item, row in _json_lines(path, into):
        for each in (_rows(row) if isinstance(row, dict) else []) or [row]:
            records.take(item, each if isinstance(each, list) else _flat(each))


def _json_lines(path: Path, into: Statements) -> Iterator[tuple[str, Any]]:
    """Yield the value on each line of a file with its place; the lines may be those of an array."""
    for number, line in lines_of(path):
        text = line.strip().removesuffix(b",").strip()
        if text not in (b"", b"[", b"]"):
            try:
                yield f"{path.name}:{number}", json.loads(text)
            except (ValueError, RecursionError) as error:
                into.fail(f"{path.name}:{number}", "not JSON", str(error))


def _is_dump(path: Path) -> bool:
    """Return whether the first line with more than a bracket is an entity of Wikidata."""
    for _, line in lines_of(path):
        text = line.strip().removesuffix(b",")
        if text not in (b"", b"["):
            try:
                first = json.loads(text)
            except ValueError:
                return False
            return "id" in mapping(first) and ("claims" in first or isinstance(first.get("labels"), dict))
    return False


def _rows(content: object) -> list[Any]:
    """Return the rows of a list, or of a list in an object."""
    if isinstance(content, list):
        return [_flat(row) for row in content]
    if not isinstance(content, dict):
        return []
    results = content.get("results")
    if isinstance(results, dict) and isinstance(results.get("bindings"), list):
        return [
            _flat({name: mapping(cell).get("value") for name, cell in mapping(row).items()})
            for row in results["bindings"]
        ]
    return next(
        (_rows(content[key]) for key in _TRIPLES if isinstance(content.get(key), list | dict) and content[key]), []
    )


def _flat(row: object) -> Any:  # noqa: ANN401  (any JSON)
    """Return an object with the fields of the objects in it, and the ids of those that are its ends."""
    if not isinstance(row, dict):
        return row
    flat = {key: mapping(value).get("id", value) for key, value in row.items() if key not in _NESTED}
    if flat.get("type") in {"node", "relationship"}:  # Neo4j
        del flat["type"]
    for key in _NESTED:
        if isinstance(row.get(key), dict):
            flat |= row[key]
        elif key in row:
            flat[key] = row[key]
    return flat


def _nodes_and_edges(content: object) -> NodesAndEdges | None:
    """Return the nodes and edges of a file, None if it has none."""
    if isinstance(content, list) and content and all("group" in mapping(each) for each in content):
        groups = {name: [each for each in content if each["group"] == name] for name in ("nodes", "edges")}
        return _nodes_and_edges(groups)
    whole = mapping(content)
    if not whole:
        return None
    for key in ("elements", "graph"):
        if found := _nodes_and_edges(whole.get(key)):
            return found
    nodes = whole.get("nodes")
    if isinstance(nodes, dict):  # JSON Graph Format
        nodes = [{"id": id_, **mapping(node)} for id_, node in nodes.items()]
    links = next((whole[key] for key in _EDGES if isinstance(whole.get(key), list)), None)
    adjacency = whole.get("adjacency")
    if not isinstance(nodes, list) or not nodes or not isinstance(adjacency if links is None else links, list):
        return None
    flat = [_flat(node) if isinstance(node, dict) else {"id": node} for node in nodes]
    ids = [
        text_of_value(next((node[key] for key in ("id", "key", "name", "label") if key in node), "")) for node in flat
    ]
    items = [
        Item(id_, "", "", place, _texts(node, ("id", "key")))
        for place, (id_, node) in enumerate(zip(ids, flat, strict=True))
    ]
    edges = list(_adjacent(adjacency, ids) if links is None else map(_flat, links))
    known = set(ids)
    return NodesAndEdges(
        items,
        [_edge(edge, place, ids, known) for place, edge in enumerate(edges)],
        whole.get("directed", True) is not False,
    )


def _adjacent(lists: Any, ids: list[str]) -> Iterator[dict[str, Any]]:  # noqa: ANN401  (any JSON)
    """Yield the edges of networkx's adjacency data."""
    for source, targets in zip(ids, lists, strict=False):
        for target in targets if isinstance(targets, list) else ():
            yield {**mapping(target), "source": source, "target": mapping(target).get("id")}


def _edge(edge: Any, place: int, ids: list[str], known: set[str]) -> Item:  # noqa: ANN401  (any JSON)
    """Return an edge. Its ends are ids, or numbers of nodes as D3 has them."""
    told = mapping(edge)
    ends = [next((told[key] for key in keys if key in told), "") for keys in (_SOURCES, _TARGETS)]
    source, target = (
        ids[end] if isinstance(end, int) and str(end) not in known and 0 <= end < len(ids) else text_of_value(end)
        for end in ends
    )
    return Item(
        text_of_value(told.get("id", "")), source, target, place, _texts(told, ("id", "key", *_SOURCES, *_TARGETS))
    )


def _texts(fields: Mapping[str, Any], without: tuple[str, ...]) -> dict[str, str]:
    """Return the attributes of a node or an edge as texts."""
    return {key: text_of_value(value) for key, value in fields.items() if key not in without}


READERS: dict[str, Callable[[Path, Statements, KgSettings], None]] = {
    **dict.fromkeys((".tsv", ".csv", ".txt", ".tab"), read_table),
    **dict.fromkeys(FORMATS, read_rdf),
    **dict.fromkeys((".jsonl", ".ndjson"), read_jsonl),
    ".json": read_json,
    **dict.fromkeys(NETWORKS, read_network),
}
_UNKNOWN = f"a graph is read from {' '.join(READERS)}, each also .gz or .bz2"
_IN_MEMORY = 16 << 20
"""Bytes of labels that stay in memory before they are written to a file."""


def read_graph(settings: KgSettings, limits: InputSettings | None = None) -> ImportedGraph | None:
    """Read the files of a knowledge graph as one graph; None if the settings name no files.

    Lines that are not a triple are among its failures, and so is a file of an unknown format among others. `limits` are
    those of time and memory for a file.

    Raises:
        InputError: A file cannot be read, or the files contain no triple and no thing.
    """
    if not settings.files:
        return None
    with SpooledTemporaryFile(_IN_MEMORY, mode="w+", encoding="utf-8", newline="\n") as label_file:
        into = GraphBuilder(label_file)
        with file_reader(limits or InputSettings(), settings) as read:
            for path in sorted(map(Path, settings.files), key=lambda file: (file.name, str(file))):
                if suffix_of(path) not in READERS and len(settings.files) > 1:
                    into.fail(path.name, "not a file of a graph", _UNKNOWN)
                    continue
                for statement in cast("Iterator[list[Any] | Lost]", read([path])):
                    if isinstance(statement, Lost):
                        why = ": ".join(filter(None, (statement.reason, statement.detail)))
                        told = why.startswith(str(path.absolute()))
                        raise InputError(why if told else f"{path} cannot be read: {why}")
                    into.take(statement)
        for path in map(Path, settings.labels):
            read_labels(path, Statements(into.take))
        graph = into.graph()
    if not graph.names:
        first = f", the first line {into.failures[0].item_id}: {into.failures[0].reason}" if into.failures else ""
        raise InputError(f"no triple could be read from {', '.join(settings.files)}{first}")
    return graph


def read_statements(path: Path, settings: KgSettings, send: Callable[[Any], None]) -> None:
    """Send the statements of a file; InputError if it cannot be read, or has an unknown suffix."""
    reader = READERS.get(suffix_of(path))
    if reader is None:
        raise InputError(f"{path}: {_UNKNOWN}")
    reader(path, Statements(send), settings)
