"""What comes in goes out again: rows of GraphRAG's tables become ours, and give themselves back."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from conspectus.pipelines.exchange.graphrag.export_rows import NO_DATE, rows_of
from conspectus.pipelines.exchange.graphrag.exporter import arrow_of, write_graphrag
from conspectus.pipelines.exchange.graphrag.ids import Contents
from conspectus.pipelines.exchange.graphrag.roundtrip import own_origins, titles_of
from conspectus.pipelines.exchange.graphrag.schema import CommunityRow, DocumentRow, EntityRow, Tables
from conspectus.storage.errors import IndexCorrupt
from conspectus.storage.hashing import entity_id
from conspectus.storage.index import Index
from conspectus.storage.records import Community, Entity, Mention, Origin
from hypothesis import given, settings

from tests.pipelines.exchange.graphrag_tables import any_tables, given_back, judged, small


@settings(max_examples=150, deadline=None)
@given(any_tables())
def test_every_row_is_given_back_as_it_was(tables: Tables) -> None:
    back = given_back(tables)
    for field in fields(Tables):
        assert getattr(back, field.name) == getattr(tables, field.name), field.name


def test_little_is_remembered_of_what_our_tables_say() -> None:
    _, _, told = judged(small())
    details = {each.source_id: set(each.details) for each in told.origins}
    assert details["e2"] == details["r1"] == set()
    assert "description" in details["r2"], "two rows are one relation, whose description is that of both"


def bare(**rows: list[Any]) -> Contents:
    """Return the contents of an index that has little."""
    return Contents(*(rows.get(field.name, []) for field in fields(Contents)))


ADA = Entity("a", "Ada", "person", ("person",), "She.", 0, 0)


@pytest.mark.parametrize(
    ("origin", "said"),
    [
        (Origin("o", "entities", "a", "e", 0, {"degree": "not JSON"}), "its degree cannot be read"),
        (Origin("o", "entities", "a", "e", 0, {"text_unit_ids": '{"a": 1}'}), "its text_unit_ids cannot be read"),
        (Origin("o", "entities", "gone", "e", 0, {}), "names 'gone', which does not exist"),
        (Origin("o", "names", "a", "e", 0, {}), "GraphRAG has no table for names"),
    ],
)
def test_origins_that_somebody_tampered_with_are_refused(origin: Origin, said: str) -> None:
    with pytest.raises(IndexCorrupt, match=said):
        rows_of(bare(entities=[ADA]), [origin])


def test_a_row_that_could_not_be_taken_is_all_in_its_details() -> None:
    origin = Origin("o", "entities", "", "", 3, {"title": '"X"', "degree": "2"})
    assert rows_of(bare(), [origin]) == {"o": EntityRow(None, None, "X", None, None, None, None, 2)}


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
    entities = [Entity(each, each, "", ("",), "", 0, 0) for each in "abcd"]
    contents = bare(communities=communities, entities=entities)
    origins = own_origins(contents)
    rows = [row for row in rows_of(contents, origins).values() if isinstance(row, CommunityRow)]
    told = [(each.community, each.level, each.parent, each.children, each.entity_ids, each.period) for each in rows]
    assert told == [(0, 0, -1, (1,), ("a", "b", "c"), NO_DATE), (1, 1, 0, (), ("a", "b"), NO_DATE)]


def test_a_title_is_an_entitys_own() -> None:
    key = entity_id("spider-man")
    entities = [
        Entity(entity_id("spider man"), "Spider Man", "", ("",), "", 0, 0),
        Entity(key, "Spider Man", "", ("",), "", 0, 0),
        Entity("x", "Ada", "", ("",), "", 0, 0),
    ]
    mention = Mention("m", "c", key, None, None, None, "chunk", "Spider-Man", "")
    assert titles_of(entities, [mention]) == {key: "Spider-Man", "x": "Ada (x)"}


def test_values_of_several_types_are_texts() -> None:
    def row(data: dict[str, object] | None) -> DocumentRow:
        return DocumentRow("d", 0, "", "", (), "", data)

    def column(*data: dict[str, object] | None) -> list[Any]:
        return list(arrow_of(DocumentRow, [row(each) for each in data]).column("raw_data").to_pylist())

    assert column(None, {}) == [None, None]
    assert column({"year": 1}, None, {"year": 2}) == [{"year": 1}, None, {"year": 2}]
    assert column({"year": 1}, {"year": "two"}) == [{"year": "1"}, {"year": "two"}]


def test_vectors_stand_under_the_ids_of_rows(sample_root: Path, tmp_path: Path) -> None:
    index = Index.open(sample_root)
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
