"""Export the graph of an index as statements of Cypher, to a file or to a running Neo4j (or another server of Bolt).

Nodes and relations are merged by our ids, so that running a file again changes nothing. Each node and relation on a
server has a property `digest` of what was sent of it, so a later push sends only what differs, and deletes what an
earlier push made and the index no longer has. Nothing else in the database changes: other nodes, and other properties
and labels of our nodes, stay. A push that is cut off is completed by the next.
"""

import json
import logging
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO
from urllib.parse import urlsplit

from conspectus.pipelines.exchange.exports import OF_EDGES, OF_NODES, ExportResult, columns, communities_of
from conspectus.storage.errors import MissingPart, UsageError
from conspectus.storage.hashing import short_id
from conspectus.storage.index import StoredIndex
from conspectus.storage.records import Entity, Relation

if TYPE_CHECKING:
    import neo4j

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


_SCHEMES = tuple(f"{name}{tls}" for name in ("bolt", "neo4j") for tls in ("", "+s", "+ssc"))
_NODES = """MATCH (n:Entity) WHERE n.digest IS NOT NULL
RETURN n.id AS id, n.digest AS digest, n.types AS types, keys(n) AS keys"""
_EDGES = """MATCH (a:Entity)-[r]->(b:Entity) WHERE r.digest IS NOT NULL
RETURN r.id AS id, r.digest AS digest, a.id AS source, b.id AS target, type(r) AS label"""
_DELETE_NODES = "MATCH (n:Entity {id: row.id}) DETACH DELETE n"
_DELETE_EDGES = "MATCH (:Entity {id: row.source})-[r {id: row.id}]->(:Entity {id: row.target}) DELETE r"
_EACH = "UNWIND $rows AS row "
_LEVEL = re.compile(r"c\d+")
"""The property with the community of a level."""

_Merges = Iterable[tuple[str, list[Row]]]
_Held = Mapping[str, Mapping[str, Any]]


def push(index: StoredIndex, url: str, *, force: bool = False) -> ExportResult:
    """Make a database hold the graph of an index, by sending the difference.

    The user and the password are the variables NEO4J_USERNAME (`neo4j` if there is none) and NEO4J_PASSWORD.

    Args:
        index: The index.
        url: bolt://HOST:PORT/DATABASE, or neo4j://..., with +s for TLS; without a database, the user's own.
        force: Replace a graph most of which this index lacks.

    Returns:
        The numbers of entities and relations, and of those that were sent and deleted.

    Raises:
        UsageError: It is no such address, the server cannot be reached or refuses, or the database holds the graph of
            another index.
        MissingPart: The driver is not installed.
    """
    with _session(url) as session:
        session.run(CONSTRAINT).consume()
        held = {row["id"]: row.data() for row in session.run(_NODES)}
        stated = {row["id"]: row.data() for row in session.run(_EDGES)}
        entities, new_entities = _difference(nodes(index), held)
        gone = [{"id": id_} for id_ in held if id_ not in entities]
        if 2 * len(gone) > len(held) and not force:
            raise UsageError(
                f"the database holds {len(held):,} entities, {len(gone):,} of which this index lacks: it is another "
                "index's graph. --force replaces it; /NAME at the end of the address names another database"
            )
        relations, new_relations = _difference(edges(index), stated)
        changed = {row["id"]: (statement, row) for statement, rows in new_relations for row in rows}
        moved = {id_ for id_ in changed.keys() & stated if _is_moved(stated[id_], *changed[id_])}
        lost = [row for id_, row in stated.items() if id_ in moved or id_ not in relations]
        _send(session, _DELETE_EDGES, lost)
        _send(session, _DELETE_NODES, gone)
        for label, rows in _old_labels(new_entities, held).items():
            _send(session, f"MATCH (n:Entity {{id: row.id}}) REMOVE n:`{label}`", rows)
        for statement, rows in new_entities:
            _send(session, MERGE, rows)
            _send(session, f"{statement}, n.digest = row.digest", rows)
        for statement, rows in new_relations:
            _send(session, f"{statement}, r.digest = row.digest", rows)
    counts = {
        "entities": len(entities),
        "relations": len(relations),
        "sent entities": sum(len(rows) for _, rows in new_entities),
        "sent relations": len(changed),
        "deleted entities": len(gone),
        "deleted relations": len(stated.keys() - relations),
    }
    return ExportResult((), counts)


def _difference(merges: _Merges, held: _Held) -> tuple[set[str], list[tuple[str, list[Row]]]]:
    """Return the ids of all rows, and the rows that differ from those held, with their new digest."""
    ids, found = set(), []
    for statement, rows in merges:
        new = []
        for row in rows:
            ids.add(row["id"])
            digest = short_id(statement, json.dumps(row, sort_keys=True))
            before = held.get(row["id"], {})
            if before.get("digest") != digest:
                levels = {key: None for key in before.get("keys", ()) if _LEVEL.fullmatch(key)}
                new.append({**row, "told": {**levels, **row["told"]}, "digest": digest})
        found.append((statement, new))
    return ids, found


def _is_moved(before: Mapping[str, Any], statement: str, row: Row) -> bool:
    """Return whether a relation gets another type or another end: it cannot be changed then, only replaced."""
    kept = (before["source"], before["target"]) == (row["source"], row["target"])
    return not kept or f"[r:`{before['label']}` " not in statement


def _old_labels(merges: _Merges, held: _Held) -> dict[str, list[Row]]:
    """Return the labels of earlier types, and the nodes that lose them."""
    lost = defaultdict(list)
    for _, rows in merges:
        for row in rows:
            before = labels_of(held.get(row["id"], {}).get("types") or ())
            for label in set(before).difference(labels_of(row["told"]["types"])):
                lost[label].append({"id": row["id"]})
    return lost


def _send(session: "neo4j.Session", statement: str, rows: Iterable[Row]) -> None:
    for block in batches(rows):
        # A transaction each, which the driver sends again where the server is busy or its leader changes.
        session.execute_write(lambda work, rows: work.run(_EACH + statement, rows=rows).consume(), block)


@contextmanager
def _session(url: str) -> "Iterator[neo4j.Session]":
    try:
        import neo4j
    except ImportError as error:
        raise MissingPart("sending a graph needs the driver: pip install 'conspectus[neo4j]'") from error
    # Neo4j warns of property keys that are new to a database; without a handler this would be printed.
    logging.getLogger("neo4j.notifications").addHandler(logging.NullHandler())
    parts = urlsplit(url)
    if parts.scheme not in _SCHEMES or not parts.hostname or parts.username or parts.password:
        raise UsageError(
            f"a database is bolt://HOST:PORT/NAME or neo4j://..., without a user or password; not {parts.scheme or url}"
        )
    password = os.environ.get("NEO4J_PASSWORD", "")
    user = (os.environ.get("NEO4J_USERNAME") or "neo4j", password) if password else None
    address = parts._replace(path="").geturl()
    try:
        with (
            neo4j.GraphDatabase.driver(address, auth=user, telemetry_disabled=True) as driver,
            driver.session(database=parts.path.strip("/") or None) as session,
        ):
            yield session
    except (neo4j.exceptions.DriverError, neo4j.exceptions.Neo4jError) as error:
        told = " ".join(str(error).split())[:300]
        raise UsageError(f"{parts.hostname}: {told} (NEO4J_USERNAME and NEO4J_PASSWORD name the user)") from error
