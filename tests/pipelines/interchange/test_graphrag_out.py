"""What comes in goes out again: rows of GraphRAG's tables become ours, and give themselves back."""

from dataclasses import fields, replace

import pytest
from hypothesis import given, settings

from pipelines.interchange.graphrag_out import NO_DATE, Contents, rows_of
from pipelines.interchange.graphrag_rows import OURS, TABLES, CommunityRow, EntityRow, Tables
from storage.errors import IndexCorrupt
from storage.records import Community, Entity, Origin
from tests.pipelines.interchange.graphrag_tables import any_tables, given_back, judged, small


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


if __name__ == "__main__":
    pytest.main([__file__])
