"""The graph that PageRank walks, with every weight worked out by hand."""

from math import sqrt

import pytest
from conspectus.storage.graph.adjacency import Adjacency
from conspectus.storage.graph.walk_graph import MOST_OWNERS, NamedChunks, name_chunks, walk_graph
from conspectus.storage.records import Chunk, Document, Entity, Mention
from conspectus.storage.text.nlp import CONCEPT, Annotation, Phrase

TEXTS = {
    "Alpha Station": "Alpha Station orbits Beta Moon.",
    "Beta Moon": "Beta Moon is cold. Alpha Station is near.",
    "Gamma Ray (band)": "Gamma Ray played on Beta Moon.",
}
NOTHING = Annotation((), ())
NO_NAMES = name_chunks([], [], [])


def corpus(texts: dict[str, str]) -> tuple[list[Document], list[Chunk]]:
    documents = [Document(f"d{i}", title, "", text, {}, len(text), "") for i, (title, text) in enumerate(texts.items())]
    return documents, [Chunk(f"c{i}", each.id, 0, 0, each.n_chars, each.text, 1) for i, each in enumerate(documents)]


def names_of(texts: dict[str, str]) -> NamedChunks:
    documents, chunks = corpus(texts)
    return name_chunks(documents, chunks, [NOTHING] * len(chunks))


def edges(graph: Adjacency) -> dict[tuple[int, int], float]:
    found = {}
    for node in range(graph.n_nodes):
        for entry in range(graph.indptr[node], graph.indptr[node + 1]):
            if node < graph.indices[entry]:
                found[node, int(graph.indices[entry])] = float(graph.weights[entry])
    return found


def mention(entity: str, chunk: str, place: int = 0) -> Mention:
    return Mention(f"{entity}{chunk}{place}", chunk, entity, None, place, place + 1, "exact", "", "")


def entity(id_: str, *types: str) -> Entity:
    return Entity(id_, id_, types[0], types, "", 1, 0)


def test_names_stand_for_their_documents_chunks() -> None:
    names, owners, holders = names_of(TEXTS)
    assert [each.id for each in names] == sorted(each.id for each in names)
    found = {
        each.name: (each.chunk_ids, each.mentioned_in, owners[place].tolist(), holders[place].tolist())
        for place, each in enumerate(names)
    }
    assert found == {
        "Alpha Station": (("c0",), 2, [0], [0, 1]),
        "Beta Moon": (("c1",), 3, [1], [0, 1, 2]),
        "Gamma Ray (band)": (("c2",), 0, [2], []),
        "Gamma Ray": (("c2",), 1, [2], [2]),
    }


def test_the_weights_of_name_edges() -> None:
    graph = walk_graph(corpus(TEXTS)[1], [], [], names_of(TEXTS))
    # Alpha Station is in two chunks, Beta Moon in three; c0 and c1 name each other.
    assert edges(graph) == pytest.approx({(0, 1): 1 / sqrt(3) + 1 / sqrt(4), (1, 2): 1 / sqrt(4)})


def test_the_weights_of_occurrence_edges() -> None:
    chunks = corpus(TEXTS)[1]
    entities = [
        entity("alpha", "ORG"),
        entity("cold", CONCEPT),
        entity("gamma", "ORG"),
        entity("moon", CONCEPT, "LOC"),
    ]
    mentions = [
        mention("alpha", "c0"), mention("alpha", "c1"), mention("alpha", "c1", 9),
        mention("cold", "c0"), mention("cold", "c1"),
        mention("gamma", "c2"), mention("gamma", "c2", 9),
        mention("moon", "c0"), mention("moon", "c1"), mention("moon", "c2"),
        Mention("r", "c0", None, "relation", 0, 1, "exact", "", ""),
    ]  # fmt: skip
    graph = walk_graph(chunks, entities, mentions, NO_NAMES)
    assert graph.n_nodes == 3 + 4
    # A noun phrase joins nothing, nor does a name that one chunk holds; a second mention in a chunk adds nothing.
    assert edges(graph) == pytest.approx(
        {
            (0, 3): 0.1 / sqrt(2), (1, 3): 0.1 / sqrt(2),
            (0, 6): 0.1 / sqrt(3), (1, 6): 0.1 / sqrt(3), (2, 6): 0.1 / sqrt(3),
        },
        rel=1e-6,
    )  # fmt: skip


def test_a_title_of_many_chunks_joins_nothing() -> None:
    for count in (MOST_OWNERS, MOST_OWNERS + 1):
        documents, _ = corpus({"Alpha Station": "x" * 10 * count, "Beta Moon": "Alpha Station is near."})
        chunks = [Chunk(f"c{i}", "d0", i, 10 * i, 10 * i + 10, "x" * 10, 1) for i in range(count)]
        chunks.append(Chunk("n", "d1", 0, 0, 22, "Alpha Station is near.", 1))
        graph = walk_graph(chunks, [], [], name_chunks(documents, chunks, [NOTHING] * (count + 1)))
        joined = {(row, count): 1 / sqrt(2) for row in range(count)}
        assert edges(graph) == pytest.approx(joined if count == MOST_OWNERS else {})


def test_an_untitled_text_is_known_by_the_name_it_begins_with() -> None:
    texts = {"": "Alpha Station orbits.", "Beta Moon": "Alpha Station is near."}
    documents = [Document(f"d{i}", title, "", text, {}, len(text), "") for i, (title, text) in enumerate(texts.items())]
    chunks = [Chunk(f"c{i}", each.id, 0, 0, each.n_chars, each.text, 1) for i, each in enumerate(documents)]
    lead = Annotation((Phrase(0, 13, "Alpha Station", "ORG"),), ())
    names = name_chunks(documents, chunks, [lead, lead])
    assert {each.name: each.chunk_ids for each in names.names} == {"Alpha Station": ("c0",), "Beta Moon": ("c1",)}
    graph = walk_graph(chunks, [], [], names)
    assert edges(graph) == pytest.approx({(0, 1): 1 / sqrt(3)})


def test_documents_of_one_title_are_one_name() -> None:
    names = names_of({"Alpha Station": "One.", " alpha  station": "Two.", "Beta Moon": "On Alpha Station."})
    (place,) = (place for place, each in enumerate(names.names) if each.name == "Alpha Station")
    assert names.names[place].chunk_ids == ("c0", "c1")
    assert names.holders[place].tolist() == [2]
