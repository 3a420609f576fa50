"""Read triples from JSON: lists of triples or edges, nodes with edges, results of SPARQL, dumps of Wikidata, JSON-LD.

Nodes with edges are what networkx (node-link and adjacency data), Cytoscape, D3, graphology and Neo4j write.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from conspectus.pipelines.exchange.kg.nodes_and_edges import Item, NodesAndEdges, read_nodes_and_edges, text_of_value
from conspectus.pipelines.exchange.kg.rdf import read_rdf
from conspectus.pipelines.exchange.kg.statements import Statements, lines_of, opened
from conspectus.pipelines.exchange.kg.tables import Records
from conspectus.pipelines.exchange.kg.wikidata import read_wikidata
from conspectus.pipelines.readers.encodings import decoded
from conspectus.pipelines.readers.rows import mapping
from conspectus.storage.errors import InputError
from conspectus.storage.settings import KgSettings

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
    for number, line in lines_of(path):
        if not line.strip():
            continue
        item = f"{path.name}:{number}"
        try:
            row = json.loads(line)
        except ValueError as error:
            into.fail(item, "not JSON", str(error))
            continue
        for each in (_rows(row) if isinstance(row, dict) else []) or [row]:
            records.take(item, each if isinstance(each, list) else _flat(each))


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
