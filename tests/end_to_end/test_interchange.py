"""Graphs of other programs in an index, and an index in other programs' formats, as a user does it."""

import json
from pathlib import Path

import conspectus as library
import networkx as nx
import pytest
from conspectus.query.menu import METHODS
from conspectus.storage.index import StoredIndex
from conspectus.storage.records import Document, Entity, Failure, Mention, Origin, Relation
from conspectus.storage.settings import load_settings
from conspectus.storage.verify import verify

from tests.command_line import conspectus

REGEX = ("--set", "extraction.pipeline=regex", "-q")
TEXT = "Ada Mirren made Grey Heron in Tarn. Ada Mirren was born in Pelluci."


@pytest.fixture
def lightrag(tmp_path: Path) -> Path:
    graph = nx.Graph()
    chunk = {"source_id": "chunk-1<SEP>chunk-2", "file_path": "films.txt"}
    graph.add_node("Ada Mirren", entity_type="person", description="A director.<SEP>She films birds.", **chunk)
    graph.add_node("Grey Heron", entity_type="film", description="A film of 1970.", **chunk)
    graph.add_node("Salt", entity_type="mineral", description="Nobody is joined with it.", **chunk)
    told = {"keywords": "direction", "description": "She directed it.", **chunk}
    graph.add_edge("Ada Mirren", "Grey Heron", weight=8.0, **told)
    file = tmp_path / "graph_chunk_entity_relation.graphml"
    nx.write_graphml(graph, file)
    return file


def build(*words: str | Path, index: str = "i") -> StoredIndex:
    done = conspectus("index", *words, "--index", index, *REGEX)
    assert done.status == 0, done.err
    opened = StoredIndex.open(index)
    assert verify(opened) == []
    return opened


def test_lightrags_graph_keeps_types_descriptions_and_weights(lightrag: Path) -> None:
    index = build("--kg", lightrag)
    entities = {each.name: each for each in index.rows(Entity)}
    assert entities.keys() == {"Ada Mirren", "Grey Heron", "Salt"}
    assert (entities["Ada Mirren"].type, entities["Ada Mirren"].description) == (
        "person",
        "A director. She films birds.",
    )
    assert (entities["Salt"].degree, entities["Salt"].description) == (0, "Nobody is joined with it.")
    (relation,) = index.rows(Relation)
    assert (relation.predicate, relation.description, relation.weight) == ("direction", "She directed it.", 8.0)
    origins = {each.item_id: each for each in index.rows(Origin)}
    assert origins[relation.id].details["source_id"] == "chunk-1<SEP>chunk-2"
    assert origins[entities["Salt"].id].source_id == "Salt"
    asked = library.open("i")
    for name, method in METHODS.items():
        if method.missing(load_settings()) is None:
            assert asked.ask("Who directed Grey Heron?", name).text, name


def test_with_documents_both_are_told_and_what_the_graph_says_can_be_kept_back(lightrag: Path, tmp_path: Path) -> None:
    (tmp_path / "films.txt").write_text(TEXT, "utf-8")
    (tmp_path / "other.txt").write_text("Ada Mirren likes tea.", "utf-8")
    index = build("films.txt", "other.txt", "--kg", lightrag)
    ada = next(each for each in index.rows(Entity) if each.name == "Ada Mirren")
    assert ada.description.startswith("A director. She films birds. ")
    assert "Ada Mirren was born in Pelluci." in ada.description
    assert "person" in ada.types
    assert ada.frequency == 2

    def narrowed(graph: str, where: str = 'title = "other"') -> dict[str, Entity]:
        settings = load_settings(overrides={"access": {"graph": graph}})
        found = library.open("i", settings).filter(where).context.index
        return {each.name: each for each in found.rows(Entity)}

    assert narrowed("public")["Ada Mirren"].description == "A director. She films birds."
    alone = narrowed("denied")
    assert not alone.keys() & {"Grey Heron", "Salt"}
    assert alone["Ada Mirren"].description == "", "of an entity that hidden documents name too, only a model's remains"
    assert "person" not in alone["Ada Mirren"].types
    both = narrowed("denied", "title in (films, other)")
    assert "She films birds" not in both["Ada Mirren"].description


def test_hipporags_passages_are_an_index(tmp_path: Path) -> None:
    passage = {"passage": f"Films\n{TEXT}", "extracted_entities": ["Ada Mirren"], "extracted_triples": []}
    Path("results.json").write_text(json.dumps({"docs": [passage]}), "utf-8")
    index = build("--openie", "results.json")
    assert index.manifest.rows["documents"] == 1
    assert "Pelluci" in library.open("i").ask("Where was Ada Mirren born?", "ppr").text
    done = conspectus("index", "--openie", Path("results.json"), "--index", "i", "--estimate", *REGEX)
    assert done.status == 0, done.err
    Path("lines.jsonl").write_text(json.dumps({"id": "1", "entities": []}), "utf-8")
    refused = conspectus("index", "--openie", "lines.jsonl", "--index", "k", *REGEX)
    assert (refused.status, refused.err.count("\n")) == (3, 1)
    assert "name the documents" in refused.err


def working_folder(folder: Path, lightrag: Path, *, documents: bool) -> Path:
    """Lay LightRAG's texts beside its graph: two chunks that overlap, of one document."""
    chunks = {
        "chunk-1": {"content": TEXT[:36], "full_doc_id": "doc-1", "chunk_order_index": 0, "file_path": "films.txt"},
        "chunk-2": {"content": TEXT[21:], "full_doc_id": "doc-1", "chunk_order_index": 1, "file_path": "films.txt"},
    }
    (folder / "kv_store_text_chunks.json").write_text(json.dumps(chunks), "utf-8")
    if documents:
        (folder / "kv_store_full_docs.json").write_text(json.dumps({"doc-1": {"content": TEXT}}), "utf-8")
    return lightrag


@pytest.mark.parametrize("documents", [True, False])
def test_lightrags_own_texts_are_documents_that_are_cited(lightrag: Path, tmp_path: Path, documents: bool) -> None:
    graph = working_folder(tmp_path, lightrag, documents=documents)
    index = build("--openie", graph, "--kg", graph)
    rows = index.rows(Document)
    assert {each.text for each in rows} == ({TEXT} if documents else {TEXT[:36], TEXT[21:]})
    assert {each.title for each in rows} == {"films"}
    entities = {each.name: each for each in index.rows(Entity)}
    assert entities["Ada Mirren"].description.startswith("A director. She films birds. ")
    assert "Ada Mirren was born in Pelluci." in entities["Ada Mirren"].description
    (relation,) = (each for each in index.rows(Relation) if each.predicate == "direction")
    assert relation.description.startswith("She directed it. ")
    assert relation.weight == 8.0
    assert relation.chunk_ids
    mentions = [each for each in index.rows(Mention) if each.entity_id == entities["Grey Heron"].id]
    assert "exact" in {each.match for each in mentions}
    found = library.open("i").ask("Where was Ada Mirren born?", "ppr")
    assert any("Ada Mirren was born in Pelluci." in each.quote for each in found.citations)
    assert not index.rows(Failure)


def test_a_graph_without_its_texts_is_told_to_be_brought_by_itself(lightrag: Path, tmp_path: Path) -> None:
    done = conspectus("index", "--openie", lightrag, "--index", "i", *REGEX)
    assert (done.status, done.err.count("\n")) == (3, 1)
    assert "import it with --kg" in done.err
    (tmp_path / "films.txt").write_text(TEXT, "utf-8")
    done = conspectus("index", "films.txt", "--openie", lightrag, "--index", "i", *REGEX)
    assert (done.status, done.err.count("\n")) == (2, 1)
    assert "omit the documents" in done.err
    (tmp_path / "kv_store_text_chunks.json").write_text("[", "utf-8")
    done = conspectus("index", "--openie", lightrag, "--index", "i", *REGEX)
    assert (done.status, done.err.count("\n")) == (3, 1)
    (tmp_path / "kv_store_text_chunks.json").write_text('{"chunk-1": {"content": " "}, "chunk-3": {"content": "Tea."}}')
    index = build("--openie", lightrag, "--set", "build.failure_threshold=1")
    assert {(each.item_id, each.reason) for each in index.rows(Failure)} == {
        ("graph_chunk_entity_relation.graphml#chunk-2", "a chunk that is in no file"),
        ("kv_store_text_chunks.json#chunk-1", "a chunk without a text"),
    }
