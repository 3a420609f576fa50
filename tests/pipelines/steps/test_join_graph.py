from dataclasses import replace

import numpy as np
from conspectus.pipelines.exchange.kg.builder import ForeignRow, ImportedGraph, ThingAttributes, TripleAttributes
from conspectus.pipelines.steps.extract.merge import Knowledge
from conspectus.pipelines.steps.join_graph import further_names, join, origins
from conspectus.storage.hashing import entity_id, short_id
from conspectus.storage.records import GRAPH_FILE, Entity, Relation
from conspectus.storage.text.nlp import CONCEPT, NAME


def graph(*triples: tuple[str, str, str]) -> ImportedGraph:
    names = sorted({end for source, _, target in triples for end in (source, target)})
    predicates = sorted({predicate for _, predicate, _ in triples})
    rows = [(names.index(source), predicates.index(said), names.index(target)) for source, said, target in triples]
    columns = np.array(rows, np.int64).reshape(-1, 3).T
    return ImportedGraph(names, predicates, columns[0], columns[1], columns[2], [])


def seen(name: str, *types: str) -> Entity:
    return Entity(entity_id(name), name.title(), types[0], types, "told", 2, 1)


def stated(source: str, predicate: str, target: str) -> Relation:
    id_ = short_id("relation", source, predicate, target)
    return Relation(id_, entity_id(source), entity_id(target), predicate, "a sentence", 2.0, ("c1", "c2"))


DOCUMENTS = Knowledge(
    sorted([seen("heat", "FILM"), seen("mann", CONCEPT), seen("rain", CONCEPT)], key=lambda each: each.id),
    [stated("heat", "made by", "mann")],
    [],
)


def test_things_of_both_meet_by_name_and_keep_what_documents_say() -> None:
    found = join(DOCUMENTS, graph(("Heat", "made by", "Mann"), ("HEAT", "in", "1995"), ("Heat", "Made By", "Mann")))
    entities = {each.id: each for each in found.entities}
    assert [each.id for each in found.entities] == sorted(entities)
    heat, mann, year = (entities[entity_id(each)] for each in ("heat", "mann", "1995"))
    assert (heat.name, heat.type, heat.description, heat.frequency, heat.degree) == ("Heat", "FILM", "told", 2, 2)
    assert (mann.type, mann.types) == (NAME, (NAME, CONCEPT)), "a graph's thing is a thing with a name"
    assert (year.name, year.types, year.frequency, year.degree) == ("1995", (NAME,), 0, 1)
    assert entities[entity_id("rain")] == next(each for each in DOCUMENTS.entities if each.name == "Rain")


def test_relations_of_documents_keep_their_chunks_and_different_predicates_stay_different() -> None:
    found = join(
        DOCUMENTS, graph(("Heat", "made by", "Mann"), ("Heat", "Made By", "Mann"), ("Mann", "made by", "Heat"))
    )
    by_predicate = {(each.source_id, each.predicate): each for each in found.relations}
    assert len(found.relations) == len({each.id for each in found.relations}) == 3
    assert [each.id for each in found.relations] == sorted(each.id for each in found.relations)
    assert by_predicate[entity_id("heat"), "made by"] == DOCUMENTS.relations[0]
    alone = by_predicate[entity_id("heat"), "Made By"]
    assert (alone.chunk_ids, alone.weight, alone.description) == ((), 1.0, "")


def test_what_a_graph_says_stands_before_what_documents_say() -> None:
    said = graph(("Heat", "made by", "Mann"), ("Mann", "lives in", "Rome"))
    heat, mann, rome = (said.names.index(each) for each in ("Heat", "Mann", "Rome"))
    row = ForeignRow("g.graphml", "n1", 3, {"born": "1943"})
    said = replace(
        said,
        thing_attributes={
            heat: ThingAttributes(("movie",), "A film."),
            mann: ThingAttributes(("person", "director"), "He directs.", (row,)),
            rome: ThingAttributes((), "A city."),
        },
        triple_attributes={0: TripleAttributes(5.0, 8.0, "He made it."), 1: TripleAttributes(0.5, None, "At home.")},
    )
    found = join(DOCUMENTS, said)
    entities = {each.name: each for each in found.entities}
    assert (entities["Heat"].types, entities["Heat"].description) == (("FILM", "movie"), "A film.")
    assert (entities["Mann"].type, entities["Mann"].types) == ("person", ("person", "director", CONCEPT))
    assert (entities["Rome"].types, entities["Rome"].description) == ((NAME,), "A city.")
    made, lives = (next(each for each in found.relations if each.predicate == said) for said in ("made by", "lives in"))
    assert (made.weight, made.strength, made.chunk_ids) == (5.0, 8.0, ("c1", "c2"))
    assert made.description == "He made it. a sentence"
    assert (lives.weight, lives.description, lives.chunk_ids) == (0.5, "At home.", ())
    (origin,) = origins(said, found)
    assert (origin.table, origin.item_id, origin.source_id, origin.ordinal) == (
        "entities",
        entities["Mann"].id,
        "n1",
        3,
    )
    assert origin.details == {"born": "1943", GRAPH_FILE: "g.graphml"}
    assert origins(said, Knowledge([], [], [])) == [], "only of what is there"


def test_further_names_are_merges_unless_an_entity_has_them() -> None:
    brought = replace(graph(("Heat", "in", "1995")), other_names=(("Hitze", 1), ("Mann", 1), (" ", 1), ("Hitze", 1)))
    found = join(DOCUMENTS, brought)
    [merge] = further_names(brought, found.entities)
    assert brought.names[1] == "Heat"
    assert (merge.entity_id, merge.name, merge.alias_id, merge.alias) == (
        entity_id("heat"),
        "Heat",
        entity_id("hitze"),
        "Hitze",
    )
    assert not merge.undone
