"""Export the graph of an index as statements of Cypher, for Neo4j and other databases that read it.

Running the file again changes nothing: nodes and relations are merged by our ids.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby, islice
from pathlib import Path
from typing import Any, TextIO

from conspectus.pipelines.exchange.export_result import ExportResult, columns
from conspectus.storage.index import StoredIndex
from conspectus.storage.records import Entity, Relation

_ROWS_OF_A_STATEMENT = 500


def write_cypher(index: StoredIndex, to: Path) -> ExportResult:
    """Write entities as nodes with the labels Entity and their types, and relations with the predicate as their type.

    Types and predicates are written in capitals with `_` for other signs; the predicate itself is a property.
    """
    entities, relations = index.rows(Entity), index.rows(Relation)
    with to.open("w", encoding="utf-8", newline="\n") as stream:
        stream.write("CREATE CONSTRAINT entity_id IF NOT EXISTS FOR (n:Entity) REQUIRE n.id IS UNIQUE;\n")
        for label, several in _grouped((_word(kind), entity) for entity in entities for kind in entity.types):
            rows = (columns(each, "id", "name", "description") for each in several)
            _unwind(stream, rows, f"MERGE (n:Entity {{id: row.id}}) SET n += row, n:`{label}`")
        for label, stated in _grouped((_word(relation.predicate), relation) for relation in relations):
            told = (
                {"source": each.source_id, "target": each.target_id, "id": each.id}
                | {"told": columns(each, "predicate", "description", "weight", "chunk_ids")}
                for each in stated
            )
            statement = (
                "MATCH (a:Entity {id: row.source}), (b:Entity {id: row.target}) "
                f"MERGE (a)-[r:`{label}` {{id: row.id}}]->(b) SET r += row.told"
            )
            _unwind(stream, told, statement)
    return ExportResult((to,), {"entities": len(entities), "relations": len(relations)})


def _grouped(rows: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Iterator[Any]]]:
    for label, several in groupby(sorted(rows, key=lambda row: (row[0], row[1].id)), key=lambda row: row[0]):
        yield label, (row for _, row in several)


def _unwind(stream: TextIO, rows: Iterator[Mapping[str, Any]], statement: str) -> None:
    while block := list(islice(rows, _ROWS_OF_A_STATEMENT)):
        rows_of_block = ",\n".join(map(_cypher, block))
        stream.write(f"UNWIND [\n{rows_of_block}\n] AS row\n{statement};\n")


def _word(text: str) -> str:
    """Return the name of a label or of a type of relations.

    >>> _word("born in"), _word("`) DETACH DELETE n //"), _word("")
    ('BORN_IN', 'DETACH_DELETE_N', 'RELATED')
    """
    return re.sub(r"\W+", "_", text).strip("_").upper() or "RELATED"


def _cypher(value: object) -> str:
    """Return a literal of Cypher: that of JSON, but for the keys of maps."""
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key}: {_cypher(each)}' for key, each in value.items())}}}"
    return json.dumps(value, ensure_ascii=False)
