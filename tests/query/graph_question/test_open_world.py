"""A "no" needs a contradiction in the graph; transitive relations and classes are followed."""

from pathlib import Path

import pytest
from conspectus.query.context import Context
from conspectus.query.graph_question.reader import GraphReading, read_graph_question
from conspectus.query.walk.graph import open_graph, sentence

from tests.query import films as made_up

TRIPLES = [
    ("Tavern", "subClassOf", "FoodHouse"), ("FoodHouse", "subClassOf", "Business"),
    ("Business", "subClassOf", "Organisation"), ("Shop", "subClassOf", "Business"),
    *((name, "type", "Class") for name in ("Tavern", "FoodHouse", "Business", "Shop", "Organisation")),
    ("Blue Boar", "type", "Tavern"), ("Red Cow", "type", "Tavern"), ("Corner Store", "type", "Shop"),
    ("Blue Boar", "located in", "Ashby"), ("Corner Store", "located in", "Norbury"),
    ("Ashby", "located in", "Kent"), ("Norbury", "located in", "Surrey"),
    ("Kent", "located in", "England"), ("Surrey", "located in", "England"),
    ("Blue Boar", "keeper", "Ann Poole"), ("Red Cow", "keeper", "Tom Reed"), ("Blue Boar", "operator", "Inns Ltd"),
    ("Ann Poole", "born in", "Ashby"), ("Inns Ltd", "based in", "Norbury"),
    ("Blue Boar", "opened", "1902"), ("Red Cow", "opened", "1950"),
]  # fmt: skip


@pytest.fixture(scope="module")
def inns(tmp_path_factory: pytest.TempPathFactory) -> Context:
    return made_up.build(tmp_path_factory.mktemp("inns"), TRIPLES)


def proof(context: Context, reading: GraphReading) -> list[str]:
    assert reading.answer is not None
    return [sentence(open_graph(context), relation) for relation in reading.answer.relations]


def names(context: Context, reading: GraphReading) -> set[str]:
    assert reading.answer is not None
    return {open_graph(context).names[found.entity] for found in reading.answer.found}


@pytest.mark.parametrize(
    ("question", "verdict", "path"),
    [
        (
            "Is Tavern a subclass of Business?",
            True,
            ["Tavern sub class of FoodHouse", "FoodHouse sub class of Business"],
        ),
        ("Is Business a subclass of Tavern?", False, ["Business sub class of Organisation"]),
        (
            "Is the Blue Boar a Business?",
            True,
            ["Blue Boar type Tavern", "Tavern sub class of FoodHouse", "FoodHouse sub class of Business"],
        ),
        (
            "Was Ann Poole born in England?",
            True,
            ["Ann Poole born in Ashby", "Ashby located in Kent", "Kent located in England"],
        ),
        ("Is the Corner Store in Kent?", False, ["Corner Store located in Norbury"]),
        ("Does Tom Reed keep the Blue Boar?", False, ["Blue Boar keeper Ann Poole"]),
    ],
)
def test_transitive_relations_are_followed_and_their_path_is_cited(
    inns: Context, question: str, verdict: bool, path: list[str]
) -> None:
    reading = read_graph_question(inns, question)
    assert reading.answer is not None
    assert reading.answered or reading.best_effort
    assert reading.answer.verdict is verdict
    assert proof(inns, reading) == path


@pytest.mark.parametrize("question", ["Is Red Cow in England?", "Was Tom Reed born in Ashby?"])
def test_what_is_only_not_stated_is_not_denied(inns: Context, question: str) -> None:
    reading = read_graph_question(inns, question)
    assert not reading.answered
    assert not reading.best_effort


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Which businesses are there?", {"Blue Boar", "Red Cow", "Corner Store"}),
        ("How many classes are there?", {"Tavern", "FoodHouse", "Business", "Shop", "Organisation"}),
        ("List all subclasses of Business", {"FoodHouse", "Tavern", "Shop"}),
        ("What are the superclasses of Tavern?", {"FoodHouse"}),
        ("Which taverns are in England?", {"Blue Boar"}),
        ("taverns opened before 1940", {"Blue Boar"}),
        ("who keeps Blue Boar?", {"Ann Poole"}),
        ("Which tavern is older, Red Cow or Blue Boar?", {"Blue Boar"}),
    ],
)
def test_classes_have_the_members_of_those_below_them(inns: Context, question: str, expected: set[str]) -> None:
    reading = read_graph_question(inns, question)
    assert reading.answered or reading.best_effort
    assert names(inns, reading) == expected


def test_a_relation_that_the_graph_declares_transitive_is_followed(tmp_path: Path) -> None:
    context = made_up.build(tmp_path, [
        ("feeds", "type", "TransitiveProperty"), ("Mill Brook", "feeds", "Ardle"), ("Ardle", "feeds", "Tarn Water"),
    ])  # fmt: skip
    reading = read_graph_question(context, "Does Mill Brook feed Tarn Water?")
    assert reading.answer is not None
    assert reading.answer.verdict
    assert proof(context, reading) == ["Mill Brook feeds Ardle", "Ardle feeds Tarn Water"]
