from pathlib import Path

import pytest
from conspectus.storage.errors import InputError
from conspectus.storage.settings import load_settings

from benchmarks.text_graphs import DatasetText, Edge, offline_extractor, read_texts, read_triples
from tests.conftest import write_rows

TEXTS = [
    DatasetText("a", "Marie Curie", "Marie Curie discovered polonium. She was born in Warsaw."),
    DatasetText("b", "", "Bjarne Stroustrup designed C++ at Bell Labs."),
    DatasetText("c", "Empty", "..."),
]


def test_each_text_has_the_graph_of_itself_alone() -> None:
    extract = offline_extractor(load_settings())
    graphs = extract(TEXTS)
    assert len(graphs) == 3
    names = [{each.name for each in graph.nodes} for graph in graphs]
    assert "Marie Curie" in names[0]
    assert not names[0] & names[1]
    assert any(each.source == "Marie Curie" and "discover" in each.predicate for each in graphs[0].edges)
    for graph, own in zip(graphs, names, strict=True):
        assert {end for each in graph.edges for end in (each.source, each.target)} <= own
    assert list(extract(TEXTS[1:2])) == [graphs[1]], "whatever else is extracted"
    assert list(extract([])) == []


def test_texts_are_read(tmp_path: Path) -> None:
    write_rows(tmp_path / "corpus.jsonl", [{"id": 1, "title": "T", "text": "x"}, {"id": "b", "text": "y"}])
    assert read_texts(tmp_path / "corpus.jsonl") == [DatasetText("1", "T", "x"), DatasetText("b", "", "y")]
    write_rows(tmp_path / "corpus.jsonl", [{"id": 1, "text": "x"}, {"id": 2}])
    with pytest.raises(InputError, match=r"corpus\.jsonl:2"):
        read_texts(tmp_path / "corpus.jsonl")
    with pytest.raises(InputError, match="no file"):
        read_texts(tmp_path / "nowhere.jsonl")


def test_triples_are_read_without_the_marks_of_their_vocabulary(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    write_rows(path, [{"text": "x", "triples": [["Ciudad_Ayala", "leaderTitle", '"City Manager"']]}])
    ((text, edges),) = read_triples(path)
    assert text.text == "x"
    assert edges == (Edge("Ciudad Ayala", "leaderTitle", "City Manager"),)
    for wrong in ({"text": "x"}, {"triples": [["a", "b"]]}, {"triples": "abc"}, {"triples": ["abc"]}):
        write_rows(path, [wrong])
        with pytest.raises(InputError, match=r"t\.jsonl:1"):
            read_triples(path)
