"""What is exported and read back is what was there, as far as a format has room for it."""

import tempfile
from pathlib import Path

from conspectus.pipelines.exchange.graphml_export import write_graphml
from conspectus.pipelines.exchange.ntriples_export import write_ntriples
from conspectus.pipelines.steps.join_graph import origins
from conspectus.storage.records import Entity, Relation
from hypothesis import given
from hypothesis import strategies as st

from tests.pipelines.exchange.made import graph_of, graphs, index_of, known

Rows = tuple[list[Entity], list[Relation]]
_ANY = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"], exclude_characters="\0\r"), max_size=20)


@given(graphs())
def test_a_graph_comes_back_from_graphml(rows: Rows) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "g.graphml")
        write_graphml(index_of(*rows), file)
        found = graph_of(file)
    assert found.failures == []
    assert (known(found).entities, known(found).relations) == rows
    assert {each.item_id for each in origins(found, known(found))} == {each.id for each in (*rows[0], *rows[1])}


@given(graphs(_ANY))
def test_a_graph_comes_back_from_ntriples_whatever_signs_it_has(rows: Rows) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "g.nt")
        write_ntriples(index_of(*rows), file)
        found = graph_of(file)
    assert found.failures == []
    assert (known(found).entities, known(found).relations) == rows
    assert {each.item_id for each in origins(found, known(found))} == {each.id for each in (*rows[0], *rows[1])}
