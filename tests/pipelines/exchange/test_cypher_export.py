"""Statements of Cypher: their rows are those of the index, whatever signs they have."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from conspectus.pipelines.exchange.cypher_export import write_cypher
from conspectus.storage.records import Entity, Relation
from hypothesis import given
from hypothesis import strategies as st

from tests.pipelines.exchange.made import entity, graphs, index_of, relation

_KEYS = "id|name|description|source|target|told|predicate|weight|chunk_ids|types?|frequency|degree|strength"
_KEY = re.compile(rf"(?<=[{{,] )?\b({_KEYS}): (?=[\"\[{{0-9n-])")
_ANY = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=20)


def rows(text: str, statement: str) -> list[dict[str, object]]:
    """Return the rows that a kind of statement is given, read as JSON after keys without signs that texts may have."""
    parts = [each.split("\n] AS row\n") for each in text.split(";\n") if each.startswith("UNWIND [\n")]
    blocks = [given.removeprefix("UNWIND [\n") for given, said in parts if re.match(statement, said)]
    lines = [line.removesuffix(",") for block in blocks for line in block.split("\n")]
    return [json.loads(_KEY.sub(r'"\1": ', line)) for line in lines]


def test_entities_and_relations_are_merged_by_id(tmp_path: Path) -> None:
    ada, bob = entity("Ada", "PERSON", "MATH LOVER", description='said "no"\nand \\ left'), entity("Bob", "PERSON")
    met = relation(ada, "met `in` 1840", bob, "They met.", 2.5)
    done = write_cypher(index_of([ada, bob], [met]), tmp_path / "g.cypher")
    text = (tmp_path / "g.cypher").read_text("utf-8")
    assert done.rows == {"entities": 2, "relations": 1}
    assert text.startswith("CREATE CONSTRAINT entity_id IF NOT EXISTS")
    assert "MATCH (n:Entity {id: row.id}) SET n:Entity:`MATH_LOVER`:`PERSON`;" in text
    assert "MERGE (a)-[r:`MET_IN_1840` {id: row.id}]->(b) SET r += row.told;" in text
    people: list[Any] = rows(text, "MERGE")
    assert {each["told"]["name"]: each["told"]["description"] for each in people} == {"Ada": ada.description, "Bob": ""}
    [stated] = rows(text, "MATCH .a:")
    assert (stated["source"], stated["target"]) == (ada.id, bob.id)
    assert stated["told"] == {
        "predicate": met.predicate,
        "description": "They met.",
        "weight": 2.5,
        "strength": None,
        "chunk_ids": [],
    }


def test_an_entity_without_a_type_is_a_node(tmp_path: Path) -> None:
    write_cypher(index_of([replace(entity("Ada"), type="", types=())]), tmp_path / "g.cypher")
    assert "MATCH (n:Entity {id: row.id}) SET n:Entity;" in (tmp_path / "g.cypher").read_text("utf-8")


@given(graphs(_ANY.map(lambda text: text.replace(": ", ":"))))
def test_no_sign_of_a_text_ends_a_statement(made: tuple[list[Entity], list[Relation]]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        write_cypher(index_of(*made), Path(folder, "g.cypher"))
        text = Path(folder, "g.cypher").read_text("utf-8")
    assert {each["id"] for each in rows(text, "MERGE")} == {each.id for each in made[0]}
    assert {each["id"] for each in rows(text, "MATCH .a:")} == {each.id for each in made[1]}
