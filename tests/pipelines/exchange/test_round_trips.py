"""What is exported and read back is what was there, as far as a format has room for it."""

import tempfile
from pathlib import Path

import pyoxigraph
from conspectus.pipelines.exchange.exports import write_graphml
from conspectus.pipelines.exchange.ntriples_export import write_nquads, write_ntriples
from conspectus.pipelines.steps.join_graph import origins
from conspectus.storage import rdf_terms as terms
from conspectus.storage.index import StoredIndex
from conspectus.storage.records import Entity, Relation
from hypothesis import given
from hypothesis import strategies as st

from tests.pipelines.exchange.made import graph_of, graphs, index_of, known, triples

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


def test_relations_are_in_the_graphs_of_their_passages(sample_root: Path, tmp_path: Path) -> None:
    index, file = StoredIndex.open(sample_root), tmp_path / "g.nq"
    done = write_nquads(index, file)
    quads = list(pyoxigraph.parse(path=str(file)))
    named = {
        (quad.subject.value, quad.object.value, quad.graph_name.value)
        for quad in quads
        if isinstance(quad.graph_name, pyoxigraph.NamedNode)
    }
    relations = index.rows(Relation)
    assert named == {
        (terms.ENTITY + each.source_id, terms.ENTITY + each.target_id, terms.CHUNK + chunk)
        for each in relations
        for chunk in each.chunk_ids
    }
    assert named
    assert (done.rows["relations"], done.rows["triples"]) == (len(relations), len(quads))
    assert len(triples(graph_of(file))) == len(relations)
