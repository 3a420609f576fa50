"""Export the graph of an index as statements of Cypher, for Neo4j and other databases that read it.

Running the file again changes nothing: nodes and relations are merged by our ids. `neo4j_push.py` sends the same
statements to a server.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

from conspectus.pipelines.exchange.export_result import OF_EDGES, OF_NODES, ExportResult, columns, communities_of
from conspectus.storage.index import StoredIndex
from conspectus.storage.records import Entity, Relation

Row = dict[str, Any]
CONSTRAINT = "CREATE CONSTRAINT entity_id IF NOT EXISTS FOR (n:Entity) REQUIRE n.id IS UNIQUE"
"""Makes ids unique, and an index over them."""
MERGE = "MERGE (n:Entity {id: row.id}) SET n += row.told"
"""Merges nodes. Their labels come later: ArcadeDB cannot give one to a node that is new in the same transaction."""
BATCH = 500
"""Rows that one statement merges."""


def write_cypher(index: StoredIndex, to: Path) -> ExportResult:
    """Write entities as nodes with the labels Entity and their types, and relations with the predicate as their type.

    Types and predicates are written in capitals with `_` for other signs; the predicate itself is a property.
    """
    with to.open("w", encoding="utf-8", newline="\n") as stream:
        stream.write(f"{CONSTRAINT};\n")
        for statement, rows in nodes(index):
            _unwind(stream, rows, MERGE)
            _unwind(stream, ({"id": row["id"]} for row in rows), statement)
        for statement, rows in edges(index):
            _unwind(stream, rows, statement)
    return ExportResult((to,), {"entities": len(index.rows(Entity)), "relations": len(index.rows(Relation))})


def nodes(index: StoredIndex) -> Iterator[tuple[str, list[Row]]]:
    """Yield a statement that labels nodes for each combination of types, and the rows of `MERGE`."""
    levels = communities_of(index)
    for labels, several in _grouped((labels_of(entity.types), entity) for entity in index.rows(Entity)):
        told = (columns(each, "id", *OF_NODES) | levels.get(each.id, {}) for each in several)
        marks = "".join(f":`{label}`" for label in labels)
        yield (
            f"MATCH (n:Entity {{id: row.id}}) SET n:Entity{marks}",
            [{"id": each["id"], "told": each} for each in told],
        )


def edges(index: StoredIndex) -> Iterator[tuple[str, list[Row]]]:
    """Yield a statement for each predicate, and the rows that it merges as relations."""
    for label, several in _grouped((label_of(relation.predicate), relation) for relation in index.rows(Relation)):
        rows = [
            {"source": each.source_id, "target": each.target_id, "id": each.id, "told": columns(each, *OF_EDGES)}
            for each in several
        ]
        yield (
            (
                "MATCH (a:Entity {id: row.source}), (b:Entity {id: row.target}) "
                f"MERGE (a)-[r:`{label}` {{id: row.id}}]->(b) SET r += row.told"
            ),
            rows,
        )


def _grouped(rows: Iterable[tuple[Any, Any]]) -> Iterator[tuple[Any, list[Any]]]:
    """Yield the records of each key, both sorted."""
    groups = defaultdict(list)
    for key, record in rows:
        groups[key].append(record)
    yield from sorted(groups.items())


def batches(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Yield the rows that one statement merges together."""
    left = iter(rows)
    while block := list(islice(left, BATCH)):
        yield block


def _unwind(stream: TextIO, rows: Iterable[Row], statement: str) -> None:
    for block in batches(rows):
        rows_of_block = ",\n".join(map(_cypher, block))
        stream.write(f"UNWIND [\n{rows_of_block}\n] AS row\n{statement};\n")


def labels_of(types: Iterable[str]) -> tuple[str, ...]:
    """Return the labels of some types, sorted; a type without letters and digits has none."""
    return tuple(sorted({label_of(kind, "") for kind in types} - {""}))


def label_of(text: str, otherwise: str = "RELATED") -> str:
    """Return the name of a label or of a type of relations.

    >>> label_of("born in"), label_of("`) DETACH DELETE n //"), label_of("")
    ('BORN_IN', 'DETACH_DELETE_N', 'RELATED')
    """
    return re.sub(r"\W+", "_", text).strip("_").upper() or otherwise


def _cypher(value: object) -> str:
    """Return a literal of Cypher: that of JSON, but for the keys of maps."""
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key}: {_cypher(each)}' for key, each in value.items())}}}"
    return json.dumps(value, ensure_ascii=False)
