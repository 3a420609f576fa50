"""Give the graph of an index to networkx and igraph, and export it as GraphML and GEXF.

`conspectus index --kg` reads both files. Lists are JSON in them, and characters that XML cannot contain (most control
characters) become U+FFFD.
"""

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conspectus.pipelines.exchange.export_result import OF_EDGES, OF_NODES, ExportResult, columns, communities_of
from conspectus.storage.errors import MissingPart
from conspectus.storage.index import StoredIndex
from conspectus.storage.records import Entity, Relation

if TYPE_CHECKING:
    import igraph
    import networkx as nx

_UNWRITABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""A character that XML 1.0 does not allow."""
_DATE = re.compile(' lastmodifieddate="[^"]*"')


def network(index: StoredIndex) -> "nx.MultiDiGraph":
    """Return the graph of an index: a node for each entity by its id, a directed edge for each relation by its id.

    The attributes are our columns, and the community of each level as `c0`, `c1`, ...; `label` is a node's name and an
    edge's predicate.
    """
    import networkx as nx

    graph = nx.MultiDiGraph()
    levels = communities_of(index)
    for entity in index.rows(Entity):
        graph.add_node(entity.id, label=entity.name, **columns(entity, *OF_NODES), **levels.get(entity.id, {}))
    for relation in index.rows(Relation):
        told = columns(relation, *OF_EDGES)
        graph.add_edge(relation.source_id, relation.target_id, relation.id, label=relation.predicate, **told)
    return graph


def igraph_of(graph: "nx.MultiDiGraph") -> "igraph.Graph":
    """Return a graph of networkx as one of igraph.

    Raises:
        MissingPart: igraph is not installed.
    """
    try:
        import igraph
    except ImportError as error:
        raise MissingPart("igraph is not installed: pip install 'conspectus[igraph]'") from error
    return igraph.Graph.from_networkx(graph, vertex_attr_hashable="id")


def write_graphml(index: StoredIndex, to: Path) -> ExportResult:
    """Write entities as nodes and relations as directed edges of a GraphML file."""
    import networkx as nx

    graph, result = _writable(index, to)
    with to.open("wb") as stream:
        nx.write_graphml(graph, stream)
    return result


def write_gexf(index: StoredIndex, to: Path) -> ExportResult:
    """Write entities as nodes and relations as directed edges of a GEXF file, for Gephi."""
    import networkx as nx

    graph, result = _writable(index, to)
    with to.open("w", encoding="utf-8", newline="\n") as stream:
        stream.write('<?xml version="1.0" encoding="UTF-8"?>\n')
        stream.writelines(f"{_DATE.sub('', line)}\n" for line in nx.generate_gexf(graph))
    return result


def _writable(index: StoredIndex, to: Path) -> "tuple[nx.MultiDiGraph, ExportResult]":
    """Return the graph with attributes that XML can contain, and the result of writing it."""
    graph = network(index)
    edges = [told for _, _, told in graph.edges(data=True)]
    lost = sum([_make_writable(told) for told in (*graph.nodes.values(), *edges)])
    notes = (f"{lost:,} rows contain characters that XML cannot contain; these are U+FFFD now",) if lost else ()
    return graph, ExportResult((to,), {"entities": len(graph), "relations": len(edges)}, notes)


def _make_writable(told: dict[str, Any]) -> bool:
    """Make lists JSON, drop what is missing, and return whether a text had characters that XML cannot contain."""
    lost = False
    for key, value in list(told.items()):
        text = json.dumps(value, ensure_ascii=False) if isinstance(value, list) else value
        if text is None or text == "":
            del told[key]
        elif isinstance(text, str):
            told[key] = _UNWRITABLE.sub("\ufffd", text)
            lost |= told[key] != text
    return lost
