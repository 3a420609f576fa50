"""Index verification: checksums, ids, references, spans and row counts."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from conspectus.storage.errors import IndexCorrupt
from conspectus.storage.index import StoredIndex
from conspectus.storage.manifest import MANIFEST, damaged_files
from conspectus.storage.publishing import version_name
from conspectus.storage.records import (
    Chunk,
    Claim,
    Community,
    DatedFact,
    Document,
    Entity,
    Link,
    LinkKind,
    Mention,
    Name,
    Relation,
    Report,
    Synonym,
)
from conspectus.storage.sql_engine import Engine
from conspectus.storage.tables import TABLES, schema

_SQL = Path(__file__).with_suffix(".sql")


@dataclass(frozen=True, slots=True)
class Problem:
    """A failed check and its location."""

    where: str
    what: str


def verify(index: StoredIndex) -> list[Problem]:
    """Return every problem found; empty for a valid index.

    An index is valid if each file has its checksum and there are no other files; the version's name matches its
    content; every table has its schema and the manifest's row count, is sorted by id and has no duplicate ids; every
    referenced id exists; every span is inside its document and has the recorded text; the places of a document are
    sorted and inside its text; each level of the hierarchy partitions the entities; vectors, lexical index and graph
    have one row for each row of their tables.
    """
    damaged = [
        Problem(name, "missing or not what its checksum says") for name in damaged_files(index.root, index.manifest)
    ]
    if version_name(index.manifest.settings, index.manifest.files) != index.manifest.version:
        damaged.append(Problem(MANIFEST, "settings or checksums are not those that the version is named after"))
    known = {*index.manifest.files, MANIFEST}
    strangers = [
        Problem(path.relative_to(index.folder).as_posix(), "not named in the manifest")
        for path in sorted(index.folder.rglob("*"))
        if path.is_file() and path.relative_to(index.folder).as_posix() not in known
    ]
    if damaged:
        return damaged + strangers  # damaged files are not parsed
    problems = strangers
    for check in (_tables, _arrays):
        try:
            problems += check(index)
        except IndexCorrupt as error:
            problems.append(Problem(check.__name__.strip("_"), str(error)))
    return problems


def _tables(index: StoredIndex) -> Iterator[Problem]:
    import pyarrow as pa
    from pyarrow import compute

    with Engine() as engine:
        for name, record in TABLES.items():
            table = index.arrow(record)
            engine.show(name, table)
            if len(table) != index.manifest.rows.get(name, 0):
                yield Problem(name, f"{len(table)} rows; the manifest counts {index.manifest.rows.get(name, 0)}")
            ids = table["id"] if "id" in table.column_names else pa.chunked_array([[]], pa.string())
            if compute.any(compute.greater_equal(ids[: max(len(ids) - 1, 0)], ids[1:])).as_py():
                yield Problem(name, "ids are not sorted, or one stands twice")
        with_ids = [name for name, record in TABLES.items() if "id" in schema(record).names]
        engine.show("tables", pa.table({"name": list(TABLES)}))
        engine.show("kinds", pa.table({"kind": get_args(LinkKind)}))
        ids_of = (f"SELECT '{name}' AS name, id FROM {name}" for name in with_ids)  # noqa: S608  (our own tables)
        engine.run(f"CREATE VIEW ids AS {_union(ids_of)}")
        engine.run(f"CREATE VIEW missing AS {_union(map(_missing, _REFERENCES))}")
        engine.run(_SQL)
        rows = engine.table("SELECT place, what FROM problems").to_pylist()
    yield from (Problem(row["place"], row["what"]) for row in rows)


def _union(queries: Iterable[str]) -> str:
    return " UNION ALL ".join(queries)


def _missing(reference: tuple[type, type, tuple[str, ...]]) -> str:
    """Return the query for the ids in some columns that are of no row."""
    record, target, columns = reference
    name, what, among = StoredIndex.table_name(record), target.__name__.lower(), StoredIndex.table_name(target)
    key = "id" if "id" in schema(record).names else "source_id"
    return _union(
        f"SELECT '{name} ' || key AS place, 'names {what} ' || id || ', which does not exist' AS what "  # noqa: S608
        f"FROM (SELECT {key} AS key, {f'unnest({column})' if column.endswith('_ids') else column} AS id FROM {name}) "
        f"WHERE id IS NOT NULL AND id NOT IN (SELECT id FROM {among})"
        for column in columns
    )


_REFERENCES: tuple[tuple[type, type, tuple[str, ...]], ...] = (
    (Chunk, Document, ("document_id",)),
    (Link, Chunk, ("source_id", "target_id")),
    (Mention, Chunk, ("chunk_id",)),
    (Mention, Entity, ("entity_id",)),
    (Mention, Relation, ("relation_id",)),
    (Relation, Entity, ("source_id", "target_id")),
    (Relation, Chunk, ("chunk_ids",)),
    (Name, Chunk, ("chunk_ids",)),
    (Claim, Entity, ("subject_id", "object_id")),
    (Claim, Chunk, ("chunk_id",)),
    (DatedFact, Relation, ("relation_id",)),
    (DatedFact, Claim, ("claim_id",)),
    (DatedFact, Chunk, ("chunk_id",)),
    (Synonym, Entity, ("source_id", "target_id")),
    (Community, Community, ("parent_id", "same_as")),
    (Community, Entity, ("entity_ids",)),
    (Community, Relation, ("relation_ids",)),
    (Community, Chunk, ("chunk_ids",)),
    (Report, Community, ("community_id",)),
)
"""The columns of each table with ids of rows of another one, or lists of them."""


def _arrays(index: StoredIndex) -> Iterator[Problem]:
    for name in ("chunks", "entities", "relations", "reports", "predicates"):
        index.vectors(name)  # IndexCorrupt if they belong to other rows
    predicates = len(index.arrow(Relation, "predicate").column("predicate").unique())
    if index.manifest.rows.get("predicates") != predicates:
        yield Problem("vectors/predicates", f"for {index.manifest.rows.get('predicates')}; there are {predicates}")
    index.lexical().check_rows()  # IndexCorrupt if it belongs to other rows
    nodes = index.manifest.rows["chunks"] + index.manifest.rows["entities"]
    if index.graph().n_nodes != nodes:
        yield Problem("graph", f"{index.graph().n_nodes} nodes; chunks and entities are {nodes}")
