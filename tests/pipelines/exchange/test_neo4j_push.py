"""A graph sent to a server of Bolt and Cypher (ArcadeDB's): what it holds then, and what an update sends."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import conspectus
import neo4j
import pytest
from conspectus.pipelines.exchange.cypher_export import BATCH, push, write_cypher
from conspectus.storage.errors import UsageError
from conspectus.storage.index import StoredIndex
from conspectus.storage.records import Community, Entity, Relation

from tests.command_line import conspectus as run
from tests.pipelines.exchange.bolt_server import PASSWORD, bolt_server
from tests.pipelines.exchange.made import entity, index_of, relation

ADA, BOB, EVE = (
    entity("Ada", "PERSON", "MATH LOVER", description='said "no"\n\\'),
    entity("Bob"),
    entity("Eve", "PERSON"),
)
MET, OWES = relation(ADA, "met `in` 1840", BOB, "They met.", 2.5, 7.0), relation(BOB, "owes", EVE)
DATABASES = ("changes", "others", "large", "files", "whole")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with bolt_server(tmp_path_factory.mktemp("arcade"), *DATABASES) as url:
        yield url


@pytest.fixture(autouse=True)
def user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEO4J_USERNAME", "root")
    monkeypatch.setenv("NEO4J_PASSWORD", PASSWORD)


def ask(server: str, database: str, query: str) -> list[list[Any]]:
    with (
        neo4j.GraphDatabase.driver(server, auth=("root", PASSWORD), telemetry_disabled=True) as driver,
        driver.session(database=database) as session,
    ):
        return session.run(query).values()


def people(server: str, database: str) -> dict[str, set[str]]:
    return {name: set(labels) for name, labels in ask(server, database, "MATCH (n:Entity) RETURN n.name, labels(n)")}


def stated(server: str, database: str) -> Sequence[Sequence[str]]:
    return sorted(ask(server, database, "MATCH (a)-[r]->(b) RETURN a.name, type(r), r.predicate, b.name"))


def test_nodes_and_relations_are_there_and_only_changes_are_sent(server: str) -> None:
    url = f"{server}/changes"
    communities = [Community("k0", 0, None, None, False, (ADA.id, BOB.id), (), (), 2)]
    first = push(index_of([ADA, BOB, EVE], [MET, OWES], communities), url)
    assert (first.rows["sent entities"], first.rows["sent relations"]) == (3, 2)
    assert people(server, "changes") == {
        "Ada": {"Entity", "PERSON", "MATH_LOVER"},
        "Bob": {"Entity", "NAME"},
        "Eve": {"Entity", "PERSON"},
    }
    assert stated(server, "changes") == [["Ada", "MET_IN_1840", MET.predicate, "Bob"], ["Bob", "OWES", "owes", "Eve"]]
    [[node, edge]] = ask(server, "changes", "MATCH (n {name: 'Ada'})-[r]->() RETURN properties(n), properties(r)")
    assert (node["description"], node["types"], node["c0"]) == (ADA.description, list(ADA.types), "k0")
    assert (edge["weight"], edge["strength"], edge["description"], edge["id"]) == (2.5, 7.0, "They met.", MET.id)
    again = push(index_of([ADA, BOB, EVE], [MET, OWES], communities), url)
    assert again.rows == {**first.rows, "sent entities": 0, "sent relations": 0}
    ask(server, "changes", "MATCH (n {name: 'Ada'})-[r]->() SET n.seen = 3, r.seen = 4")
    ask(server, "changes", "CREATE (:Entity {id: 'mine', name: 'Mine'})")
    ada, met = replace(ADA, description="", types=("PERSON",)), replace(MET, strength=None)
    update = push(index_of([ada, BOB], [met]), url)
    assert update.rows == {
        "entities": 2,
        "relations": 1,
        "sent entities": 2,
        "sent relations": 1,
        "deleted entities": 1,
        "deleted relations": 1,
    }
    assert people(server, "changes") == {"Ada": {"Entity", "PERSON"}, "Bob": {"Entity", "NAME"}, "Mine": {"Entity"}}
    [[node, edge]] = ask(server, "changes", "MATCH (n {name: 'Ada'})-[r]->() RETURN properties(n), properties(r)")
    assert (node["description"], node["seen"], node.get("c0"), edge.get("strength"), edge["seen"]) == (
        "",
        3,
        None,
        None,
        4,
    )


def test_another_indexs_graph_is_replaced_on_request_only(server: str) -> None:
    url = f"{server}/others"
    push(index_of([ADA, BOB], [MET]), url)
    with pytest.raises(UsageError, match="2 of which this index lacks"):
        push(index_of([EVE]), url)
    assert set(people(server, "others")) == {"Ada", "Bob"}
    push(index_of([EVE]), url, force=True)
    assert set(people(server, "others")) == {"Eve"}


def test_rows_are_sent_in_batches(server: str) -> None:
    many = [entity(f"Name {number}") for number in range(2 * BATCH + 1)]
    relations = [relation(many[0], "knows", each) for each in many[1:]]
    done = push(index_of(many, relations), f"{server}/large")
    assert (done.rows["sent entities"], done.rows["sent relations"]) == (len(many), len(relations))
    assert ask(server, "large", "MATCH (:Entity)-[r:KNOWS]->(:Entity) RETURN count(r)") == [[2 * BATCH]]


def test_the_file_of_statements_makes_the_same_graph(server: str, tmp_path: Path) -> None:
    write_cypher(index_of([ADA, BOB, EVE], [MET, OWES]), tmp_path / "g.cypher")
    for _ in range(2):
        for statement in (tmp_path / "g.cypher").read_text("utf-8").split(";\n"):
            if statement:
                ask(server, "files", statement)
    assert stated(server, "files") == [["Ada", "MET_IN_1840", MET.predicate, "Bob"], ["Bob", "OWES", "owes", "Eve"]]
    [[told]] = ask(server, "files", "MATCH (n:PERSON {name: 'Ada'}) RETURN n.description")
    assert told == ADA.description


def test_a_whole_index_from_the_command_line(server: str, sample_root: Path) -> None:
    done = run("export", "neo4j", "--index", sample_root, "--to", f"{server}/whole", "--quiet")
    assert (done.status, done.err) == (0, "")
    index = StoredIndex.open(sample_root)
    entities, relations = index.rows(Entity), index.rows(Relation)
    assert f"{len(entities)} sent entities, {len(relations)} sent relations" in done.out
    assert set(people(server, "whole")) == {each.name for each in entities}
    assert len(stated(server, "whole")) == len(relations)
    again = conspectus.open(sample_root).export("neo4j", f"{server}/whole")
    assert (again.rows["sent entities"], again.rows["sent relations"]) == (0, 0)


def test_what_cannot_be_reached_or_refuses_is_one_line(
    server: str, sample_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for url in ("http://x", "films.graph", f"bolt://root:{PASSWORD}@127.0.0.1:1"):
        with pytest.raises(UsageError, match="without a user or password") as refused:
            push(index_of([ADA]), url)
        assert PASSWORD not in str(refused.value)
    monkeypatch.setenv("NEO4J_PASSWORD", "wrong")
    done = run("export", "neo4j", "--index", sample_root, "--to", f"{server}/whole", "--quiet")
    assert (done.status, done.err.count("\n")) == (2, 1)
    assert "NEO4J_PASSWORD" in done.err
    with pytest.raises(UsageError, match=r"^127\.0\.0\.1: "):
        push(index_of([ADA]), "bolt://127.0.0.1:1")
