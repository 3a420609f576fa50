"""An index as GraphRAG's tables: what is imported, exported and imported again is the same index."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow.parquet as pq
import pytest
from conspectus.pipelines.exchange.graphrag.exporter import NO_DATE, graphrag_rows, write_graphrag
from conspectus.pipelines.exchange.graphrag.importer import read_graphrag
from conspectus.pipelines.exchange.graphrag.schema import TABLES, Tables, arrow_table
from conspectus.storage.index import StoredIndex
from conspectus.storage.records import Chunk, Claim, Community, Document, Entity, Mention, Relation, Report
from hypothesis import given

from tests.pipelines.exchange.graphrag_tables import EXCERPT, any_tables, exported, imported_index, small
from tests.pipelines.exchange.made import index_of


def check_same(first: StoredIndex, second: StoredIndex) -> None:
    """Compare two indexes as far as GraphRAG has columns for what the first contains."""
    assert documents(second) == documents(first)
    for record in (Chunk, Mention, Claim):
        assert second.rows(record) == first.rows(record), record
    assert second.rows(Entity) == [replace(entity, types=entity.types[:1]) for entity in first.rows(Entity)]
    assert relations(second) == relations(first)
    assert groups(second) == groups(first)
    assert reports(second) == reports(first)


def documents(index: StoredIndex) -> list[Document]:
    """Return the documents without metadata: what repeats the text of its document is not imported as metadata."""
    return [replace(document, metadata={}) for document in index.rows(Document)]


def relations(index: StoredIndex) -> list[Relation]:
    """Return the relations but for how often they were stated, which is known only by their text units."""
    return [replace(relation, weight=0.0, strength=None) for relation in index.rows(Relation)]


def groups(index: StoredIndex) -> set[tuple[str, ...]]:
    """Return the communities of several entities by their members."""
    return {community.entity_ids for community in index.rows(Community) if community.size > 1}


def reports(index: StoredIndex) -> Counter[Sequence[object]]:
    """Return the reports by what they say about whom; their citations become those of whole chunks."""
    members = {community.id: community.entity_ids for community in index.rows(Community)}
    return Counter(
        (
            members[report.community_id],
            report.title,
            report.summary,
            report.rating,
            report.full_text,
            tuple((finding.summary, finding.explanation) for finding in report.findings),
        )
        for report in index.rows(Report)
    )


@given(any_tables())
def test_what_is_imported_comes_back(tables: Tables) -> None:
    first = imported_index(tables)
    with TemporaryDirectory() as folder:
        check_same(first, imported_index(exported(first, Path(folder))))


@pytest.mark.parametrize("tables", [small(), read_graphrag(EXCERPT).tables], ids=["small", "excerpt"])
def test_a_sound_index_comes_back_with_its_citations(tables: Tables, tmp_path: Path) -> None:
    first = imported_index(tables)
    second = imported_index(exported(first, tmp_path))
    check_same(first, second)
    assert second.rows(Document) == first.rows(Document)
    weights = [[relation.weight for relation in index.rows(Relation)] for index in (first, second)]
    strengths = [[relation.strength or 1.0 for relation in index.rows(Relation)] for index in (first, second)]
    assert (weights[1], strengths[1]) == (weights[0], pytest.approx(strengths[0]))
    for before, after in zip(first.rows(Report), second.rows(Report), strict=True):
        for one, other in zip(before.findings, after.findings, strict=True):
            assert {span.chunk_id for span in one.citations} == {span.chunk_id for span in other.citations}


def test_columns_and_types_are_those_of_graphrag() -> None:
    for name, record in TABLES.items():
        assert arrow_table(name, []).column_names == [column.name for column in fields(record)]
        theirs = pq.read_schema(EXCERPT / f"{name}.parquet")
        ours = arrow_table(name, graphrag_rows(imported_index(read_graphrag(EXCERPT).tables))[name]).schema
        assert ours.equals(theirs), name


def test_communities_of_ours_are_numbered_by_level() -> None:
    def community(id_: str, level: int, parent: str | None, same_as: str | None, *members: str) -> Community:
        return Community(id_, level, parent, same_as, False, members, (), (), len(members))

    communities = [
        community("r", 0, None, None, "a", "b", "c"),
        community("s", 0, None, None, "d"),
        community("t", 1, "r", None, "a", "b"),
        community("u", 1, "r", None, "c"),
        community("v", 1, "s", "s", "d"),
        community("w", 2, "t", "t", "a", "b"),
    ]
    entities = [Entity(name, name, "", ("",), "", 0, 0) for name in "abcd"]
    rows = graphrag_rows(index_of(entities, communities=communities))["communities"]
    columns = ("community", "level", "parent", "children", "entity_ids", "period")
    assert [tuple(row[column] for column in columns) for row in rows] == [
        (0, 0, -1, [1], ("a", "b", "c"), NO_DATE),
        (1, 1, 0, [], ("a", "b"), NO_DATE),
    ]


def test_vectors_stand_under_the_ids_of_rows(sample_root: Path, tmp_path: Path) -> None:
    index = StoredIndex.open(sample_root)
    done = write_graphrag(index, tmp_path / "out")
    ids = pq.read_table(tmp_path / "out" / "entities.parquet").column("id").to_pylist()
    made = pq.read_table(tmp_path / "out" / "embeddings.entity_description.parquet")
    assert made.column("id").to_pylist() == ids
    assert done.rows["embeddings.entity_description"] == len(ids)
    vectors = np.array(made.column("embedding").to_pylist(), np.float32)
    near, rows = index.vectors("entities").search(vectors, 1)
    assert [index.rows(Entity)[int(row)].id for row in rows[:, 0]] == ids
    assert np.allclose(near, 1, atol=1e-5)
    assert {path.name for path in done.files} == {path.name for path in (tmp_path / "out").iterdir()}
    assert not (tmp_path / "out" / "covariates.parquet").exists(), "there are no claims"
    assert any("predicate" in each for each in done.notes)
