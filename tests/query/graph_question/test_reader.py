"""What is read from questions to the made-up films, with their answers."""

from pathlib import Path

import pytest
from conspectus.query.context import Context
from conspectus.query.graph_question.asked import read_asked
from conspectus.query.graph_question.reader import read_graph_question
from conspectus.query.walk.graph import open_graph

from tests.query import films as made_up


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory) -> Context:
    return made_up.build(tmp_path_factory.mktemp("films"), made_up.TRIPLES)


def answer(context: Context, question: str) -> object:
    reading = read_graph_question(context, question)
    if not reading.answered or reading.answer is None or reading.query is None:
        return None
    form = reading.query.form
    if form == "yes_no":
        return reading.answer.verdict
    if form == "count":
        return reading.answer.count
    return {open_graph(context).names[found.entity] for found in reading.answer.found}


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("who made Port Alma", {"Ada Mirren"}),
        ("who driected port alma?", {"Ada Mirren"}),
        ("When did Salt Pans come out?", {"1974"}),
        ("Which movies did Ada Mirren shoot?", {"Grey Heron", "Salt Pans", "Port Alma"}),
        ("actors in the films of Hugo Wren", {"Lena Fisk"}),
        ("What other films did the director of Salt Pans make?", {"Grey Heron", "Port Alma"}),
        ("Which film by Ada Mirren has Hugo Wren in it?", {"Salt Pans"}),
        ("how many movies did ada mirren direct", 3),
        ("How many films came out before 1975?", 3),
        ("Did Hugo Wren write Salt Pans?", False),
        ("did mary quill write salt pans", True),
        ("What is Ada Mirren's newest film?", {"Port Alma"}),
        ("Which is older, Grey Heron or Night Ferry?", {"Grey Heron"}),
    ],
)
def test_questions_are_read_and_answered(films: Context, question: str, expected: object) -> None:
    assert answer(films, question) == expected


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("What was the budget of Salt Pans?", "no relation of the graph says 'budget' of Salt Pans"),
        ("Who is the mayor of Pelluci?", "'mayor'"),
        ("Who directed Xanadu Rising?", "nothing called"),
    ],
)
def test_what_the_graph_lacks_is_declined_and_told(films: Context, question: str, told: str) -> None:
    reading = read_graph_question(films, question)
    assert not reading.answered
    assert told in reading.declined


def test_given_topics_are_where_a_query_starts(films: Context) -> None:
    row = list(open_graph(films).names).index("Grey Heron")
    reading = read_graph_question(films, "Who directed it?", [row])
    assert reading.answer is not None
    assert [open_graph(films).names[found.entity] for found in reading.answer.found] == ["Ada Mirren"]


def test_bounds_are_read_with_their_values() -> None:
    asked = read_asked("films longer than two hours made after 1990")
    assert [(bound.comparison, bound.value) for bound in asked.bounds] == [("more", "2 hours"), ("after", "1990")]


def test_chains_of_relations_run_in_the_order_in_which_they_are_said(tmp_path: Path) -> None:
    """Words nearest to the name come first, those after 's before all others; each word is a step of its own."""
    triples = [
        ("olan the elder", "parents", "brida"), ("brida", "children", "olan the elder"),
        ("brida", "children", "sune"), ("brida", "parents", "gerd"), ("brida", "spouse", "tove"),
        ("olan the elder", "children", "kari"), ("kari", "parents", "olan the elder"), ("kari", "parents", "maren"),
        ("kari", "spouse", "nils"), ("kari", "nationality", "norge"), ("brida", "nationality", "eire"),
        ("maren", "nationality", "suomi"), ("sune", "nationality", "sverige"), ("gerd", "children", "brida"),
    ]  # fmt: skip
    family = made_up.build(tmp_path, triples)
    assert answer(family, "who is the kid of olan the elder 's mom ?") == {"olan the elder", "sune"}
    assert answer(family, "who is the mom of olan the elder 's heir ?") == {"maren", "olan the elder"}
    assert answer(family, "what is the olan the elder 's heir 's other half ?") == {"nils"}
    assert answer(family, "what is the nation of dad of olan the elder 's kid ?") == {"suomi"}
